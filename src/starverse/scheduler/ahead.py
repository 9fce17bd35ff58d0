"""When each card is free for good: worked out when somebody asks, and kept up to date from there."""

import numpy as np
from numba import njit

from starverse.scheduler.kernels import ENDS, HEALTHY, MASK, NEVER, OPEN, TO, USED, WHOSE, Ints
from starverse.scheduler.lot import Lot

_MINDS_ALL = int(NEVER)


class Ahead:
    """`busy(...)[n, c]` is the moment from which a card is free for good, as far as is known: the runs are
    minded, and the promises to those numbered below some number. Mutable, owned by the space.

    What it says of a node with reservations is of no use: there is a gap before them. Who minds all promises
    asks again and again while little has changed; promises that mind some are made in the order of their
    numbers mostly, so that each look adds the claims of those between. Each of the two has moments of its
    own.
    """

    def __init__(self) -> None:
        self._all = _Moments()
        self._some = _Moments()

    def busy(self, node: Ints, card: Ints, slot: Ints, size: int, below: int) -> Ints:
        """The moments for one who minds those numbered `below`."""
        return (self._all if below == _MINDS_ALL else self._some).busy(node, card, slot, size, below)

    def claimed(self, lot: Lot, to_ms: int, whose: int) -> None:
        """A claim was made."""
        self._all.claimed(lot, to_ms, whose)
        self._some.claimed(lot, to_ms, whose)

    def unclaimed(self, nodes: Ints, whose: int) -> None:
        """A claim on these nodes was let go of."""
        for moments in (self._all, self._some):
            if whose < moments.below:
                moments.forget(nodes)

    def forget(self, nodes: Ints) -> None:
        """Something else changed on these nodes."""
        self._all.forget(nodes)
        self._some.forget(nodes)

    def reset(self) -> None:
        """A node came, or is another than it was."""
        self._all.reset()
        self._some.reset()


class _Moments:
    """The moments for those who mind claims numbered `below`, and which nodes have changed since."""

    def __init__(self) -> None:
        self.below = 0
        self._busy: Ints | None = None
        self._changed: list[Ints] = []
        self._count = 0

    def busy(self, node: Ints, card: Ints, slot: Ints, size: int, below: int) -> Ints:
        """As in `Ahead`."""
        if self._busy is None or below < self.below:
            self._busy = np.empty((size, card.shape[2]), np.int64)
            _by_runs(node, card, self._busy)
            self.below = 0
        elif self._changed:
            nodes = self._changed[0] if len(self._changed) == 1 else np.concatenate(self._changed)
            _anew(node, card, slot, nodes, self.below, self._busy)
        self._changed.clear()
        self._count = 0
        if below > self.below:
            _by_claims(slot, self.below, below, self._busy)
            self.below = below
        return self._busy

    def claimed(self, lot: Lot, to_ms: int, whose: int) -> None:
        """A claim was made."""
        if self._busy is not None and whose < self.below:
            _by_claim(lot.nodes, lot.masks, to_ms, self._busy)

    def forget(self, nodes: Ints) -> None:
        """Something else changed on these nodes."""
        if self._busy is None:
            return
        self._changed.append(nodes)
        self._count += nodes.size
        if self._count > len(self._busy):  # by then all anew is less to do
            self.reset()

    def reset(self) -> None:
        """A node came, or is another than it was."""
        self._busy = None
        self._changed.clear()
        self._count = 0


@njit(cache=True)
def _by_runs(node: Ints, card: Ints, busy: Ints) -> None:
    for n in range(busy.shape[0]):
        _of_runs(node, card, n, busy)


@njit(cache=True)
def _anew(node: Ints, card: Ints, slot: Ints, nodes: Ints, below: int, busy: Ints) -> None:
    """Work out these nodes once more, the claims of those numbered `below` minded."""
    for n in nodes:
        _of_runs(node, card, n, busy)
        _of_claims(slot, n, 0, below, busy)


@njit(cache=True)
def _by_claims(slot: Ints, least: int, below: int, busy: Ints) -> None:
    """Add the claims of those numbered from `least` to `below`."""
    for n in range(busy.shape[0]):
        _of_claims(slot, n, least, below, busy)


@njit(cache=True)
def _by_claim(nodes: Ints, masks: Ints, to_ms: int, busy: Ints) -> None:
    for i in range(nodes.size):
        _until(busy, nodes[i], masks[i], to_ms)


@njit(cache=True)
def _of_runs(node: Ints, card: Ints, n: int, busy: Ints) -> None:
    takes = node[HEALTHY, n] if node[OPEN, n] else 0
    used = node[USED, n]
    for c in range(busy.shape[1]):
        if takes >> c & 1:
            busy[n, c] = card[ENDS, n, c] if used >> c & 1 else 0
        else:
            busy[n, c] = NEVER


@njit(cache=True)
def _of_claims(slot: Ints, n: int, least: int, below: int, busy: Ints) -> None:
    for k in range(slot.shape[2]):
        whose = slot[WHOSE, n, k]
        if not whose:
            break
        if least <= whose < below:
            _until(busy, n, slot[MASK, n, k], slot[TO, n, k])


@njit(cache=True)
def _until(busy: Ints, n: int, mask: int, to_ms: int) -> None:
    c = 0
    while mask >> c:
        if mask >> c & 1 and busy[n, c] < to_ms:
            busy[n, c] = to_ms
        c += 1
