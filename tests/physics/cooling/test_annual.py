"""A year of PUE against two published simulations, at their own boundary and with their own equipment data.

Chicago and Tampa: dry bulb of the TMY3 years that both read; of either plant only dry bulb matters.
"""

import msgspec
import numpy as np
import pytest

from starverse.model.errors import BadInput
from starverse.physics.cooling.crac import ECONOPHASE_HALL, hall_power
from starverse.physics.cooling.published import YEARS, dry_bulb_c, energyplus_year, lbnl_year, published_named
from starverse.physics.cooling.weather import hour_said
from starverse.planning.published import plan_published

LBNL_PUE = 1.0659
LBNL_PUMPS_MWH, LBNL_FANS_MWH = 345.0, 1.09
ENERGYPLUS_PUE = 1.2217


def test_lbnls_liquid_cooled_reference_in_chicago() -> None:
    """Annual PUE 1.0659 without electrical losses (lbl-srg/modelica-buildings, ChillerWSE's reference
    result).

    It sums the CDU's, the economiser's two and the tower's pumps, and leaves out the pump of the plant's own
    loop: so does this boundary.
    """
    took = lbnl_year(dry_bulb_c("chicago"))
    assert took.pue == pytest.approx(LBNL_PUE, rel=0.01)
    assert took.pump_w.sum() / 1e6 == pytest.approx(LBNL_PUMPS_MWH, rel=0.06)
    assert took.fan_w.sum() / 1e6 == pytest.approx(LBNL_FANS_MWH, rel=0.06)
    assert took.supply_c.max() == 45, "no chiller was needed, as in the reference"
    assert not took.compressor_w.any()


def test_energyplus_air_cooled_reference_in_tampa() -> None:
    """Annual PUE 1.2217, energy-weighted: EnergyPlus 25.2, 1ZoneDataCenterCRAC_wApproachTemp, 8,760 h.

    Equipment tables and the monthly load are the example's own inputs; the rest is assumed, and says so.
    """
    hall = energyplus_year(dry_bulb_c("tampa"))
    assert hall.pue == pytest.approx(ENERGYPLUS_PUE, rel=0.01)
    # and each part for itself: kW of a year's mean in EnergyPlus
    assert hall.it_w.mean() / 1e3 == pytest.approx(81.784, rel=0.01)
    assert hall.fan_w.mean() / 1e3 == pytest.approx(4.961, rel=0.03)
    assert hall.compressor_w.mean() / 1e3 == pytest.approx(13.168, rel=0.01)


def test_another_place_has_another_year() -> None:
    assert lbnl_year(dry_bulb_c("tampa")).pue > lbnl_year(dry_bulb_c("chicago")).pue
    with pytest.raises(BadInput, match="lbnl-chicago"):
        published_named("lbnl-chicgo")


@pytest.mark.parametrize("warmer_k", [15, 25, 40, -15])
def test_an_air_hall_is_not_asked_beyond_its_units_tables(warmer_k: float) -> None:
    """They end at -10 and 46 °C; a supply of 25 °C at 77 °C outdoors was once answered."""
    outdoor_c = dry_bulb_c("tampa") + warmer_k
    worst = int(outdoor_c.argmax() if warmer_k > 0 else outdoor_c.argmin())
    with pytest.raises(BadInput, match=r"tables go from -10 to 46 °C") as refused:
        energyplus_year(outdoor_c)
    assert f"at {outdoor_c[worst]:.1f} °C in {hour_said(worst)}" in str(refused.value)


def test_heat_that_the_units_cannot_take_is_refused_not_dropped() -> None:
    unit = ECONOPHASE_HALL.unit
    fits = hall_power(ECONOPHASE_HALL, 1.0, 40.0)
    weak = msgspec.structs.replace(ECONOPHASE_HALL, unit=msgspec.structs.replace(unit, capacity_w=90e3))
    with pytest.raises(BadInput, match=r"times what the units can take, and"):
        hall_power(weak, 1.0, 40.0)
    small = msgspec.structs.replace(ECONOPHASE_HALL, unit=msgspec.structs.replace(unit, air_m3_per_s=3.0))
    with pytest.raises(BadInput, match=r"of their full flow"):
        hall_power(small, 1.0, 20.0)
    assert float(fits.compressor_w) > 0


def test_a_larger_flow_than_needed_is_outside_the_coils_curves() -> None:
    wide = msgspec.structs.replace(ECONOPHASE_HALL.unit, air_m3_per_s=40.0)
    with pytest.raises(BadInput, match=r"go from 0\.5 to 1"):
        hall_power(msgspec.structs.replace(ECONOPHASE_HALL, unit=wide), np.array([0.5]), np.array([20.0]))


def test_an_hour_of_the_year_is_said_as_files_count_it() -> None:
    assert [hour_said(hour) for hour in (0, 24, 31 * 24, 8759)] == [
        "1-1 hour 1",
        "1-2 hour 1",
        "2-1 hour 1",
        "12-31 hour 24",
    ]


def test_a_published_year_says_what_was_chosen_here() -> None:
    """Not that nothing was: the walls' rise and the room's humidity are in no source."""
    chosen = " ".join(plan_published("energyplus-tampa").notes)
    assert f"{ECONOPHASE_HALL.envelope_k:g} K above the supply" in chosen
    assert "11 g/kg" in chosen
    for name in YEARS:
        assert "chosen here" in " ".join(plan_published(name).notes)
