"""Clusters as pictures, and what the scheduler makes of them: a word is a node, a character a card.

.  free      a b c …  used by that run      #  broken      -  on a cordoned node      !  on a lost node
|  between racks                            1 2 3 …  given to that job by the scheduler
"""

from collections.abc import Mapping
from typing import Any

from tests.scheduler.checker import Checker

from starverse.control.state import State
from starverse.control.truth import Run
from starverse.model import events as ev
from starverse.model.allocation import Share
from starverse.model.job import JobSpec, Priority, Shape
from starverse.model.units import CARD, DAY_MS, MINUTE_MS
from starverse.money.lease import LeaseTerms
from starverse.scheduler.decide import decide
from starverse.scheduler.plan import NOTHING, Memo, Plan
from starverse.scheduler.reasons import Reason, why_waiting

TERMS = LeaseTerms(window_ms=60_000, least_ms=10_000, grace_ms=0)
PRICE = 3_600_000
"""A micro-yuan for each card-millisecond: the window costs 60,000 a card, the least 10,000."""

START_MS = 20_000 * DAY_MS
"""When the scenes begin: no moment is 0, which means "none"."""

CYCLES_MOST = 2
"""So many decisions at one instant may find something to do, and as many again for each job that waits: one
after the other may come to be the first in line, and be brought forward."""


class Scene:
    """A cluster, who waits for it, and the time in minutes; every event goes past the checker as well."""

    def __init__(self, picture: str, runs: Mapping[str, int] | None = None, **how: Any) -> None:
        self.state = State(terms=how.pop("terms", TERMS))
        self.checker = Checker(self.state.view.terms.grace_ms)
        self.memo: Memo = {}
        self.minute = 0.0
        self.starts: dict[str, float] = {}
        self.tell(ev.LayoutSet(("rack",)))
        self.marks: dict[str, str] = {}
        self._add(picture, "cpu", **how)
        for run, minutes in (runs or {}).items():
            self.begin(run, picture, minutes)

    @property
    def now_ms(self) -> int:
        return START_MS + round(self.minute * MINUTE_MS)

    def tell(self, event: Any) -> None:
        """Something happens now."""
        self.state.apply(event, self.now_ms)
        self.checker.hear(event, self.now_ms)

    def _add(self, picture: str, kind: str, **how: Any) -> None:
        rack = 0
        for word in picture.split():
            if word == "|":
                rack += 1
                continue
            name = f"n{len(self.state.nodes)}"
            self.marks[name] = word
            self.tell(ev.NodeJoined(name, kind, len(word), (f"r{rack}",), **how))
            for card, mark in enumerate(word):
                if mark == "#":
                    self.tell(ev.CardHealthChanged(name, card, False))
            if "-" in word:
                self.tell(ev.NodeCordoned(name))
            if "!" in word:
                self.tell(ev.NodeLost(name, self.now_ms))

    def nodes(self, picture: str, kind: str) -> "Scene":
        """More nodes, of another kind."""
        self._add(picture, kind)
        return self

    def begin(self, run: str, picture: str, minutes: float) -> None:
        """A run that has the cards with its letter, and ends in so many minutes at the latest."""
        shares = []
        for n, word in enumerate(word for word in picture.split() if word != "|"):
            cards = [card for card, mark in enumerate(word) if mark == run]
            if cards:
                shares.append(Share.of(f"n{n}", cards))
        count = sum(share.count for share in shares) * CARD
        spec = JobSpec(run, "others", count, count, time_limit_ms=round(minutes * MINUTE_MS))
        self.tell(ev.JobSubmitted(spec))
        self._start(run, tuple(shares))

    def ask(
        self,
        job: str,
        cards: int,
        most: int = 0,
        minutes: float = 60,
        tenant: str = "ann",
        kind: str = "cpu",
        priority: Priority = "on-demand",
        price: int = 0,
        **shape: Any,
    ) -> "Scene":
        """A job is submitted; `member` in cards, everything else of its shape as it is; with `cards` 0, it
        asks for `milli` of one card."""
        milli = shape.pop("milli", cards * CARD)
        shape["member"] = shape.get("member", 1) * CARD
        spec = JobSpec(
            job, tenant, milli, max(most * CARD, milli), kind, price, round(minutes * MINUTE_MS),
            priority=priority, shape=Shape(**shape),
        )  # fmt: skip
        self.tell(ev.JobSubmitted(spec))
        return self

    def pay(self, tenant: str, micro_yuan: int) -> "Scene":
        """Money for a tenant."""
        self.tell(
            ev.Posted("top-up", tenant, ((f"wallet/{tenant}", micro_yuan), ("external/bank", -micro_yuan)))
        )
        return self

    def end(self, job: str) -> "Scene":
        """A run comes to its end, and its job with it."""
        self._run_over(job)
        self.tell(ev.JobEnded(job, "done"))
        return self

    def again(self, job: str, retried: bool = False) -> "Scene":
        """A run comes to its end, and its job waits again."""
        self._run_over(job)
        self.tell(ev.JobRequeued(job, "asked to leave: preempt", retried=retried))
        return self

    def _run_over(self, job: str) -> None:
        run = self.state.jobs[job].run
        self.tell(ev.RunEnded(run, self.now_ms))
        self.starts.pop(job, None)

    def stop(self, job: str) -> "Scene":
        """A job that waits is stopped."""
        self.tell(ev.JobEnded(job, "stopped"))
        return self

    def close(self, node: str) -> "Scene":
        """A node takes no new runs."""
        self.tell(ev.NodeCordoned(node))
        return self

    def reopen(self, node: str) -> "Scene":
        """A node takes new runs again."""
        self.tell(ev.NodeUncordoned(node))
        return self

    def lose(self, node: str) -> "Scene":
        """A node is lost, and all that ran there waits again."""
        self.tell(ev.NodeLost(node, self.now_ms))
        for run in tuple(self.state.runs.values()):
            if any(share.node == node for share in run.shares):
                self.again(run.job)
        return self

    def tell_back(self, node: str) -> "Scene":
        """A node that was lost is back."""
        known = self.state.nodes[node]
        self.tell(ev.NodeJoined(node, known.kind, known.cards, known.place))
        return self

    def at(self, minute: float) -> "Scene":
        """So many minutes later: the time limits that are over by then end their runs one by one."""
        while True:
            ends = [(self._end_ms(run), run.job) for run in self.state.runs.values()]
            end_ms, name = min(ends, default=(1 << 62, ""))
            if end_ms > START_MS + minute * MINUTE_MS:
                break
            self.minute = max(self.minute, (end_ms - START_MS) / MINUTE_MS)
            self._leave(name)
            if not any(other_ms == end_ms for other_ms, other in ends if other != name):
                self.decide()
        self.minute = minute
        return self.decide()

    def _end_ms(self, run: Run) -> int:
        """When a run ends at the latest."""
        job = self.state.jobs[run.job]
        return run.kill_at_ms if run.stop_why else run.started_ms + job.spec.time_limit_ms - job.ran_ms

    def _leave(self, job: str) -> None:
        """A run ends: because it was told to, and its job waits again, or at its time limit."""
        is_told = self.state.runs[self.state.jobs[job].run].stop_why
        (self.again if is_told else self.end)(job)

    def decide(self) -> "Scene":
        """All decisions of this instant, each made true before the next."""
        self.state.now_ms = self.now_ms
        self.state.release(self.now_ms)
        view, cycles = self.state.view, 0
        while view.stirred:
            view.stirred = False
            bare, _ = decide(view, {}, self.now_ms)
            plan, self.memo = decide(view, self.memo, self.now_ms)
            assert _starts(plan) == _starts(bare), "what was proven before has changed the plan"
            if plan is NOTHING:
                continue
            cycles += 1
            most = CYCLES_MOST * (1 + sum(map(view.waiting, view.lines)))
            assert cycles <= most, f"it does not settle: {plan}"
            self.make_true(plan)
        gone = [run.job for run in self.state.runs.values() if run.stop_why and run.kill_at_ms <= self.now_ms]
        if gone:
            for job in gone:
                self._leave(job)
            return self.decide()
        self.cycles = cycles
        self.checker.instant_is_over(self.now_ms)
        return self

    def make_true(self, plan: Plan) -> None:
        """As the controller does."""
        for place in plan.places:
            self._start(place.job, place.shares)
            self.starts[place.job] = self.minute
        for unpaid in plan.unpaid:
            self.tell(ev.JobPaused(unpaid.job, "no money", "wallet"))
        for evict in plan.evictions:
            kill_at_ms = self.now_ms + self.state.view.terms.grace_ms
            self.tell(ev.RunStopAsked(evict.run, "preempt", kill_at_ms))
        for move in plan.moves:
            kill_at_ms = self.now_ms + self.state.view.terms.grace_ms
            self.tell(ev.RunStopAsked(move.run, move.why, kill_at_ms, move.keeps))
        if plan.promises:
            self.tell(ev.StartsPromised(plan.promises))

    def _start(self, job: str, shares: tuple[Share, ...]) -> None:
        attempt = self.state.jobs[job].attempts
        run = f"{job}.{attempt}"
        self.tell(ev.RunPlaced(run, job, attempt, shares, 1 << 50))
        self.tell(ev.RunStarted(run, self.now_ms))

    # -- what is there to see -----------------------------------------------------------------------------

    def promised(self, job: str) -> float | None:
        """The minute at which a job is promised to start; 0 where it knows that none can be promised."""
        promise = self.state.truth.promises.get(job)
        if promise is None:
            return None
        return (promise.at_ms - START_MS) / MINUTE_MS if promise.at_ms else 0

    def why(self, job: str) -> Reason:
        """Why a job waits."""
        return why_waiting(self.state.view, job, self.now_ms, self.state.jobs[job].not_before_ms)

    def picture(self) -> str:
        """The cluster now; a job is shown by the last character of its name."""
        words = {
            name: ["." if mark.isalpha() else mark for mark in word] for name, word in self.marks.items()
        }
        for run in self.state.runs.values():
            for share in run.shares:
                for card in share.cards:
                    words[share.node][card] = run.job[-1]
        racks: dict[tuple[str, ...], list[str]] = {}
        for name, word in words.items():
            racks.setdefault(self.state.nodes[name].place, []).append("".join(word))
        return " | ".join(" ".join(nodes) for nodes in racks.values())

    def running(self) -> str:
        """The jobs that run, in order of name."""
        return " ".join(sorted(run.job for run in self.state.runs.values()))


def _starts(plan: Plan) -> Any:
    """What of a plan must not depend on what was proven; promises may come forward as time goes."""
    return plan.places, plan.unpaid


def queue(scene: Scene, text: str) -> Scene:
    """Jobs in short: `1=2 2=1-8 3=4@bob 4=1/30`: cards (from-to), tenant, minutes."""
    for word in text.split():
        job, _, wants = word.partition("=")
        wants, _, minutes = wants.partition("/")
        wants, _, tenant = wants.partition("@")
        low, _, high = wants.partition("-")
        scene.ask(job, int(low), int(high or low), float(minutes or 60), tenant or "ann")
    return scene


def insides_of(state: State) -> Any:
    """All of a state that can be seen, what is derived included, to compare before and after."""
    spaces = {
        kind: [array.tolist() for array in (space.node, space.card, space.slot, space.stock)]
        for kind, space in state.spaces.items()
    }
    lines = {kind: dict(line.stands) for kind, line in state.view.lines.items()}
    return state.snapshot(), spaces, lines, list(state.view.shares.has), dict(state.view.promises)
