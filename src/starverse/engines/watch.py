"""One run as the engine sees it through its files: what is new since the last look, as events."""

import os
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from typing import Any, Literal

from starverse.engines import shims
from starverse.engines.folder import PASSING, RunFolder, read_claim, read_json
from starverse.engines.tree import start_time
from starverse.model.errors import StarverseError
from starverse.model.events import CheckpointSaved, Event, RunEnded, RunResumed, RunStarted
from starverse.train.contract import read_reports

REPORT_BYTES_MAX = 64 * 1024 * 1024
"""No train kit writes a longer report; the rest of one is not read, for its job may not hold us up."""
REPORT_READS_A_LOOK = 4
CHECKPOINT_EVERY_MS = 1000
"""A run's checkpoints are told no more often: of several the newest, and the last one before the end."""

ENDED: tuple[tuple[str, Any], ...] = (("how", "exit"), ("code", 0), ("rank", -1), ("text", ""))
"""The fields of an ended status, and what stands for one that isn't there."""

Phase = Literal["preparing", "awaited", "met", "lost", "over"]
"""A run's way through the engine: its folder is made ready → its shim is awaited → met → (it vanished: lost,
and buried) → over: all is said. Phases only go forward."""


class Watch:
    """What was said of a run so far, and what is still to be said. Mutable owner of both.

    A look costs two `stat` and a `poll` while nothing happens. When `gone`, all is said and nothing is left.
    """

    def __init__(
        self,
        folder: RunFolder,
        pool: Executor,
        since_ms: int,
        preparation: "Future[int | None] | None" = None,
    ):
        self.folder = folder
        self.phase: Phase = "preparing" if preparation else "awaited"
        self.gone = False
        self._pool = pool
        self._preparation = preparation
        self._task: Future[Any] | None = None  # the burial, or the cleaning
        self._shim: shims.Shim | None = None
        self._status: dict[str, Any] = {}
        self._stamps: dict[str, tuple[int, int, int]] = {}
        self._offset = 0
        self._heard_ms = since_ms
        self._started = self._resumed = False
        self._checkpoint: CheckpointSaved | None = None  # heard, and not told yet
        self._checkpoint_told_ms = -CHECKPOINT_EVERY_MS

    def look(self, now_ms: int) -> list[Event]:
        """All that is new."""
        steps = {
            "preparing": self._prepare,
            "awaited": self._await,
            "met": self._follow,
            "lost": self._bury,
            "over": self._tidy,
        }
        events: list[Event] = []
        for phase, step in steps.items():
            if phase == self.phase:
                events += step(now_ms)
        self._heard_ms = now_ms
        return events

    def refuse(self, now_ms: int, text: str) -> list[Event]:
        """Let it never start, if it has not; the end of it. Raises OSError if that can't be written down."""
        if not shims.refuse(self.folder, now_ms, text):
            return []
        return [self._unstarted(now_ms, text, now_ms)]

    def wake(self) -> None:
        """Something was written for the shim: let it look."""
        if self._shim:
            self._shim.wake()

    # -- the phases -------------------------------------------------------------------------------------

    def _prepare(self, now_ms: int) -> list[Event]:
        assert self._preparation
        if not self._preparation.done():
            return []
        self.phase = "awaited"
        error = self._preparation.exception()
        if error is None:
            return []
        return self._give_up(now_ms, f"The run can't be prepared: {_sentence(error)}")

    def _await(self, now_ms: int) -> list[Event]:
        self._shim = shims.meet(self.folder)
        if self._shim:
            self.phase = "met"
            return []
        state, claim = read_claim(self.folder)
        if state == "tombstone":
            return [self._unstarted(claim["tombstone_ms"], claim["text"], now_ms)]
        if state == "dead":
            self.phase = "lost"
        if state == "free" and not self._child_lives():
            return self._give_up(now_ms, f"The run's shim can't be started. {shims.last_words(self.folder)}")
        return []

    def _give_up(self, now_ms: int, text: str) -> list[Event]:
        try:
            return self.refuse(now_ms, text)
        except OSError:  # without a tombstone, for the disk is full; but there is no shim either
            return [self._unstarted(now_ms, text, now_ms)]

    def _child_lives(self) -> bool:
        failed = self._preparation is None or self._preparation.exception() is not None
        child = None if failed or self._preparation is None else self._preparation.result()
        return child is not None and start_time(child) is not None

    def _follow(self, now_ms: int) -> list[Event]:
        assert self._shim
        dead = self._shim.is_dead()  # asked before its status is read, so that its last words are not missed
        if self._is_new(self.folder.status):
            self._status = read_json(self.folder.status) or {}
        events = self._hear(now_ms)
        if "ended_ms" in self._status:
            if self._is_read():
                events.append(self._end(self._status, now_ms))
        elif dead:
            self.phase = "lost"
        return events

    def _bury(self, now_ms: int) -> list[Event]:
        if self._task is None:
            self._task = self._pool.submit(shims.bury, self.folder)
        if not self._task.done():
            return []
        if self._task.exception():
            self._task = None  # something would not die: try again
            return []
        self._status = self._task.result()
        events = self._hear(now_ms)
        if not self._is_read():
            return events
        self._task = None
        return [*events, self._end(self._status, now_ms)]

    def _tidy(self, _: int) -> list[Event]:
        """Wait for what is still under way, and see that nothing of the run stays but what tells of it."""
        under_way = (self._preparation, self._task)
        if any(task and not task.done() for task in under_way) or (self._shim and not self._shim.is_dead()):
            return []
        if self._task is None and any(os.path.exists(f"{self.folder.path}/{name}") for name in PASSING):
            self._task = self._pool.submit(shims.clean, self.folder)
            return []
        if self._shim:
            self._shim.release()
        self.gone = True
        return []

    # -- what the files say -----------------------------------------------------------------------------

    def _hear(self, now_ms: int) -> list[Event]:
        """Its start, its first step, its checkpoints."""
        events: list[Event] = []
        if not self._started and "started_ms" in self._status:
            self._started = True
            started_ms = min(self._status["started_ms"], now_ms)
            self._heard_ms = min(self._heard_ms, started_ms)
            events.append(RunStarted(self.folder.run, started_ms))
        if self._started and self._is_new(self.folder.report):
            events += self._hear_report(min(self._status.get("ended_ms", now_ms), now_ms))
        is_due = "ended_ms" in self._status or now_ms >= self._checkpoint_told_ms + CHECKPOINT_EVERY_MS
        if self._checkpoint and is_due:
            events.append(self._checkpoint)
            self._checkpoint, self._checkpoint_told_ms = None, now_ms
        return events

    def _hear_report(self, until_ms: int) -> Iterator[Event]:
        """The job's own word, believed only as far as it fits between the last look and this one."""
        # a job that floods its report shall not slow the loop down while it runs
        reads = REPORT_READS_A_LOOK if "ended_ms" in self._status else 1
        for _ in range(reads):
            if self._offset > REPORT_BYTES_MAX:
                return
            try:
                records, offset = read_reports(self.folder.report, self._offset)
            except OSError:  # it is the job's, who may have made it unreadable
                return
            for record in records:
                at_ms = max(min(self._heard_ms, until_ms), min(record["at_ms"], until_ms))
                match record["kind"]:
                    case "step" if not self._resumed:
                        self._resumed = True
                        yield RunResumed(self.folder.run, record["step"], at_ms)
                    case "checkpoint" | "saved":
                        self._checkpoint = CheckpointSaved(self.folder.run, record["step"], at_ms)
            if offset == self._offset:
                return
            self._offset = offset
        self._stamps.pop(self.folder.report, None)  # there is more

    def _is_read(self) -> bool:
        """Whether all of the report was heard that will be."""
        return not self._started or self.folder.report in self._stamps

    def _is_new(self, path: str) -> bool:
        """Whether a file has changed since this was last asked."""
        try:
            found = os.stat(path)
        except FileNotFoundError:
            return False
        stamp = (found.st_ino, found.st_size, found.st_mtime_ns)
        if self._stamps.get(path) == stamp:
            return False
        self._stamps[path] = stamp
        return True

    def _unstarted(self, ended_ms: int, text: str, now_ms: int) -> RunEnded:
        return self._end({"ended_ms": ended_ms, "how": "unstarted", "text": text.strip()}, now_ms)

    def _end(self, status: dict[str, Any], now_ms: int) -> RunEnded:
        self.phase = "over"
        how, code, rank, text = (status.get(key, default) for key, default in ENDED)
        return RunEnded(self.folder.run, min(status["ended_ms"], now_ms), how, code, rank, text)


def _sentence(error: BaseException) -> str:
    match error:
        case StarverseError():
            return str(error)
        case OSError(strerror=str(reason), filename=filename):
            return f"{reason}: {filename}" if filename else reason
        case _:
            return f"{type(error).__name__}: {error}"
