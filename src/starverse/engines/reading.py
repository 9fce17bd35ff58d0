"""What runs and jobs have written, for those who may see it: logs, reports, output files."""

import os
import stat
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

from starverse.engines.folder import LOG_PART_BYTES, JobFolder, RunFolder
from starverse.engines.logs import STREAMS
from starverse.model.errors import BadInput, NotFound
from starverse.train import contract

FILES_MAX = 10_000
DEPTH_MAX = 64


class OutputFile(NamedTuple):
    """A file that a job left in its output folder; `path` is relative to that."""

    path: str
    size: int
    modified_ms: int


def read_log(home: Path, run: str, stream: str, offset: int = 0, limit: int = 65536) -> tuple[bytes, int]:
    """At most `limit` bytes of a run's stdout or stderr from byte `offset` on, and the offset to go on from.

    Offsets count all that was ever written, so they survive rotation; one that is rotated away is moved to
    the oldest byte there is. A negative one counts from the end. Raises BadInput for another stream.
    """
    if stream not in STREAMS:
        raise BadInput(f"There is no log '{stream[:40]}'.", f"Ask for {' or '.join(STREAMS)}.")
    folder = RunFolder.of(str(home), run)
    parts = _parts(folder, stream)
    if not parts:
        return b"", max(offset, 0)
    if offset < 0:
        offset += parts[-1] * LOG_PART_BYTES + _size(folder.log(stream, parts[-1]))
    offset = max(offset, parts[0] * LOG_PART_BYTES)
    data = b""
    while len(data) < limit:
        part, place = divmod(offset + len(data), LOG_PART_BYTES)
        more = _read(folder.log(stream, part), place, limit - len(data))
        if not more:
            break
        data += more
    return data, offset + len(data)


def read_reports(home: Path, run: str, offset: int = 0) -> tuple[list[dict[str, Any]], int]:
    """The records of a run's report after byte `offset`; see `train.contract.read_reports`."""
    return contract.read_reports(RunFolder.of(str(home), run).report, offset)


def list_output(home: Path, job: str) -> list[OutputFile]:
    """The files a job left in its output folder, by path; links are left out, and what is beyond
    FILES_MAX."""
    top = JobFolder(str(home), job).output
    found: list[OutputFile] = []
    if not Path(top).is_dir():
        return found
    # fwalk opens each folder without following links, however fast the job swaps one for another
    for place, folders, files, here in os.fwalk(top):
        folders.sort()
        below = PurePosixPath(place).relative_to(top)
        if len(below.parts) >= DEPTH_MAX:
            folders.clear()
        for name in files:
            try:
                seen = os.stat(name, dir_fd=here, follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISREG(seen.st_mode):
                found.append(OutputFile(str(below / name), seen.st_size, seen.st_mtime_ns // 1_000_000))
            if len(found) >= FILES_MAX:
                return sorted(found)
    return sorted(found)


def open_output(home: Path, job: str, path: str) -> BinaryIO:
    """Open a file of a job's output folder to read. Raises NotFound if it isn't there, or isn't a plain file
    inside.

    Each step of the way is opened without following links, so nothing the job makes leads out of its folder.
    """
    absent = NotFound(
        f"The job has no output file '{path[:200]}'.", "See its files with `starverse job files`."
    )
    steps = PurePosixPath(path).parts
    if not steps or len(steps) > DEPTH_MAX or ".." in steps or "/" in steps or "\0" in path:
        raise absent
    here = -1
    try:
        here = os.open(JobFolder(str(home), job).output, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for step in steps[:-1]:
            inner = os.open(step, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = inner
        file = os.open(steps[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=here)
    except OSError:
        raise absent from None
    finally:
        if here >= 0:
            os.close(here)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise absent
    return os.fdopen(file, "rb")


def _parts(folder: RunFolder, stream: str) -> list[int]:
    try:
        names = os.listdir(folder.path)
    except FileNotFoundError:
        return []
    pieces = (name.split(".") for name in names)
    return sorted(
        int(piece[1]) for piece in pieces if len(piece) == 3 and piece[0] == stream and piece[1].isdecimal()
    )


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except FileNotFoundError:
        return 0


def _read(path: str, offset: int, limit: int) -> bytes:
    """Part of a file; nothing if it was rotated away this instant."""
    try:
        with open(path, "rb") as file:
            return os.pread(file.fileno(), limit, offset)
    except FileNotFoundError:
        return b""
