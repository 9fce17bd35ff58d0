"""The example that users copy learns, on one rank and on two."""

import json

import pytest
from tests.train.ranks import EXAMPLE, Job, NewJob


def result(job: Job, steps: int) -> tuple[float, float]:
    """The last loss and the entropy of the letters alone, in nats."""
    run = job.start(2, "--steps", str(steps), script=EXAMPLE)
    assert run.wait() == [0, 0], run.text()
    found = json.loads((job.output / "result.json").read_text())
    assert found["steps"] == steps
    assert f"step {steps}: loss {found['loss_last']:.3f} nat" in run.text()
    rates = [record["tokens_per_s"] for record in run.records("step")]
    assert all(rate > 0 for rate in rates[1:])
    return found["loss_last"], found["unigram_entropy"]


def test_it_learns_more_than_how_often_each_letter_comes(new_job: NewJob) -> None:
    loss, entropy = result(new_job("example"), steps=100)
    assert entropy == pytest.approx(3.25, abs=0.05)
    assert loss < 2.8


@pytest.mark.deep
def test_after_400_steps_it_is_far_below(new_job: NewJob) -> None:
    loss, _ = result(new_job("example"), steps=400)
    assert loss < 2.4
