"""The first in line has what came free early, if nobody behind it has to start later for that."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from starverse.scheduler import later
from starverse.scheduler.book import Book
from starverse.scheduler.calendar import Slot
from starverse.scheduler.kernels import ENDS, HEALTHY, NEVER, OPEN, USED, Ints
from starverse.scheduler.line import Request
from starverse.scheduler.lot import Lot
from starverse.scheduler.space import Space
from starverse.scheduler.view import Promise

Bools = NDArray[np.bool_]


class Reach(NamedTuple):
    """What matters for a try: the nodes that could take a `member` by `until_ms` if no promise stood in the
    way; and, where somebody else would lack so many of its members at its own start (`lack` is not 0), what
    the other nodes could take of these by then."""

    member: int
    until_ms: int
    theirs: int = 1
    theirs_ms: int = 0
    lack: int = 0
    to_ms: int = int(NEVER)
    """When somebody else's run would be over: then nobody is in the way."""


class Still(NamedTuple):
    """That the first in line has to wait for its promised start: it is plain until `next_ms`, as long as
    nothing changed that matters, be it before or after the change."""

    whose: int
    at_ms: int
    mark: int
    grown: tuple[int, int]
    next_ms: int
    soon: Bools
    """Which nodes could take a member in time."""
    reach: Reach

    def after(self, first: Promise, space: Space, given: Lot | None, now_ms: int) -> "Still | None":
        """The same after what changed meanwhile, and with the cards that are given away just now; None where
        it is not plain any more."""
        told = first.whose, first.at_ms, (space.grown, space.shrunk)
        if told != (self.whose, self.at_ms, self.grown) or now_ms >= self.next_ms:
            return None
        lots = space.changed_since(self.mark)
        if lots is None or (given and self.soon[given.nodes].any()):
            return None
        if not lots:
            return self
        reach = self.reach
        gains = [_gain(space.node, space.card, self.soon, *reach[:4], lot.nodes) for lot in lots]
        if min(gains) < 0:
            return None
        if not reach.lack:
            return self._replace(mark=space.mark)
        lack = reach.lack - sum(gains)
        return self._replace(mark=space.mark, reach=reach._replace(lack=lack)) if lack > 0 else None


def bring_forward(book: Book, still: Still | None) -> Still | None:
    """Try it, unless it is plain that it would be in vain; returns why it was, as far as that is known.

    Who comes next has the claims of those behind it before its eyes, so only the first can gain by this.
    """
    view, space = book.view, book.space
    order = view.order.get(book.kind)
    if not order:
        return None
    first = view.promises[view.promised[order[0]]]
    if first.lot is None or first.job in book.settled or first.job in book.promises:
        return None
    if still and view.promises.keys().isdisjoint(book.settled):  # who starts now is in nobody's way
        still = still.after(first, space, book.given, book.now_ms)
        if still:
            return still
    book.settle()
    request = _request(book, first)
    reach = _tried(book, request, first)
    if reach is None or view.limits.binds(request) or space.is_booked:
        return None
    soon = np.empty(space.size, np.bool_)
    next_ms = min(reach.to_ms, int(_soon(space.node, space.card, reach.member, reach.until_ms, soon)))
    return Still(first.whose, first.at_ms, space.mark, (space.grown, space.shrunk), next_ms, soon, reach)


def _tried(book: Book, request: Request, first: Promise) -> Reach | None:
    """What it depends on that it did not come forward; None where it did, or too much plays a part."""
    space = book.space
    plain = Reach(request.member, first.at_ms)
    if later.members_before(space.node, space.card, space.size, request.member, first.at_ms) < request.least:
        return plain
    slot = book.earliest(first.job, request, 0)
    if slot is None or slot.at_ms >= first.at_ms:
        return plain
    others = in_the_way(book, slot, request, first)
    if others:
        lack = lacks(book, others[0], slot, request, first)
        if lack > 0:
            theirs = _request(book, others[0]).member
            return Reach(request.member, slot.at_ms, theirs, others[0].at_ms, lack, others[0].to_ms)
    mark, promises = len(book.undo), dict(book.promises)
    book.drop(first)
    book.claim(first.job, first.whose, request, slot)
    if not others_keep(book, others):
        book.take_back(mark)
        book.promises = promises
    return None


def _request(book: Book, promise: Promise) -> Request:
    return book.line.requests[book.line.stands[promise.job].number]


def in_the_way(book: Book, slot: Slot, request: Request, first: Promise) -> list[Promise]:
    """Who else was promised some of these cards in that time, in order."""
    numbers = book.behind(slot.lot, slot.at_ms, slot.at_ms + request.length_ms, 0)
    promises = map(book.promised_as, numbers)
    return [each for each in promises if each.job != first.job and each.job not in book.settled]


def lacks(book: Book, other: Promise, slot: Slot, request: Request, first: Promise) -> int:
    """How many members one would plainly lack at its start, without trying, if the first had this slot; 0 or
    less if it may keep it. Claims are tried for each node, which is far more to do."""
    space = book.space
    if space.is_booked:
        return 0  # there may be a gap before a reservation, and none later
    theirs = _request(book, other)
    taken = np.zeros(space.size, np.int64)
    taken[slot.lot.nodes] = slot.lot.masks
    arrays = space.node, space.card, space.slot, space.busy(int(NEVER)), space.size
    numbers = first.whose, other.whose, taken, slot.at_ms + request.length_ms
    return theirs.least - int(later.members_instead(*arrays, theirs.member, other.at_ms, *numbers))


def others_keep(book: Book, others: list[Promise]) -> bool:
    """Promise others anew what they had on cards claimed now; whether none starts later for it."""
    for other in others:
        if other.job in book.promises:
            return False
        book.drop(other)
        theirs = _request(book, other)
        moved = book.earliest(other.job, theirs, int(NEVER))
        if moved is None or moved.at_ms > other.at_ms:
            return False
        book.claim(other.job, other.whose, theirs, moved)
    return True


@njit(cache=True)
def _could(node: Ints, card: Ints, n: int, until_ms: int) -> int:
    """How many cards a node could give by then if no promise stood in the way."""
    takes = node[HEALTHY, n] if node[OPEN, n] else 0
    count = 0
    for c in range(card.shape[2]):
        if takes >> c & 1 and (not node[USED, n] >> c & 1 or card[ENDS, n, c] <= until_ms):
            count += 1
    return count


@njit(cache=True)
def _soon(node: Ints, card: Ints, member: int, until_ms: int, soon: Bools) -> int:
    """Which nodes could take a member by then, into `soon`; returns when another one could, or more."""
    next_ms = int(NEVER)
    for n in range(soon.size):
        count = _could(node, card, n, until_ms)
        soon[n] = count >= member
        lacking = member - count % member
        last_ms = until_ms
        while lacking and last_ms < next_ms:  # the moments in order, as long as they are of interest
            at_ms = int(NEVER)
            for c in range(card.shape[2]):
                if node[USED, n] >> c & 1 and last_ms < card[ENDS, n, c] < at_ms:
                    at_ms = card[ENDS, n, c]
            for c in range(card.shape[2]):
                if lacking and node[USED, n] >> c & 1 and card[ENDS, n, c] == at_ms:
                    lacking -= 1
            last_ms = at_ms
        if last_ms > until_ms:
            next_ms = min(next_ms, last_ms)
    return next_ms


@njit(cache=True)
def _gain(
    node: Ints, card: Ints, soon: Bools, member: int, until_ms: int, theirs: int, theirs_ms: int, nodes: Ints
) -> int:
    """How many of somebody else's members these nodes could take; -1 if one could or can take a member."""
    gain = 0
    for n in nodes:
        if n >= soon.size or soon[n] or _could(node, card, n, until_ms) >= member:
            return -1
        gain += _could(node, card, n, theirs_ms) // theirs
    return gain
