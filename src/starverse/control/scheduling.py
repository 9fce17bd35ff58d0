"""The scheduler's view, kept up to date by the folds: spaces, lines, shares and promises."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence

from starverse.model.allocation import Share, card_count
from starverse.model.events import LayoutSet, Promised
from starverse.model.job import JobSpec
from starverse.model.units import CARD
from starverse.money.lease import LeaseTerms
from starverse.scheduler.line import Line, whose
from starverse.scheduler.preempt import Running
from starverse.scheduler.space import Lot, Space
from starverse.scheduler.view import Promise, View, Waiting


class Scheduling:
    """What the next decision needs, mutable, owned by the state; all of it follows from the state's truth."""

    def __init__(
        self, jobs: Mapping[str, Waiting], accounts: Mapping[str, int], terms: LeaseTerms, layout: LayoutSet
    ) -> None:
        self.view = View(jobs, accounts, terms)
        self.layout = layout
        self._runs: dict[str, tuple[Space, Lot, int, int]] = {}
        """Where each run is: its space, its cards, its tenant's number and its milli-cards."""
        self._absent: dict[str, Space] = {}
        """Of kinds that jobs wait for and no node has."""

    def node(
        self,
        name: str,
        kind: str,
        healthy: int,
        is_open: bool,
        place: Sequence[str] = (),
        at: Sequence[int] = (),
        stock: Iterable[tuple[str, int]] = (),
    ) -> None:
        """A node is there, or its cards or its openness changed."""
        view = self.view
        space = view.spaces.get(kind)
        if space is None:
            space = view.spaces[kind] = self._absent.pop(kind, Space(self.layout))
        view.stirred = True
        space.join(name, healthy, is_open, place, at, stock)

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

    def leave(self, name: str) -> None:
        """A job waits no more, and what was promised to it is void."""
        view = self.view
        kind = view.jobs[name].spec.kind
        if name in view.promises:
            self._let_go(name)
        line = view.lines.get(kind)
        if line is not None and name in line.stands:
            line.remove(name)
            view.stirred = True

    def promise(self, promised: Promised, now_ms: int) -> None:
        """A waiting job was promised a start; an earlier promise to it is void."""
        view = self.view
        name = promised.job
        if name in view.promises:
            self._let_go(name)
        kind = view.jobs[name].spec.kind
        line, space = view.lines[kind], view.spaces[kind]
        stand = line.stands[name]
        request = line.requests[stand.number]
        to_ms = promised.at_ms + request.length_ms
        lot = space.lot(promised.shares) if promised.at_ms else None
        number = whose(request, stand.order)
        view.promises[name] = Promise(name, kind, number, promised.at_ms, to_ms, lot)
        view.promised[number] = name
        order = view.order.setdefault(kind, [])
        insort(order, number)
        if order[0] == number:  # whoever is first may have what nobody else may
            view.stirred = True
        if lot:
            space.claim(lot, promised.at_ms, to_ms, number)
            if promised.at_ms <= now_ms:
                space.touch(lot)
                view.stirred = True

    def _let_go(self, name: str) -> None:
        view = self.view
        promise = view.promises.pop(name)
        del view.promised[promise.whose]
        order = view.order[promise.kind]
        del order[bisect_left(order, promise.whose)]
        if promise.lot:
            view.spaces[promise.kind].unclaim(promise.lot, promise.whose)
            view.stirred = True

    def run_placed(self, run: str, spec: JobSpec, shares: Sequence[Share], ends_ms: int) -> int:
        """A run has cards, until then at the latest; returns its milli-cards."""
        view = self.view
        space = view.spaces[spec.kind]
        lot = space.lot(shares)
        space.take(lot, ends_ms)
        milli_cards = card_count(shares) * CARD
        tenant = view.shares.of(spec.tenant)
        view.shares.add(tenant, milli_cards)
        self._runs[run] = space, lot, tenant, milli_cards
        return milli_cards

    def yields(self, run: Running, kind: str) -> None:
        """This run gives way to better classes."""
        self.view.yielding.setdefault(kind, {})[run.run] = run, self._runs[run.run][1]

    def run_ends(self, run: str, ends_ms: int) -> None:
        """A run ends then at the latest."""
        space, lot, _, _ = self._runs[run]
        space.until(lot, ends_ms)
        if self.view.promises:  # the first in line may do better elsewhere now
            self.view.stirred = True

    def run_ended(self, run: str, ran_ms: int) -> None:
        """A run has its cards no more, after so long."""
        space, lot, tenant, milli_cards = self._runs.pop(run)
        for runs in self.view.yielding.values():
            runs.pop(run, None)
        space.give(lot)
        shares = self.view.shares
        shares.add(tenant, -milli_cards)
        shares.use(tenant, milli_cards * ran_ms)
        self.view.stirred = True
