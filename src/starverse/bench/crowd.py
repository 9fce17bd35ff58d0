"""A cluster full of strangers' jobs: the production state and `decide`, driven as the loop drives them."""

import time
from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple

from starverse.control import rules
from starverse.control.state import State
from starverse.model import events as ev
from starverse.model.job import JobSpec, Priority, Shape
from starverse.model.units import CARD, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, YUAN
from starverse.money import ledger
from starverse.scheduler.decide import decide
from starverse.scheduler.plan import Memo, Plan
from starverse.train.contract import EXIT_DONE, EXIT_SAVED

START_MS = 1_760_000_000_000
KIND = "h200"

SIZES = {1: 76_627, 2: 1_818, 4: 1_870, 8: 1_643, 16: 199, 32: 67, 64: 6, 128: 3, 256: 2, 512: 1}
"""Jobs by cards, as in the Philly trace (philly-sia, its powers of two), and a tail for larger clusters."""

PRIORITIES: tuple[Priority, ...] = ("reserved", *("on-demand",) * 6, *("preemptible",) * 3)


class Site(NamedTuple):
    """A cluster: pods of racks of nodes; or, where `torus` is given, racks that form one."""

    pods: int = 30
    racks: int = 25
    nodes: int = 5
    cards: int = 8
    torus: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """All its cards."""
        return self.pods * self.racks * self.nodes * self.cards

    def joined(self) -> Iterable[ev.Event]:
        """The events by which it comes to be."""
        levels = ("rack",) if self.torus else ("pod", "rack")
        yield ev.LayoutSet(levels, "rack" if self.torus else "", self.torus)
        for number in range(self.pods * self.racks * self.nodes):
            rack = number // self.nodes
            place: tuple[str, ...] = (f"p{rack // self.racks}", f"r{rack}")
            at: list[int] = []
            for length in reversed(self.torus):
                rack, where = divmod(rack, length)
                at.insert(0, where)
            name = f"n{number:04}"
            yield ev.NodeJoined(name, KIND, self.cards, place[-len(levels) :], tuple(at))


XIAMEN = Site()
XIAMEN_TORUS = Site(torus=(10, 15, 5))


class Crowd:
    """The cluster and its jobs, mutable. Time moves by a second from one event to the next.

    `spent_ns` is the processor time of each `decide`; what is folded before and after it is not counted.
    """

    def __init__(
        self, site: Site, tenants: int, priorities: Sequence[Priority] = PRIORITIES, seed: int = 1
    ) -> None:
        self.chance = Random(seed)
        self.priorities = priorities
        self.site = site
        self.state = State()
        self.memo: Memo = {}
        self.now_ms = START_MS
        self.spent_ns: list[int] = []
        self.waits: dict[str, int] = {}
        """The jobs that wait, and their cards."""
        self.runs: list[str] = []
        self.used = 0
        self._count = 0
        self._tenants = [f"t{number}" for number in range(tenants)]
        for event in site.joined():
            self._fold(event)
        for tenant in self._tenants:
            self._fold(ev.TenantOpened(tenant))
            self._fold(ledger.top_up(tenant, 1_000_000_000 * YUAN, ""))

    def _fold(self, event: ev.Event) -> None:
        self.state.apply(event, self.now_ms)

    def spec(self, cards: int, member: int, limit_ms: int, priority: Priority = "on-demand") -> JobSpec:
        """A job of the next tenant by chance."""
        self._count += 1
        return JobSpec(
            f"j{self._count}",
            self.chance.choice(self._tenants),
            cards * CARD,
            cards * CARD,
            KIND,
            YUAN,
            limit_ms,
            priority=priority,
            shape=Shape(member * CARD),
        )

    def mixed(self) -> JobSpec:
        """A job as in the traces: mostly small; from eight cards on in whole nodes."""
        chance = self.chance
        (cards,) = chance.choices(tuple(SIZES), tuple(SIZES.values()))
        limit_ms = chance.choice((1, 2, 4, 8, 24, 72, 168)) * HOUR_MS
        return self.spec(cards, min(cards, self.site.cards), limit_ms, chance.choice(self.priorities))

    def submit(self, spec: JobSpec) -> None:
        """Let a job wait."""
        self._fold(ev.JobSubmitted(spec))
        self.waits[spec.job] = spec.cards_min // CARD

    def end(self, run: str, code: int = EXIT_DONE) -> None:
        """A run ends, well if it does not say otherwise, and its job with it."""
        state = self.state
        alive = state.runs[run]
        self.used -= alive.milli_cards // CARD
        for event in rules.ended(state, alive, ev.RunEnded(run, self.now_ms, "exit", code), self.now_ms):
            self._fold(event)

    def lose(self, nodes: Iterable[str], run: str) -> None:
        """Nodes under a run die at one instant, as when their switch does; its job waits again."""
        for node in nodes:
            self._fold(ev.NodeLost(node, self.now_ms))
        alive = self.state.runs[run]
        self.runs.remove(run)
        self.used -= alive.milli_cards // CARD
        self.waits[alive.job] = alive.milli_cards // CARD
        for event in rules.ended(self.state, alive, ev.RunEnded(run, self.now_ms, "lost"), self.now_ms):
            self._fold(event)

    def mend(self, nodes: Iterable[str]) -> None:
        """Lost nodes come back."""
        for node in nodes:
            known = self.state.nodes[node]
            self._fold(ev.NodeJoined(node, known.kind, known.cards, known.place, known.at))

    def end_one(self) -> None:
        """A run chosen by chance ends."""
        at = self.chance.randrange(len(self.runs))
        self.runs[at], self.runs[-1] = self.runs[-1], self.runs[at]
        self.end(self.runs.pop())

    def decide(self) -> Plan:
        """One decision, timed."""
        self.state.view.stirred = False
        began_ns = time.process_time_ns()
        plan, self.memo = decide(self.state.view, self.memo, self.now_ms)
        self.spent_ns.append(time.process_time_ns() - began_ns)
        return plan

    def commit(self, plan: Plan) -> None:
        """Make a plan true, as the loop does; what is placed runs at once, and a second passes."""
        state = self.state
        assert not plan.unpaid, "the tenants are rich"
        for place in plan.places:
            for event in rules.placed(state, place, self.now_ms):
                self._fold(event)
            run = state.jobs[place.job].run
            self._fold(ev.RunStarted(run, self.now_ms))
            self.runs.append(run)
            self.used += self.waits.pop(place.job)
        for evict in plan.evictions:
            self._fold(rules.stop(state.runs[evict.run], "preempt", self.now_ms, state.view.terms))
        for move in plan.moves:
            self._fold(rules.moved(state, move, self.now_ms, state.view.terms))
        if plan.promises:
            self._fold(ev.StartsPromised(plan.promises))
        self.now_ms += SECOND_MS
        for run in [evict.run for evict in plan.evictions] + [move.run for move in plan.moves]:
            self._leave(run)

    def _leave(self, run: str) -> None:
        """A run that was asked to has saved and left; its job waits again."""
        self.runs.remove(run)
        alive = self.state.runs[run]
        self.waits[alive.job] = alive.milli_cards // CARD
        self.end(run, EXIT_SAVED)

    def step(self) -> Plan:
        """Decide and commit."""
        plan = self.decide()
        self.commit(plan)
        return plan

    def settle(self) -> None:
        """Decide until nothing is left to be decided."""
        while self.state.view.stirred:
            self.step()

    def churn(self, cards: int, turnovers: float = 1.0) -> None:
        """Fill the cluster up to so many cards with mixed jobs, then let as many lives come and go."""
        while self.used < cards:
            self.submit(self.mixed())
            if len(self.waits) % 50 == 0 or self.used + sum(self.waits.values()) >= cards:
                self.settle()
        for _ in range(int(turnovers * len(self.runs))):
            if self.used >= cards:
                self.end_one()
            else:
                self.submit(self.mixed())
            self.settle()

    def scatter(self, cards: int) -> None:
        """Let single cards come free here and there, until so many are free."""
        small = [run for run in self.runs if self.state.runs[run].milli_cards == CARD]
        self.chance.shuffle(small)
        free = self.site.size - self.used
        gone = set(small[: max(0, cards - free)])
        for run in gone:
            self.end(run)
        self.runs = [run for run in self.runs if run not in gone]

    def queue(self, jobs: int, requests: int) -> None:
        """Let so many jobs wait with so many different requests: gangs from half a node to 512 cards, one in
        five hundred small enough to fit anywhere."""
        chance = self.chance
        templates = []
        for number in range(requests):
            member = chance.choice((4, 8, 8, 8))
            cards = member * chance.choice((1, 1, 1, 1, 2, 2, 4, 8, 16, 32, 64))
            if number % 500 == 0:
                cards = member = chance.choice((1, 2))
            limit_ms = (number + 1) * MINUTE_MS % (7 * DAY_MS) + HOUR_MS
            templates.append((cards, member, limit_ms, chance.choice(self.priorities)))
        for number in range(jobs):
            self.submit(self.spec(*templates[number % requests]))
