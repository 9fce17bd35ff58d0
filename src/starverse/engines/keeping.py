"""Removes what runs and jobs left on the disk, once they are over and their time or room is used up."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from starverse.engines.folder import RunFolder, read_claim

EndedMs = Callable[[Sequence[str]], Mapping[str, int]]
"""When each of these jobs ended; those that are not over, or not known, are left out."""


def clear_runs(home: Path, ended_ms: EndedMs, before_ms: int, bytes_max: int) -> int:
    """Remove the folders of runs whose jobs ended before then, and of older ones so that those of ended jobs
    take no more than `bytes_max`; how many that were. Nothing of a job that is not over is touched.
    """
    found = _by_job(home / "runs", lambda name: name.rpartition(".")[0])
    removed = taken_bytes = 0
    over = ended_ms(tuple(found))
    for job in sorted(over, key=lambda job: (-over[job], job)):  # the newest first: they have the room
        for folder in found[job]:
            taken_bytes += _bytes_in(folder)
            if over[job] < before_ms or taken_bytes > bytes_max:
                removed += _is_dead(folder) and _remove(folder)
    return removed


def clear_jobs(home: Path, ended_ms: EndedMs, before_ms: int) -> int:
    """Remove checkpoints and output of jobs that ended before then; of how many."""
    found = _by_job(home / "jobs", lambda name: name)
    over = ended_ms(tuple(found))
    return sum(_remove(found[job][0]) for job, at_ms in over.items() if at_ms < before_ms)


def _by_job(place: Path, job_of: Callable[[str], str]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    with suppress(FileNotFoundError):
        for folder in sorted(place.iterdir()):
            found.setdefault(job_of(folder.name), []).append(folder)
    return found


def _is_dead(folder: Path) -> bool:
    """Whether no shim is at work there any more, whatever became of its job."""
    return read_claim(RunFolder(str(folder)))[0] != "held"


def _bytes_in(folder: Path) -> int:
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            with suppress(FileNotFoundError):
                total += Path(place, name).lstat().st_size
    return total


def _remove(folder: Path) -> bool:
    """Whether it is gone. A job may have built what is hard to remove: that stays, and keeps nothing else."""
    with suppress(OSError, RecursionError):
        shutil.rmtree(folder)
    return not folder.exists()
