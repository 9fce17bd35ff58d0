"""One decision about one kind of card: who starts now, and for whom cards are kept."""

from functools import partial
from heapq import heapify, heappop, heapreplace

import numpy as np

from starverse.money.meter import hold_for
from starverse.scheduler import kernels as k
from starverse.scheduler import parts
from starverse.scheduler.book import Book
from starverse.scheduler.calendar import place
from starverse.scheduler.forward import bring_forward
from starverse.scheduler.heads import Heads
from starverse.scheduler.kept import Kept
from starverse.scheduler.limits import Charge
from starverse.scheduler.line import Line, Request
from starverse.scheduler.lot import Lot
from starverse.scheduler.migrate import clear
from starverse.scheduler.moves import Moves
from starverse.scheduler.placement import Chosen
from starverse.scheduler.plan import NOTHING, Evict, Place, Plan, Proven, Unpaid
from starverse.scheduler.purse import Paid, Purse
from starverse.scheduler.repair import swap
from starverse.scheduler.room import make_room
from starverse.scheduler.space import NOTHING_ELSE, Space
from starverse.scheduler.view import Promise, View

_OWN = -1
"""Stands for the class of a candidate that starts on its own promised cards."""


class Cycle:
    """One decision about one kind of card: who starts, and for whom cards are kept (`book`)."""

    def __init__(
        self,
        view: View,
        kind: str,
        space: Space,
        line: Line,
        proven: Proven,
        purse: Purse,
        moves: Moves,
    ) -> None:
        self.view = view
        self.kind = kind
        self.space = space
        self.line = line
        self.proven = proven
        self.now_ms = now_ms = moves.now_ms
        self.book = Book(view, kind, space, line, now_ms)
        self.moves = moves
        self.places: list[Place] = []
        self.unpaid: list[Unpaid] = []
        self.evictions: list[Evict] = []
        self.purse = purse
        self.barred: set[tuple[int, int]] = set()
        """Classes, and tenants whose jobs of the class a limit keeps from starting now."""

    def run(self) -> Plan:
        """Decide; the space is the same afterwards."""
        book = self.book
        book.pushed += self._void()
        laid_aside = self._start_kept() if self.view.kept else ()
        heads = Heads(self.line, self.view.shares, book.settled, self.barred)
        self._start_candidates(heads, self._due(self._learn()))
        book.promise_again()
        self.proven.still = bring_forward(book, self.proven.still)
        book.promise_next()
        if self.view.yielding or self.view.elastic:
            self.evictions = make_room(
                self.view, self.kind, self.space, self.line, self.proven, book, self.moves, self.purse.pays
            )
        is_promised = book.promises or self.view.order.get(self.kind)
        if self.line.bound and is_promised and self.view.small.get(self.kind):
            clear(self.view, self.kind, self.space, self.line, book, self.moves, self.purse.pays)
        book.close()
        for kept in laid_aside:
            kept.claim()
        heads.put_back()
        if not (self.places or self.unpaid or book.promises):
            return NOTHING
        return Plan(tuple(self.places), tuple(self.unpaid), book.promised(), tuple(self.evictions))

    def run_alone(self) -> Plan:
        """Decide for the one job that waits, where nobody has a promise: the same, the short way."""
        (job, stand), *_ = self.line.stands.items()
        self.proven.fit(self.line)  # what came free since is learned when more wait: nobody asks before
        if not self._start(job, stand.number, stand.tenant) or self.barred:
            return self.run()
        self.book.close()
        return Plan(tuple(self.places), tuple(self.unpaid))

    def _learn(self) -> k.Ints | None:
        """Bring what was proven up to date; returns the nodes that could take more, None for any."""
        proven, space = self.proven, self.space
        loosened = space.loosened_since(proven.changes) if proven.changes else None
        proven.fit(self.line)
        if loosened is None:
            proven.lack[:] = 0
        elif loosened.size:
            count = len(self.line.requests)
            k.loosen(
                space.node, space.card, space.slot, space.stock, self.line.fields, self.line.needs,
                proven.lack[:count], self.now_ms, loosened,
            )  # fmt: skip
            if proven.parted:
                proven.lack[list(proven.parted)] = 0
                proven.parted.clear()
        proven.changes = space.changes
        if proven.loosened != self.view.limits.loosened:
            proven.loosened = self.view.limits.loosened
            proven.lack[list(proven.limited)] = 0
            proven.limited.clear()
        return loosened

    def _void(self) -> list[int]:
        """The promises on nodes that closed or cards that broke, and, where more is there now, those that
        could not be made before."""
        proven, space = self.proven, self.space
        is_less, is_more = space.shrunk != proven.shrunk, space.grown != proven.grown
        proven.shrunk, proven.grown = space.shrunk, space.grown
        if not is_less and not is_more:
            return [self.view.promises[job].whose for job in self.view.unable if self._is_bound(job)]
        return [
            promise.whose
            for promise in self.view.promises.values()
            if promise.kind == self.kind
            and (
                is_more or self._is_bound(promise.job)
                if promise.lot is None
                else space.is_broken(promise.lot)
            )
        ]

    def _is_bound(self, job: str) -> bool:
        """Whether a job of this line may wait for something that is no card."""
        stand = self.line.stands.get(job)
        return stand is not None and self.view.limits.binds(self.line.requests[stand.number])

    # -- starting -----------------------------------------------------------------------------------------

    def _due(self, loosened: k.Ints | None) -> list[tuple[int, int, int, str, int]]:
        """The jobs whose promised cards are all free, as candidates with their own cards (see below)."""
        due: list[tuple[int, int, int, str, int]] = []
        for promise in self.book.touched(loosened):
            stand = self.line.stands.get(promise.job)
            if stand is None or promise.lot is None:
                continue
            if self.book.is_ready(promise):
                rank = self.line.requests[stand.number].rank
                due.append((rank, -1, stand.order, promise.job, _OWN))
        return due

    def _start_candidates(self, heads: Heads, heap: list[tuple[int, int, int, str, int]]) -> None:
        """Start what fits: by rank, those due on their own promised cards first, then class by class the next
        job by share and order.

        Shares grow while jobs start, so a class may have to step back: its key is looked at again when its
        turn has come.
        """
        line = self.line
        for number in heads.may_fit(self.proven.lack, self.space):
            head = heads.next(number)
            if head:
                heap.append((line.requests[number].rank, *head, number))
        heapify(heap)
        while heap:
            rank, key, order, job, number = heap[0]
            if number == _OWN:
                heappop(heap)
                if job not in self.book.settled:
                    self._start_own(job)
                continue
            head = heads.next(number)
            if head and head != (key, order, job):
                heapreplace(heap, (rank, *head, number))
            elif head is None or not self._start(job, number, line.stands[job].tenant):
                heappop(heap)

    def _start_own(self, job: str) -> None:
        """Start a job that has a promise, with its own cards free for it.

        What it does not take of them stays kept until the plan is true: nobody else has them in this one.
        """
        promise = self.view.promises[job]
        assert promise.lot, "a promise without cards is not due"
        stand = self.line.stands[job]
        self.space.forget(promise.lot, promise.whose)
        self._start(job, stand.number, stand.tenant)
        if job not in self.book.settled and self.book.is_ready(promise):
            request = self.line.requests[stand.number]  # it is late: who comes after it is later as well
            may = self.book.allows(job, request, promise.lot)
            gone = self.space.is_free(promise.lot) and not self._is_awaited(promise)
            if not may and gone:  # they are kept for it no longer
                self.book.pushed.append(promise.whose)
            paid = self._pay(job, request, request.least) if may else None
            if paid:
                lot = Lot(promise.lot.nodes, promise.lot.masks, request.part)
                self._give(job, stand.tenant, lot, self.now_ms + request.length_ms, 0, paid)
        self.space.claim(promise.lot, promise.at_ms, promise.to_ms, promise.whose)

    def _start_kept(self) -> list[Kept]:
        """Start the jobs whose runs have left for other cards, with these; returns what was laid aside.

        Where that cannot be, because a card of them broke, or the money or a quota was used otherwise, the
        job waits like others.
        """
        aside = []
        for job, kept in self.view.kept.items():
            stand = self.line.stands.get(job)
            if stand is None or kept.space is not self.space:
                continue  # its run is still leaving
            kept.forget()
            aside.append(kept)
            request = self.line.requests[stand.number]
            cards = kept.lot.count
            can_start = not (kept.lot.masks & ~self.space.node[k.FREE, kept.lot.nodes]).any()
            can_start = can_start and self.purse.pays(job, request, cards // request.member)
            if can_start and self.book.allows(job, request, kept.lot):
                paid = self._pay(job, request, cards // request.member)
                assert paid, "it can pay"
                self._give(job, stand.tenant, kept.lot, self.now_ms + request.length_ms, 0, paid)
                self.book.settle()
        return aside

    def _start(self, job: str, number: int, tenant: int) -> bool:
        """Start a job now, or pass it over if it cannot pay; False if it does not fit."""
        space = self.space
        request = self.line.requests[number]
        self.book.settle()
        limits, name = self.view.limits, self.view.shares.names[tenant]
        most = limits.members(name, request)
        if most < request.least:
            self.barred.add((number, tenant))
            return True
        if request.inside:
            return self._start_inside(job, number, tenant, most)
        until_ms = self.now_ms + request.length_ms
        total, room = self._room(number, request, request.below)
        if total < request.least:
            self.proven.lack[number] = request.least - total
            if request.shares:
                self.proven.parted.add(number)
            return False
        if self._start_beside(job, number, tenant, most):
            return True
        want = min(most, total)
        if limits.cuts(request):
            seek = partial(self._seek, job, request)
            chosen, lack = limits.choose(space, name, request, room, want, seek)
            if chosen is None:
                return self._bar(number, tenant, lack)
            want = int(chosen.members.sum())
        else:
            chosen = self._seek(job, request, room, want)
            if chosen is None and want > request.least:
                want = request.least
                chosen = self._seek(job, request, room, want)
            if chosen is None:
                self.proven.lack[number] = 1
                return False
        paid = self._pay(job, request, want)
        if paid is None:
            return True
        if request.shares:
            node, mix = chosen.nodes.item(), self.view.mix(self.kind)
            lot = self.proven.packings.lot(space, request, node, until_ms, mix)
            self._give(job, tenant, lot, until_ms, request.below, paid)
            return True
        members = paid.milli_cards // request.member_milli
        if members < want:
            chosen = self._seek(job, request, room, members)
            assert chosen, "fewer members fit where more do"
        self._give_members(job, number, tenant, chosen, request.below, paid)
        return True

    def _room(self, number: int, request: Request, below: int) -> tuple[int, k.Ints]:
        """How many members fit now, the claims of those numbered `below` minded: in all, and on each node."""
        space, until_ms = self.space, self.now_ms + request.length_ms
        need = self.line.needs[number] if request.need else NOTHING_ELSE
        room = np.empty(space.size, np.int64)
        args = space.node, space.card, space.slot, space.stock, need, space.size
        if request.shares:
            return parts.room(*args, request.part, until_ms, below, room), room
        return k.room(*args, request.member, until_ms, below, room), room

    def _start_beside(self, job: str, number: int, tenant: int, most: int) -> bool:
        """Start a job on one node where nobody who may be pushed aside was promised cards, if all it asks for
        is to be had there: the others keep theirs."""
        request, limits = self.line.requests[number], self.view.limits
        order = self.view.order.get(self.kind)
        if (
            not order
            or order[-1] < request.below
            or request.shares
            or most < request.most
            or limits.cuts(request)
        ):
            return False
        total, room = self._room(number, request, int(k.NEVER))
        if not total or room.max() < request.most:
            return False
        chosen = self._seek(job, request, room, request.most)
        if chosen is None or chosen.nodes.size > 1 or not self.purse.pays(job, request, request.most):
            return False
        paid = self._pay(job, request, request.most)
        assert paid, "it can pay"
        self._give_members(job, number, tenant, chosen, int(k.NEVER), paid)
        return True

    def _give_members(
        self, job: str, number: int, tenant: int, chosen: Chosen, below: int, paid: Paid
    ) -> None:
        """Give a job cards on the nodes chosen, the claims of those numbered `below` minded."""
        request, space = self.line.requests[number], self.space
        until_ms = self.now_ms + request.length_ms
        masks = np.empty_like(chosen.nodes)
        cards = chosen.members * request.member
        k.pick(space.node, space.card, space.slot, chosen.nodes, cards, until_ms, below, masks)
        self._give(job, tenant, Lot(chosen.nodes, masks), until_ms, below, paid)

    def _seek(self, job: str, request: Request, room: k.Ints, want: int) -> Chosen | None:
        """The nodes for so many members: about those the job had, if it ran before."""
        before = None if request.shares else self.line.before.get(job)
        chosen = swap(self.space, room, want, request, before) if before else None
        if chosen is None and (request.packs or request.part) and not request.inside:
            until_ms, mix = self.now_ms + request.length_ms, self.view.mix(self.kind)
            return self.proven.packings.seek(self.space, request, room, until_ms, mix)
        return chosen or place(self.space, room, want, request)

    def _start_inside(self, job: str, number: int, tenant: int, most: int) -> bool:
        """Start a job on the cards of its booking, until that is over; as _start."""
        request, name = self.line.requests[number], self.view.shares.names[tenant]
        booking = self.view.bookings.get(request.inside)
        least_ms = self.view.terms.least_ms
        room = booking.room(request, self.now_ms, least_ms) if booking else NOTHING_ELSE
        want = min(most, int(room.sum()))
        chosen = None
        if want >= request.least:
            seek = partial(self._seek, job, request)
            chosen, _ = self.view.limits.choose(self.space, name, request, room, want, seek)
        if booking is None or chosen is None:
            return self._bar(number, tenant, 0)
        paid = self._pay(job, request, int(chosen.members.sum()))
        if paid:
            chosen = seek(room, paid.milli_cards // request.member_milli)
            assert chosen, "fewer members fit where more do"
            lot = booking.pick(request, chosen.nodes, chosen.members)
            until_ms = min(self.now_ms + request.length_ms, booking.next_ms(self.now_ms))
            self._give(job, tenant, lot, until_ms, request.below, paid)
        return True

    def _bar(self, number: int, tenant: int, lack: int) -> bool:
        """A limit is in the way of all tenants, who lack so many members by it, or (0) of this one."""
        if not lack:
            self.barred.add((number, tenant))
            return True
        self.proven.lack[number] = lack
        self.proven.limited.add(number)
        if self.line.requests[number].shares:
            self.proven.parted.add(number)
        return False

    def _give(self, job: str, tenant: int, lot: Lot, until_ms: int, below: int, paid: Paid) -> None:
        """Give cards to a job; whoever was promised some of them and is not minded is promised others."""
        self.book.take(lot, until_ms)
        if self.view.promises:
            self.book.pushed += self.book.behind(lot, self.now_ms, until_ms, below)
        self.book.settled.add(job)
        spec = self.view.jobs[job].spec
        self.view.limits.attempt(Charge(spec.tenant, spec.shape, self.space, lot))
        self.book.share(tenant, paid.milli_cards)
        self.places.append(Place(job, self.space.shares(lot), *paid))

    def _pay(self, job: str, request: Request, want: int) -> Paid | None:
        """Have the wallet pay for so many members or the least; the job is passed over where it can't."""
        paid = self.purse.pay(job, request, want)
        if paid is None:
            spec = self.view.jobs[job].spec
            needs = hold_for(spec.price, spec.cards_min, self.view.terms.least_ms)
            self.unpaid.append(Unpaid(job, needs, self.purse.has(spec.tenant)))
            self.book.settled.add(job)
        return paid

    def _is_awaited(self, promise: Promise) -> bool:
        """Whether somebody who gives way leaves a node of a promise whose time has not come: what is no card
        comes free with him, and who has left is looked at."""
        if promise.lot is None or promise.at_ms <= self.now_ms:
            return False
        there = set(promise.lot.nodes.tolist())
        runs = self.view.yielding.get(self.kind, {}).values()
        return any(run.stop_why and not there.isdisjoint(lot.nodes.tolist()) for run, lot in runs)
