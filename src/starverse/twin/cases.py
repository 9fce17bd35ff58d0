"""Plays a case: the loop that customers depend on, over a world whose clock jumps."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from starverse.control.controller import Controller
from starverse.control.ports import Asked, Input
from starverse.control.state import State
from starverse.model import commands as cmd
from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.errors import BadInput
from starverse.model.units import format_duration
from starverse.scheduler.reasons import why_paused, why_waiting
from starverse.twin.case import Case, Expect
from starverse.twin.world import Fate, ListJournal, World

TURNS_MAX = 1_000_000

Watch = Callable[["Play"], None]


class Rest(Exception):
    """Nothing happens up to the horizon."""


class CaseWorld(World):
    """A world that lives up to a horizon, and then rests."""

    horizon_ms = 0

    def __init__(
        self, start_ms: int, fate: Callable[[cmd.StartRun, int], Fate], leaves: Callable[[str], None]
    ) -> None:
        super().__init__(start_ms, fate)
        self._leaves = leaves

    def act(self, commands: Iterable[cmd.Command]) -> None:
        """Let happen what the orders lead to, and say who was asked to save and leave."""
        orders = tuple(commands)
        for order in orders:
            if isinstance(order, cmd.StopRun) and order.why != "lost":
                self._leaves(order.run)
        super().act(orders)

    def wait(self, until_ms: int | None) -> tuple[int, Sequence[Input]]:
        """The next instant. Raises Rest where it lies beyond the horizon, or there is none."""
        next_ms = self.now_ms if self._now else min(self._instants[:1], default=None)
        if next_ms is None or (until_ms is not None and until_ms < next_ms):
            next_ms = until_ms
        if next_ms is None or next_ms > self.horizon_ms:
            raise Rest
        return super().wait(until_ms)


class Play:
    """A case as it goes on, mutable; `watch` is called after every turn of the loop."""

    def __init__(self, case: Case, watch: Watch = lambda play: None) -> None:
        self.case = case
        self.journal = ListJournal()
        self.world = CaseWorld(case.start_ms, self._fate, self._save)
        self.loop = Controller(self.world, self.journal, State())
        self.first_start_ms: dict[str, int] = {}
        self.runs: dict[str, int] = {}
        self.ended: dict[str, ev.JobEnded] = {}
        self.promises: dict[str, list[int]] = {}
        self.card_ms: dict[str, int] = {}
        self.refused: list[tuple[int, str, str]] = []
        """When something was refused, what it was asked about, and the refusal."""
        self._watch = watch
        self._read = 0
        self._answered = 0
        self._turns = 0
        self._asked: list[rq.Request] = []
        self._done_ms: dict[str, int] = {}
        self._begun_ms: dict[str, int] = {}
        world, start_ms = self.world, case.start_ms
        world.at(start_ms, case.layout)
        for node in case.nodes:
            world.at(start_ms, node)
        for tenant, money in case.tenants.items():
            self._ask(start_ms, rq.OpenTenant(tenant, money))
        for at_ms, request in case.asks:
            self._ask(at_ms, request)
        for at_ms, request in submissions(case):
            self._ask(at_ms, request)

    @property
    def state(self) -> State:
        """The state of the loop."""
        return self.loop.state

    @property
    def now_ms(self) -> int:
        """The time it is."""
        return self.world.now_ms

    def _ask(self, at_ms: int, request: rq.Request) -> None:
        self._asked.append(request)
        self.world.at(at_ms, Asked(len(self._asked), request))

    def _fate(self, order: cmd.StartRun, now_ms: int) -> Fate:
        job = self.case.jobs[order.job]
        fate = job.fates[min(order.attempt, len(job.fates) - 1)]
        left_ms = fate.work_ms - self._done_ms.get(order.job, 0) if job.saves else fate.work_ms
        self._begun_ms[order.run] = now_ms + fate.start_ms
        return Fate(max(left_ms, 0), fate.start_ms, fate.how, fate.code)

    def _save(self, run: str) -> None:
        """A run is asked to leave, and leaves what it did to the next."""
        job = run.rpartition(".")[0]
        did_ms = self.world.now_ms - self._begun_ms.pop(run, self.world.now_ms)
        self._done_ms[job] = self._done_ms.get(job, 0) + max(did_ms, 0)

    # -- time ---------------------------------------------------------------------------------------------

    def until(self, at_ms: int) -> None:
        """Live through all that happens up to then."""
        self.world.horizon_ms = at_ms
        try:
            while True:
                self.loop.turn()
                self._read_on()
                self._watch(self)
                self._turns += 1
                if self._turns > TURNS_MAX:
                    raise BadInput(
                        f"The case finds no rest after {TURNS_MAX:,} instants.", 'Say until = "1d", or so.'
                    )
        except Rest:
            pass

    def live(self, number: int) -> None:
        """Live up to a moment of the case, and through it."""
        moment = self.case.moments[number]
        world, at_ms = self.world, moment.at_ms
        self.until(at_ms - 1)
        if moment.restart:
            world.now_ms = at_ms
            state = State.load(self.state.snapshot())
            self.loop = Controller(world, self.journal, state)
            self.loop.take_over(at_ms, state.truth.epoch + 1)
        for event in moment.events:
            world.at(at_ms, event)
        for job in moment.kill:
            run = self.state.jobs[job].run if job in self.state.jobs else ""
            if run:
                world.at(at_ms, ev.RunEnded(run, at_ms, "signal", 9, 0))
        for request in moment.requests:
            self._ask(at_ms, request)
        self.until(at_ms)
        world.now_ms = max(world.now_ms, at_ms)

    def finish(self) -> None:
        """Live on to the end of the case: as long as it says, or until nothing is left to happen."""
        self.until(self.case.until_ms or 1 << 60)
        self.world.now_ms = max(self.now_ms, self.case.until_ms)

    # -- what came of it ----------------------------------------------------------------------------------

    def _read_on(self) -> None:
        rows = self.journal.rows
        for heard_ms, event in rows[self._read :]:
            self._note(heard_ms, event)
        self._read = len(rows)
        answers = self.journal.taken
        for taken in answers[self._answered :]:
            if taken.refusal:
                self.refused.append((self.now_ms, subject(self._asked[taken.id - 1]), taken.refusal))
        self._answered = len(answers)

    def _note(self, heard_ms: int, event: ev.Event) -> None:
        match event:
            case ev.RunPlaced(job=job):
                self.runs[job] = self.runs.get(job, 0) + 1
                self.first_start_ms.setdefault(job, heard_ms)
            case ev.JobEnded(job=job):
                self.ended[job] = event
            case ev.StartsPromised(promises=promises):
                for promised in promises:
                    self.promises.setdefault(promised.job, []).append(promised.at_ms)
            case ev.Posted(kind="charge", job=job, card_ms=card_ms):
                self.card_ms[job] = self.card_ms.get(job, 0) + card_ms
            case _:
                pass

    def refusals(self) -> dict[str, str]:
        """What was refused of what was asked for each job, or node, or tenant."""
        return {about: refusal for _, about, refusal in self.refused}

    def where(self, job: str) -> dict[str, int]:
        """The cards that a job has now, by node: bit sets."""
        state = self.state
        run = state.runs.get(state.jobs[job].run) if job in state.jobs else None
        return {share.node: share.mask for share in run.shares} if run else {}

    def why(self, job: str) -> tuple[str, ...]:
        """Why a job waits, or is paused: a sentence for each cause, and what would change it."""
        waiting = self.state.jobs[job]
        if waiting.phase == "paused":
            has_room = self.state.gate.has_room(waiting)
            paused = why_paused(waiting.spec, waiting.pause, waiting.why, has_room)
            return tuple(cause.text for cause in paused.causes)
        reason = why_waiting(self.state.view, job, self.now_ms, waiting.not_before_ms)
        sentences = [cause.text for cause in reason.causes]
        if reason.change:
            sentences.append(reason.change)
        return tuple(sentences)

    def promised_ms(self, job: str) -> int:
        """The start that is promised to a job that waits; 0 for none."""
        promise = self.state.truth.promises.get(job)
        return promise.at_ms if promise else 0

    def waiting(self) -> list[str]:
        """The jobs that wait or are paused, in the order of submission."""
        jobs = self.state.jobs
        there = [name for name, job in jobs.items() if job.phase in ("waiting", "paused")]
        return sorted(there, key=lambda name: jobs[name].order)


class Look(NamedTuple):
    """A time at which one looks: what is expected there, if anything."""

    at_ms: int
    expect: Expect | None


def play(case: Case, look: Callable[[Play, Look], None], watch: Watch = lambda play: None) -> Play:
    """Play a case to its end, and look at it: at the start, at each moment, at the end."""
    played = Play(case, watch)
    if not case.moments or case.moments[0].at_ms > case.start_ms:
        played.until(case.start_ms)
        look(played, Look(case.start_ms, None))
    for number, moment in enumerate(case.moments):
        played.live(number)
        look(played, Look(moment.at_ms, moment.expect))
    played.finish()
    look(played, Look(played.now_ms, case.expect))
    return played


def submissions(case: Case) -> list[tuple[int, rq.Request]]:
    """When which jobs are asked for: those of an array together."""
    arrays: dict[str, list[int]] = {}
    for job in case.jobs.values():
        if job.spec.array:
            arrays.setdefault(job.spec.array, []).append(job.spec.array_index)
    asks: dict[str, tuple[int, rq.Request]] = {}
    for name, job in case.jobs.items():
        array = job.spec.array
        if not array:
            asks[name] = job.submit_ms, rq.SubmitJob(job.spec)
        elif array not in asks:
            spec = replace(job.spec, job=array, array="", array_index=0)
            asks[array] = job.submit_ms, rq.SubmitArray(spec, tuple(arrays[array]))
    return list(asks.values())


def subject(request: rq.Request) -> str:
    """The job, reservation, node or tenant, or what else a request is about."""
    if isinstance(request, rq.SubmitJob | rq.SubmitArray):
        return request.spec.job
    if isinstance(request, rq.Reserve):
        return request.reservation.name
    found = next(
        getattr(request, key)
        for key in ("job", "node", "tenant", "run", "kind", "reservation", "feed", "name")
        if hasattr(request, key)
    )
    return str(found)


def clock(case: Case, at_ms: int) -> str:
    """A time of a case, as so long after its start."""
    return format_duration(at_ms - case.start_ms) if at_ms > case.start_ms else "0 s"
