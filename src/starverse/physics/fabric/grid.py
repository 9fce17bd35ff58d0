"""Networks on a grid: the torus, with wires to neighbours, and HyperX, with a switch on every line."""

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations, product
from math import prod
from typing import ClassVar

import numpy as np
from numba import njit

from starverse.model.errors import BadInput
from starverse.physics.fabric.network import NO_LINKS, Flags, Floats, Ints, Network, Routes
from starverse.physics.fabric.paths import with_detours

MOST_AXES = 6


@dataclass(frozen=True)
class Grid:
    """Places on a grid of `dims` with `cards_each` cards; the last axis counts fastest.

    `kind` is `torus` (a wire to both neighbours on every axis, wrapped around) or `hyperx` (a switch on every
    line of the grid; BCube when the places are cards: Guo et al., SIGCOMM 2009; Ahn et al., SC 2009).
    On an axis of 2 of a torus both neighbours are one, and there is one wire: ASTRA-sim's Ring of two keeps
    one link each way (astra-network-analytical, congestion_aware/Ring.cpp), and TPU slices wrap no axis
    shorter than 4 (Google Cloud, TPU v4).
    A link carries `link_bytes_per_s` each way and costs `hop_ns`. With more than one card at a place, or
    `card_bytes_per_s` given, a place is a switch of its own and its cards reach it by a link.
    """

    dims: tuple[int, ...]
    kind: str = "torus"
    cards_each: int = 1
    link_bytes_per_s: float = 100e9
    card_bytes_per_s: float = 0
    hop_ns: float = 500
    detours: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse what is no grid."""
        if not 1 <= len(self.dims) <= MOST_AXES or min(self.dims) < 1 or prod(self.dims) < 2:
            raise BadInput(
                f"A grid of {' × '.join(map(str, self.dims)) or 'no axes'} is none.",
                f"Give 1 to {MOST_AXES} axes of 1 or more, at least 2 places in all.",
            )
        if self.kind not in {"torus", "hyperx"}:
            raise BadInput(f"There is no grid of the kind '{self.kind}'.", "Say torus or hyperx.")
        if self.cards_each < 1 or self.link_bytes_per_s <= 0 or self.card_bytes_per_s < 0 or self.hop_ns < 0:
            raise BadInput("A grid has cards_each and link_bytes_per_s above zero.", "Correct the sizes.")

    @property
    def places(self) -> int:
        """How many places the grid has."""
        return prod(self.dims)

    @property
    def cards(self) -> int:
        """How many cards there are."""
        return self.places * self.cards_each

    @property
    def apart(self) -> bool:
        """Whether the cards hang on a switch of their place by a link of their own."""
        return self.cards_each > 1 or self.card_bytes_per_s > 0

    @property
    def links_each(self) -> tuple[int, ...]:
        """The links that a place has for each axis: to its neighbours, or to and from the line's switch."""
        return tuple(min(length - 1, 2) if self.kind == "torus" else 2 for length in self.dims)

    @cached_property
    def network(self) -> Network:
        """The links of each place, axis by axis, then those of the cards, if they have some."""
        places = self.places
        base = self.cards if self.apart else 0  # the vertex of the first place
        at = np.arange(places)
        coords = np.stack(np.unravel_index(at, self.dims), 1)
        wired: list[tuple[Ints, Ints]] = []
        switches = base + places
        for axis, (length, links) in enumerate(zip(self.dims, self.links_each, strict=True)):
            if self.kind == "torus":
                for step in (1, -1)[:links]:
                    other = coords.copy()
                    other[:, axis] = (other[:, axis] + step) % length
                    wired.append((base + at, base + np.ravel_multi_index(tuple(other.T), self.dims)))
            else:
                line = switches + _line(at, self.dims, axis)
                switches += places // length
                wired += [(base + at, line), (line, base + at)]
        tails, heads = (np.stack(side, 1).reshape(-1) for side in zip(*wired, strict=True))
        rate = np.full(tails.size, float(self.link_bytes_per_s))
        if self.apart:
            card = np.arange(self.cards)
            place = base + card // self.cards_each
            ends = np.stack((card, place), 1).reshape(-1), np.stack((place, card), 1).reshape(-1)
            tails, heads = np.concatenate((tails, ends[0])), np.concatenate((heads, ends[1]))
            card_rate = self.card_bytes_per_s or self.link_bytes_per_s
            rate = np.concatenate((rate, np.full(2 * self.cards, float(card_rate))))
        lag = np.full(rate.size, float(self.hop_ns))
        return Network(self.cards, switches, tails, heads, rate, lag, self._name)

    def _name(self, vertex: int) -> str:
        if self.apart and vertex < self.cards:
            return f"card {vertex}"
        place = vertex - (self.cards if self.apart else 0)
        if place < self.places:
            coords = ",".join(str(int(c)) for c in np.unravel_index(place, self.dims))
            return f"{'place' if self.apart else 'card'} ({coords})"
        line = place - self.places
        axis = 0
        while line >= self.places // self.dims[axis]:
            line -= self.places // self.dims[axis]
            axis += 1
        return f"switch {line} of axis {axis}"

    def route(
        self, source: Ints, target: Ints, salt: int = 0, failed: Flags = NO_LINKS, spread: bool = False
    ) -> Routes:
        """The links of each flow from card to card, axis by axis (dimension order).

        Halfway around a ring is as far one way as the other: there, odd and even places go opposite ways, so
        that traffic between all balances. With `spread`, as an idealisation of adaptive routing, a flow is
        split evenly over all orders of the axes (of more than three: all rotations) and, halfway around, over
        both ways. A path that meets a failed link is replaced: by the shortest that is left. `salt` changes
        nothing here.
        """
        del salt
        net = self.network
        dims = np.array(self.dims)
        axes = tuple(range(len(self.dims)))
        orders = [axes]
        if spread:
            orders = [(*axes[at:], *axes[:at]) for at in axes] if len(axes) > 3 else list(permutations(axes))
        halfway = self.kind == "torus" and any(length % 2 == 0 for length in self.dims if length > 2)
        ties = (0, 1) if spread and halfway else (-1,)
        parts = [(*order, *(tie,) * len(axes)) for order, tie in product(orders, ties)]
        shape = dims, np.cumsum((0, *self.links_each)), np.array(parts)
        first, link, share = _walk(source, target, *shape, self.kind == "torus", self.cards_each, self.apart)
        routes = Routes(first, link, share, np.zeros(source.size, np.bool_))
        return with_detours(net, routes, source, target, failed) if failed.any() else routes

    def distances(self) -> tuple[Ints, Floats]:
        """Hops between two different cards, and the share of ordered pairs of cards that far apart.

        A hop is a switch passed, or for a torus of cards a wire: both (hops,). The sum over axes of what each
        contributes, so the convolution of their distributions.
        """
        counts = np.ones(1)
        for length in self.dims:
            step = np.arange(length)
            far = np.minimum(step, length - step) if self.kind == "torus" else np.minimum(step, 1)
            counts = np.convolve(counts, np.bincount(far))
        counts[0] -= 1 / self.cards_each  # of the places at distance 0, a card is not its own partner
        hops = np.arange(counts.size) + (1 if self.apart and self.kind == "torus" else 0)
        if self.apart and self.kind == "hyperx":
            hops = 2 * hops + 1  # the switch of the place, then the line's and the next place's for each axis
        seen = counts > 1e-12
        return hops[seen], counts[seen] / counts.sum()

    def bisection_bytes_per_s(self) -> float:
        """What crosses the middle one way, at the least over the axes.

        Torus: two wires for each line across the cut, whatever the length: 2 N / k of the longest axis k; one
        on an axis of 2. HyperX: a switch on every line carries half of its places' links.
        """
        cuts = []
        for length, links in zip(self.dims, self.links_each, strict=True):
            if length == 1:
                continue
            lines = self.places // length
            each = links if self.kind == "torus" else length // 2
            cuts.append(lines * each * self.link_bytes_per_s)
        return min(cuts)


def _line(at: Ints, dims: tuple[int, ...], axis: int) -> Ints:
    """Which line along an axis a place is on: its number without that axis."""
    inner = prod(dims[axis + 1 :])
    line: Ints = at // (inner * dims[axis]) * inner + at % inner
    return line


@njit(cache=True)
def _walk(
    source: Ints, target: Ints, dims: Ints, starts: Ints, parts: Ints, torus: bool, each: int, apart: bool
) -> tuple[Ints, Ints, Floats]:  # fmt: skip
    """The links of all flows. Those of a place begin with `starts[axis]` for an axis and are `starts[-1]`.

    A row of `parts` is an order of the axes, then for each axis which way to go halfway around: 0 up, 1 down,
    -1 by the parity of the place.
    """
    axes = dims.size
    stride = np.ones(axes, np.int64)
    for axis in range(axes - 2, -1, -1):
        stride[axis] = stride[axis + 1] * dims[axis + 1]
    cards_link = starts[-1] * stride[0] * dims[0]
    first = _count(source, target, dims, stride, parts.shape[0], torus, each, apart)
    link, share = np.empty(first[-1], np.int64), np.full(first[-1], 1.0 / parts.shape[0])
    for flow in range(source.size):
        at = first[flow]
        if at == first[flow + 1]:
            continue
        if apart:
            link[at], link[at + 1] = cards_link + 2 * source[flow], cards_link + 2 * target[flow] + 1
            share[at] = share[at + 1] = 1.0
            at += 2
        for row in range(parts.shape[0]):
            place, goal = source[flow] // each, target[flow] // each
            for turn in range(axes):
                axis = parts[row, turn]
                here, there = place // stride[axis] % dims[axis], goal // stride[axis] % dims[axis]
                if torus:
                    down = _is_down(here, there, dims[axis], parts[row, axes + axis])
                    while here != there:
                        link[at] = starts[-1] * place + starts[axis] + down
                        at += 1
                        after = (here - 1 if down else here + 1) % dims[axis]
                        place += (after - here) * stride[axis]
                        here = after
                elif here != there:
                    link[at] = starts[-1] * place + starts[axis]
                    place += (there - here) * stride[axis]
                    link[at + 1] = starts[-1] * place + starts[axis] + 1
                    at += 2
    return first, link, share


@njit(cache=True)
def _count(
    source: Ints, target: Ints, dims: Ints, stride: Ints, ways: int, torus: bool, each: int, apart: bool
) -> Ints:  # fmt: skip
    """Where the links of each flow begin, of `ways` paths that are as long."""
    first = np.zeros(source.size + 1, np.int64)
    for flow in range(source.size):
        hops = 0
        for axis in range(dims.size):
            ahead = (target[flow] // each // stride[axis] - source[flow] // each // stride[axis]) % dims[axis]
            hops += min(ahead, dims[axis] - ahead) if torus else 2 * min(ahead, 1)
        ends = 2 if apart and source[flow] != target[flow] else 0
        first[flow + 1] = first[flow] + ways * hops + ends
    return first


@njit(cache=True)
def _is_down(here: int, there: int, length: int, halfway: int) -> bool:
    """Whether the shorter way around leads down; on an axis of 2, where there is one wire, it never does."""
    ahead = (there - here) % length
    if 2 * ahead != length or length == 2:
        return bool(2 * ahead > length)
    return bool(halfway == 1 or (halfway == -1 and here % 2 == 1))
