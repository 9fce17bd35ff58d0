"""What is asked of a node by one member, and the mix of such requests that is expected."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starverse.model.job import Shape
from starverse.model.units import CARD

Ints = NDArray[np.int64]

KINDS_MOST = 256
"""Kinds of request that a mix counts, the most frequent: more would cost time and say little."""


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


class Asked:
    """What was asked so far, mutable: grows with each request, in any order, from a prior if there is one.

    The mix is drawn anew only when a quarter more was asked, so that scores are worked out anew some ten
    times for each tenfold of requests, not at every one.
    """

    def __init__(self, prior: Iterable[tuple[Request, int]] = ()) -> None:
        self._counts: dict[Request, int] = dict(prior)
        self._total = sum(self._counts.values())
        self._drawn = 0
        self._mix = NOTHING_KNOWN

    def add(self, request: Request) -> None:
        """One more was asked for."""
        self._counts[request] = self._counts.get(request, 0) + 1
        self._total += 1

    def mix(self) -> Mix:
        """What to expect: the same object until enough was asked that it is worth another."""
        if 4 * self._total > 5 * self._drawn:
            self._drawn = self._total
            self._mix = mix_of(self._counts)
        return self._mix
