"""What is over is removed in time; what is not, or still has a shim, never."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from starverse.engines import keeping
from starverse.engines.folder import RunFolder, take_claim

DAY = 86_400_000
ENDED = {"j-a": 1 * DAY, "j-b": 5 * DAY, "j-c": 9 * DAY}  # j-d is not over


def ended_ms(jobs: Sequence[str]) -> Mapping[str, int]:
    return {job: ENDED[job] for job in jobs if job in ENDED}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A thousand bytes a run."""
    for run in ("j-a.0", "j-a.1", "j-b.0", "j-c.0", "j-d.0"):
        folder = tmp_path / "runs" / run
        folder.mkdir(parents=True)
        (folder / "stdout.0.log").write_bytes(b"x" * 900)
        (folder / "report.jsonl").write_bytes(b"x" * 100)
        job = tmp_path / "jobs" / run.partition(".")[0] / "output"
        job.mkdir(parents=True, exist_ok=True)
        (job / "model.pt").write_text("weights")
    return tmp_path


def names(home: Path, place: str) -> str:
    return " ".join(sorted(path.name for path in (home / place).iterdir()))


@pytest.mark.parametrize(
    ("before_days", "bytes_max", "kept"),
    [
        (0, 10_000, "j-a.0 j-a.1 j-b.0 j-c.0 j-d.0"),
        (1, 10_000, "j-a.0 j-a.1 j-b.0 j-c.0 j-d.0"),
        (2, 10_000, "j-b.0 j-c.0 j-d.0"),
        (99, 10_000, "j-d.0"),
        (0, 3_000, "j-a.0 j-b.0 j-c.0 j-d.0"),
        (0, 1_999, "j-c.0 j-d.0"),
        (0, 0, "j-d.0"),
    ],
)
def test_runs_are_kept_for_so_long_and_while_there_is_room(
    home: Path, before_days: int, bytes_max: int, kept: str
) -> None:
    before = len(names(home, "runs").split())
    removed = keeping.clear_runs(home, ended_ms, before_days * DAY, bytes_max)
    assert names(home, "runs") == kept
    assert removed == before - len(kept.split())


def test_a_run_whose_shim_lives_stays(home: Path) -> None:
    claim = take_claim(RunFolder(str(home / "runs/j-a.0")), {"pid": 1})
    assert claim is not None
    assert keeping.clear_runs(home, ended_ms, 99 * DAY, 10_000) == 3
    assert names(home, "runs") == "j-a.0 j-d.0"
    os.close(claim)
    assert keeping.clear_runs(home, ended_ms, 99 * DAY, 10_000) == 1


def test_checkpoints_and_output_are_kept_for_so_long(home: Path) -> None:
    assert keeping.clear_jobs(home, ended_ms, 0) == 0
    assert keeping.clear_jobs(home, ended_ms, 6 * DAY) == 2
    assert names(home, "jobs") == "j-c j-d"


def test_what_a_job_linked_to_stays(home: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").touch()
    (home / "jobs/j-a/output/link").symlink_to(outside)
    assert keeping.clear_jobs(home, ended_ms, 2 * DAY) == 1
    assert (outside / "x").exists()


def test_a_home_without_runs_is_fine(tmp_path: Path) -> None:
    assert (
        keeping.clear_runs(tmp_path, ended_ms, 99 * DAY, 0) == keeping.clear_jobs(tmp_path, ended_ms, 1) == 0
    )
