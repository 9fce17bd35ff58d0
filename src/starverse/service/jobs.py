"""Jobs as people see them: lists, one, why it waits, what happened; and to stop or resume it."""

from typing import get_args

from starverse.control.state import State
from starverse.model.errors import Refused
from starverse.model.job import Outcome
from starverse.model.requests import ResumeJob, StopJob
from starverse.scheduler.reasons import why_paused, why_waiting
from starverse.service import access, outputs, rows
from starverse.service.access import Actor, must_operate, project_of
from starverse.service.answers import Cause, Job, Moment, Page, Run, Why
from starverse.service.loop import tell
from starverse.service.platform import Platform
from starverse.service.timeline import moment
from starverse.store import history
from starverse.store import reading as store
from starverse.store.database import reading

SAYS: dict[str, str] = {
    "starting": "It has its cards and is starting.",
    "running": "It is running.",
    "stopping": "It was asked to save and leave.",
    "settling": "Its run has just ended.",
}


def list_jobs(
    platform: Platform,
    actor: Actor,
    project: str,
    phase: str,
    cursor: str,
    limit: int,
    everyone: bool,
    array: str = "",
    fold: bool = False,
) -> Page[Job]:
    """Jobs of a project, or of all the caller's, or (operator) of everyone; those of one `array`, or with
    `fold` each array as its first job, and how many of its jobs stand how."""
    members = list(actor.projects)
    if everyone:
        must_operate(actor)
    elif project:
        members = [project_of(actor, project, "viewer")]
    now_ms = platform.now_ms()
    if not members and not everyone:
        return Page((), "")
    with reading(platform.database) as connection:
        found, following = rows.job_page(
            connection, None if everyone else members, phase, cursor, limit, array, fold
        )
        live = rows.live_of_jobs(connection, found, now_ms)
        counts = rows.array_counts(connection, {row.array for row in found if row.array} if fold else ())
    return Page(
        tuple(rows.job_answer(row, live, array_jobs=counts.get(row.array)) for row in found), following
    )


def show(platform: Platform, actor: Actor, job: str) -> Job:
    """One job with its progress."""
    with reading(platform.database) as connection:
        row = access.seen_job(connection, actor, job)
        live = rows.live_of_jobs(connection, [row], platform.now_ms())
    return rows.job_answer(row, live, outputs.progress(platform, row))


def stop(platform: Platform, actor: Actor, job: str) -> Job:
    """End a job, or all of an array, whose first job is answered; what has ended already stays as it is."""
    row = access.job_of(platform, actor, job, "member", arrays=True)
    if not _is_over(platform, row, job):
        try:
            tell(platform, StopJob(job, actor.user))
        except Refused:
            row = access.job_of(platform, actor, job, arrays=True)
            if not _is_over(platform, row, job):  # else it ended in this very moment
                raise
    return show(platform, actor, row.job)


def _is_over(platform: Platform, row: store.JobRow, name: str) -> bool:
    """Whether a job, or all of the array with that name, has ended."""
    if row.array != name:
        return row.phase == "ended"
    with reading(platform.database) as connection:
        return set(rows.array_counts(connection, (name,))[name]) <= set(get_args(Outcome))


def resume(platform: Platform, actor: Actor, job: str) -> Job:
    """Let a paused job wait for cards again."""
    access.job_of(platform, actor, job, "member")
    tell(platform, ResumeJob(job, actor.user))
    return show(platform, actor, job)


def why(platform: Platform, actor: Actor, job: str) -> Why:
    """Why a job is where it is."""
    row = access.job_of(platform, actor, job)
    now_ms = platform.now_ms()

    def look(state: State) -> Why | None:
        alive = state.jobs.get(job)
        if alive is None:
            return None
        if alive.phase == "paused":
            paused = why_paused(alive.spec, alive.pause, alive.why, state.gate.has_room(alive))
            causes = tuple(Cause(cause.code, cause.text) for cause in paused.causes)
            return Why(job, alive.phase, causes[0].text, causes)
        if alive.phase != "waiting":
            return Why(job, alive.phase, alive.why or SAYS.get(alive.phase, ""))
        reason = why_waiting(state.view, job, now_ms, alive.not_before_ms)
        causes = tuple(Cause(cause.code, cause.text) for cause in reason.causes)
        text = causes[0].text if causes else "Its turn is now."
        return Why(job, alive.phase, text, causes, reason.change, reason.promised_ms or None)

    ended = f"It is {row.outcome}{': ' + row.why if row.why else ''}." if row.outcome else "It has ended."
    return platform.ask(look) or Why(job, "ended", ended)


def runs(platform: Platform, actor: Actor, job: str) -> tuple[Run, ...]:
    """The runs of a job, the first one first."""
    access.job_of(platform, actor, job)
    with reading(platform.database) as connection:
        return tuple(rows.run_answer(row) for row in store.runs_of(connection, job))


def timeline(platform: Platform, actor: Actor, job: str) -> tuple[Moment, ...]:
    """What happened to a job, in order."""
    access.job_of(platform, actor, job)
    told = (moment(*event) for event in history.events_of(platform.database, job))
    return tuple(each for each in told if each)
