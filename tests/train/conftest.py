"""Jobs for the tests of a module, and the end of whatever they left running."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.train.ranks import Job, NewJob, end


@pytest.fixture(scope="module")
def new_job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewJob]:
    """Make jobs; whatever they left running ends with the module."""
    jobs: list[Job] = []

    def make(name: str = "job") -> Job:
        jobs.append(Job(tmp_path_factory.mktemp(name) / "job"))
        return jobs[-1]

    yield make
    for process in (process for job in jobs for run in job.runs for process in run.processes):
        end(process)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 640 kB."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=640k", "starverse-test", str(tmp_path)]
    if subprocess.run(mount, check=False).returncode != 0:
        pytest.skip("THE FULL DISK WAS NOT TESTED: only root may mount a small one")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)
