"""A year of PUE against two published simulations, at their own boundary and with their own equipment data.

Chicago and Tampa: dry bulb of the TMY3 years that both read; of either plant only dry bulb matters.
"""

import pytest

from starverse.model.errors import BadInput
from starverse.physics.cooling.published import dry_bulb_c, energyplus_year, lbnl_year, published_named

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

    Nothing is fitted: equipment tables and the monthly load are the example's own inputs.
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
