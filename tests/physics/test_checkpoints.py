"""Intervals, goodput and ETTR: closed forms against each other, a simulation, and published jobs."""

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starverse.model.errors import BadInput
from starverse.physics.checkpoints import (
    Level,
    daly_interval_s,
    goodput,
    plan_levels,
    save_s,
    state_bytes,
    wall_per_work,
    young_interval_s,
)

DAY_S = 86_400
SEGMENTS = 20_000


def test_youngs_interval_is_the_root() -> None:
    assert young_interval_s(10, 11_135) == pytest.approx((2 * 10 * 11_135) ** 0.5)


@given(st.floats(1, 600), st.floats(3600, 100 * DAY_S), st.floats(0, 1800))
def test_dalys_interval_is_nearly_the_best(stall_s: float, mtbf_s: float, restart_s: float) -> None:
    best = goodput(daly_interval_s(stall_s, mtbf_s), stall_s, restart_s, mtbf_s)
    for factor in (0.5, 0.8, 1.25, 2.0):
        other = goodput(daly_interval_s(stall_s, mtbf_s) * factor, stall_s, restart_s, mtbf_s)
        assert other <= best * (1 + 1e-3)


def test_goodput_is_what_a_job_with_random_stops_gets() -> None:
    """A job of 4,000 segments against exponential stops (seeded): within 1 %."""
    interval, stall, restart, mtbf = 600.0, 20.0, 300.0, 7200.0
    chance = np.random.default_rng(5)
    wall, done = 0.0, 0
    while done < 4000:
        left = chance.exponential(mtbf)
        fits = int(left // (interval + stall))
        if done + fits >= 4000:
            wall += (4000 - done) * (interval + stall)
            break
        done += fits
        wall += left
        # a stop during a restart begins it again
        while (again := chance.exponential(mtbf)) < restart:
            wall += again
        wall += restart
    assert goodput(interval, stall, restart, mtbf) == pytest.approx(4000 * interval / wall, rel=0.02)


def test_one_level_is_youngs() -> None:
    plan = plan_levels([Level("volume", 10, 300, 1 / 11_135)])
    assert plan.levels[0].interval_s == pytest.approx(young_interval_s(10, 11_135))
    assert plan.ettr == pytest.approx(goodput(plan.levels[0].interval_s, 10, 300, 11_135), rel=0.003)


def test_a_fast_level_for_most_stops_beats_one_slow_one() -> None:
    rate = 14.2 / DAY_S
    volume = plan_levels([Level("volume", 60, 300, rate)])
    both = plan_levels([Level("memory", 1, 60, 0.9 * rate), Level("volume", 60, 300, 0.1 * rate)])
    assert both.ettr > volume.ettr
    assert both.levels[0].interval_s < both.levels[1].interval_s


def test_llama3_keeps_more_than_90_percent() -> None:
    """Llama 3: 419 stops in 54 days, over 90 % effective: saves of 10 s and restarts of 5 min suffice for
    it."""
    rate = 419 / (54 * DAY_S)
    assert plan_levels([Level("volume", 10, 300, rate)]).ettr > 0.90


def test_no_stops_no_saves() -> None:
    plan = plan_levels([Level("volume", 10, 300, 0.0)])
    assert (plan.ettr, plan.lost_s_per_stop) == (1.0, 0.0)


def test_a_segment_that_never_ends_has_no_goodput() -> None:
    assert goodput(1e9, 1, 0, 10) == 0.0
    assert goodput(10, 1, 0, 10) == pytest.approx(1 / (exp(1.1) - 1))


def test_a_trillion_parameters_are_14_tb() -> None:
    assert state_bytes(1e12) == 14e12
    assert save_s(14e12, 1000, 2e9) == 7
    assert save_s(14e12, 1000, 2e9, 1e12) == 14


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: young_interval_s(0, 10), "stall_s"),
        (lambda: goodput(0, 1, 1, 1), "interval_s"),
        (lambda: plan_levels([]), "level"),
        (lambda: Level("x", 0, 1, 1), "stall_s"),
        (lambda: save_s(1, 0, 1), "writers"),
        (lambda: state_bytes(0), "parameters"),
    ],
    ids=["no stall", "no interval", "no level", "free level", "nobody writes", "no model"],
)
def test_nonsense_is_refused(call: object, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        call()  # type: ignore[operator]


@pytest.mark.parametrize("mtbf_s", [50.0, 200.0, 2_000.0, 1e6])
@pytest.mark.parametrize(("stall_s", "save_s"), [(1.0, 0.0), (5.0, 30.0), (200.0, 0.0)])
def test_one_level_keeps_what_dalys_complete_model_says(stall_s: float, save_s: float, mtbf_s: float) -> None:
    """Far outside the first order, too; and no interval is much below the best."""
    plan = plan_levels([Level("volume", stall_s, 60, 1 / mtbf_s, save_s)])
    interval = plan.levels[0].interval_s
    assert interval >= save_s
    assert plan.ettr == pytest.approx(goodput(interval, stall_s, 60 + save_s, mtbf_s), rel=1e-9)
    others = np.geomspace(max(save_s, 1e-3), 1e6, 2_000)
    best = max(goodput(float(each), stall_s, 60 + save_s, mtbf_s) for each in others)
    assert plan.ettr >= 0.94 * best


@given(st.floats(0.001, 0.9), st.floats(0.1, 100), st.floats(0, 300), st.floats(20, 1e6))
def test_every_second_is_training_standing_doing_again_or_restarting(
    survives: float, stall_s: float, restart_s: float, mtbf_s: float
) -> None:
    plan = plan_levels(
        [
            Level("memory", stall_s / 10, restart_s / 5, survives / mtbf_s),
            Level("volume", stall_s, restart_s, (1 - survives) / mtbf_s, save_s=3),
        ]
    )
    spent = sum(level.stall_share + level.redo_share + level.restart_share for level in plan.levels)
    assert plan.ettr + spent == pytest.approx(1)
    assert spent >= 0
    assert plan.lost_s_per_stop / mtbf_s <= 1


@pytest.mark.parametrize(
    ("memory", "volume", "every_s", "saves"),
    [
        (Level("memory", 1, 60, 1 / 300), Level("volume", 10, 300, 1 / 2_000), 20.0, 10),
        (Level("memory", 5, 10, 1 / 50), Level("volume", 20, 30, 1 / 200), 10.0, 3),
    ],
    ids=["half is kept", "a fifth is kept"],
)
def test_two_levels_take_what_a_job_with_random_stops_takes(
    memory: Level, volume: Level, every_s: float, saves: int
) -> None:
    """20,000 segments against exponential stops of two kinds (seeded), far outside the first order."""
    expected = wall_per_work([(memory, every_s), (volume, every_s * saves)])
    assert expected > 1.5
    assert taken_s(memory, volume, every_s, saves) / (SEGMENTS * saves * every_s) == pytest.approx(
        expected, rel=0.02
    )


def taken_s(memory: Level, volume: Level, every_s: float, saves: int) -> float:
    """The wall time of so many volume segments, stepped from stop to stop."""
    chance = np.random.default_rng(7)
    rate = memory.stop_rate_per_s + volume.stop_rate_per_s
    steps = [every_s + memory.stall_s] * saves + [volume.stall_s]
    wall, done, at = 0.0, 0, 0
    while done < SEGMENTS:
        left = chance.exponential(1 / rate)
        while left >= steps[at] and done < SEGMENTS:
            left -= steps[at]
            wall += steps[at]
            at = (at + 1) % len(steps)
            done += at == 0
        if done == SEGMENTS:
            return wall
        wall += left
        lost = chance.random() < volume.stop_rate_per_s / rate
        # a stop during a restart begins it again, from the volume if it takes the memory
        while (again := chance.exponential(1 / rate)) < (volume if lost else memory).restart_s:
            wall += again
            lost |= chance.random() < volume.stop_rate_per_s / rate
        wall += (volume if lost else memory).restart_s
        at = 0 if lost else at
    return wall


def test_what_never_gets_done_has_no_ettr() -> None:
    plan = plan_levels([Level("volume", 1, 300, 30.0)])
    assert plan.ettr == 0
    assert plan.levels[0].redo_share + plan.levels[0].restart_share == pytest.approx(1)
