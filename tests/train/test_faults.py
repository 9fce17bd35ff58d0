"""Whatever happens to a run, the job's losses stay the same bit for bit, and its checkpoints valid."""

import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.train.ranks import Job, NewJob

from starverse.train import manifest
from starverse.train.contract import EXIT_NO_SPACE, EXIT_SAVED


@pytest.fixture(scope="module")
def unharmed(new_job: NewJob) -> Job:
    """The job as it goes if nothing happens: 24 steps on two ranks."""
    job = new_job("unharmed")
    run = job.start(2)
    assert run.wait() == [0, 0], run.text()
    return job


def test_a_run_without_faults_reports_all_it_did_and_keeps_the_two_last_checkpoints(unharmed: Job) -> None:
    run = unharmed.runs[0]
    assert sorted(unharmed.losses()) == list(range(1, 25))
    assert unharmed.steps_kept() == [20, 24]
    assert [r["step"] for r in run.records("checkpoint")] == [5, 10, 15, 20, 24]
    assert [r["resumed_from"] for r in run.records("started")] == [None]
    assert [r["step"] for r in run.records("done")] == [24]
    steps = run.records("step")
    assert (steps[0]["step"], steps[-1]["step"], steps[-1]["steps"]) == (1, 24, 24)
    assert steps[-1]["loss"].hex() == unharmed.losses()[24]


def test_after_the_kill_of_a_rank_the_losses_are_the_same_bit_for_bit(new_job: NewJob, unharmed: Job) -> None:
    job = new_job("killed")
    run = job.start(2, "--signal", "SIGKILL:1:13")
    codes = run.wait()
    assert codes[1] == -signal.SIGKILL
    assert codes[0] not in (0, EXIT_SAVED, EXIT_NO_SPACE), "the rank left over must fail, and not hang"
    again = job.start(2)
    assert again.wait() == [0, 0], again.text()
    assert again.records("started")[0]["resumed_from"] == 10
    assert again.records("step")[0]["step"] == 11
    assert job.losses() == unharmed.losses()
    assert sealed(job, 24) == sealed(unharmed, 24)


def test_sigterm_to_one_rank_saves_at_the_step_and_the_job_goes_on(new_job: NewJob, unharmed: Job) -> None:
    job = new_job("asked")
    run = job.start(2, "--signal", "SIGTERM:1:12")
    assert run.wait() == [EXIT_SAVED, EXIT_SAVED], run.text()
    assert [r["step"] for r in run.records("saved")] == [12]
    assert job.steps_kept() == [10, 12]
    again = job.start(2)
    assert again.wait() == [0, 0], again.text()
    assert again.records("started")[0]["resumed_from"] == 12
    assert job.losses() == unharmed.losses()
    assert sealed(job, 24) == sealed(unharmed, 24)


def test_a_job_that_was_done_is_done_at_once(new_job: NewJob, unharmed: Job) -> None:
    job = new_job("done")
    shutil.copytree(unharmed.checkpoints, job.checkpoints)
    run = job.start(2)
    assert run.wait() == [0, 0], run.text()
    assert [r["kind"] for r in run.records()] == ["started", "done"]


def test_a_damaged_checkpoint_is_passed_over_by_all_ranks(new_job: NewJob, unharmed: Job) -> None:
    job = new_job("damaged")
    shutil.copytree(unharmed.checkpoints, job.checkpoints)
    (job.checkpoints / "step-00000030.partial").mkdir()
    victim = job.checkpoints / "step-00000024" / "__1_0.distcp"
    victim.write_bytes(victim.read_bytes()[:-100])
    run = job.start(2)
    assert run.wait() == [0, 0], run.text()
    assert run.records("started")[0]["resumed_from"] == 20
    assert "step-00000024 is ignored: its file __1_0.distcp has" in run.text()
    assert job.losses().items() <= unharmed.losses().items()
    assert job.steps_kept() == [20, 24]


def test_the_same_samples_at_every_step_on_one_two_and_one_ranks(new_job: NewJob) -> None:
    """Five samples a step: on two ranks the shares are unequal, and still count the same."""
    steady, moved = new_job("steady"), new_job("moved")
    plain = ("--plain", "--batch", "5")
    run = steady.start(1, *plain)
    assert run.wait() == [0], run.text()
    for ranks, *stop in ((1, "--signal", "SIGTERM:0:8"), (2, "--signal", "SIGTERM:0:16"), (1,)):
        run = moved.start(ranks, *plain, *stop)
        assert run.wait() == [EXIT_SAVED if stop else 0] * ranks, run.text()
    assert moved.samples() == steady.samples()
    for step, loss in steady.losses().items():
        assert float.fromhex(moved.losses()[step]) == pytest.approx(float.fromhex(loss), rel=1e-5), step


def test_a_full_disk_pauses_the_job_and_leaves_the_checkpoint_before_valid(
    new_job: NewJob, unharmed: Job, small_disk: Path
) -> None:
    job = new_job("full")
    job.checkpoints = small_disk / "checkpoints"
    run = job.start(2, "--width", "4000")  # 400 kB a checkpoint: the disk holds one, and half of the next
    assert run.wait() == [EXIT_NO_SPACE, EXIT_NO_SPACE], run.text()
    assert [r["step"] for r in run.records("no_space")] == [10]
    assert "no space left there" in run.records("no_space")[0]["text"]
    assert job.steps_kept() == [5], "the torn one is gone, the good one is there"
    subprocess.run(["mount", "-o", "remount,size=8M", str(small_disk)], check=True)
    again = job.start(2, "--width", "4000")
    assert again.wait() == [0, 0], again.text()
    assert again.records("started")[0]["resumed_from"] == 5
    assert sorted(job.losses()) == list(range(1, 25))


def test_a_rank_whose_peer_never_comes_gives_up_in_time(new_job: NewJob) -> None:
    run = new_job("alone").start(2, "--timeout", "2", present=1)
    began_s = time.monotonic()
    assert run.wait()[0] not in (0, EXIT_SAVED, EXIT_NO_SPACE)
    assert time.monotonic() - began_s < 30


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_killed_again_and_again_at_any_instant_the_job_comes_out_the_same(new_job: NewJob) -> None:
    """A checkpoint at every step, so that many of the kills fall into the writing of one."""
    steady, hunted = new_job("steady"), new_job("hunted")
    run = steady.start(2, "--steps", "60", "--every", "1")
    assert run.wait() == [0, 0], run.text()
    chance = random.Random(7)
    for _ in range(60):
        run = hunted.start(2, "--steps", "60", "--every", "1")
        run.wait_for("started")
        time.sleep(chance.uniform(0, 1))
        run.processes[chance.randrange(2)].kill()
        codes = run.wait()
        if codes == [0, 0]:
            break
        assert EXIT_SAVED not in codes, run.text()
    assert codes == [0, 0], "it never came to its end"
    assert hunted.losses().items() <= steady.losses().items(), "a rank killed in a step didn't write it down"
    assert sealed(hunted, 60) == sealed(steady, 60)


def sealed(job: Job, step: int) -> dict[str, manifest.Seal]:
    """The digests of all that a checkpoint carries: weights, optimizer, random numbers, place in the data."""
    files = manifest.read(job.checkpoints / manifest.directory_name(step)).files
    return {name: seal for name, seal in files.items() if name != ".metadata"}  # which has a random id
