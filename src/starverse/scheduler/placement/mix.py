"""What is asked of a node by one member, and the mix of such requests that is expected."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from starverse.model.job import JobSpec, Shape
from starverse.model.units import CARD

Ints = NDArray[np.int64]

KINDS_MOST = 256
"""Kinds of request that a mix counts, the most frequent: more would cost time and say little."""

HEARD_MOST = 1 << 16
"""So many requests at most are remembered with their full weight."""


class Request(NamedTuple):
    """A member: `share` milli-cards of each of so many cards, and CPU and memory of the same node."""

    cards: int
    share: int
    milli_cpu: int = 0
    memory_mb: int = 0


def request_of(shape: Shape) -> Request:
    """What one member of this shape asks of its node: whole cards, or a part of one card.

    Raises ValueError for more than a card that is no whole number of cards.
    """
    cards, part = divmod(shape.member, CARD)
    if cards and part:
        raise ValueError(f"A member has whole cards or a part of one, not {shape.member} milli-cards.")
    share = CARD if cards else part
    return Request(cards or int(part > 0), share, shape.milli_cpu, shape.memory_mb)


def ask_of(spec: JobSpec) -> Request:
    """What one member of this job asks of its node."""
    shape = spec.shape
    if spec.cards_min < CARD:
        return Request(int(spec.cards_min > 0), spec.cards_min, shape.milli_cpu, shape.memory_mb)
    return Request(max(shape.member // CARD, 1), CARD, shape.milli_cpu, shape.memory_mb)


class Mix(NamedTuple):
    """Requests expected: rows of (cards, share, milli-CPU, memory MB) in order, their weights, their sum."""

    asks: Ints
    weight: Ints
    total: int


def mix_of(weights: Mapping[Request, int]) -> Mix:
    """The mix of requests by weight: the `KINDS_MOST` that weigh most."""
    most = sorted(weights, key=lambda request: (-weights[request], request))[:KINDS_MOST]
    kept = sorted(request for request in most if weights[request] > 0)
    weight = np.array([weights[request] for request in kept], np.int64)
    return Mix(np.array(kept, np.int64).reshape(-1, 4), weight, int(weight.sum()))


NOTHING_KNOWN = mix_of({})


class Seen(Struct, array_like=True):
    """What an `Asked` remembers, to be saved: how many it had heard of when it last drew a mix, and rows of
    (cards, share, milli-CPU, memory MB, how often asked, weight in that mix)."""

    drawn: int = 0
    rows: list[tuple[int, int, int, int, int, int]] = []


class Asked:
    """What was asked so far, mutable: grows with each request, in any order, from a prior if there is one.

    The mix is drawn anew only when a quarter more was asked, so that scores are worked out anew some ten
    times for each tenfold of requests, not at every one. What was asked long ago fades: of `HEARD_MOST`
    requests, or of too many kinds of them, half the weight is kept.
    """

    def __init__(self, prior: Iterable[tuple[Request, int]] = ()) -> None:
        self._counts: dict[Request, int] = dict(prior)
        self._total = sum(self._counts.values())
        self._drawn = self._total
        self.mix: Mix = mix_of(self._counts)
        """What to expect: the same object until enough was asked that it is worth another."""

    def add(self, request: Request) -> None:
        """One more was asked for."""
        self._counts[request] = self._counts.get(request, 0) + 1
        self._total += 1
        if self._total == HEARD_MOST or len(self._counts) == 4 * KINDS_MOST:
            self._fade()
        if 4 * self._total > 5 * self._drawn:
            self._draw()

    def _fade(self) -> None:
        """Halve what is remembered, and forget the kinds that are asked for least."""
        most = sorted(self._counts, key=lambda request: (-self._counts[request], request))[: 2 * KINDS_MOST]
        self._counts = {request: (self._counts[request] + 1) // 2 for request in sorted(most)}
        self._total = sum(self._counts.values())
        self._draw()

    def _draw(self) -> None:
        self._drawn = self._total
        self.mix = mix_of(self._counts)

    def saved(self) -> Seen:
        """What it remembers."""
        asks, weights = self.mix.asks.tolist(), self.mix.weight.tolist()
        weight = {Request(*row): count for row, count in zip(asks, weights, strict=True)}
        rows = [(*request, count, weight.get(request, 0)) for request, count in sorted(self._counts.items())]
        return Seen(self._drawn, rows)

    @classmethod
    def load(cls, seen: Seen) -> "Asked":
        """One that remembers this."""
        asked = cls()
        asked._counts = {Request(*row[:4]): row[4] for row in seen.rows}
        asked._total = sum(asked._counts.values())
        asked._drawn = seen.drawn
        asked.mix = mix_of({Request(*row[:4]): row[5] for row in seen.rows})
        return asked
