"""What a job has written: its reports, its logs, its files."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Literal

from starverse.engines import reading as files_of
from starverse.engines.folder import RunFolder
from starverse.model.errors import NotFound
from starverse.service import access
from starverse.service.access import Actor
from starverse.service.answers import LogPart, Metric, OutputFile, Progress
from starverse.service.platform import Platform
from starverse.store.reading import JobRow

TAIL_BYTES = 16 * 1024
READS_MAX = 400
"""Pieces of 256 KiB of report read for one answer: 100 MB, a million steps."""
PIECE_BYTES = 1 << 20
LOOK_BACK_RUNS = 3


def metrics(platform: Platform, actor: Actor, job: str, points: int) -> tuple[Metric, ...]:
    """The steps reported over all runs, thinned evenly to about `points`, the last one kept."""
    row = access.job_of(platform, actor, job)
    found: list[Metric] = []
    reads = 0
    for attempt in range(row.runs):
        run, offset = f"{job}.{attempt}", 0
        while reads < READS_MAX:
            reads += 1
            records, following = files_of.read_reports(platform.home, run, offset)
            found += (metric for record in records if (metric := metric_of(run, record)))
            if following == offset:
                break
            offset = following
        if len(found) > 8 * points:  # as the job goes on, so that little is held at once
            found = _thinned(found, 4 * points)
    return tuple(_thinned(found, points))


def metric_of(run: str, record: dict[str, Any]) -> Metric | None:
    """A record of a training step as an answer; None for another kind of record."""
    if record["kind"] != "step":
        return None
    loss = record["loss"] if record["finite"] else None
    return Metric(run, record["at_ms"], record["step"], record["steps"], loss, record["tokens_per_s"])


def progress(platform: Platform, row: JobRow) -> Progress | None:
    """The last step a job reported, by its last run that reported any."""
    for attempt in range(row.runs - 1, max(row.runs - 1 - LOOK_BACK_RUNS, -1), -1):
        run = f"{row.job}.{attempt}"
        with suppress(FileNotFoundError):
            size = Path(RunFolder.of(str(platform.home), run).report).lstat().st_size
            records, _ = files_of.read_reports(platform.home, run, max(0, size - TAIL_BYTES))
            steps = [metric for record in records if (metric := metric_of(run, record))]
            if steps:
                last = steps[-1]
                return Progress(last.step, last.steps, last.loss, last.tokens_per_s, last.at_ms)
    return None


def logs(
    platform: Platform,
    actor: Actor,
    job: str,
    run: str,
    stream: Literal["stdout", "stderr"],
    offset: int,
    limit: int,
) -> LogPart:
    """A piece of what a run wrote; its characters are whole, unless the run's output isn't text."""
    row = access.job_of(platform, actor, job)
    run = run or row.run
    if run not in {f"{job}.{attempt}" for attempt in range(row.runs)}:
        if not run:
            return LogPart("", stream, "", 0, 0, more=False)
        raise NotFound(f"Job {job} has no run {run[:80]!r}.", "Its runs are numbered from .0 on.")
    data, following = files_of.read_log(platform.home, run, stream, offset, max(limit, 4))
    text, left = whole_text(data)
    if not text:  # the end of what there is: better shown broken than never
        text, left = data.decode(errors="replace"), 0
    more = bool(files_of.read_log(platform.home, run, stream, following, 1)[0])
    return LogPart(run, stream, text, following - len(data), following - left, more)


def whole_text(data: bytes) -> tuple[str, int]:
    """Bytes as text without a character that is cut in two at the end, and how many bytes that left out."""
    for left in range(1, min(3, len(data)) + 1):
        lead = data[-left]
        needs = 4 if lead >= 0xF0 else 3 if lead >= 0xE0 else 2 if lead >= 0xC0 else 0
        if needs > left:  # the sequence that begins here is longer than what is there
            return data[:-left].decode(errors="replace"), left
    return data.decode(errors="replace"), 0


def files(platform: Platform, actor: Actor, job: str) -> tuple[OutputFile, ...]:
    """What a job wrote into its output folder."""
    access.job_of(platform, actor, job)
    return tuple(OutputFile(*file) for file in files_of.list_output(platform.home, job))


def content(platform: Platform, actor: Actor, job: str, path: str) -> tuple[int, Iterator[bytes]]:
    """A file of the output folder: its size now, and that many bytes of it, in pieces."""
    access.job_of(platform, actor, job)
    file = files_of.open_output(platform.home, job, path)
    size = file.seek(0, 2)
    file.seek(0)
    return size, _pieces(file, size)


def _pieces(file: BinaryIO, size: int) -> Iterator[bytes]:
    """Exactly `size` bytes: a file that grows meanwhile is cut there; one that shrinks ends in zeros."""
    with file:
        while size > 0:
            piece = file.read(min(PIECE_BYTES, size)) or bytes(min(PIECE_BYTES, size))
            size -= len(piece)
            yield piece


def _thinned(found: list[Metric], points: int) -> list[Metric]:
    if len(found) <= points:
        return found
    last = len(found) - 1
    return [found[i * last // (points - 1)] for i in range(points)]
