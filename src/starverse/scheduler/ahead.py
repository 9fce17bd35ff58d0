"""When each card is free for good, worked out when somebody asks and kept up to date from claim to claim."""

import numpy as np
from numba import njit

from starverse.scheduler.kernels import ENDS, HEALTHY, MASK, NEVER, OPEN, TO, USED, WHOSE, Ints
from starverse.scheduler.lot import Lot


class Ahead:
    """`busy(...)[n, c]` is the moment from which a card is free for good, as far as is known: the runs are
    minded, and the promises to those numbered below some number. Mutable, owned by the space.

    What it says of a node with reservations is of no use: there is a gap before them. Promises are made in
    the order of their numbers mostly, so each look adds the claims of those between.
    """

    def __init__(self) -> None:
        self._busy: Ints | None = None
        self._below = 0

    def busy(self, node: Ints, card: Ints, slot: Ints, size: int, below: int) -> Ints:
        """The moments for one who minds those numbered `below`."""
        if self._busy is None or below < self._below:
            self._busy = np.empty((size, card.shape[2]), np.int64)
            _by_runs(node, card, self._busy)
            self._below = 0
        if below > self._below:
            _by_claims(slot, self._below, below, self._busy)
            self._below = below
        return self._busy

    def claimed(self, lot: Lot, to_ms: int, whose: int) -> None:
        """A claim was made."""
        if self._busy is not None and whose < self._below:
            _by_claim(lot.nodes, lot.masks, to_ms, self._busy)

    def unclaimed(self, whose: int) -> None:
        """A claim was let go of."""
        if whose < self._below:
            self._busy = None

    def forget(self) -> None:
        """Something else changed."""
        self._busy = None


@njit(cache=True)
def _by_runs(node: Ints, card: Ints, busy: Ints) -> None:
    for n in range(busy.shape[0]):
        takes = node[HEALTHY, n] if node[OPEN, n] else 0
        used = node[USED, n]
        for c in range(busy.shape[1]):
            if takes >> c & 1:
                busy[n, c] = card[ENDS, n, c] if used >> c & 1 else 0
            else:
                busy[n, c] = NEVER


@njit(cache=True)
def _by_claims(slot: Ints, least: int, below: int, busy: Ints) -> None:
    """Add the claims of those numbered from `least` to `below`."""
    for n in range(busy.shape[0]):
        for k in range(slot.shape[2]):
            whose = slot[WHOSE, n, k]
            if not whose:
                break
            if least <= whose < below:
                _until(busy, n, slot[MASK, n, k], slot[TO, n, k])


@njit(cache=True)
def _by_claim(nodes: Ints, masks: Ints, to_ms: int, busy: Ints) -> None:
    for i in range(nodes.size):
        _until(busy, nodes[i], masks[i], to_ms)


@njit(cache=True)
def _until(busy: Ints, n: int, mask: int, to_ms: int) -> None:
    c = 0
    while mask >> c:
        if mask >> c & 1 and busy[n, c] < to_ms:
            busy[n, c] = to_ms
        c += 1
