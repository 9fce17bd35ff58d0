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
    young_interval_s,
)

DAY_S = 86_400


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
