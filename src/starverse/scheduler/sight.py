"""The cluster as one request sees it now: the cards it could have, and who has the others."""

import numpy as np
from msgspec.structs import replace

from starverse.scheduler import kernels as k
from starverse.scheduler import parts
from starverse.scheduler.calendar import place
from starverse.scheduler.kernels import Ints
from starverse.scheduler.line import Request
from starverse.scheduler.space import NOTHING_ELSE, Space
from starverse.scheduler.view import Promise

_RESERVED = 1
"""Claims numbered below this are reservations."""


class Sight:
    """What one request could have now, on copies of the space: its own claim is laid aside there."""

    def __init__(self, space: Space, request: Request, now_ms: int, own: Promise | None) -> None:
        self.space = space
        self.request = request
        self.now_ms = now_ms
        self.node, self.card, self.slot = space.node, space.card, space.slot
        if own and own.lot:
            self.node, self.card, self.slot = space.node.copy(), space.card.copy(), space.slot.copy()
            k.unclaim(self.node, self.card, self.slot, own.lot.nodes, own.whose)

    def room(self, request: Request, below: int | None = None) -> Ints:
        """How many members of a request each row could take now, minding those numbered `below`."""
        space = self.space
        room = np.zeros(space.size, np.int64)
        need = np.array(request.need, np.int64) if request.need else NOTHING_ELSE
        until_ms = self.now_ms + request.length_ms
        args = self.node, self.card, self.slot, space.stock, need, space.size
        span = until_ms, request.below if below is None else below
        if request.shares:
            parts.room(*args, request.part, *span, room)
        else:
            k.room(*args, request.member, *span, room)
        return room

    def fits(self, request: Request | None = None) -> bool:
        """Whether it could start now."""
        request = request or self.request
        room = self.room(request)
        return bool(room.sum() >= request.least and place(self.space, room, request.least, request))

    def cards(self, below: int | None = None) -> int:
        """The free cards that nobody who is minded needs before it would be over."""
        return int(self.room(replace(self.request, member=1, need=(), part=0), below).sum())

    def most_left(self) -> int:
        """The most milli-cards of one card that it could have now."""
        until_ms = self.now_ms + self.request.length_ms
        args = self.node, self.card, self.slot, self.space.size, until_ms, self.request.below
        return int(parts.most_left(*args))

    def kept(self) -> tuple[int, int]:
        """The free cards that are kept for promised starts, and those that are reserved."""
        reserved = self.free() - self.cards(_RESERVED)
        return self.free() - self.cards() - reserved, reserved

    def free(self) -> int:
        """All free cards on open nodes."""
        return int(self.node[k.COUNT, : self.space.size].sum())

    def claimed_in_ms(self, is_reserved: bool) -> int:
        """How long until the first of the claims on free cards that stand in its way begins; 0 if it has."""
        size = self.space.size
        slot = self.slot[:, :size]
        whose = slot[k.WHOSE]
        minded = whose < 0 if is_reserved else (whose > 0) & (whose < self.request.below)
        on_free = slot[k.MASK] & self.node[k.FREE, :size, np.newaxis] != 0
        until_ms = self.now_ms + self.request.length_ms
        begins = slot[k.FROM][minded & on_free & (slot[k.FROM] < until_ms)]
        return max(int(begins.min(initial=until_ms)) - self.now_ms, 0)

    def closed(self) -> list[tuple[str, int]]:
        """The nodes that take no runs now, row by row, with the healthy cards there that nobody has."""
        node = self.node[:, : self.space.size]
        rows = np.flatnonzero(node[k.OPEN] == 0)
        idle = np.bitwise_count(node[k.HEALTHY, rows] & ~node[k.USED, rows])
        names = self.space.names
        return [(names[row], int(cards)) for row, cards in zip(rows.tolist(), idle.tolist(), strict=True)]

    def at_best(self) -> int:
        """The cards that members could have on open nodes once all that runs there has ended."""
        node = self.node[:, : self.space.size]
        healthy = np.bitwise_count(np.where(node[k.OPEN] == 1, node[k.HEALTHY], 0)).astype(np.int64)
        return int((healthy // self.request.member).sum()) * self.request.member

    def moments(self) -> Ints:
        """When claims on free cards, or for a part on shared ones, begin, in order."""
        size = self.space.size
        free = (self.node[k.FREE, :size, np.newaxis] >> np.arange(self.card.shape[2])) & 1
        there = (free == 1) | ((self.card[k.LEFT, :size] > 0) & (self.request.part > 0))
        begins = self.card[k.CLAIMED, :size][there]
        return np.unique(begins[(begins > self.now_ms) & (begins < k.NEVER)])
