"""The list of jobs, once or live, and why one is where it is."""

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from starverse.faces.cli import job, session
from starverse.faces.cli.options import AsJson, Project
from starverse.faces.cli.show import Column, console, document, grid, line, line_now, now_ms, table
from starverse.faces.cli.words import ago, cards, one_line, standing
from starverse.model.errors import BadInput
from starverse.model.units import format_duration, format_yuan

if TYPE_CHECKING:
    from starverse.faces.client import Client
    from starverse.faces.schemas import Job, Page

PAGE = 200
JOBS_MAX = 1_000_000

COLUMNS = (
    Column("JOB"),
    Column("NAME", loose=True),
    Column("PHASE"),
    Column("CARDS", right=True),
    Column("KIND", spare=True),
    Column("SUBMITTED", spare=True),
    Column("TOOK", right=True),
    Column("COST", right=True),
    Column("WHY", loose=True, spare=True),
)

PhaseName = Literal["waiting", "starting", "running", "stopping", "settling", "paused", "ended"]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(rich_help_panel="Jobs")(jobs)
    app.command("why", rich_help_panel="Jobs")(job.why)


def jobs(
    ctx: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="All of them, however many.")] = False,
    phase: Annotated[PhaseName | None, typer.Option(help="Only those in this phase.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=JOBS_MAX, metavar="N", help="The newest so many.")] = 20,
    project: Project = "",
    array: Annotated[str, typer.Option(metavar="ARRAY", help="The jobs of this array, one by one.")] = "",
    everyone: Annotated[bool, typer.Option(help="For operators: those of all tenants.")] = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Go on showing what changes.")] = False,
    as_json: AsJson = False,
) -> None:
    """Your jobs, the newest first; an array is one line."""
    if watch and as_json:
        raise BadInput("--watch never ends, and --json prints one document.", "Leave one of them out.")
    if watch and everyone:
        raise BadInput("--watch shows your own jobs.", "Leave --everyone out.")
    count = JOBS_MAX if everything else limit
    with session.signed_in(ctx) as client:
        page = _list(client, project, phase or "", count, everyone, array, fold=not (watch or array))
        if watch:
            _watch(client, list(page.items), count, phase or "", project)
            return
    if as_json:
        document(page)
        return
    now = now_ms()
    table(
        COLUMNS,
        [_row(each, now) for each in page.items],
        "No jobs. `starverse submit -- train.py` makes one.",
    )
    if page.cursor:
        line("There are older ones: --limit N, or --all.")


def _list(
    client: "Client", project: str, phase: str, count: int, everyone: bool, array: str, fold: bool
) -> "Page[Job]":
    """The newest so many jobs as one page; its cursor says whether there are more."""
    page = client.jobs(project, phase, "", min(count, PAGE), everyone, array, fold)
    items = list(page.items)
    while page.cursor and len(items) < count:
        left = min(count - len(items), PAGE)
        page = client.jobs(project, phase, page.cursor, left, everyone, array, fold)
        items += page.items
    from starverse.faces.schemas import Page

    return Page(tuple(items), page.cursor)


def _watch(client: "Client", found: "list[Job]", count: int, phase: str, project: str) -> None:
    """Redraw the list at every change; in a pipe, print the job that changed."""
    from rich.live import Live

    from starverse.faces.schemas import JobChanged

    board = console()
    live = board.is_terminal and not board.is_dumb_terminal
    shown = {each.job: each for each in found}

    def draw() -> Any:
        now = now_ms()
        newest = sorted(shown.values(), key=lambda each: -each.submitted_ms)[:count]
        rows = newest[: max(board.height - 2, 1)]  # what is higher than the terminal cannot be redrawn
        return grid(COLUMNS, [[one_line(cell) for cell in _row(each, now)] for each in rows], board.width)

    if not live:
        table(COLUMNS, [_row(each, now_ms()) for each in found])
        sys.stdout.flush()
    with Live(draw() if live else "", console=board, auto_refresh=False, transient=not live) as screen:
        for event in client.stream_all():
            if type(event) is not JobChanged:
                continue
            changed = event.job
            if project and changed.project != project:
                continue
            if phase and changed.phase != phase:
                shown.pop(changed.job, None)
            else:
                shown[changed.job] = changed
            if live:
                screen.update(draw(), refresh=True)
            else:
                line_now("  ".join(filter(None, map(one_line, _row(changed, now_ms())))))


def _folded(each: "Job", now: int) -> tuple[str, ...]:
    """An array in a line: how many of its jobs stand how."""
    counts = ", ".join(f"{count} {word}" for word, count in each.array_jobs.items())
    every = f"{cards(each.cards_min, each.cards_max)} each"
    return each.array, each.name, counts, every, each.kind, ago(each.submitted_ms, now), "", "", ""


def _row(each: "Job", now: int) -> tuple[str, ...]:
    if each.array_jobs:
        return _folded(each, now)
    took = "" if each.started_ms is None else format_duration((each.ended_ms or now) - each.started_ms)
    return (
        each.job,
        each.name,
        standing(each.phase, each.outcome),
        cards(each.cards_min, each.cards_max),
        each.kind,
        ago(each.submitted_ms, now),
        took,
        format_yuan(each.cost),
        "" if each.outcome == "done" else each.why,
    )
