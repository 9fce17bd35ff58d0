"""Replays: EASY does what its authors say, both start every job once, and what is compared is the same."""

from pathlib import Path

import pytest

from starverse.bench import replay
from starverse.bench.easy import Easy, Job, choose
from starverse.bench.openb import traces
from starverse.bench.replay import START_MS, Log
from starverse.model.errors import NotFound
from starverse.model.units import HOUR_MS


def job(name: str, at_h: float, members: int, member: int, work_h: float, limit_h: float) -> Job:
    return Job(
        name, START_MS + int(at_h * HOUR_MS), members, member, int(work_h * HOUR_MS), int(limit_h * HOUR_MS)
    )


QUEUE = (
    job("a", 0, 3, 4, 4, 4),  # 12 of 16 cards on 2 nodes until 4 h
    job("head", 0.5, 2, 8, 1, 2),  # needs both nodes whole: at 4 h
    job("short", 1, 1, 4, 1, 3),  # is over when the head's turn comes
    job("long", 1, 1, 4, 1, 5),  # is not
)


def hours(starts: dict[str, int]) -> dict[str, float]:
    return {name: (start_ms - START_MS) / HOUR_MS for name, start_ms in starts.items()}


def test_backfill_keeps_out_of_the_way_of_the_head() -> None:
    assert hours(Easy(QUEUE, 2, 8).run()) == {"a": 0, "head": 4, "short": 1, "long": 5}


def test_backfill_takes_for_long_what_the_head_can_spare() -> None:
    jobs = (job("a", 0, 1, 8, 4, 4), job("head", 1, 2, 8, 1, 2), job("long", 2, 1, 4, 9, 9))
    assert hours(Easy(jobs, 2, 8).run())["long"] == 5  # the head will have both nodes
    assert hours(Easy(jobs, 3, 8).run()) == {"a": 0, "head": 1, "long": 2}
    jobs = (job("a", 0, 2, 8, 4, 4), job("head", 1, 2, 8, 1, 2), job("long", 2, 1, 4, 9, 9))
    assert hours(Easy(jobs, 3, 8).run()) == {"a": 0, "head": 4, "long": 2}


def test_best_fit_takes_the_nodes_with_least_room() -> None:
    assert choose([8, 3, 2], 2, 2) == [(2, 2), (1, 2)]
    assert choose([3, 3], 2, 3) is None


def test_ours_lives_through_the_same_and_keeps_its_word() -> None:
    log = Log("Made", 2, 8, QUEUE)
    witness = replay.ours(log)
    assert witness.starts.keys() == {"a", "head", "short", "long"}
    assert witness.starts["short"] == START_MS + HOUR_MS
    assert "head" in witness.promised
    assert not witness.broken()


def test_a_start_after_the_promise_is_a_broken_one() -> None:
    witness = replay.Witness()
    witness.promised = {"late": 5, "never": 5, "kept": 5}
    witness.starts = {"late": 6, "kept": 5}
    assert witness.broken() == ["late", "never"]


def test_use_and_waits_are_those_of_the_jobs() -> None:
    log = Log("Made", 1, 8, (job("a", 0, 1, 8, 1, 1), job("b", 0, 1, 4, 1, 1), job("c", 4, 1, 1, 1, 1)))
    starts = {"a": START_MS, "b": START_MS + HOUR_MS, "c": START_MS + 4 * HOUR_MS}
    found = replay.quality([(log, starts)])
    assert found.use == pytest.approx(100 * 12 / 32)
    assert found.wait_h == 1
    assert found.wait_large_h == 0


def test_a_log_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"philly-sia/philly\.csv is not in"):
        replay.measure(tmp_path)


@pytest.mark.skipif(not (traces() / replay.HPC2N).exists(), reason="the traces are not here")
def test_logs_are_read_the_same_each_time_and_replayed() -> None:
    log = replay.hpc2n(traces(), most=300)
    assert len(log.jobs) == 300
    figures = {figure.id: figure for figure in replay.compare([[log]])}
    assert figures["hpc2n_broken"].value == 0
    assert 0 < figures["hpc2n_use"].value <= 100
    week = replay.philly(traces(), 0)
    assert week == replay.philly(traces(), 0)
    assert week != replay.philly(traces(), 0, draw=2)
    assert all(job.work_ms <= job.limit_ms or job.limit_ms == replay.LIMITS_MS[-1] for job in week.jobs)
    assert list(week.jobs) == sorted(week.jobs, key=lambda each: each.at_ms)


def test_what_was_drawn_several_times_is_compared_on_average() -> None:
    """Two draws, in which one job waits for the other: the first for one hour, the second for three."""

    def log(hours: int) -> Log:
        work_ms = hours * HOUR_MS
        jobs = [Job(f"j{number}", START_MS + number, 1, 1, work_ms, work_ms) for number in range(2)]
        return Log("tiny", 1, 1, jobs)

    figures = {figure.id: figure for figure in replay.compare([[log(1)], [log(3)]])}
    assert figures["tiny_wait_h"].value == pytest.approx(2, abs=1e-3)
    assert figures["tiny_wait_h"].target == pytest.approx(2, abs=1e-3)
    assert "mean of 2 draws of limits, ahead in 0" in figures["tiny_wait_h"].what
