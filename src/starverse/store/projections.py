"""What lists and pages read, kept in step with the journal: jobs, their runs, reservations, and prices."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection

from starverse.model import events as ev
from starverse.model.allocation import milli_cards
from starverse.model.job import JOB_LIFE
from starverse.store.database import driver_sql, plain

_TO_ALWAYS = {event for _, event in JOB_LIFE} - {"RunStarted"}
_PHASE_AFTER = {event: phase for (_, event), phase in JOB_LIFE.items() if event in _TO_ALWAYS}
assert all(_PHASE_AFTER[event] == phase for (_, event), phase in JOB_LIFE.items() if event in _TO_ALWAYS), (
    "an event other than RunStarted leads to a phase that depends on the one before: move it by SQL as well"
)
_ON_START = {phase: after for (phase, event), after in JOB_LIFE.items() if event == "RunStarted"}

_ADD_PRICE = (
    "INSERT INTO prices (kind, from_ms, price) VALUES (?, ?, ?) "
    "ON CONFLICT (kind, from_ms) DO UPDATE SET price = excluded.price"
)
_ADD_JOB = (
    "INSERT INTO jobs (job, number, tenant, project, owner, name, phase, outcome, why, kind, cards_min,"
    ' cards_max, price, priority, submitted_ms, run, runs, charged, credited, card_ms, spec, "array")'
    " VALUES (?, ?, ?, ?, ?, ?, 'waiting', '', '', ?, ?, ?, ?, ?, ?, '', 0, 0, 0, 0, ?, ?)"
)
_ADD_RUN = (
    "INSERT INTO runs (run, job, attempt, shares, cards, placed_ms, how, code, rank, text, fault, injected)"
    " VALUES (?, ?, ?, ?, ?, ?, '', 0, -1, '', ?, ?)"
)
_ADD_RESERVATION = (
    "INSERT INTO reservations (reservation, number, tenant, made_ms, spec, shares, why)"
    " VALUES (?, ?, ?, ?, ?, ?, '')"
)
_CHANGE_RESERVATION = (
    "UPDATE reservations SET shares = COALESCE(?, shares), ended_ms = COALESCE(?, ended_ms),"
    " why = COALESCE(?, why) WHERE reservation = ?"
)
_CHANGE_RUN = (
    # nobody pays for time before the hold was taken: see State
    "UPDATE runs SET started_ms = CASE WHEN ? < placed_ms THEN placed_ms ELSE COALESCE(?, started_ms) END,"
    " resumed_ms = COALESCE(?, resumed_ms), resumed_step = COALESCE(?, resumed_step),"
    " checkpoint_ms = COALESCE(?, checkpoint_ms), checkpoint_step = COALESCE(?, checkpoint_step),"
    " ended_ms = COALESCE(?, ended_ms), how = COALESCE(?, how), code = COALESCE(?, code),"
    " rank = COALESCE(?, rank), text = COALESCE(?, text), injected = COALESCE(?, injected),"
    " fault = COALESCE(?, fault) WHERE run = ?"
)
_BLAME_INJECTED = "UPDATE runs SET fault = injected WHERE run = ?"
_CHANGE_JOB = (
    "UPDATE jobs SET"
    " phase = COALESCE(?, CASE WHEN ? = 1 THEN CASE phase :moves ELSE phase END ELSE phase END),"
    " outcome = COALESCE(?, outcome), why = COALESCE(?, why), ended_ms = COALESCE(?, ended_ms),"
    " run = COALESCE(?, run), runs = COALESCE(?, runs), charged = charged + ?, credited = credited + ?,"
    " card_ms = card_ms + ?, started_ms = COALESCE(started_ms, (SELECT started_ms FROM runs WHERE run = ?))"
    " WHERE job = ?"
).replace(":moves", " ".join(f"WHEN '{phase}' THEN '{after}'" for phase, after in _ON_START.items()))


class _Job(Struct, gc=False):
    """What becomes of a row of `jobs`, in the order of _CHANGE_JOB; None leaves as it is."""

    phase: str | None = None
    started: int = 0
    outcome: str | None = None
    why: str | None = None
    ended_ms: int | None = None
    run: str | None = None
    runs: int | None = None
    charged: int = 0
    credited: int = 0
    card_ms: int = 0
    started_run: str | None = None


class _Run(Struct, gc=False):
    """What becomes of a row of `runs`, in the order of _CHANGE_RUN; None leaves as it is."""

    clamped_ms: int | None = None
    started_ms: int | None = None
    resumed_ms: int | None = None
    resumed_step: int | None = None
    checkpoint_ms: int | None = None
    checkpoint_step: int | None = None
    ended_ms: int | None = None
    how: str | None = None
    code: int | None = None
    rank: int | None = None
    text: str | None = None
    injected: bool | None = None
    fault: bool | None = None


class _Reservation(Struct, gc=False):
    """What becomes of a row of `reservations`, in the order of _CHANGE_RESERVATION; None leaves as it is."""

    shares: str | None = None
    ended_ms: int | None = None
    why: str | None = None


class Projection:
    """The changes that a batch of events makes to the projections: gathered first, so that each row is
    touched once a batch, then written."""

    def __init__(self) -> None:
        self._settling: dict[str, ev.RunEnded] = {}  # how the run of a job ended; empty after each instant
        self._clear()

    def _clear(self) -> None:
        self._prices: dict[tuple[str, int], int] = {}
        self._new_jobs: list[tuple[Any, ...]] = []
        self._new_runs: list[tuple[Any, ...]] = []
        self._jobs: dict[str, _Job] = {}
        self._runs: dict[str, _Run] = {}
        self._if_injected: list[tuple[str]] = []
        self._new_reservations: list[tuple[Any, ...]] = []
        self._reservations: dict[str, _Reservation] = {}

    def add(self, seq: int, heard_ms: int, event: Any) -> None:
        """Take up one event."""
        fold = _FOLDS.get(type(event))
        if fold:
            fold(self, event, seq, heard_ms)

    def write(self, connection: Connection) -> None:
        """Change the rows, in the caller's transaction, and be ready for the next batch."""
        prices = [(*key, price) for key, price in self._prices.items()]
        runs = [(*_values(change), run) for run, change in self._runs.items()]
        jobs = [(*_values(change), job) for job, change in self._jobs.items()]
        reservations = [(*_values(change), name) for name, change in self._reservations.items()]
        for statement, rows in (
            (_ADD_PRICE, prices),
            (_ADD_JOB, self._new_jobs),
            (_ADD_RUN, self._new_runs),
            (_CHANGE_RUN, runs),
            (_BLAME_INJECTED, self._if_injected),
            (_CHANGE_JOB, jobs),
            (_ADD_RESERVATION, self._new_reservations),
            (_CHANGE_RESERVATION, reservations),
        ):
            if rows:
                connection.exec_driver_sql(driver_sql(connection, statement), rows)
        self._clear()

    # -- one event ----------------------------------------------------------------------------------------

    def _job(self, job: str) -> _Job:
        change = self._jobs.get(job)
        if change is None:
            change = self._jobs[job] = _Job()
        return change

    def _run(self, run: str) -> _Run:
        change = self._runs.get(run)
        if change is None:
            change = self._runs[run] = _Run()
        return change

    def _job_of(self, run: str) -> _Job:
        return self._job(run.rpartition(".")[0])

    def price_set(self, event: ev.PriceSet, seq: int, heard_ms: int) -> None:
        self._prices[event.kind, event.from_ms] = event.price

    def job_submitted(self, event: ev.JobSubmitted, seq: int, heard_ms: int) -> None:
        spec = event.spec
        self._new_jobs.append(
            (
                spec.job, seq, spec.tenant, plain(spec.project), plain(spec.owner), plain(spec.name),
                spec.kind, spec.cards_min, spec.cards_max, spec.price, spec.priority, heard_ms,
                msgspec.json.encode(spec).decode(), spec.array,
            )
        )  # fmt: skip

    def fault_injected(self, event: ev.FaultInjected, seq: int, heard_ms: int) -> None:
        self._run(event.run).injected = True

    def run_placed(self, event: ev.RunPlaced, seq: int, heard_ms: int) -> None:
        shares = msgspec.json.encode(event.shares).decode()
        cards = milli_cards(event.shares)
        self._new_runs.append((event.run, event.job, event.attempt, shares, cards, heard_ms, False, False))
        job = self._job(event.job)
        job.phase = _PHASE_AFTER["RunPlaced"]
        job.run = event.run
        job.runs = event.attempt + 1
        job.why = ""

    def run_started(self, event: ev.RunStarted, seq: int, heard_ms: int) -> None:
        run = self._run(event.run)
        run.clamped_ms = run.started_ms = event.happened_ms
        job = self._job_of(event.run)
        if job.phase is None:
            job.started = 1
        else:
            job.phase = _ON_START.get(job.phase, job.phase)  # type: ignore[call-overload]
        if job.started_run is None:
            job.started_run = event.run

    def run_resumed(self, event: ev.RunResumed, seq: int, heard_ms: int) -> None:
        run = self._run(event.run)
        run.resumed_ms = event.happened_ms
        run.resumed_step = event.step

    def checkpoint_saved(self, event: ev.CheckpointSaved, seq: int, heard_ms: int) -> None:
        run = self._run(event.run)
        run.checkpoint_ms = event.happened_ms
        run.checkpoint_step = event.step

    def run_stop_asked(self, event: ev.RunStopAsked, seq: int, heard_ms: int) -> None:
        self._job_of(event.run).phase = _PHASE_AFTER["RunStopAsked"]

    def run_ended(self, event: ev.RunEnded, seq: int, heard_ms: int) -> None:
        run = self._run(event.run)
        run.ended_ms, run.how, run.code, run.rank = event.happened_ms, event.how, event.code, event.rank
        run.text = plain(event.text)
        self._job_of(event.run).phase = _PHASE_AFTER["RunEnded"]
        self._settling[event.run.rpartition(".")[0]] = event

    def job_requeued(self, event: ev.JobRequeued, seq: int, heard_ms: int) -> None:
        job = self._job(event.job)
        job.phase = _PHASE_AFTER["JobRequeued"]
        job.why = plain(event.why)
        end = self._settling.pop(event.job, None)
        if event.platform and end:
            self._run(end.run).fault = True

    def job_paused(self, event: ev.JobPaused, seq: int, heard_ms: int) -> None:
        job = self._job(event.job)
        job.phase = _PHASE_AFTER["JobPaused"]
        job.why = plain(event.why)
        self._settling.pop(event.job, None)

    def job_ended(self, event: ev.JobEnded, seq: int, heard_ms: int) -> None:
        job = self._job(event.job)
        job.phase = _PHASE_AFTER["JobEnded"]
        job.outcome = event.outcome
        job.why = plain(event.why)
        job.ended_ms = heard_ms
        end = self._settling.pop(event.job, None)
        if end and event.outcome == "failed":  # perhaps the last of too many faults: rules.is_platform_fault
            if end.how == "signal":
                self._if_injected.append((end.run,))
            elif end.how in ("lost", "unstarted"):
                self._run(end.run).fault = True

    def reservation_made(self, event: ev.ReservationMade, seq: int, heard_ms: int) -> None:
        made = event.reservation
        written = (msgspec.json.encode(each).decode() for each in (made, event.shares))
        self._new_reservations.append((made.name, seq, made.tenant, heard_ms, *written))

    def reservation_moved(self, event: ev.ReservationMoved, seq: int, heard_ms: int) -> None:
        change = self._reservations.setdefault(event.reservation, _Reservation())
        change.shares = msgspec.json.encode(event.shares).decode()

    def reservation_ended(self, event: ev.ReservationEnded, seq: int, heard_ms: int) -> None:
        change = self._reservations.setdefault(event.reservation, _Reservation())
        change.ended_ms, change.why = heard_ms, event.why

    def posted(self, event: ev.Posted, seq: int, heard_ms: int) -> None:
        if not event.job:
            return
        job = self._job(event.job)
        if event.kind == "charge":
            job.charged += event.lines[1][1]
            job.card_ms += event.card_ms
        elif event.kind == "credit":
            job.credited += event.lines[0][1]


_values = msgspec.structs.astuple

_FOLDS: dict[type, Callable[[Projection, Any, int, int], None]] = {
    ev.PriceSet: Projection.price_set,
    ev.JobSubmitted: Projection.job_submitted,
    ev.FaultInjected: Projection.fault_injected,
    ev.RunPlaced: Projection.run_placed,
    ev.RunStarted: Projection.run_started,
    ev.RunResumed: Projection.run_resumed,
    ev.CheckpointSaved: Projection.checkpoint_saved,
    ev.RunStopAsked: Projection.run_stop_asked,
    ev.RunEnded: Projection.run_ended,
    ev.JobRequeued: Projection.job_requeued,
    ev.JobPaused: Projection.job_paused,
    ev.JobEnded: Projection.job_ended,
    ev.ReservationMade: Projection.reservation_made,
    ev.ReservationMoved: Projection.reservation_moved,
    ev.ReservationEnded: Projection.reservation_ended,
    ev.Posted: Projection.posted,
}
