"""The checkpoints of a job: written whole or not at all, found again newest first, the oldest thrown away."""

import errno
import math
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch.distributed.checkpoint.api import CheckpointException

from starverse import __version__
from starverse.train import manifest, state
from starverse.train.group import Group
from starverse.train.manifest import Manifest, Seal
from starverse.train.state import Parts


class NoSpace(Exception):
    """There was no room to write a checkpoint; the ones before are still valid."""


class CheckpointFailed(Exception):
    """A checkpoint could not be written, or not be loaded, for the reason in the text."""


class Checkpoints:
    """The checkpoints in a directory that outlives the runs of the job. Each method is collective."""

    def __init__(self, directory: Path, group: Group, keep: int) -> None:
        self._directory = directory
        self._group = group
        self._keep = keep
        directory.mkdir(parents=True, exist_ok=True)
        if group.rank == 0:
            manifest.sweep(directory)

    def save(self, step: int, loss: float | None, parts: Parts) -> float:
        """Write the checkpoint of a step, durably; give the seconds it took.

        Raises NoSpace or CheckpointFailed, on all ranks alike, if one of them met an error. What was
        written of it is gone then, and the checkpoints before it are as they were.
        """
        began_s = time.monotonic()
        partial = self._directory / (manifest.directory_name(step) + manifest.PARTIAL)
        results = self._group.gather(self._write(partial, parts))
        problems = [result for result in results if isinstance(result, Exception)]
        problem = min(problems, key=lambda error: not isinstance(error, NoSpace), default=None)
        if problem is None:
            seals = [own for own in results if isinstance(own, dict)]
            files = {name: seal for own in seals for name, seal in own.items()}
            finite = loss if loss is not None and math.isfinite(loss) else None
            whole = Manifest(step, finite, self._group.world_size, __version__, files)
            problem = self._group.share(self._publish(partial, whole))
        if problem is not None:
            if self._group.rank == 0:
                shutil.rmtree(partial, ignore_errors=True)
            raise problem
        return time.monotonic() - began_s

    def load_newest(self, parts: Parts) -> tuple[Manifest, dict[str, Any] | None] | None:
        """Load the newest valid checkpoint, if any; give its manifest and this rank's random numbers.

        Raises CheckpointFailed if the newest is sound, but another model's, optimizer's or data's.
        """
        for name in self._group.share([path.name for path in manifest.newest_first(self._directory)]):
            checkpoint = self._directory / name
            found = self._verify(checkpoint)
            if found is None:
                continue
            try:
                return found, state.read(checkpoint, parts, self._group, found.world_size)
            except ValueError as error:
                raise CheckpointFailed(
                    f"{checkpoint} can't be gone on from: {error}. Start a new job, or give it an "
                    "empty directory for its checkpoints"
                ) from error
        return None

    def _write(self, partial: Path, parts: Parts) -> dict[str, Seal] | Exception:
        """Write this rank's files and seal them. An error is given, not raised: all ranks must hear of it."""
        try:
            return {path.name: manifest.seal(path) for path in state.write(partial, parts, self._group)}
        except (OSError, RuntimeError, CheckpointException) as error:
            return _told(error, partial)

    def _publish(self, partial: Path, whole: Manifest) -> Exception | None:
        """Rank 0: make what all ranks wrote a checkpoint, and make room. Other ranks: nothing."""
        if self._group.rank != 0:
            return None
        try:
            manifest.publish(partial, whole)
            manifest.prune(self._directory, self._keep)
        except OSError as error:
            return _told(error, partial)
        return None

    def _verify(self, checkpoint: Path) -> Manifest | None:
        """The manifest of a whole checkpoint, None for another; each rank checks a share of the files."""
        group, found, reason, damaged = self._group, None, "", False
        try:
            found = manifest.read(checkpoint)
            names = sorted(found.files)[group.rank :: group.world_size]
            manifest.check(checkpoint, {name: found.files[name] for name in names})
        except (ValueError, OSError) as error:
            reason, damaged = str(error), isinstance(error, ValueError)
        reasons = [(text, bad) for text, bad in group.gather((reason, damaged)) if text]
        if not reasons:
            return found
        if group.rank == 0:
            sys.stderr.write(f"starverse: {checkpoint} is ignored: {reasons[0][0]}\n")
            if any(bad for _, bad in reasons):
                manifest.condemn(checkpoint)
        return None


class Cadence:
    """When a checkpoint is due: every so many steps, or else so that saving takes 1 % of the time.

    Without a number of steps the interval is 100 × what the last save took, between 10 s and 10 min: for a
    save of 0.1 to 6 s that is 1 %, and at most so much training is lost to a fault. Mutable owner of these
    two times.
    """

    def __init__(self, every: int | None) -> None:
        self._every = every
        self._interval_s = 10.0
        self._last_s = time.monotonic()

    def due(self, step: int) -> bool:
        """Whether to save after this step."""
        if self._every is not None:
            return step % self._every == 0
        return time.monotonic() - self._last_s >= self._interval_s

    def saved(self, seconds: float) -> None:
        """A save has ended, and took so long."""
        self._last_s = time.monotonic()
        self._interval_s = min(600.0, max(10.0, 100 * seconds))


def _told(error: BaseException, partial: Path) -> NoSpace | CheckpointFailed:
    """The error in our words: picklable, since every rank hears of it."""
    text = f"could not write {partial.name.removesuffix(manifest.PARTIAL)} into {partial.parent}: "
    if any(
        isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT) for cause in _causes(error)
    ):
        return NoSpace(f"{text}no space left there. Make room; the checkpoint before this one is still valid")
    return CheckpointFailed(text + state.first_line(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and all that led to it, on any rank; at most a hundred."""
    row = [error]
    for cause in row:
        yield cause
        failures = cause.failures.values() if isinstance(cause, CheckpointException) else ()
        row += [
            more
            for more in (cause.__cause__, cause.__context__, *(pair[0] for pair in failures))
            if more is not None and len(row) < 100
        ]
