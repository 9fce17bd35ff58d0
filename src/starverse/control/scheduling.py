"""The scheduler's view, kept up to date by the folds: spaces, lines, shares and promises."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

from starverse.control.truth import Truth
from starverse.model.allocation import Share, milli_cards
from starverse.model.events import Promised, QuotaSet, ReservationMade
from starverse.model.job import JobSpec
from starverse.model.units import CARD
from starverse.money.lease import LeaseTerms
from starverse.scheduler.bookings import Booking
from starverse.scheduler.kept import KEPT, Kept
from starverse.scheduler.limits import Charge
from starverse.scheduler.line import Line, whose
from starverse.scheduler.lot import Lot
from starverse.scheduler.migrate import NODES_MOST
from starverse.scheduler.placement.mix import Asked, ask_of
from starverse.scheduler.preempt import Running
from starverse.scheduler.quotas import Quota
from starverse.scheduler.space import Space
from starverse.scheduler.view import Promise, View


class Scheduling:
    """What the next decision needs, mutable, owned by the state; all of it follows from the state's truth."""

    def __init__(self, truth: Truth, terms: LeaseTerms) -> None:
        self.view = View(truth.jobs, truth.accounts, terms)
        self.view.nodes = truth.nodes
        self.view.shares.load(truth.used, truth.used_step)
        self.view.asked.update({kind: Asked.load(seen) for kind, seen in truth.asked.items()})
        self.layout = truth.layout
        self._runs: dict[str, tuple[Space, Lot, int, int]] = {}
        """Where each run is: its space, its cards, its tenant's number and its milli-cards."""
        self.turns: list[tuple[int, int, str]] = []
        """When a window of each booking begins or ends next, a heap; some are no more."""
        self.opened: list[str] = []
        """Bookings of which a window opened: runs that took longer than was thought may still be there."""
        self.doubtful = False
        """Whether a booking may have lost cards, or get some back."""
        self._absent: dict[str, Space] = {}
        """Of kinds that jobs wait for and no node has."""

    def save(self, truth: Truth) -> None:
        """Write down what was used and asked for, for a snapshot."""
        truth.used, truth.used_step = self.view.shares.saved()
        truth.asked = {kind: asked.saved() for kind, asked in self.view.asked.items()}

    def node(
        self,
        name: str,
        kind: str,
        healthy: int,
        is_open: bool,
        place: Sequence[str] = (),
        at: Sequence[int] = (),
        stock: Iterable[tuple[str, int]] = (),
        cards: int = 0,
    ) -> None:
        """A node is there, or its cards or its openness changed."""
        view = self.view
        space = view.spaces.get(kind)
        if space is None:
            space = view.spaces[kind] = self._absent.pop(kind, Space(self.layout))
        view.stirred = True
        view.wholes.pop(kind, None)
        space.join(name, healthy, is_open, place, at, stock, cards)
        self.doubtful = bool(view.bookings)

    def wait(self, name: str, spec: JobSpec, order: int, left_ms: int, again: bool) -> None:
        """A job waits for cards."""
        view = self.view
        view.stirred = True
        line = view.lines.get(spec.kind)
        if line is None:
            view.lines[spec.kind] = line = Line()
            for kind in sorted(view.lines):  # decisions are made kind by kind, in an order of their own
                view.lines[kind] = view.lines.pop(kind)
        space = view.spaces.get(spec.kind)
        if space is None:  # jobs may wait for cards that are still to come
            space = self._absent.setdefault(spec.kind, Space(self.layout))
        line.add(name, spec, order, view.shares.of(spec.tenant), left_ms, again, space)

    def ran_before(self, name: str, shares: Sequence[Share]) -> None:
        """A job that waits again had these cards."""
        spec = self.view.jobs[name].spec
        if spec.kind in self.view.spaces:
            self.view.lines[spec.kind].before[name] = self.view.spaces[spec.kind].lot(shares)

    def asked(self, spec: JobSpec) -> None:
        """A job was asked for: more like it are to be expected."""
        asked = self.view.asked.get(spec.kind)
        if asked is None:
            asked = self.view.asked[spec.kind] = Asked()
        asked.add(ask_of(spec))

    def leave(self, name: str) -> None:
        """A job waits no more, and what was promised to it is void.

        Nobody gains by it where nothing was, but those of its tenant behind it, where there are limits.
        """
        view = self.view
        kind = view.jobs[name].spec.kind
        if name in view.promises:
            self._let_go(name)
        line = view.lines.get(kind)
        if line is not None and name in line.stands:
            view.stirred |= view.limits.binds(line.requests[line.stands[name].number])
            line.remove(name)

    def promise(self, promised: Promised, now_ms: int) -> None:
        """A waiting job was promised a start; an earlier promise to it is void."""
        view = self.view
        name = promised.job
        if name in view.promises:
            self._let_go(name)
        kind = view.jobs[name].spec.kind
        line, space = view.lines[kind], view.spaces[kind]
        if name in view.kept:
            self.keep(name, (), 0)
        stand = line.stands[name]
        request = line.requests[stand.number]
        to_ms = promised.at_ms + request.length_ms
        lot = space.lot(promised.shares) if promised.at_ms else None
        number = whose(request, stand.order)
        view.promises[name] = Promise(name, kind, number, promised.at_ms, to_ms, lot)
        view.promised[number] = name
        line.owed.remove(request.rank, stand.tenant, stand.order)
        if lot:
            view.shares.add(stand.tenant, request.milli_cards)
        if lot is None:
            view.unable[name] = None
        order = view.order.setdefault(kind, [])
        insort(order, number)
        if order[0] == number:  # whoever is first may have what nobody else may
            view.stirred = True
        if view.unable and self._may_gain(line):
            view.stirred = True
        if lot:
            space.claim(lot, promised.at_ms, to_ms, number)
            if promised.at_ms <= now_ms:
                space.touch(lot)
                view.stirred = True

    def _may_gain(self, line: Line) -> bool:
        """Whether a job that a limit kept from any promise may have one now that others have moved."""
        stands = (line.stands.get(job) for job in self.view.unable)
        return any(stand and self.view.limits.binds(line.requests[stand.number]) for stand in stands)

    def _let_go(self, name: str) -> None:
        view = self.view
        promise = view.promises.pop(name)
        view.unable.pop(name, None)
        del view.promised[promise.whose]
        line = view.lines[promise.kind]
        stand = line.stands[name]
        if promise.lot:
            view.shares.add(stand.tenant, -line.requests[stand.number].milli_cards)
        order = view.order[promise.kind]
        del order[bisect_left(order, promise.whose)]
        if promise.lot:
            view.spaces[promise.kind].unclaim(promise.lot, promise.whose)
            view.stirred = True

    def quota(self, quota: QuotaSet) -> None:
        """A tenant has a quota from now on."""
        view = self.view
        view.limits.set_quota(
            quota.tenant, Quota(quota.parent, quota.guaranteed, quota.borrow_max, quota.lend_max)
        )
        view.shares.weigh(quota.tenant, quota.weight)
        view.shares.guarantee(quota.tenant, quota.guaranteed)
        view.stirred = True

    def no_quota(self, tenant: str) -> None:
        """A tenant has no quota any more, and the weight of one that never had any."""
        view = self.view
        view.limits.remove_quota(tenant)
        view.shares.weigh(tenant, 1)
        view.shares.guarantee(tenant, None)
        view.stirred = True

    def licences(self, name: str, count: int) -> None:
        """There are so many of a licence."""
        self.view.limits.set_licences(name, count)
        self.view.stirred = True

    def budget(self, feed: str, milliwatts: int) -> None:
        """A feed gives so much at most."""
        self.view.limits.set_budget(feed, milliwatts)
        self.view.stirred = True

    def reserve(self, made: ReservationMade, now_ms: int) -> None:
        """A reservation holds these cards from now on, or others than before."""
        view, name = self.view, made.reservation.name
        self.unreserve(name)
        space = view.spaces[made.reservation.kind]
        lot = space.lot(made.shares)
        booking = view.bookings[name] = Booking(made.reservation, made.number, space, lot, made.windows)
        booking.claim(now_ms)
        heappush(self.turns, (booking.next_ms(now_ms), made.number, name))
        self.opened.append(name)

    def unreserve(self, name: str) -> None:
        """A reservation is no more."""
        booking = self.view.bookings.pop(name, None)
        if booking:
            booking.space.unclaim(booking.lot, -booking.number)
        self.view.stirred = True

    def turn_pages(self, now_ms: int) -> None:
        """Open and close the windows whose time has come."""
        while self.turns and self.turns[0][0] <= now_ms:
            _, number, name = heappop(self.turns)
            booking = self.view.bookings.get(name)
            if booking and booking.number == number:
                booking.claim(now_ms)
                booking.space.touch(booking.lot)
                self.view.stirred = True
                self.opened.append(name)
                if booking.window(now_ms):
                    heappush(self.turns, (booking.next_ms(now_ms), number, name))

    def ends_ms(self, spec: JobSpec, begins_ms: int, left_ms: int) -> int:
        """When a run ends at the latest: with the time it has left, and within its booking."""
        booking = self.view.bookings.get(spec.reservation)
        window = booking.window(begins_ms) if booking else None
        return min(begins_ms + left_ms, window[1]) if window else begins_ms + left_ms

    def run_placed(self, run: str, spec: JobSpec, shares: Sequence[Share], ends_ms: int) -> int:
        """A run has cards, until then at the latest; returns its milli-cards."""
        view = self.view
        space = view.spaces[spec.kind]
        lot = space.lot(shares)
        space.take(lot, ends_ms)
        held = milli_cards(shares)
        tenant = view.shares.of(spec.tenant)
        view.shares.add(tenant, held)
        self._runs[run] = space, lot, tenant, held
        view.limits.take(run, Charge(spec.tenant, spec.shape, space, lot))
        return held

    def run_begins(self, run: Running, spec: JobSpec) -> None:
        """This run gives way to better classes, or changes its size, if it is of that sort."""
        if spec.priority == "preemptible":
            self.view.yielding.setdefault(spec.kind, {})[run.run] = run, self._runs[run.run][1]
        if spec.cards_max > spec.cards_min and not spec.reservation:
            self.view.elastic.setdefault(spec.kind, {})[run.run] = run, self._runs[run.run][1]
        is_small = len(run.shares) <= NODES_MOST and spec.priority != "reserved" and spec.cards_min >= CARD
        if is_small and not spec.reservation and not spec.stays:
            self.view.small.setdefault(spec.kind, {})[run.run] = run, self._runs[run.run][1]

    def keep(self, name: str, shares: Sequence[Share], until_ms: int) -> None:
        """These cards are kept for a job's next run until then, in place of what was; none with ()."""
        view = self.view
        known = view.kept.pop(name, None)
        if known:
            known.space.unclaim(known.lot, known.number)
        if shares:
            job = view.jobs[name]
            space = view.spaces[job.spec.kind]
            kept = view.kept[name] = Kept(space, space.lot(shares), until_ms, -(KEPT | job.order))
            kept.claim()
        view.stirred = True

    def run_ends(self, run: str, ends_ms: int) -> None:
        """A run ends then at the latest."""
        space, lot, _, _ = self._runs[run]
        space.until(lot, ends_ms)
        if self.view.promises:  # the first in line may do better elsewhere now
            self.view.stirred = True

    def run_ended(self, run: str, ran_ms: int) -> None:
        """A run has its cards no more, after so long."""
        space, lot, tenant, held = self._runs.pop(run)
        view = self.view
        for of_sort in (view.yielding, view.elastic, view.small):
            for kind, runs in of_sort.items():
                if runs.pop(run, None) and not runs:
                    del of_sort[kind]  # whether there are any is the same after a restart
                    break
        space.give(lot)
        self.view.limits.give(run)
        self.doubtful = bool(self.view.bookings)
        shares = self.view.shares
        shares.add(tenant, -held)
        shares.use(tenant, held * ran_ms)
        self.view.stirred = True
