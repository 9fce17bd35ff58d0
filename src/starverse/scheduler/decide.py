"""Who starts now, and who is promised a start: one pure decision for all that happened at an instant."""

from functools import partial
from heapq import heapify, heappop, heapreplace

import numpy as np

from starverse.model.units import CARD
from starverse.money.lease import lease_for
from starverse.money.ledger import WALLET
from starverse.money.meter import hold_for
from starverse.scheduler import kernels as k
from starverse.scheduler import parts
from starverse.scheduler.book import Book
from starverse.scheduler.calendar import Slot, place
from starverse.scheduler.heads import Heads
from starverse.scheduler.limits import Charge
from starverse.scheduler.line import Line, Request
from starverse.scheduler.placement import Chosen
from starverse.scheduler.plan import NOTHING, Evict, Memo, Place, Plan, Proven, Unpaid
from starverse.scheduler.preempt import HEADS, YIELDS, InVain, evict
from starverse.scheduler.repair import swap
from starverse.scheduler.space import NOTHING_ELSE, Lot, Space
from starverse.scheduler.view import View


def decide(view: View, memo: Memo, now_ms: int) -> tuple[Plan, Memo]:
    """The plan for this instant, and what was proven on the way.

    Jobs start by rank, then by fair share, then in order of submission. One that does not fit is promised a
    start and keeps cards from then on. The view is the same afterwards: what is tried is taken back. The memo
    given is used up; go on with the one returned.
    """
    plans = []
    spent: dict[str, int] = {}
    for kind, line in view.lines.items():
        space = view.spaces.get(kind)
        if space is None or not line.stands:
            continue
        proven = memo.get(kind)
        if proven is None:
            proven = memo[kind] = Proven()
        cycle = Cycle(view, kind, space, line, proven, spent, now_ms)
        plan = cycle.run_alone() if len(line.stands) == 1 and not view.promises else cycle.run()
        if plan is not NOTHING:
            plans.append(plan)
    view.limits.take_back()
    if len(plans) < 2:
        return (plans[0] if plans else NOTHING), memo
    return Plan(
        tuple(place for plan in plans for place in plan.places),
        tuple(unpaid for plan in plans for unpaid in plan.unpaid),
        tuple(promise for plan in plans for promise in plan.promises),
        tuple(evict for plan in plans for evict in plan.evictions),
    ), memo


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
        spent: dict[str, int],
        now_ms: int,
    ) -> None:
        self.view = view
        self.kind = kind
        self.space = space
        self.line = line
        self.proven = proven
        self.now_ms = now_ms
        self.book = Book(view, kind, space, line, now_ms)
        self.places: list[Place] = []
        self.unpaid: list[Unpaid] = []
        self.evictions: list[Evict] = []
        self.spent = spent
        """What each tenant's wallet gives in this plan, for all kinds of card together."""
        self.barred: set[tuple[int, int]] = set()
        """Classes, and tenants whose jobs of the class a limit keeps from starting now."""
        self.heads = Heads(line, view.shares, self.book.settled, self.barred)

    def run(self) -> Plan:
        """Decide; the space is the same afterwards."""
        book = self.book
        book.pushed += self._void()
        self._start_candidates(self._due(self._learn()))
        book.promise_again()
        book.bring_forward()
        book.promise_next()
        self._preempt()
        book.close()
        self.heads.put_back()
        if not (self.places or self.unpaid or book.promises):
            return NOTHING
        return Plan(tuple(self.places), tuple(self.unpaid), book.promised(), tuple(self.evictions))

    def run_alone(self) -> Plan:
        """Decide for the one job that waits, where nobody has a promise: the same, the short way."""
        (job, stand), *_ = self.line.stands.items()
        self._learn()
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

    def _start_candidates(self, heap: list[tuple[int, int, int, str, int]]) -> None:
        """Start what fits: by rank, those due on their own promised cards first, then class by class the next
        job by share and order.

        Shares grow while jobs start, so a class may have to step back: its key is looked at again when its
        turn has come.
        """
        line = self.line
        for number in self.heads.may_fit(self.proven.lack, self.space):
            head = self.heads.next(number)
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
            head = self.heads.next(number)
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
            if not may and self.space.is_free(promise.lot):  # they are kept for it no longer
                self.book.pushed.append(promise.whose)
            paid = self._pay(job, request, request.least) if may else None
            if paid:
                lot = Lot(promise.lot.nodes, promise.lot.masks, request.part)
                self._give(job, stand.tenant, lot, self.now_ms + request.length_ms, 0, paid)
        self.space.claim(promise.lot, promise.at_ms, promise.to_ms, promise.whose)

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
        need = self.line.needs[number] if request.need else NOTHING_ELSE
        room = np.empty(space.size, np.int64)
        args = space.node, space.card, space.slot, space.stock, need, space.size
        if request.shares:
            total = parts.room(*args, request.part, until_ms, request.below, room)
        else:
            total = k.room(*args, request.member, until_ms, request.below, room)
        if total < request.least:
            self.proven.lack[number] = request.least - total
            if request.shares:
                self.proven.parted.add(number)
            return False
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
        members = paid[0] // (request.member * CARD)
        if members < want:
            chosen = self._seek(job, request, room, members)
            assert chosen, "fewer members fit where more do"
        masks = np.empty_like(chosen.nodes)
        cards = chosen.members * request.member
        k.pick(space.node, space.card, space.slot, chosen.nodes, cards, until_ms, request.below, masks)
        self._give(job, tenant, Lot(chosen.nodes, masks), until_ms, request.below, paid)
        return True

    def _seek(self, job: str, request: Request, room: k.Ints, want: int) -> Chosen | None:
        """The nodes for so many members: about those the job had, if it ran before."""
        before = None if request.shares else self.line.before.get(job)
        chosen = swap(self.space, room, want, request, before) if before else None
        if chosen is None and (request.packs or request.part):
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
            chosen = seek(room, paid[0] // request.member_milli)
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
        return False

    def _give(
        self, job: str, tenant: int, lot: Lot, until_ms: int, below: int, paid: tuple[int, int, int]
    ) -> None:
        """Give cards to a job; whoever was promised some of them and is not minded is promised others."""
        milli_cards, lease_ms, hold = paid
        self.book.take(lot, until_ms)
        if self.view.promises:
            self.book.pushed += self.book.behind(lot, self.now_ms, until_ms, below)
        self.book.settled.add(job)
        spec = self.view.jobs[job].spec
        self.view.limits.attempt(Charge(spec.tenant, spec.shape, self.space, lot))
        self.book.share(tenant, milli_cards)
        self.places.append(Place(job, self.space.shares(lot), milli_cards, lease_ms, hold))

    def _pay(self, job: str, request: Request, want: int) -> tuple[int, int, int] | None:
        """(milli-cards, lease, hold) that the wallet pays for; None, and the job passed over, if it can't."""
        spec = self.view.jobs[job].spec
        terms = self.view.terms
        money = self.view.accounts.get(WALLET + spec.tenant, 0) - self.spent.get(spec.tenant, 0)
        for members in (want, request.least):
            milli_cards = members * request.member_milli
            lease_ms, hold = lease_for(money, spec.price, milli_cards, terms)
            if lease_ms:
                if hold:
                    self.spent[spec.tenant] = self.spent.get(spec.tenant, 0) + hold
                return milli_cards, lease_ms, hold
        self.unpaid.append(Unpaid(job, hold_for(spec.price, spec.cards_min, terms.least_ms), money))
        self.book.settled.add(job)
        return None

    # -- preempting ---------------------------------------------------------------------------------------

    def _preempt(self) -> None:
        """Have runs leave for the first in line that would else start later than these can be gone.

        What they free is promised to the one they leave for, who so never asks for more of them.
        """
        yielding = self.view.yielding.get(self.kind)
        if not yielding:
            return
        grace_ms = self.view.terms.grace_ms
        gone: set[str] = set()
        for promise in self.book.in_order(HEADS):
            stand = self.line.stands[promise.job]
            request = self.line.requests[stand.number]
            if request.rank >= YIELDS - 1:
                return
            if promise.lot is None and self.view.limits.binds(request):
                continue  # it may lack something that is no card
            if 0 < promise.at_ms <= self.now_ms + grace_ms or not self._can_pay(promise.job, request):
                continue
            if self._is_vain(stand.number, request):
                continue
            mark = self.book.drop(promise)
            until_ms = self.now_ms + grace_ms + request.length_ms
            victims = [both for run, both in yielding.items() if run not in gone]
            eviction = evict(self.space, request, until_ms, victims, self.now_ms)
            if isinstance(eviction, InVain):
                self.book.take_back(mark)
                self.proven.vain[stand.number] = eviction
            else:
                gone.update(eviction.runs)
                self.evictions += [Evict(run, promise.job) for run in eviction.runs]
                self.book.keep(promise, request, Slot(self.now_ms + grace_ms, eviction.lot))

    def _is_vain(self, number: int, request: Request) -> bool:
        """Whether nobody's leaving would help a job of this class, by what was proven before."""
        proof = self.proven.vain.get(number)
        if proof is None or self.now_ms >= proof.ripe_ms:
            return False
        return self.space.freed - proof.freed < proof.members * request.member

    def _can_pay(self, job: str, request: Request) -> bool:
        spec = self.view.jobs[job].spec
        may = self.view.limits.members(spec.tenant, request) >= request.least
        money = self.view.accounts.get(WALLET + spec.tenant, 0) - self.spent.get(spec.tenant, 0)
        return may and bool(lease_for(money, spec.price, request.milli_cards, self.view.terms)[0])
