"""Who is promised which cards from when on: the claims of one decision, tried in the space and taken back."""

from heapq import heapify, heappop, heappush
from itertools import islice

import numpy as np

from starverse.model.events import Promised
from starverse.scheduler import kernels as k
from starverse.scheduler import later, parts
from starverse.scheduler.calendar import Slot, earliest, instead
from starverse.scheduler.kernels import Ints
from starverse.scheduler.line import Line, Request, whose
from starverse.scheduler.lot import Lot
from starverse.scheduler.owed import Turn
from starverse.scheduler.placement import ANYWHERE
from starverse.scheduler.space import Space
from starverse.scheduler.view import Promise, View


class Book:
    """The scratch space of one decision about one kind of card: what it takes, and what it promises.

    All it takes from the space or claims there is written down, and taken back at the end.
    """

    def __init__(self, view: View, kind: str, space: Space, line: Line, now_ms: int) -> None:
        self.view = view
        self.kind = kind
        self.space = space
        self.line = line
        self.now_ms = now_ms
        self.promises: dict[str, Promise] = {}
        self._jobs: dict[int, str] = {}
        """Whom these are for, by number."""
        self.first, self.last = int(k.NEVER), 0
        """The numbers of the first and the last that these are for."""
        self.settled: set[str] = set()
        """Jobs that started, or cannot pay: what was promised to them is void."""
        self.pushed: list[int] = []
        """The numbers of those whose promised cards are gone, or went to somebody who stands before them."""
        self._last: tuple[Lot, int] | None = None
        self._turns: list[Turn] = []
        self._hidden: list[tuple[int, int]] = []
        self._shared: dict[int, int] = {}
        self.undo: list[tuple[str, Lot, Promise | None]] = []
        """What was done to the space, to be taken back."""

    def promised(self) -> tuple[Promised, ...]:
        """What this decision promises."""
        shares = self.space.shares
        return tuple(
            Promised(promise.job, promise.at_ms, shares(promise.lot) if promise.lot else ())
            for promise in self.promises.values()
            if promise.job not in self.settled
        )

    def promise_next(self) -> None:
        """Promise a start to the next in line, until as many have one as shall, or all."""
        view, line = self.view, self.line
        left = view.depth - len(view.promises)
        while left > 0 and len(self.settled) < len(line.stands):
            turn = line.next_owed(view.shares, view.promises)
            if turn is None:
                break
            self._turns.append(turn)
            if turn.job in self.settled or turn.job in self.promises:
                continue
            request = line.requests[line.stands[turn.job].number]
            if view.limits.members(view.shares.names[turn.tenant], request) < request.least:
                line.owed.hide(turn.rank, turn.tenant)  # cards are kept for nobody who may not use them
                self._hidden.append((turn.rank, turn.tenant))
                continue
            left -= 1
            below = self._minded(request)
            if self.pushed and min(self.pushed) < below:  # it minds what they are promised instead
                self.promise_again()
                below = self._minded(request)
            self._promise(turn.job, below)
            if turn.job in self.promises and self.promises[turn.job].lot:
                self.share(turn.tenant, request.milli_cards)
        self.promise_again()

    def is_ready(self, promise: Promise) -> bool:
        """Whether all promised cards are free now, and nobody else's before the promise is over; of a card
        that a part is asked of, so much."""
        lot, space = promise.lot, self.space
        if lot is None:
            return False
        part = self.line.requests[self.line.stands[promise.job].number].part
        whose = promise.whose, promise.to_ms
        if part:  # others may have the rest of its card
            args = space.node, space.card, space.slot, lot.nodes, lot.masks, part
            return bool(parts.is_ready(*args, *whose))
        return bool(later.is_ready(space.node, space.slot, lot.nodes, lot.masks, *whose))

    def touched(self, loosened: Ints | None) -> list[Promise]:
        """The promises on these nodes of which all cards there are free, and all to jobs that want a part of
        a card: what they were promised is in nobody's way but their own, so they may start beside others
        whenever a limit lets them."""
        promises = self.view.promises
        if not promises:
            return []
        if loosened is None:
            return [promise for promise in promises.values() if promise.kind == self.kind]
        found = np.empty(len(promises), np.int64)
        count = later.awaiting(self.space.node, self.space.slot, loosened, found)
        touched = [promises[self.view.promised[number]] for number in found[:count].tolist()]
        sharing = [promises[job] for job in self.line.parts if job in promises]
        return list({promise.job: promise for promise in (*touched, *sharing)}.values())

    def in_order(self, count: int) -> list[Promise]:
        """The first so many that wait with a promise, by rank and order, settled ones left out."""
        held = self.view.order.get(self.kind, ())[: count + len(self.settled)]
        numbers = sorted({*held, *(promise.whose for promise in self.promises.values())})
        promises = map(self.promised_as, numbers)
        return list(islice((promise for promise in promises if promise.job not in self.settled), count))

    def keep(self, promise: Promise, request: Request, slot: Slot) -> None:
        """Promise other cards to a job than those it was dropped from; who stands behind it moves aside."""
        self.claim(promise.job, promise.whose, request, slot)
        until_ms = slot.at_ms + request.length_ms
        others = self.behind(slot.lot, slot.at_ms, until_ms, request.below)
        self.pushed += [number for number in others if number != promise.whose]
        self.promise_again()

    def _promise(self, job: str, below: int) -> None:
        """Promise a job the earliest start, minding those numbered `below`; the others move aside."""
        stand = self.line.stands[job]
        request = self.line.requests[stand.number]
        self.settle()
        slot = self.earliest(job, request, below)
        known = self.view.promises.get(job)
        if slot is None and known and known.lot is None and job not in self.promises:
            return  # it knows
        self.claim(job, whose(request, stand.order), request, slot)
        if slot and below != k.NEVER:
            for number in self.behind(slot.lot, slot.at_ms, slot.at_ms + request.length_ms, below):
                if number != whose(request, stand.order):
                    heappush(self.pushed, number)

    def earliest(self, job: str, request: Request, below: int) -> Slot | None:
        """The earliest start, by cards, and by all limits where that is now: None while one is in the way."""
        limits = self.view.limits
        if limits.members(self.view.jobs[job].spec.tenant, request) < request.least:
            return None
        slot = earliest(self.space, request, self.now_ms, below)
        if slot and slot.at_ms <= self.now_ms and not self.allows(job, request, slot.lot):
            return None
        return slot

    def allows(self, job: str, request: Request, lot: Lot) -> bool:
        """Whether the limits allow a job these very cards now."""
        limits = self.view.limits
        if not limits.binds(request):
            return True
        tenant = self.view.jobs[job].spec.tenant
        may = limits.members(tenant, request) >= request.least
        return may and limits.allows(self.space, tenant, request, lot)

    def _minded(self, request: Request) -> int:
        """Whose claims a new promise minds: all, where nobody has one whom it stands before by rank."""
        last = self._last_promised
        if last < request.below:
            return int(k.NEVER)
        promised = self.view.order.get(self.kind)
        first = min(promised[0] if promised else last, self.first)
        return request.below if first < request.below else 0

    @property
    def _last_promised(self) -> int:
        """The number of the last that has a promise, 0 without one."""
        promised = self.view.order.get(self.kind)
        return max(promised[-1], self.last) if promised else self.last

    def behind(self, lot: Lot, from_ms: int, to_ms: int, below: int) -> list[int]:
        """Whose promises on these cards in that time are not minded, in order."""
        if self._last_promised < below:
            return []
        found = np.empty(len(self.view.promises) + len(self.promises), np.int64)
        count = later.claimants(self.space.slot, lot.nodes, lot.masks, from_ms, to_ms, found)
        return sorted(number for number in found[:count].tolist() if number >= below)

    def promised_as(self, number: int) -> Promise:
        """What the claimant of a number is promised, in this decision or before."""
        job = self._jobs.get(number) or self.view.promised[number]
        return self.promises.get(job) or self.view.promises[job]

    def claim(self, job: str, number: int, request: Request, slot: Slot | None) -> None:
        """Promise a job this slot, or (None) no start, and claim it in the space."""
        self._jobs[number] = job
        if slot is None:
            self.promises[job] = Promise(job, self.kind, number, 0, 0, None)
            return
        to_ms = slot.at_ms + request.length_ms
        promise = Promise(job, self.kind, number, slot.at_ms, to_ms, slot.lot)
        self.space.claim(slot.lot, slot.at_ms, to_ms, number)
        self.undo.append(("claim", slot.lot, promise))
        self.promises[job] = promise
        self.first, self.last = min(self.first, number), max(self.last, number)

    def drop(self, promise: Promise) -> int:
        """Let go of a promise's claim for the time of this decision; returns the mark to take it back to."""
        self.settle()
        mark = len(self.undo)
        if promise.lot:
            self.space.forget(promise.lot, promise.whose)
            self.undo.append(("drop", promise.lot, promise))
        return mark

    def promise_again(self) -> None:
        """Promise anew what cannot be kept: cards are gone, or went to somebody who stands before.

        In order, each before those behind it: so everybody is looked at once.
        """
        heapify(self.pushed)
        while self.pushed:
            number = heappop(self.pushed)
            promise = self.promised_as(number)
            if promise.job in self.settled or (self.pushed and self.pushed[0] == number):
                continue
            self.drop(promise)
            if not self._exchange(promise):
                self._promise(promise.job, number)

    def _exchange(self, promise: Promise) -> bool:
        """Promise other cards for those that are gone, for the same time, if nobody has to move aside: else
        all behind it would have to."""
        request = self.line.requests[self.line.stands[promise.job].number]
        limits = self.view.limits
        if promise.lot is None or promise.at_ms <= self.now_ms or request.part:
            return False
        if request.rule != ANYWHERE or request.need or limits.binds(request):
            return False
        self.settle()
        slot = instead(self.space, request, Slot(promise.at_ms, promise.lot))
        if slot is None:
            return False
        self.claim(promise.job, promise.whose, request, slot)
        return True

    # -- undoing ------------------------------------------------------------------------------------------

    def share(self, tenant: int, milli_cards: int) -> None:
        """Count cards as a tenant's for the time of this decision, so that others come before it."""
        self.view.shares.add(tenant, milli_cards)
        self._shared[tenant] = self._shared.get(tenant, 0) + milli_cards

    def close(self) -> None:
        """Leave the view as it was."""
        self.take_back()
        for turn in self._turns:
            self.line.owed.add(*turn)
        for rank, tenant in self._hidden:
            self.line.owed.show(rank, tenant)
        for tenant, milli_cards in self._shared.items():
            self.view.shares.add(tenant, -milli_cards)

    @property
    def given(self) -> Lot | None:
        """What was given away last, if it is not taken yet."""
        return self._last[0] if self._last else None

    def settle(self) -> None:
        """Take what was given away last: needed only when something else is tried after it."""
        if self._last:
            lot, until_ms = self._last
            self.space.take(lot, until_ms)
            self.undo.append(("take", lot, None))
            self._last = None

    def take(self, lot: Lot, until_ms: int) -> None:
        """Give cards away until then."""
        self.settle()
        self._last = lot, until_ms

    def take_back(self, mark: int = 0) -> None:
        """Undo all that was tried, or what was since a mark."""
        space = self.space
        self._last = None
        while len(self.undo) > mark:
            what, lot, promise = self.undo.pop()
            if what == "take":
                space.undo(lot)
            elif promise and what == "claim":
                space.forget(lot, promise.whose)
            elif promise:
                space.claim(lot, promise.at_ms, promise.to_ms, promise.whose)
