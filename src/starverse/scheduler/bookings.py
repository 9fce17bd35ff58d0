"""What is booked: the cards, the times, and the claims that keep everybody else away from them."""

from bisect import bisect_right

import numpy as np

from starverse.model.reservation import Reservation, Window
from starverse.scheduler import kernels as k
from starverse.scheduler.kernels import Ints
from starverse.scheduler.line import Request
from starverse.scheduler.lot import Lot
from starverse.scheduler.space import Space

EXACT = 8
"""So many of its next windows are claimed each by itself, all after them as one stretch: every look at a node
passes its claims, and a booking may have a thousand windows."""


class Booking:
    """A booking that is not over, mutable, owned by the state; its claims are numbered below 0."""

    __slots__ = ("lot", "number", "reservation", "space", "windows")

    def __init__(
        self, reservation: Reservation, number: int, space: Space, lot: Lot, windows: tuple[Window, ...]
    ) -> None:
        self.reservation = reservation
        self.number = number
        self.space = space
        self.lot = lot
        self.windows = windows

    def window(self, now_ms: int) -> Window | None:
        """The window that is open, or else the next; None when all are over."""
        at = bisect_right(self.windows, now_ms, key=lambda window: window[1])
        return self.windows[at] if at < len(self.windows) else None

    def next_ms(self, now_ms: int) -> int:
        """When a window begins or ends next; the end of the last when all are over."""
        window = self.window(now_ms)
        if window is None:
            return self.windows[-1][1]
        return window[0] if window[0] > now_ms else window[1]

    def claim(self, now_ms: int) -> None:
        """Claim the windows that are not over, in place of what was claimed before."""
        self.space.forget(self.lot, -self.number)
        at = bisect_right(self.windows, now_ms, key=lambda window: window[1])
        for from_ms, to_ms in self.windows[at : at + EXACT]:
            self.space.claim(self.lot, from_ms, to_ms, -self.number)
        rest = self.windows[at + EXACT :]
        if rest:
            self.space.claim(self.lot, rest[0][0], rest[-1][1], -self.number)

    def meets(self, froms: Ints, tos: Ints) -> bool:
        """Whether a window of it overlaps one of these, which stand in order."""
        mine = np.array(self.windows, np.int64)
        at = np.searchsorted(tos, mine[:, 0], side="right")
        is_before = froms[np.minimum(at, froms.size - 1)] < mine[:, 1]
        return bool((is_before & (at < tos.size)).any())

    def room(self, request: Request, now_ms: int, least_ms: int) -> Ints:
        """How many members each node can take now inside of it: none unless it is open for so long yet."""
        space, lot = self.space, self.lot
        room = np.zeros(space.size, np.int64)
        window = self.window(now_ms)
        if window is None or not window[0] <= now_ms < window[1] - least_ms:
            return room
        members = np.bitwise_count(self._free(request, lot.nodes) & lot.masks).astype(np.int64)
        members //= request.member
        for resource, amount in enumerate(request.need):
            if amount:
                members = np.minimum(members, space.stock[resource, lot.nodes] // amount)
        if request.part:  # none is broken while one that is shared has so much left
            is_shared = self._free(request, lot.nodes) & ~space.node[k.FREE, lot.nodes] & lot.masks != 0
            members = np.minimum(members, is_shared if (is_shared & (members > 0)).any() else 1)
        room[lot.nodes] = members
        return room

    def _free(self, request: Request, nodes: Ints) -> Ints:
        """The free cards of nodes, and for a part of one those that have so much left."""
        node, card = self.space.node, self.space.card
        free: Ints = node[k.FREE, nodes]
        if request.part:
            left = card[k.LEFT, nodes] >= request.part
            there = np.where(node[k.OPEN, nodes] != 0, node[k.HEALTHY, nodes], 0)
            free |= (left << np.arange(card.shape[2])).sum(axis=1) & there
        return free

    def pick(self, request: Request, nodes: Ints, members: Ints) -> Lot:
        """The cards for so many members on each of these nodes; for a part, one that is shared already."""
        masks = dict(zip(self.lot.nodes.tolist(), self.lot.masks.tolist(), strict=True))
        free = self._free(request, nodes)
        if request.part:
            shared = free & ~self.space.node[k.FREE, nodes]
            free = np.where(shared & masks[nodes.item()], shared, free)
        rows = zip(nodes.tolist(), free.tolist(), (members * request.member).tolist(), strict=True)
        picked = [lowest(masks[row] & mask, count) for row, mask, count in rows]
        return Lot(nodes, np.array(picked, np.int64), request.part)


def lowest(mask: int, count: int) -> int:
    """So many of the lowest bits that are set."""
    picked = 0
    for _ in range(count):
        bit = mask & -mask
        picked |= bit
        mask ^= bit
    return picked
