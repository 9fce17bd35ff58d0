"""A year of PUE against two published simulations, at their own boundary and with their own equipment data.

Chicago and Tampa: dry bulb of the TMY3 years that both read; of either plant only dry bulb matters.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from starverse.physics.cooling.crac import ECONOPHASE_HALL, hall_power
from starverse.physics.cooling.loop import Resistance, pipe_drop_pa
from starverse.physics.cooling.plant import LiquidPlant, PumpDuty, plant_power
from starverse.physics.cooling.rejection import DryCooler
from starverse.physics.cooling.weather import month_of_hour

WEATHER = Path(__file__).parent / "weather"

LBNL_PUE = 1.0659
LBNL_PUMPS_MWH, LBNL_FANS_MWH = 345.0, 1.09
ENERGYPLUS_PUE = 1.2217


def test_lbnls_liquid_cooled_reference_in_chicago() -> None:
    """Annual PUE 1.0659 without electrical losses (lbl-srg/modelica-buildings, ChillerWSE's reference
    result).

    The model's parameters: 1 MW of racks at 60 % load, supply 45 °C, two approaches of 3 K, ranges of 5 K,
    exchangers of 80 kPa, racks 60 and valve 20 kPa, pipes of 20 m at 5 m/s twice their straight drop,
    movers of 0.7 (hydraulic) x 0.7 (motor), a dry cooler for 36 °C with fans of 5 %. It sums the CDU's, the
    economiser's two and the tower's pumps, and leaves out the pump of the plant's own loop: so
    does this boundary (the model as of 019bb39; racks carry PG25, the tower's loop 40 % glycol by volume).
    """
    chicago = dry_bulb("chicago")
    efficiency = 0.7 * 0.7
    rack = 1e6 / 5 / 3981 / 1007
    economiser_plant, economiser_tower = 0.6e6 / 5 / 4184 / 990, 0.6e6 / 5 / 3754 / 1020
    at_load = 0.36  # (60 %)²: the economiser's loops are sized for the load that runs
    pumps = (
        PumpDuty("CDU", rack, Resistance(80e3, 2, 80e3 + pipes_pa(rack, 1007, 0.0012)), efficiency),
        PumpDuty("plant side", economiser_plant / 0.6, Resistance(80e3 / at_load, 2), efficiency),
        PumpDuty("tower side", economiser_tower / 0.6, Resistance(80e3 / at_load, 2), efficiency),
        PumpDuty(
            "tower",
            economiser_tower / 0.6,
            Resistance((80e3 + pipes_pa(economiser_tower, 1020, 0.0021)) / at_load, 2),
            efficiency,
        ),
    )
    plant = LiquidPlant(1e6, pumps, DryCooler(1e6, 36, 44, 39, fan_share=0.05), supply_c=45)
    took = plant_power(plant, np.full(8760, 0.6e6), chicago, chicago)
    pue = 1 + took.total_w.sum() / (0.6e6 * 8760)
    assert pue == pytest.approx(LBNL_PUE, rel=0.01)
    assert sum(w.sum() for w in took.pump_w.values()) / 1e6 == pytest.approx(LBNL_PUMPS_MWH, rel=0.06)
    assert took.fan_w.sum() / 1e6 == pytest.approx(LBNL_FANS_MWH, rel=0.06)
    assert took.supply_c.max() == 45, "no chiller was needed, as in the reference"


def test_energyplus_air_cooled_reference_in_tampa() -> None:
    """Annual PUE 1.2217, energy-weighted: EnergyPlus 25.2, 1ZoneDataCenterCRAC_wApproachTemp, 8,760 h.

    Nothing is fitted: equipment tables and the monthly load are the example's own inputs.
    """
    monthly = np.array([1, 0.5, 0.75, 1, 0.25, 0.5, 0.1, 1, 0.25, 0.5, 0.75, 1])
    hall = hall_power(ECONOPHASE_HALL, monthly[month_of_hour()], dry_bulb("tampa"))
    pue = 1 + (hall.fan_w + hall.compressor_w).sum() / hall.it_w.sum()
    assert pue == pytest.approx(ENERGYPLUS_PUE, rel=0.01)
    # and each part for itself: kW of a year's mean in EnergyPlus
    assert hall.it_w.mean() / 1e3 == pytest.approx(81.784, rel=0.01)
    assert hall.fan_w.mean() / 1e3 == pytest.approx(4.961, rel=0.03)
    assert hall.compressor_w.mean() / 1e3 == pytest.approx(13.168, rel=0.01)


def dry_bulb(place: str) -> NDArray[np.floating[Any]]:
    return np.loadtxt(WEATHER / f"{place}.csv", delimiter=",").ravel() / 10


def pipes_pa(flow_m3_per_s: float, density: float, viscosity: float) -> float:
    """Out and back."""
    diameter = (4 * flow_m3_per_s / (np.pi * 5)) ** 0.5
    return 2 * 2 * pipe_drop_pa(flow_m3_per_s, diameter, 20, density, viscosity)
