"""Faults against published fleets: Llama 3's stops (calibrated) and Titan's lives (half held out)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starverse.model.errors import BadInput
from starverse.physics.faults.fleet import (
    SHARED,
    Flap,
    expected_stops,
    flapping,
)
from starverse.physics.faults.fleets import (
    LLAMA3,
    LLAMA3_CARDS,
    LLAMA3_COUNTS,
    LLAMA3_DAYS,
    LLAMA3_STOPS,
    TITAN_OLD,
    fleet_named,
)
from starverse.physics.faults.hazard import (
    YEAR_H,
    Cause,
    activation_ev_for,
    arrhenius,
    expected_failures,
    fit_weibull,
    hazard_per_h,
    thermal_share,
    thermal_share_for,
    total_hazard_per_h,
    weibull_survival,
)
from starverse.physics.faults.titan import (
    AGES,
    BOTTOM_C,
    DEATHS,
    EVEN,
    ODD,
    TOP_C,
    YEARS,
    cage_ratio,
    fit_titan,
    half_fit,
)


@pytest.mark.parametrize(("half", "name"), [(EVEN, "even"), (ODD, "odd")])
def test_titans_life_is_found_again_in_each_half(half: int, name: str) -> None:
    """Published fit on all: k 2.64, η 7.11 years."""
    fit = half_fit(half)
    assert fit.shape == pytest.approx(2.64, rel=0.04), name
    assert fit.life == pytest.approx(7.11, rel=0.02)


def test_half_of_titan_predicts_the_deaths_of_the_other() -> None:
    fit = fit_weibull(AGES, YEARS[EVEN].sum(axis=0), DEATHS[EVEN].sum(axis=0))
    mean = np.diff(AGES**fit.shape) / np.diff(AGES) / fit.life**fit.shape
    assert (YEARS[ODD].sum(axis=0) * mean).sum() == pytest.approx(DEATHS[ODD].sum(), rel=0.03)


def test_heat_explains_titans_cages_in_the_half_held_out() -> None:
    """Deaths a card-year, top over bottom: 3.33 on all. Ea from the even half (0.57 eV), checked on the
    odd."""
    even, odd = (cage_ratio(half) for half in (EVEN, ODD))
    activation_ev = activation_ev_for(even, BOTTOM_C, TOP_C)
    assert 0.5 < activation_ev < 0.65
    assert float(arrhenius(activation_ev, BOTTOM_C, TOP_C)) == pytest.approx(odd, rel=0.10)
    model = hazard_per_h(TITAN_OLD[0], [BOTTOM_C, TOP_C], YEAR_H)
    assert model[1] / model[0] == pytest.approx(3.33, rel=0.02)


def test_titans_fit_is_made_of_both_halves() -> None:
    fit = fit_titan()
    assert fit.shape == pytest.approx(2.64, rel=0.02)
    assert fit.life_years == pytest.approx(7.11, rel=0.01)
    assert fit.cage_ratio == pytest.approx(3.33, rel=0.01)
    assert fit.odd_deaths_foreseen == pytest.approx(fit.odd_deaths, rel=0.03)


def test_llama3_calibration_reproduces_its_stops_and_their_split() -> None:
    """A CALIBRATION: 419 ± √419 unexpected stops in 54 days on 16,384 cards, cause by cause."""
    stops = expected_stops(LLAMA3, LLAMA3_CARDS, LLAMA3_DAYS * 24)
    assert stops.total == pytest.approx(LLAMA3_STOPS, abs=LLAMA3_STOPS**0.5)
    for name, count, _, _ in LLAMA3_COUNTS:
        assert stops.by_cause[name] == pytest.approx(count)


def test_titans_deaths_come_out_of_its_weibull() -> None:
    """A cohort over its first five years: the integral of the hazard, -ln of the survivors."""
    lost = float(expected_failures(TITAN_OLD[0], 55.7, 0.0, 5 * YEAR_H))
    assert lost == pytest.approx((5 / 7.11) ** 2.64)
    assert np.exp(-lost) == pytest.approx(float(weibull_survival(2.64, 7.11, 5)))
    assert expected_stops(TITAN_OLD, 100, 5 * YEAR_H).total == pytest.approx(100 * lost)


def test_thirty_thousand_cards_stop_fourteen_times_a_day() -> None:
    assert expected_stops(LLAMA3, 30_000, 24).total == pytest.approx(14.2, abs=0.05)


def test_four_times_and_thirty_percent_contradict_each_other_unless_a_third_is_thermal() -> None:
    """Claims C1 and C4: 0.715 eV against 0.135 eV; together 31 % of the hazard at 0.7 eV."""
    assert activation_ev_for(4, 63, 83) == pytest.approx(0.715, abs=0.001)
    assert activation_ev_for(1.3, 63, 83) == pytest.approx(0.135, abs=0.001)
    assert thermal_share_for(0.30, 0.7, 63, 83) == pytest.approx(0.31, abs=0.005)


@given(st.floats(20, 90), st.floats(20, 90))
def test_only_thermal_causes_feel_heat(one_c: float, other_c: float) -> None:
    cold = Cause("software", 1e-6)
    warm = Cause("memory", 1e-6, activation_ev=0.7)
    assert float(hazard_per_h(cold, one_c)) == float(hazard_per_h(cold, other_c))
    if other_c > one_c + 1e-6:
        assert hazard_per_h(warm, other_c) > hazard_per_h(warm, one_c)
    both = total_hazard_per_h([cold, warm], one_c)
    assert both == pytest.approx(float(hazard_per_h(cold, one_c) + hazard_per_h(warm, one_c)))


def test_the_thermal_share_of_llama3_is_said_to_be_a_lower_bound() -> None:
    assert thermal_share(LLAMA3) == pytest.approx(100 / 419)


def test_shared_things_stop_all_on_them() -> None:
    alone = expected_stops(LLAMA3, 30_000, 8766)
    together = expected_stops(LLAMA3, 30_000, 8766, shared=SHARED)
    extra = together.total - alone.total
    assert extra == pytest.approx(sum(together.by_cause[thing.name] for thing in SHARED))
    # 750 racks' switches at 2e-6 for a year
    assert together.by_cause["rack switch"] == pytest.approx(750 * 2e-6 * 8766)
    assert together.card_hours_lost > alone.card_hours_lost


def test_a_flap_of_two_seconds_rarely_outlasts_twenty() -> None:
    found = flapping(Flap(30, 2), tolerated_s=20)
    assert found.up_share == pytest.approx(30 / 32)
    assert found.outages_per_h == pytest.approx(112.5)
    assert found.stops_per_h == pytest.approx(112.5 * np.exp(-10))


def test_a_life_in_years_survives_as_weibull_says() -> None:
    assert float(weibull_survival(2.64, 7.11, 7.11)) == pytest.approx(np.exp(-1))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Cause("x", -1), "rate_per_h"),
        (lambda: Cause("x", 1e-6, shape=2), "life_h"),
        (lambda: fleet_named("mars"), "llama3"),
        (lambda: expected_stops(LLAMA3, 0, 1), "cards"),
        (lambda: thermal_share_for(9, 0.7, 63, 83), "cannot gain"),
        (lambda: fit_weibull(AGES, np.ones(12), np.zeros(12)), "deaths"),
        (lambda: flapping(Flap(0), 1), "up_s"),
    ],
    ids=["rate", "life", "fleet", "no cards", "gain", "no deaths", "no time up"],
)
def test_nonsense_is_refused(call: object, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        call()  # type: ignore[operator]
