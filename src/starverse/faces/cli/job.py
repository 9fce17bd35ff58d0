"""One job: show, follow, stop, resume, why."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from starverse.faces.cli import session, shapes
from starverse.faces.cli.options import AsJson, JobName
from starverse.faces.cli.pick import pick
from starverse.faces.cli.show import Column, document, facts, line, now_ms, table
from starverse.faces.cli.words import ago, cards, clock, ending, harmless, many, number, one_line, standing
from starverse.model.units import format_duration, format_yuan

if TYPE_CHECKING:
    from starverse.faces.schemas import Job, Metric, Run

POINTS = 5000
MOMENTS_SHOWN = 40
ARRAY = re.compile("j-[a-z0-9]+")
"""What may be the name of an array: those of its jobs have an index behind it."""

AFTER_A_RUN = ("waiting", "paused", "ended")
"""The phases in which the last run may be why a job is where it is."""


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (show, follow, stop, resume, why):
        app.command()(command)


def show(ctx: typer.Context, job: JobName, as_json: AsJson = False) -> None:
    """How a job stands: why, its runs with faults and resumes, what it cost so far."""
    with session.signed_in(ctx) as client:
        found = pick(client, job)
        runs = client.runs(found.job)
        timeline = client.timeline(found.job)
        metrics = client.metrics(found.job, POINTS) if runs and not as_json else ()
        why = client.why(found.job) if found.phase in ("waiting", "paused") and not as_json else None
    if as_json:
        document({"job": found, "runs": runs, "timeline": timeline})
        return
    line(f"{one_line(found.name) or found.job}  {standing(found.phase, found.outcome)}")
    facts(_facts(found, runs, metrics, why.text if why else found.why))
    if runs:
        line()
        table(RUN_COLUMNS, [_run(each) for each in runs])
        _last_words(found.job, runs[-1])
    if timeline:
        line()
        skipped = len(timeline) - MOMENTS_SHOWN
        if skipped > 0:
            line(f"({many(skipped, 'earlier moment')} left out; --json has them all)")
        began_ms = timeline[0].at_ms
        moments = [(f"+{format_duration(max(each.at_ms - began_ms, 0))}", each.text) for each in timeline]
        table([Column("AFTER", right=True), Column("WHAT HAPPENED", loose=True)], moments[-MOMENTS_SHOWN:])


def follow(
    ctx: typer.Context,
    job: JobName,
    logs: Annotated[bool, typer.Option(help="Show what it writes, too.")] = True,
    as_json: AsJson = False,
) -> None:
    """Watch a job until it ends: progress, loss, faults and resumes. Ctrl-C leaves it running."""
    from starverse.faces.cli import follow

    with session.signed_in(ctx) as client:
        found = pick(client, job)
        ended = follow.follow(client, found.job, quiet=as_json, logs=logs)
    if as_json:
        document(ended)
    follow.exit_with(ended, quiet=as_json)


def stop(ctx: typer.Context, job: JobName, as_json: AsJson = False) -> None:
    """End a job, or all of an array: they are asked to save, then to leave."""
    with session.signed_in(ctx) as client:
        of_array = client.jobs(array=job, limit=1, fold=True).items if ARRAY.fullmatch(job) else ()
        if of_array:
            count = sum(of_array[0].array_jobs.values())
            stopped = client.stop(job)
            if as_json:
                document(stopped)
            else:
                line(f"{job}: all of it is asked to end, {many(count, 'job')}.")
            return
        found = pick(client, job)
        stopped = client.stop(found.job)
    if as_json:
        document(stopped)
    else:
        line(f"{found.job} {_stopped(found)}")


def resume(ctx: typer.Context, job: JobName, as_json: AsJson = False) -> None:
    """Let a paused job wait for cards again; it goes on from its last checkpoint."""
    with session.signed_in(ctx) as client:
        resumed = client.resume(pick(client, job).job)
    if as_json:
        document(resumed)
    else:
        line(f"{resumed.job} is {standing(resumed.phase, resumed.outcome)}.")


def why(ctx: typer.Context, job: JobName, as_json: AsJson = False) -> None:
    """Why a job is where it is, and what would start it."""
    with session.signed_in(ctx) as client:
        found = pick(client, job)
        reason = client.why(found.job)
        runs = client.runs(found.job) if found.phase in AFTER_A_RUN and not as_json else ()
    if as_json:
        document(reason)
        return
    text = one_line(reason.text) or f"It is {standing(found.phase, found.outcome)}."
    line(f"{one_line(found.name) or found.job}: {text}")
    for cause in reason.causes:
        if cause.text != reason.text:
            line(f"  - {one_line(cause.text)}")
    if reason.promised_ms is not None:
        at_ms, now = reason.promised_ms, now_ms()
        says = "It starts at the latest at" if at_ms >= now else "It was to start by"
        line(f"{says} {clock(at_ms)} ({ago(at_ms, now)}).")
    if reason.change:
        line(f"What would start it: {one_line(reason.change)}")
    if runs:
        _last_words(found.job, runs[-1])


RUN_COLUMNS = (
    Column("RUN", right=True),
    Column("CARDS", right=True),
    Column("WHERE", loose=True, spare=True),
    Column("TOOK", right=True),
    Column("FROM STEP", right=True, spare=True),
    Column("SAVED STEP", right=True, spare=True),
    Column("ENDED", loose=True),
)


def _facts(
    job: "Job", runs: "tuple[Run, ...]", metrics: "tuple[Metric, ...]", why: str
) -> list[tuple[str, str]]:
    now = now_ms()
    started = f", started {ago(job.started_ms, now)}" if job.started_ms is not None else ""
    ended = f", ended {ago(job.ended_ms, now)}" if job.ended_ms is not None else ""
    return [
        ("job", job.job),
        ("why", why),
        ("command", _command(job.command) if not job.roles else ""),
        *((f"role {each.name}", f"{each.cards} × {_command(each.command)}") for each in job.roles),
        ("cards", f"{cards(job.cards_min, job.cards_max)} × {job.kind}, {job.priority}"),
        *shapes.facts_of(job),
        ("when", f"submitted {ago(job.submitted_ms, now)}{started}{ended}"),
        *_numbers(job, runs, metrics),
    ]


def _numbers(job: "Job", runs: "tuple[Run, ...]", metrics: "tuple[Metric, ...]") -> list[tuple[str, str]]:
    """Progress, faults, money: each if there is any."""
    from starverse.faces.cli.story import steps_lost

    found: list[tuple[str, str]] = []
    if job.progress:
        at = job.progress
        of = f" of {at.steps:,} ({100 * at.step // at.steps} %)" if at.steps else ""
        rate = f", {number(at.tokens_per_s)} tokens/s" if at.tokens_per_s is not None else ""
        found.append(("progress", f"step {at.step:,}{of}, loss {number(at.loss)}{rate}"))
    faults = sum(run.fault for run in runs)
    if len(runs) > 1 or faults:
        last_steps: dict[str, int] = {}
        for metric in metrics:
            last_steps[metric.run] = max(metric.step, last_steps.get(metric.run, 0))
        resumes = sum(run.resumed_ms is not None for run in runs[1:])
        lost = many(steps_lost(runs, last_steps), "step")
        found.append(("faults", f"{many(faults, 'fault')}, {many(resumes, 'resume')}, {lost} lost"))
    credited = f", {format_yuan(job.credited)} credited" if job.credited else ""
    found.append(
        ("cost", f"{format_yuan(job.cost)} so far at {format_yuan(job.price)} a card-hour{credited}")
        if job.ended_ms is None
        else ("cost", f"{format_yuan(job.cost)} for {format_duration(job.card_ms)} of card time{credited}")
    )
    return found


def _run(run: "Run") -> tuple[str, ...]:
    began = run.started_ms if run.started_ms is not None else run.placed_ms
    took = format_duration(max((run.ended_ms or now_ms()) - began, 0))
    ended = ""
    if run.ended_ms is not None:
        fault = " (a fault of the platform's)" if run.fault else ""
        ended = ending(run.how, run.code, run.rank) + fault
    return (
        str(run.attempt),
        str(run.cards),
        ", ".join(f"{place.node}:{','.join(map(str, place.cards))}" for place in run.places),
        took,
        "" if run.resumed_step is None else f"{run.resumed_step:,}",
        "" if run.checkpoint_step is None else f"{run.checkpoint_step:,}",
        ended,
    )


def _last_words(job: str, run: "Run") -> None:
    """What a run that ended badly said last, and where there is more."""
    if run.text:
        line()
        line(f"The last lines of run {run.attempt}; more: starverse job logs {job} --stderr")
        for each in run.text.splitlines():
            line(f"    {harmless(each)}")


def _stopped(job: "Job") -> str:
    """What stopping does to a job that stands so, as the rest of a sentence."""
    match job.phase:
        case "ended":
            return f"had ended already: {job.outcome}."
        case "waiting" | "paused":
            return f"was {job.phase}, with nothing running; it is stopped."
        case "stopping" | "settling":
            return "was asked to save and leave already; it will not start again."
        case _:
            return "is asked to save and leave."


def _command(command: tuple[str, ...]) -> str:
    import shlex

    return shlex.join(command)
