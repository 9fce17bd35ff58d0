"""Immersion's loops: what servers and pumps give off, the water takes up; boiling needs no pump."""

from typing import Any

import numpy as np
import pytest

from starverse.model.errors import BadInput
from starverse.physics.cooling.fluids import fluid_named, properties
from starverse.physics.cooling.immersion import (
    boiling_state,
    condenser,
    stored_j,
    tank_c_after,
    tank_state,
    tanks,
)

OIL, NOVEC = fluid_named("silicone-oil"), fluid_named("novec-649")
HEAT_W = np.array([5e4, 1e5, 4e5, 7e5, 1e6])


def test_what_goes_into_a_tank_leaves_it_with_the_water() -> None:
    """Energy closure, 1e-9, on both sides of the CDU: servers + pump = water, and tank = servers."""
    loop = tanks(OIL, 1e6, supply_c=40, range_k=8, approach_k=4)
    found = tank_state(loop, HEAT_W, 36.0)
    share = np.maximum(HEAT_W / 1e6, 0.1)
    water = share * loop.cdu.facility_kg_per_s * 4180 * (found.water_out_c - 36.0)
    np.testing.assert_allclose(water, HEAT_W + found.pump_w, rtol=1e-9)
    oil = share * loop.cdu.rack_kg_per_s * loop.cdu.rack_j_per_kg_k * (found.tank_out_c - found.tank_in_c)
    np.testing.assert_allclose(oil, HEAT_W, rtol=1e-9)
    assert (found.tank_out_c > found.water_out_c).all(), "no heat flows uphill"


def test_a_tank_at_design_is_where_it_was_designed() -> None:
    """But for the pump's heat, which warms it by less than a tenth of its range."""
    found = tank_state(tanks(OIL, 1e6, supply_c=40, range_k=8, approach_k=4), 1e6, 36.0)
    assert float(found.tank_in_c) == pytest.approx(40, abs=0.8)
    assert float(found.tank_out_c) == pytest.approx(48, abs=0.8)


def test_oil_takes_more_pumping_than_glycol() -> None:
    """Its heat capacity by volume is about 2.6 times less, and so much more of it has to flow."""
    oil = tanks(OIL, 1e6, 40, 8, 4).pump.design_m3_per_s
    found = properties(fluid_named("pg25"), 44)
    glycol = 1e6 / 8 / float(found.density_kg_per_m3) / float(found.heat_capacity_j_per_kg_k)
    assert oil / glycol == pytest.approx(2.65, abs=0.1)


def test_what_boils_condenses_into_the_water() -> None:
    """Energy closure, 1e-9: latent heat of the vapour = what the water takes up."""
    unit = condenser(NOVEC, 1e6, water_in_c=40, range_k=8)
    found = boiling_state(unit, HEAT_W)
    latent = NOVEC.latent_j_per_kg
    assert latent is not None
    share = np.maximum(HEAT_W / 1e6, 0.1)
    water = share * unit.water_kg_per_s * 4180 * (found.water_out_c - found.water_most_c)
    np.testing.assert_allclose(found.vapour_kg_per_s * latent, HEAT_W, rtol=1e-9)
    np.testing.assert_allclose(water, HEAT_W, rtol=1e-9)
    assert float(found.water_most_c[-1]) == pytest.approx(40, abs=1e-9)
    assert (np.diff(found.water_most_c) <= 0).all(), "less heat condenses in warmer water"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: tanks(NOVEC, 1e6, 44, 8, 4), "boils at 49.05"),
        (lambda: tanks(OIL, 1e6, 62, 8, 4), "silicone-oil"),
        (lambda: tanks(OIL, 0, 40, 8, 4), "heat_w"),
        (lambda: condenser(NOVEC, 1e6, 45, 8), "supply_c"),
        (lambda: condenser(OIL, 1e6, 40, 8), "No boiling"),
    ],
)
def test_the_impossible_is_refused(call: Any, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        call()


@pytest.mark.parametrize("name", ["silicone-oil", "mineral-oil"])
def test_a_tank_without_flow_stores_all_heat(name: str) -> None:
    """Heat in = stored, to 1e-9; forwards and backwards."""
    fluid = fluid_named(name)
    for heat_j in (1e3, 1e5, 3e5):
        end_c = tank_c_after(fluid, 10.0, 30.0, heat_j)
        assert stored_j(fluid, 10.0, 30.0, end_c) == pytest.approx(heat_j, rel=1e-9)
        assert end_c > 30
    with pytest.raises(BadInput, match="table ends"):
        tank_c_after(fluid, 10.0, 30.0, 1e9)


def test_a_tank_of_ten_litres_a_kilowatt_gains_a_kelvin_in_fifteen_seconds() -> None:
    """10 L of 829.6 kg/m³ and 1,824.5 J/kg/K at 45 °C, 1 kW for 15 s: 0.99 K."""
    assert tank_c_after(OIL, 10.0, 45.0, 15e3) - 45 == pytest.approx(15e3 / (8.296 * 1824.5), rel=1e-3)
