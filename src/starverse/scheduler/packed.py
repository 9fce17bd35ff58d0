"""Where one member lies that shares a card, or needs something beside its cards, and which card it shares."""

import numpy as np
from numba import njit

from starverse.model.units import CARD
from starverse.scheduler import kernels as k
from starverse.scheduler import parts
from starverse.scheduler.calendar import place
from starverse.scheduler.kernels import FREE, HEALTHY, LEFT, OPEN, Ints
from starverse.scheduler.line import Request
from starverse.scheduler.lot import Lot
from starverse.scheduler.placement import Chosen, mix
from starverse.scheduler.placement.packing import Packer, Room
from starverse.scheduler.space import NOTHING_ELSE, Space


class Packing:
    """The rule of `placement/packing.py` over one space, mutable, kept from decision to decision.

    It holds a picture of what is free and the scores of nodes, and changes no choice: it looks at the space
    again each time, and a fresh one chooses the same.
    """

    def __init__(self, space: Space) -> None:
        self.size, self.cards = space.size, space.card.shape[2]
        self._free = np.full(self.size, -1, np.int64)
        card_free = np.zeros((self.size, self.cards), np.int64)
        cpu, memory = np.zeros((2, self.size), np.int64)
        self._room = Room(card_free, cpu, memory, space.topology.tree.leaf[: self.size].copy())
        self._packer = Packer(self._room, mix.NOTHING_KNOWN)

    def fits(self, space: Space) -> bool:
        """Whether it is a picture of this space still: not if that has grown."""
        return (self.size, self.cards) == (space.size, space.card.shape[2])

    def choose(self, space: Space, request: Request, room: Ints, expected: mix.Mix) -> tuple[int, int]:
        """The node, of those with room, for the one member of a request, and the card it is to have a part of
        (-1 where it has none, or whole ones). Takes nothing."""
        picture = self._room
        look(space.node, space.card, space.stock, self._free, *picture[:3], self._packer.version)
        self._packer.expect(expected)
        choice = self._packer.choose(_ask_of(request), room > 0)
        assert choice, "the picture shows no room where there is some"
        return choice.node, choice.cards[0] if request.part else parts.NOWHERE


class Packings:
    """The packings of one kind of card, made when one is needed; mutable, and part of what is proven."""

    def __init__(self) -> None:
        self._packing: Packing | None = None

    def seek(
        self, space: Space, request: Request, room: Ints, until_ms: int, expected: mix.Mix
    ) -> Chosen | None:
        """The node for the one member of a request, of those with room.

        What needs something beside its card, or a part of it, lies where least becomes unusable. A part that
        needs nothing else lies on the shared card with least left; where none has enough, a card is broken
        where a whole one would be taken.
        """
        if not room.any():
            return None
        if request.need:
            node, _ = self._of(space).choose(space, request, room, expected)
        else:
            order = space.topology.tree.leaf
            args = request.part, until_ms, request.below
            node = parts.shared(space.node, space.card, space.slot, order, room, *args)
            if node < 0:
                whole = np.empty(space.size, np.int64)
                arrays = space.node, space.card, space.slot, space.stock
                k.room(*arrays, NOTHING_ELSE, space.size, 1, until_ms, request.below, whole)
                return place(space, np.where(room > 0, whole, 0), 1, request)
        return Chosen(np.array((node,), np.int64), np.ones(1, np.int64))

    def lot(self, space: Space, request: Request, node: int, until_ms: int, expected: mix.Mix) -> Lot:
        """The card for a part of one on a node that has room for it: the one that the rule chose, or, where
        somebody has a claim on that, the one with least left; no card for a member without any."""
        nodes = np.array((node,), np.int64)
        if not request.part:
            return Lot(nodes, np.zeros(1, np.int64))
        card = parts.NOWHERE
        if request.need:
            only = np.zeros(space.size, np.int64)
            only[node] = 1
            _, card = self._of(space).choose(space, request, only, expected)
        span = until_ms, request.below
        if card < 0 or not k.is_unclaimed(space.card, space.slot, node, card, *span):
            card = parts.tightest(space.node, space.card, space.slot, node, request.part, *span)
        return Lot(nodes, np.array((1 << card,), np.int64), request.part)

    def _of(self, space: Space) -> Packing:
        if self._packing is None or not self._packing.fits(space):
            self._packing = Packing(space)
        return self._packing


def _ask_of(request: Request) -> mix.Request:
    """A class of request in the words of the packing rule."""
    cpu, memory = (*request.need, 0, 0)[:2]
    if request.part:
        return mix.Request(1, request.part, cpu, memory)
    return mix.Request(request.member, CARD if request.member else 0, cpu, memory)


@njit(cache=True)
def look(
    node: Ints, card: Ints, stock: Ints, seen: Ints, card_free: Ints, cpu: Ints, memory: Ints, version: Ints
) -> None:
    """Bring a picture up to date, and count a version up for each node that looks different."""
    for n in range(seen.size):
        free = node[FREE, n]
        differs = free != seen[n] or stock[0, n] != cpu[n] or stock[1, n] != memory[n]
        takes = node[HEALTHY, n] & ~free if node[OPEN, n] else 0
        for c in range(card_free.shape[1]):
            there = CARD if free >> c & 1 else card[LEFT, n, c] if takes >> c & 1 else 0
            if there != card_free[n, c]:
                card_free[n, c] = there
                differs = True
        if differs:
            seen[n], cpu[n], memory[n] = free, stock[0, n], stock[1, n]
            version[n] += 1
