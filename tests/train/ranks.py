"""A job's ranks as real processes under the contract: started, waited for, surely gone at the end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import starverse
from starverse.train import contract

JOB = Path(__file__).with_name("job.py")
EXAMPLE = Path(starverse.__file__).parent / "train" / "examples" / "characters.py"
WAIT_S = 100

NewJob = Callable[..., "Job"]


@dataclass
class Run:
    """One run of a job: its processes and its report."""

    report: Path
    log: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def wait(self) -> list[int]:
        """The exit codes, by rank; a signal's is negative."""
        return [process.wait(WAIT_S) for process in self.processes]

    def records(self, kind: str | None = None) -> list[dict[str, Any]]:
        over = all(process.poll() is not None for process in self.processes)
        records, offset = contract.read_reports(self.report)
        if over and self.report.exists():  # while a rank writes, the file may grow between the two looks
            assert offset == self.report.stat().st_size, "a line without its end"
        return [record for record in records if kind in (None, record["kind"])]

    def wait_for(self, kind: str) -> None:
        deadline_s = time.monotonic() + WAIT_S
        while not self.records(kind):
            assert time.monotonic() < deadline_s, self.text()
            assert self.processes[0].poll() is None, self.text()
            time.sleep(0.02)

    def text(self) -> str:
        return self.log.read_text()


class Job:
    """A job in a folder of its own: it starts runs, and remembers what they traced."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkpoints = folder / "checkpoints"
        self.output = folder / "output"
        self.output.mkdir(parents=True)
        self.runs: list[Run] = []

    def start(self, ranks: int, *args: str, script: Path = JOB, present: int | None = None) -> Run:
        """Start the next run, as the platform does: its own rendezvous and report, the job's checkpoints."""
        place = self.folder / f"run-{len(self.runs)}"
        (place / "rendezvous").mkdir(parents=True)
        run = Run(place / "report", place / "log")
        trace = ("--trace", str(self.output)) if script == JOB else ()
        for rank in range(ranks if present is None else present):
            where = contract.Place(
                job="job-1", run=place.name, attempt=len(self.runs), cards=ranks, card_kind="cpu",
                checkpoints=str(self.checkpoints), output=str(self.output), report=str(run.report),
                rendezvous=str(place / "rendezvous"), grace_s=10.0,
                rank=rank, world_size=ranks, local_rank=rank, local_world_size=ranks,
            )  # fmt: skip
            command = [sys.executable, str(script), *args, *trace]
            run.processes.append(spawn(command, run.log, where.variables()))
        self.runs.append(run)
        return run

    def losses(self) -> dict[int, str]:
        """Each step's loss as exact text; a step trained twice must have come out the same twice."""
        rows: dict[int, str] = {}
        for row in self._rows(0):
            assert rows.setdefault(row["step"], row["loss"]) == row["loss"], (
                f"step {row['step']} came out anew"
            )
        return rows

    def samples(self) -> dict[int, list[int]]:
        """Each step's samples over all ranks, in order."""
        found: dict[int, list[int]] = {}
        for rank in range(len(list(self.output.glob("rank-*")))):
            for row in self._rows(rank):
                found.setdefault(row["step"], []).extend(row["samples"])
        return found

    def _rows(self, rank: int) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.output / f"rank-{rank}").read_text().splitlines()]

    def steps_kept(self) -> list[int]:
        return sorted(int(path.name[5:]) for path in self.checkpoints.iterdir())


def spawn(command: list[str], log: Path, variables: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a process that knows our package and nothing of the Starverse that may run these tests."""
    unwanted = (
        "PYTHONDONTWRITEBYTECODE",
        *contract.VARIABLES.values(),
    )  # without bytecode torch loads in 5 s
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    source = str(Path(starverse.__file__).parent.parent)
    environ = {**kept, "OMP_NUM_THREADS": "1", "PYTHONPATH": source, "PYTHONUNBUFFERED": "1", **variables}
    with log.open("ab") as output:
        return subprocess.Popen(command, stdout=output, stderr=output, env=environ, start_new_session=True)


def end(process: subprocess.Popen[bytes]) -> None:
    """See to it that a process is gone, and all it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # the group's id stays taken as long as anyone is in it
    process.wait(WAIT_S)
