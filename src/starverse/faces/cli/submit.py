"""Submitting: what the job would cost, the snapshot of its directory, the job itself."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starverse.faces.cli import jobfile, session, shapes
from starverse.faces.cli.jobfile import Wish
from starverse.faces.cli.options import AsJson
from starverse.faces.cli.show import console, document, line
from starverse.faces.cli.words import cards, many, size
from starverse.model.array import parse_array
from starverse.model.errors import BadInput
from starverse.model.units import format_duration, format_yuan

if TYPE_CHECKING:
    from starverse.faces.client import Client
    from starverse.faces.schemas import Preview, Snapshot

DISTANT_MS = 10 * 366 * 86_400_000

HELP = """Run a script or a command on the cluster, as this directory is now.

A Python script is started on every card, as torchrun would; any other command once. Words behind `--` are
the script's own. A job file (job.toml) says the same, with the keys command, cards, kind, name, time_limit,
environment, secrets, directory, priority, retries, project, after, after_any, array, require, prefer,
slices, spread, balanced, member, cpu, memory_mb, resources, licences, apart, apart_level, earliest_start,
reservation, stays; an option counts more than the file. In a file, [[role]] with name, cards, command and
environment is a kind of member of a gang. With --array 0-99%10 it is a hundred jobs, ten of them running at
once; each is told its index by STARVERSE_ARRAY_INDEX.
"""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(help=HELP, short_help="Run a script or a command on the cluster.", rich_help_panel="Jobs")(
        submit
    )


def submit(
    ctx: typer.Context,
    words: Annotated[
        list[str],
        typer.Argument(metavar="JOBFILE | -- SCRIPT [ARG]...", show_default=False, help="What to run."),
    ],
    count: Annotated[
        str | None,
        typer.Option(
            "--cards",
            metavar="N|MIN:MAX",
            help="How many; MIN:MAX for an elastic job, 0.25 for a part of one card.",
        ),
    ] = None,
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="The kind of card, as `prices` lists.")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="What to call it.")] = None,
    time_limit: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long it may run: 90s, 30m, 1h30m, 2d.")
    ] = None,
    priority: Annotated[
        str | None, typer.Option(metavar="CLASS", help="reserved, on-demand or preemptible.")
    ] = None,
    env: Annotated[
        list[str] | None, typer.Option(metavar="K=V", help="A variable it sees; repeatable.")
    ] = None,
    secret: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A secret it may use; repeatable.")
    ] = None,
    retries: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Tries after failures of its own.")
    ] = None,
    project: Annotated[str | None, typer.Option(metavar="PROJECT", help="Who pays; your first one.")] = None,
    after: Annotated[
        str | None,
        typer.Option("--after", "--after-ok", metavar="JOB,…", help="Start once they end well."),
    ] = None,
    after_any: Annotated[
        str | None, typer.Option(metavar="JOB,…", help="Start once they end, well or not.")
    ] = None,
    array: Annotated[
        str | None, typer.Option(metavar="0-99[%N]", help="So many jobs, told apart by an index; N at once.")
    ] = None,
    require: shapes.Require = None,
    prefer: shapes.Prefer = None,
    slices: shapes.Slices = None,
    spread: shapes.Spread = None,
    balanced: shapes.Balanced = False,
    member: shapes.Member = None,
    cpu: shapes.Cpu = None,
    memory_mb: shapes.Memory = None,
    resource: shapes.Resources = None,
    licence: shapes.Licences = None,
    apart: shapes.Apart = None,
    apart_level: shapes.ApartLevel = None,
    earliest_start: shapes.EarliestStart = None,
    reservation: shapes.Inside = None,
    stays: shapes.Stays = False,
    directory: Annotated[
        str | None, typer.Option(metavar="DIR", help="What it takes along; this folder, or the job file's.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Watch it until it ends.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would cost.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a script or a command on the cluster."""
    said = Wish(
        cards=None if count is None else jobfile.cards_of(count),
        kind=kind,
        name=name,
        time_limit_ms=None if time_limit is None else jobfile.time_limit_of(time_limit),
        priority=None if priority is None else jobfile.priority_of(priority),
        environment=jobfile.environment_of(env or []),
        secrets=tuple(secret or []),
        retries=retries,
        project=project,
        directory=None if directory is None else Path(directory),
        after=None if after is None else jobfile.afters_of(after),
        after_any=None if after_any is None else jobfile.afters_of(after_any),
        array=None if array is None else jobfile.array_of(array),
        shape=shapes.shape_of(
            require=require,
            prefer=prefer,
            slices=slices,
            spread=spread,
            balanced=balanced or None,
            member=member,
            cpu=cpu,
            memory_mb=memory_mb,
            resources=resource,
            licences=licence,
            apart=apart,
            apart_level=apart_level,
        ),
        earliest_start_ms=None if earliest_start is None else shapes.moment_of(earliest_start),
        reservation=reservation,
        stays=stays or None,
    )
    wish = _located(_whole_wish(said, words))
    folder = wish.directory
    assert folder is not None
    count_of_jobs = len(parse_array(wish.array)[0]) if wish.array else 1
    if wish.array and follow:
        raise BadInput("An array is many jobs, and one can be followed.", "Leave --follow out.")
    with session.signed_in(ctx) as client:
        wish = replace(wish, after=_known(client, wish.after), after_any=_known(client, wish.after_any))
        preview = client.preview(wish.ask())
        if dry_run and as_json:
            document(preview)
        if not as_json:
            if wish.array:
                line(f"an array of {many(count_of_jobs, 'job')}, each:")
            for each in _cost(preview):
                line(each)
        if dry_run:
            return
        snapshot, new_bytes = _upload(client, folder, wish.project or "")
        if not as_json:
            line(f"{many(snapshot.files, 'file')}, {size(snapshot.bytes)}, {size(new_bytes)} new")
        job = client.submit(wish.ask(snapshot.snapshot))
        if not as_json:
            line(f"Submitted {job.array or job.job}")
        if follow:
            from starverse.faces.cli import follow as following

            job = following.follow(client, job.job, quiet=as_json)
    if as_json:
        document(job)
    if follow:
        following.exit_with(job, quiet=as_json)
    elif job.array and not as_json:
        line(f"  starverse jobs --array {job.array}   how each stands")
        line(f"  starverse job stop {job.array}      end all of them")
    elif not as_json:
        line(f"  starverse job follow {job.job}   watch it")
        line(f"  starverse job logs {job.job}     what it writes")
        line(f"  starverse job stop {job.job}     end it")


def _known(client: "Client", names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The ids of jobs that were named, or of arrays, as `pick` understands them."""
    from starverse.faces.cli.pick import pick

    if names is None:
        return None
    return tuple(name if name.startswith("j-") else pick(client, name).job for name in names)


def _whole_wish(said: Wish, words: list[str]) -> Wish:
    """The options, over the job file if the first word names one; further words are the command."""
    if words[0].endswith(".toml"):
        return replace(said, command=tuple(words[1:]) or None).over(jobfile.read(Path(words[0])))
    return replace(said, command=tuple(words))


def _located(wish: Wish) -> Wish:
    """The wish with its directory, and its scripts as paths in it. Raises BadInput when one is not there."""
    folder = wish.directory or Path()
    if not folder.is_dir():
        raise BadInput(f"{folder} is not a directory.", "Name the one that holds your code.")
    if wish.roles and not wish.command:
        roles = tuple(replace(role, command=_in_folder(folder, role.command)) for role in wish.roles)
        return replace(wish, directory=folder, roles=roles)
    if not wish.command:
        raise BadInput(
            "There is nothing to run.", "`starverse submit -- train.py`, or a `command` in the job file."
        )
    return replace(wish, directory=folder, command=_in_folder(folder, wish.command))


def _in_folder(folder: Path, command: tuple[str, ...]) -> tuple[str, ...]:
    """A command whose script is named as a path in the folder that is sent. Raises BadInput."""
    script, *arguments = command
    if not script.endswith(".py") and "/" not in script:
        return command  # a command of the machine's, such as `python` or `nvidia-smi`
    if script.startswith("/") and not script.endswith(".py"):
        return command  # /bin/sh, which need not be on this machine
    root = folder.resolve()
    file = root / script
    if not file.is_file():
        where = "this directory" if root == Path.cwd() else str(folder)
        raise BadInput(f"There is no {script[:200]} in {where}.", "Name one that is there, or --directory.")
    inside = Path(file.parent.resolve() / file.name)
    if not inside.is_relative_to(root):
        raise BadInput(
            f"{script[:200]} lies outside {folder}, which is all that is sent.",
            "Name its folder by --directory.",
        )
    path = inside.relative_to(root).as_posix()
    return path if script.endswith(".py") else script, *arguments


def _cost(preview: "Preview") -> list[str]:
    """What it would cost, in three lines or fewer."""
    count = cards(preview.cards_min, preview.cards_max)
    begin = (
        "starts now"
        if preview.starts_now
        else f"waits: {preview.cards_free} of {preview.cards_total} cards are free"
    )
    first = f"{count} × {preview.kind} at {format_yuan(preview.price)} a card-hour; {begin}"
    if not preview.price:
        return [first]
    limit = format_duration(preview.time_limit_ms)
    costs = (
        f"{_span(preview.per_hour_min, preview.per_hour_max)} an hour, "
        f"at most {format_yuan(preview.for_time_limit_max)} for its time limit of {limit}"
    )
    lasts = ""
    if preview.lasts_ms is not None and preview.lasts_ms < DISTANT_MS:
        lasts = f" lasts {format_duration(preview.lasts_ms)}"
    return [first, costs, f"the wallet ({format_yuan(preview.available)}){lasts or ' lasts for years'}"]


def _span(low: int, high: int) -> str:
    return format_yuan(low) if low == high else f"{format_yuan(low)} to {format_yuan(high)}"


def _upload(client: "Client", directory: Path, project: str) -> "tuple[Snapshot, int]":
    """Send the directory, with a bar on a terminal: the snapshot, and how many bytes of it were new."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    board = console(sys.stderr)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=board, transient=True, disable=not board.is_terminal) as progress:
        task = progress.add_task("Reading", total=None)

        new_bytes = 0

        def sent(so_far: int, total: int) -> None:
            nonlocal new_bytes
            new_bytes = total
            progress.update(task, description="Sending", completed=so_far, total=total)

        return client.upload(directory, project, sent), new_bytes
