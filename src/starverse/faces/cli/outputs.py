"""What a job wrote: its logs, and the files in its output folder."""

import fnmatch
import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from starverse.faces.cli import exits, session
from starverse.faces.cli.options import AsJson, JobName
from starverse.faces.cli.pick import pick
from starverse.faces.cli.show import Column, console, document, line, note, now_ms, table
from starverse.faces.cli.words import ago, harmless, many, size
from starverse.model.errors import BadInput, NotFound, StarverseError

if TYPE_CHECKING:
    from starverse.faces.client import Client
    from starverse.faces.schemas import Job, LogPart, OutputFile

Stream = Literal["stdout", "stderr"]

PIECE_BYTES = 1 << 20
PIECES_MAX = 10_000
FEW_BYTES = 16
"""Enough to see whether there are any."""


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (logs, files, get):
        app.command()(command)


def logs(
    ctx: typer.Context,
    job: JobName,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job ends.")] = False,
    run: Annotated[str, typer.Option(metavar="N", help="Of this run; the last one unless named.")] = "",
    stderr: Annotated[bool, typer.Option("--stderr", help="What it wrote to stderr.")] = False,
    as_json: AsJson = False,
) -> None:
    """What a job wrote."""
    if follow and as_json:
        raise BadInput("-f goes on, and --json prints one document.", "Leave one of them out.")
    stream: Stream = "stderr" if stderr else "stdout"
    with session.signed_in(ctx) as client:
        found = pick(client, job)
        name = f"{found.job}.{run}" if run.isdigit() else run
        if follow and found.phase != "ended":
            try:
                _go_on(client, found, name, stream)
            except KeyboardInterrupt:
                note(f"The job goes on. `starverse job stop {found.job}` ends it.")
                raise typer.Exit(exits.INTERRUPTED) from None
            return
        if as_json:
            document(_whole(client, found, name, stream))
            return
        parts = _parts(client, found.job, name, stream)
        for part in parts:
            _write(part.text)
        if not stderr:
            _tell_of_the_rest(client, found.job, parts[0].run, empty=not any(part.text for part in parts))


def files(ctx: typer.Context, job: JobName, as_json: AsJson = False) -> None:
    """The files a job wrote into its output folder."""
    with session.signed_in(ctx) as client:
        found = client.files(pick(client, job).job)
    if as_json:
        document(found)
        return
    now = now_ms()
    rows = [(each.path, size(each.bytes), ago(each.modified_ms, now)) for each in found]
    table([Column("FILE", loose=True), Column("SIZE", right=True), Column("WRITTEN")], rows, "No files yet.")


def get(
    ctx: typer.Context,
    job: JobName,
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH", show_default=False, help="Files, folders or patterns; all unless named."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="DIR", help="Into this folder; else one named for the job."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch files from a job's output folder."""
    with session.signed_in(ctx) as client:
        found = pick(client, job)
        wanted = _wanted(client.files(found.job), paths or [])
        folder = Path(output or found.job)
        got = _fetch(client, found.job, wanted, folder)
    if as_json:
        document([{"path": each.path, "bytes": each.bytes, "file": str(file)} for each, file in got])
    else:
        total = sum(each.bytes for each, _ in got)
        line(f"{many(len(got), 'file')}, {size(total)}, in {folder}")


# -- logs -----------------------------------------------------------------------------------------------


def _parts(client: "Client", job: str, run: str, stream: Stream) -> "list[LogPart]":
    """All that is kept of a run's output, piece by piece."""
    offset, pieces = 0, []
    for _ in range(PIECES_MAX):
        part = client.logs(job, run, stream, offset, PIECE_BYTES)
        pieces.append(part)
        if not part.more or part.next_offset <= offset:
            break
        run, offset = part.run, part.next_offset  # the same run, should another one begin meanwhile
    return pieces


def _whole(client: "Client", job: "Job", run: str, stream: Stream) -> "LogPart":
    """All of it as one piece."""
    from dataclasses import replace

    pieces = _parts(client, job.job, run, stream)
    text = "".join(part.text for part in pieces)
    return replace(pieces[0], text=text, next_offset=pieces[-1].next_offset, more=pieces[-1].more)


def _tell_of_the_rest(client: "Client", job: str, run: str, empty: bool) -> None:
    """Say where the rest is, of a run that ended badly or wrote nothing else: it tells what went wrong."""
    runs = client.runs(job)
    told = next((each for each in runs if each.run == run), None)
    if told is None or not (empty or told.text):
        return
    if client.logs(job, run, "stderr", 0, FEW_BYTES).text:
        which = "" if told is runs[-1] else f" --run {told.attempt}"
        note(f"It wrote to stderr, too: starverse job logs {job} --stderr{which}")
    elif empty and told.ended_ms is not None:
        note("It wrote nothing, or that is not kept any more.")


def _go_on(client: "Client", job: "Job", run: str, stream: Stream) -> None:
    """Print the job's output as it comes, of all its runs or one, through restarts of the server."""
    from starverse.faces.schemas import Ended, LogText, Reconnecting

    shown = ""
    away = False
    for event in client.stream(job.job):
        if isinstance(event, Reconnecting):
            if event.attempt > 1 and not away:
                note("The server is away; trying again.")
                away = True
            continue
        away = False
        if isinstance(event, Ended):
            if stream == "stdout":
                _tell_of_the_rest(client, job.job, run or event.job.run, empty=not shown)
            return
        if isinstance(event, LogText) and event.stream == stream and run in ("", event.run):
            if shown not in ("", event.run):
                note(f"-- run {event.run.rpartition('.')[2]} --")
            shown = event.run
            _write(event.text)


def _write(text: str) -> None:
    """As it is into a file or pipe; without what could harm it to a terminal."""
    sys.stdout.write(harmless(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()


# -- files ----------------------------------------------------------------------------------------------


def _wanted(there: "tuple[OutputFile, ...]", paths: list[str]) -> "list[OutputFile]":
    """The files named; all if none was. Raises NotFound for a name that fits no file, folder or pattern."""
    if not paths:
        if not there:
            raise NotFound("The job has written no files yet.", "It writes them into STARVERSE_OUTPUT.")
        return list(there)
    chosen: dict[str, OutputFile] = {}
    for name in paths:
        plain = name.removeprefix("./").rstrip("/")
        some = [
            each
            for each in there
            if each.path == plain
            or each.path.startswith(f"{plain}/")
            or fnmatch.fnmatchcase(each.path, plain)
        ]
        if not some:
            raise NotFound(f"The job has written no file '{name[:80]}'.", "`starverse job files` lists them.")
        chosen |= {each.path: each for each in some}
    return list(chosen.values())


def _fetch(
    client: "Client", job: str, wanted: "list[OutputFile]", folder: Path
) -> "list[tuple[OutputFile, Path]]":
    """Download into the folder, under the same paths."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    places = [(each, folder / _inside(each.path)) for each in wanted]
    board = console(sys.stderr)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
    with Progress(*columns, console=board, transient=True, disable=not board.is_terminal) as progress:
        task = progress.add_task("Fetching", total=sum(each.bytes for each in wanted))
        for each, file in places:
            file.parent.mkdir(parents=True, exist_ok=True)
            client.download(job, each.path, file)
            progress.advance(task, each.bytes)
    return places


def _inside(path: str) -> PurePosixPath:
    """The path below the folder. Raises StarverseError for one that would lead out of it."""
    plain = PurePosixPath(path)
    if plain.is_absolute() or ".." in plain.parts or not plain.parts:
        raise StarverseError(f"The server names a file '{path[:80]}', which is none below the output folder.")
    return plain
