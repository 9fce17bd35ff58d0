"""What the run tells the platform: lines that rank 0 appends to the report file, never a flood of them."""

import math
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from starverse.train import contract

TEXT_CHARACTERS_MAX = 500


class Reporter:
    """Appends records to the run's report file, if there is one. Mutable owner of its own pace.

    A record that can't be written is dropped: training is worth more than its report.
    """

    def __init__(self, path: str | None, steps: int, tokens_per_batch: int | None) -> None:
        self._path = None if path is None else Path(path)
        self._steps = steps
        self._tokens_per_batch = tokens_per_batch
        self._torn = False
        self._began_s = self._last_s = time.monotonic()
        self._last_step: int | None = None

    def started(self, world_size: int, resumed_from: int | None) -> None:
        """The ranks have met, and stand at the step of a checkpoint, or (None) at the beginning."""
        self._append("started", world_size=world_size, resumed_from=resumed_from)

    def step(self, step: int, loss: float) -> None:
        """A step is complete. Written if it is the run's first, or the job's last, or the pace allows."""
        now_s = time.monotonic()
        first, last = self._last_step is None, step == self._steps
        if not (first or last or now_s - self._last_s >= interval_s(now_s - self._began_s)):
            return
        finite = math.isfinite(loss)
        self._append(
            "step",
            step=step,
            steps=self._steps,
            loss=loss if finite else None,
            finite=finite,
            tokens_per_s=self._tokens_per_s(step, now_s),
        )
        self._last_step, self._last_s = step, now_s

    def checkpoint(self, step: int, seconds: float) -> None:
        """A checkpoint is complete and durable; training stood still for so long."""
        self._append("checkpoint", step=step, seconds=round(seconds, 6))

    def saved(self, step: int) -> None:
        """Asked to stop, the run has saved and is about to exit with EXIT_SAVED."""
        self._append("saved", step=step)

    def no_space(self, step: int, text: str) -> None:
        """There was no room for a checkpoint; the run is about to exit with EXIT_NO_SPACE."""
        plain = "".join(c if c.isprintable() else " " for c in text)
        self._append("no_space", step=step, text=plain[:TEXT_CHARACTERS_MAX])

    def done(self, step: int) -> None:
        """The last step is complete."""
        self._append("done", step=step)

    def _tokens_per_s(self, step: int, now_s: float) -> float | None:
        elapsed_s = now_s - self._last_s
        if self._tokens_per_batch is None or self._last_step is None or elapsed_s <= 0:
            return None
        return round(self._tokens_per_batch * (step - self._last_step) / elapsed_s, 3)

    def _append(self, kind: str, **values: Any) -> None:
        if self._path is None:
            return
        line = contract.encode(kind, time.time_ns() // 1_000_000, **values)
        if self._torn:  # end the half line that a full disk left
            line = b"\n" + line
        with suppress(OSError):
            self._torn = append(self._path, line) < len(line)


def append(path: Path, line: bytes) -> int:
    """Append a line by one write, so that it never mixes with another's; give the bytes that fitted."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        return os.write(descriptor, line)
    finally:
        os.close(descriptor)


def interval_s(age_s: float) -> float:
    """The least time between two step records of a run that old: 50 ms for 500 s, then growing to 10 s.

    So a run leaves at most about 10,000 × (1 + ln 200) = 63,000 records in its first 28 hours, under 10 MB,
    and 8,640 a day from then on.
    """
    return min(10.0, max(0.05, age_s / 10_000))
