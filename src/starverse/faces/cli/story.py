"""What happens to a job, told from its live events: lines to keep, and how far it has come."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from starverse.faces import schemas as sc
from starverse.faces.cli import words
from starverse.model.units import SECOND_MS, format_duration, format_yuan

CURVE_MAX = 4096
"""Losses kept to draw; when there are more, every second one is dropped."""

PIECE_MAX = 65_536
"""A line of output longer than this is shown in pieces."""

RATE_MS = 20 * SECOND_MS
"""The pace is that of the last so long."""


Kind = Literal["log", "note", "bad", "good"]

ENDS: dict[str, tuple[str, Kind]] = {"done": ("✓", "good"), "stopped": ("■", "note")}
BAD_END: tuple[str, Kind] = ("✗", "bad")
"""The mark and the colour of each way to end; who stopped a job on purpose need not be alarmed."""


class Line(NamedTuple):
    """Something to say for good."""

    kind: Kind
    text: str


class Story:
    """One job as it is being followed. Mutable owner of what was heard."""

    def __init__(self) -> None:
        self.job: sc.Job | None = None
        self.runs: dict[str, sc.Run] = {}
        self.metric: sc.Metric | None = None
        self.curve: list[float] = []
        self.marks: list[int] = []  # where in the curve another run began
        self.first_loss: float | None = None
        self.away = False
        self._last_steps: dict[str, int] = {}
        self._pace: list[tuple[int, int]] = []  # (at_ms, step), of the present run
        self._pieces: dict[tuple[str, str], str] = {}
        self._verdict: list[Line] = []  # on the last run of a job that is over: what it wrote comes first
        self._keep_every, self._skipped = 1, 0

    def hear(self, event: sc.StreamEvent) -> Iterator[Line]:
        """Take up an event; what is to be said of it."""
        if isinstance(event, sc.Reconnecting):
            if event.attempt > 1 and not self.away:  # the first break is a stream's natural end, or a blink
                yield Line("note", f"The server is away ({event.why.rstrip('.')}); trying again.")
                self.away = True
            return
        if self.away:
            self.away = False
            yield Line("note", "The server is back.")
        match event:
            case sc.JobChanged(job=job, runs=runs):
                yield from self._changed(job, runs)
            case sc.Metric():
                self._measured(event)
            case sc.LogText(run=run, stream=stream, text=text):
                yield from self._wrote(run, stream, text)
            case sc.Ended(job=job):
                yield from self._rest()
                yield from self._verdict
                self.job = job
                yield from self._ended(job)

    @property
    def faults(self) -> int:
        """Runs that ended by a fault of the platform's."""
        return sum(run.fault for run in self.runs.values())

    @property
    def steps_lost(self) -> int:
        """Steps done more than once, as far as was reported."""
        return steps_lost(self.runs.values(), self._last_steps)

    @property
    def left_ms(self) -> int | None:
        """How long it takes at the present pace; None while that is not known."""
        if self.metric is None or self.metric.steps is None or len(self._pace) < 2:
            return None
        if self.job and self.job.phase == "ended":
            return None
        (from_ms, from_step), (to_ms, to_step) = self._pace[0], self._pace[-1]
        if to_step <= from_step:
            return None
        return (self.metric.steps - to_step) * (to_ms - from_ms) // (to_step - from_step)

    # -- the job and its runs -----------------------------------------------------------------------------

    def _changed(self, job: sc.Job, runs: tuple[sc.Run, ...]) -> Iterator[Line]:
        before, self.job = self.job, job
        previous: sc.Run | None = None
        for run in runs:
            known = self.runs.get(run.run)
            self.runs[run.run] = run
            if known is None:
                yield Line("note", f"run {run.attempt}: {words.many(run.cards, 'card')} on {_nodes(run)}")
            if previous and run.resumed_ms is not None and (known is None or known.resumed_ms is None):
                yield Line("good", self._resumed(run, previous))
            if run.ended_ms is not None and (known is None or known.ended_ms is None):
                said = self._run_ended(run)
                if job.phase == "ended" and run is runs[-1]:
                    self._verdict = list(said)
                else:
                    yield from said
            previous = run
        if job.phase == "waiting" and before is None and not job.why:
            yield Line("note", f"waiting for cards; `starverse why {job.job}` says why")
        stands = before is not None and (before.phase, before.why) == (job.phase, job.why)
        if job.phase in ("waiting", "paused") and job.why and not stands:
            text = f"{job.phase}: {words.one_line(job.why)}"
            yield Line("bad" if job.phase == "paused" else "note", text)

    def _run_ended(self, run: sc.Run) -> Iterator[Line]:
        if run.how == "exit" and run.code == 0:
            return
        what = f"run {run.attempt}: {words.ending(run.how, run.code, run.rank)}"
        if words.has_saved(run.how, run.code):
            yield Line("note", what)
        elif run.fault:
            injected = ", injected" * run.injected
            yield Line("bad", f"✗ fault in {what} (the platform's{injected}: what is lost is not charged)")
        else:
            yield Line("bad", f"✗ {what}")

    def _resumed(self, run: sc.Run, previous: sc.Run) -> str:
        assert run.resumed_ms is not None
        after = (
            f", {format_duration(max(run.resumed_ms - previous.ended_ms, 0))} later"
            if previous.ended_ms
            else ""
        )
        lost = steps_lost((previous, run), self._last_steps)
        return f"↻ run {run.attempt} goes on with step {run.resumed_step or 0:,}{after}" + (
            f", {words.many(lost, 'step')} lost" if lost else ""
        )

    def _ended(self, job: sc.Job) -> Iterator[Line]:
        mark, kind = ENDS.get(job.outcome, BAD_END)
        why = f": {words.one_line(job.why)}" if job.outcome != "done" and job.why else ""
        facts = [f"{mark} {job.outcome}{why}"]
        if job.started_ms is not None and job.ended_ms is not None:
            facts.append(f"took {format_duration(job.ended_ms - job.started_ms)}")
        if self.metric:
            facts.append(words.many(self.metric.step, "step"))
        if self.metric and self.metric.loss is not None and self.first_loss is not None:
            facts.append(f"loss {words.number(self.first_loss)} → {words.number(self.metric.loss)}")
        if self.faults:
            facts.append(f"{words.many(self.faults, 'fault')}, {words.many(self.steps_lost, 'step')} lost")
        credited = f" ({format_yuan(job.credited)} credited)" if job.credited else ""
        facts.append(f"cost {format_yuan(job.cost)}{credited}")
        yield Line(kind, "; ".join(facts))

    # -- what it reports and writes -----------------------------------------------------------------------

    def _measured(self, metric: sc.Metric) -> None:
        if self.metric is not None and self.metric.run != metric.run:
            self._pace.clear()
            self.marks.append(len(self.curve))
        self.metric = metric
        self._last_steps[metric.run] = max(metric.step, self._last_steps.get(metric.run, 0))
        self._pace.append((metric.at_ms, metric.step))
        while len(self._pace) > 2 and metric.at_ms - self._pace[0][0] > RATE_MS:
            self._pace.pop(0)
        if metric.loss is None:
            return
        if self.first_loss is None:
            self.first_loss = metric.loss
        self._skipped += 1
        if self._skipped >= self._keep_every:
            self._skipped = 0
            self.curve.append(metric.loss)
        if len(self.curve) > CURVE_MAX:
            del self.curve[::2]
            self.marks = [mark // 2 for mark in self.marks]
            self._keep_every *= 2

    def _wrote(self, run: str, stream: str, text: str) -> Iterator[Line]:
        *whole, piece = (self._pieces.pop((run, stream), "") + text).split("\n")
        if len(piece) > PIECE_MAX:
            whole.append(piece)
            piece = ""
        if piece:
            self._pieces[run, stream] = piece
        for each in whole:
            yield Line("log", each.removesuffix("\r"))

    def _rest(self) -> Iterator[Line]:
        for piece in self._pieces.values():
            yield Line("log", piece)
        self._pieces.clear()


def steps_lost(runs: Iterable[sc.Run], last_steps: Mapping[str, int]) -> int:
    """Steps that had to be done again: after each run's last step, those from where the next one went on."""
    lost = 0
    reached = 0
    for run in runs:
        if run.resumed_step is not None:
            lost += max(reached - run.resumed_step + 1, 0)
            reached = max(last_steps.get(run.run, 0), run.resumed_step)
    return lost


def _nodes(run: sc.Run) -> str:
    names = [place.node for place in run.places]
    return ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
