"""How hot cards get, against the OCP cold plate and the A100s of two clusters; energy closes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from starverse.model.errors import BadInput
from starverse.physics.cooling.card import (
    COLD_PLATE_PG25,
    CardThermal,
    air_k_per_w,
    boiling_k_per_w,
    cold_plate_k_per_w,
    immersed_k_per_w,
    steady_c,
)
from starverse.physics.cooling.fluids import fluid_named
from starverse.physics.cooling.network import run
from starverse.physics.cooling.step import seconds_until

ACME = Path(__file__).parents[4] / "shared" / "traces" / "acme-utilization"

REFERENCE = [
    (0.4, 0.0389),
    (0.6, 0.0300),
    (0.8, 0.0265),
    (1.0, 0.0245),
    (1.4, 0.0220),
    (2.0, 0.0204),
    (2.4, 0.0197),
]
"""The OCP table; 2.0 and 2.4 took no part in the fit."""


@pytest.mark.parametrize(("flow", "k_per_w"), REFERENCE)
def test_the_cold_plate_meets_the_ocp_table_within_2_percent(flow: float, k_per_w: float) -> None:
    assert float(cold_plate_k_per_w(flow)) == pytest.approx(k_per_w, rel=0.02)


def test_rows_held_out_of_the_fit_are_met_too_but_for_one() -> None:
    """At 0.5 L/min the measured curve has a kink that the form does not: 3.4 % there."""
    held_out = COLD_PLATE_PG25[1::2]
    errors = {flow: abs(float(cold_plate_k_per_w(flow)) / measured - 1) for flow, measured in held_out}
    assert errors.pop(0.5) == pytest.approx(0.034, abs=0.002)
    assert max(errors.values()) < 0.01


def test_a_700_w_card_on_a_cold_plate_of_32_c_reaches_63_c() -> None:
    """A cold plate fits 63 °C (63.1)."""
    thermal = CardThermal(die_k_per_w=0.020, sink_k_per_w=float(cold_plate_k_per_w(1.0)))
    assert float(steady_c(700, 32, thermal)) == pytest.approx(63.1, abs=0.2)


@pytest.mark.skipif(not ACME.exists(), reason="the traces are not here")
def test_the_slope_of_one_acme_cluster_predicts_the_others() -> None:
    """A100 watts and °C matched by quantile, 10 % to 90 %: Kalos calibrates (0.091 K/W), Seren is held
    out."""
    kalos, seren = slope("kalos"), slope("seren")
    assert kalos == pytest.approx(0.091, abs=0.0005)
    assert kalos == pytest.approx(seren, rel=0.10)


def slope(cluster: str) -> float:
    watts = quantiles(f"gpu_power_{cluster}.csv")
    celsius = quantiles(f"gpu_temp_{cluster}.csv")
    return float((celsius[1] - celsius[0]) / (watts[1] - watts[0]))


def quantiles(file: str) -> NDArray[np.floating[Any]]:
    table = np.loadtxt(ACME / file, delimiter=",", skiprows=1)
    return np.interp([10, 90], table[:, 1], table[:, 0])


@settings(max_examples=25, deadline=None)
@given(st.floats(0.05, 600), st.floats(0, 0.005), st.integers(0, 2**32 - 1))
def test_heat_in_is_heat_out_and_stored(step_s: float, leakage_per_k: float, seed: int) -> None:
    chance = np.random.default_rng(seed)
    course = run(
        CardThermal(),
        chance.uniform(0, 700, (6, 5)),
        chance.uniform(15, 45, 6),
        start_c=30,
        step_s=step_s,
        steps_per_row=20,
        leakage_per_k=min(leakage_per_k, 0.9 / (700 * 0.0445)),
    )
    closure = course.heat_in_j - course.heat_out_j - course.stored_j
    assert np.abs(closure) == pytest.approx(0, abs=1e-9 * np.abs(course.heat_in_j).max())


def test_the_network_settles_where_the_closed_form_says() -> None:
    thermal = CardThermal()
    course = run(
        thermal,
        np.full((1, 3), 700.0),
        np.array([32.0]),
        start_c=32,
        step_s=0.5,
        steps_per_row=2000,
        leakage_per_k=0.004,
        reference_c=32,
    )
    assert course.die_c == pytest.approx(float(steady_c(700, 32, thermal, 0.004)), abs=1e-3)


def test_the_step_is_exact_however_long() -> None:
    power, inlet = np.full((1, 1), 500.0), np.array([30.0])
    fine = run(CardThermal(), power, inlet, start_c=40, step_s=0.1, steps_per_row=300)
    coarse = run(CardThermal(), power, inlet, start_c=40, step_s=30.0)
    assert coarse.die_c == pytest.approx(fine.die_c, rel=1e-12)


@pytest.mark.parametrize(("sink_j_per_k", "low", "high"), [(150, 6.7, 9.0), (400, 14.2, 17.5)])
def test_without_flow_a_card_has_seconds(sink_j_per_k: float, low: float, high: float) -> None:
    """700 W from 63 to 87 °C, 60 + 150…400 J/K: 6.7 to 14.2 s by heat capacity alone (claim P2).

    The sink starts colder than the die, which gains a second or three.
    """
    thermal = CardThermal(sink_j_per_k=sink_j_per_k)
    assert low <= seconds_until(thermal, 700, 63, 87) <= high


@pytest.mark.parametrize("sink_j_per_k", [150, 250, 400])
def test_the_seconds_are_those_of_the_network(sink_j_per_k: float) -> None:
    """Stepped with next to no conductance to the coolant, a card crosses the limit at the same moment."""
    thermal = CardThermal(sink_j_per_k=sink_j_per_k)
    left = seconds_until(thermal, 700, 63, 87)
    still = CardThermal(sink_j_per_k=sink_j_per_k, sink_k_per_w=1e9)
    # A first step too short for the sink to notice brings the die where it stood with flow, 14 K above it.
    step_s, lead_k = 0.001, 700 * thermal.die_k_per_w
    rows = round(left / step_s)
    power = np.full((rows + 1, 1), 700.0)
    power[0] = thermal.die_j_per_k * lead_k / step_s
    inlet = np.full(rows + 1, 32.0)
    course = run(still, power, inlet, start_c=63 - lead_k, step_s=step_s)
    assert float(course.die_c[0]) == pytest.approx(87, abs=0.005)
    assert float(course.peak_c[0]) == float(course.die_c[0]), "it rises all the while"
    assert seconds_until(thermal, 700, 63, 63.01) > 0


def test_more_air_cools_better() -> None:
    assert air_k_per_w(0.09, [1, 2]).tolist() == pytest.approx([0.09, 0.09 * 2**-0.65])


def test_natural_convection_gets_better_with_power() -> None:
    oil = fluid_named("silicone-oil")
    assert immersed_k_per_w(oil, 0.3, 700) == pytest.approx(immersed_k_per_w(oil, 0.3, 350) * 2**-0.2)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: cold_plate_k_per_w(3.0), "flow_l_per_min"),
        (lambda: steady_c(700, 32, CardThermal(), 0.05), "runs away"),
        (lambda: boiling_k_per_w(fluid_named("novec-649"), 8, 700), "area_cm2"),
        (lambda: boiling_k_per_w(fluid_named("pg25"), 80, 700), "novec-649"),
        (lambda: air_k_per_w(0.09, 0), "flow_share"),
    ],
    ids=["flow outside the table", "thermal runaway", "burn-out", "no boiling data", "no air"],
)
def test_nothing_is_read_outside_what_is_known(call: Any, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        call()
