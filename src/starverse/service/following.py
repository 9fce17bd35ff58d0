"""Follows a job live: all that is new since a position, in the order it happened, one look at a time."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from starverse.engines import reading as files_of
from starverse.engines.folder import RunFolder
from starverse.service import access, outputs, rows
from starverse.service.access import Actor
from starverse.service.answers import Ended, Job, JobChanged, LogText, Metric
from starverse.service.platform import Platform
from starverse.store import reading as store
from starverse.store.database import reading

LOG_BYTES = 64 * 1024
FILES_EVERY_S = 0.2
"""How often the files of a live run are looked at."""

WAITING_S = 5.0
COST_EVERY_MS = 1000
"""What a running job costs is told this often."""

_NUMBERS = 5
_DIGITS_MAX = 18

Stream = Literal["stdout", "stderr"]


@dataclass(frozen=True, slots=True)
class Position:
    """How far one has read: the run, the byte and record in its report, and the bytes of its output."""

    attempt: int = 0
    report: int = 0
    records: int = 0
    stdout: int = 0
    stderr: int = 0

    def text(self) -> str:
        """As an event id."""
        return ".".join(str(number) for number in dataclasses.astuple(self))

    @classmethod
    def read(cls, text: str) -> "Position":
        """From an event id; the beginning, for what is none."""
        parts = text.split(".")
        if len(parts) == _NUMBERS and all(
            part.isascii() and part.isdigit() and len(part) <= _DIGITS_MAX for part in parts
        ):
            return cls(*map(int, parts))
        return cls()


class News(NamedTuple):
    """Something new, and the position after it."""

    what: JobChanged | Metric | LogText | Ended
    position: Position


class Look(NamedTuple):
    """What one look found; look again after `again_s` at the latest; `over`: there will be no more."""

    news: list[News]
    again_s: float
    over: bool = False


class Follower:
    """Follows one job for one reader. Mutable owner of how far it has read."""

    def __init__(self, platform: Platform, actor: Actor, job: str, position: Position) -> None:
        access.job_of(platform, actor, job)
        self._platform = platform
        self._home = platform.home
        self._job = job
        self._at = position
        self._told: Job | None = None
        self._told_ms = 0

    def skip_to_now(self) -> None:
        """Begin with what is written from now on."""
        with reading(self._platform.database) as connection:
            row = store.job_row(connection, self._job)
        assert row is not None
        if row.runs:
            run = self._run(row.runs - 1)
            ends = [files_of.read_log(self._home, run, stream, -1, 1)[1] for stream in ("stdout", "stderr")]
            report = Path(RunFolder.of(str(self._home), run).report)
            size = report.lstat().st_size if report.exists() else 0
            self._at = Position(row.runs - 1, size, 0, *ends)

    def look(self) -> Look:
        """What is new. The row is read before the files: what it says has ended writes no more."""
        now_ms = self._platform.now_ms()
        with reading(self._platform.database) as connection:
            row = store.job_row(connection, self._job)
            assert row is not None, f"job {self._job} is gone"
            live = rows.live_of_jobs(connection, [row], now_ms)
            runs = store.runs_of(connection, self._job)
        job = rows.job_answer(row, live)
        news: list[News] = []
        here = self._at.attempt < len(runs)
        run_over = here and runs[self._at.attempt].ended_ms is not None
        known = self._told is not None and self._at.attempt < self._told.runs
        if not (run_over and known):
            self._tell(job, runs, now_ms, news)
        wrote, full = self._read(run_over, news) if here else (False, False)
        if run_over and known and not wrote:  # what it wrote comes first, and how it ended last
            self._tell(job, runs, now_ms, news)
        if run_over and not wrote and self._at.attempt + 1 < len(runs):
            self._at = Position(self._at.attempt + 1)
            return Look(news, 0.0)
        if job.phase == "ended" and not wrote:
            news.append(News(Ended(job), self._at))
            return Look(news, 0.0, over=True)
        if full or (run_over and wrote):
            return Look(news, 0.0)
        return Look(news, FILES_EVERY_S if job.phase in rows.METERED else WAITING_S)

    def _tell(self, job: Job, runs: list[store.RunRow], now_ms: int, news: list[News]) -> None:
        """The job, when anything about it has changed; its cost alone only now and then."""
        told = self._told
        if job == told:
            return
        only_cost = told is not None and dataclasses.replace(told, cost=job.cost) == job
        if only_cost and now_ms < self._told_ms + COST_EVERY_MS:
            return
        self._told, self._told_ms = job, now_ms
        news.append(News(JobChanged(job, tuple(map(rows.run_answer, runs))), self._at))

    def _read(self, over: bool, news: list[News]) -> tuple[bool, bool]:
        """Read on in the files of the run one is at: whether there was anything, and is more."""
        run = self._run(self._at.attempt)
        before = self._at
        self._read_report(run, news)
        full = self._read_log(run, "stdout", over, news)
        full = self._read_log(run, "stderr", over, news) or full
        return self._at != before, full or self._at.report != before.report

    def _read_report(self, run: str, news: list[News]) -> None:
        records, following = files_of.read_reports(self._home, run, self._at.report)
        for index, record in enumerate(records):
            if index >= self._at.records:
                self._at = dataclasses.replace(self._at, records=index + 1)
                metric = outputs.metric_of(run, record)
                if metric:
                    news.append(News(metric, self._at))
        # only whole pieces are left behind: a reader who comes back finds the same records in the same place
        self._at = dataclasses.replace(self._at, report=following, records=0)

    def _read_log(self, run: str, stream: Stream, over: bool, news: list[News]) -> bool:
        offset = self._at.stdout if stream == "stdout" else self._at.stderr
        data, following = files_of.read_log(self._home, run, stream, offset, LOG_BYTES)
        if not data:
            return False
        text, left = outputs.whole_text(data)
        if not text and not over:  # half a character: the rest is on its way
            return False
        if not text:
            text, left = data.decode(errors="replace"), 0
        self._at = dataclasses.replace(self._at, **{stream: following - left})
        news.append(News(LogText(run, stream, text), self._at))
        return len(data) == LOG_BYTES

    def _run(self, attempt: int) -> str:
        return f"{self._job}.{attempt}"
