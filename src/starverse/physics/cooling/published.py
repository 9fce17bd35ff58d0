"""Two published simulations of a year, with the equipment and at the boundary of their sources."""

from collections.abc import Callable
from importlib import resources
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from starverse.model.errors import BadInput
from starverse.model.names import nearest
from starverse.physics.cooling.crac import ECONOPHASE_HALL, hall_power
from starverse.physics.cooling.loop import Resistance, pipe_drop_pa
from starverse.physics.cooling.plant import LiquidPlant, PumpDuty, plant_power
from starverse.physics.cooling.rejection import DryCooler
from starverse.physics.cooling.weather import month_of_hour

Floats = NDArray[np.floating[Any]]

TAMPA_LOAD_BY_MONTH = (1, 0.5, 0.75, 1, 0.25, 0.5, 0.1, 1, 0.25, 0.5, 0.75, 1)
"""The schedule of EnergyPlus' example."""


class PublishedYear(Struct, frozen=True):
    """A year in hours, shape (8760,): what computes and what each part of the cooling takes, in W."""

    it_w: Floats
    pump_w: Floats
    fan_w: Floats
    compressor_w: Floats
    supply_c: Floats

    @property
    def pue(self) -> float:
        """Energy-weighted; at the boundary of the source, which counts cooling alone."""
        cooling = self.pump_w + self.fan_w + self.compressor_w
        return 1 + float(cooling.sum() / self.it_w.sum())


class Published(Struct, frozen=True):
    """A published year: where, its annual PUE, its boundary, and the function of dry bulbs in °C.

    `notes` say which inputs are the source's, and what was chosen here, with the published figure known.
    """

    place: str
    weather: str
    pue: float
    boundary: str
    source: str
    equation: str
    notes: tuple[str, ...]
    year: Callable[[Floats], PublishedYear]


def dry_bulb_c(place: str) -> Floats:
    """The dry bulbs of `chicago` or `tampa`, shape (8760,): TMY3 (NREL, 2008, public domain)."""
    file = resources.files(__package__).joinpath("weather_data", f"{place}.csv")
    return np.loadtxt(file.read_text("utf-8").splitlines(), delimiter=",").ravel() / 10


def lbnl_year(outdoor_c: Floats) -> PublishedYear:
    """LBNL's liquid-cooled reference (lbl-srg/modelica-buildings, ChillerWSE as of 019bb39).

    The model's parameters: 1 MW of racks at 60 % load, supply 45 °C, two approaches of 3 K, ranges of 5 K,
    exchangers of 80 kPa, racks 60 and valve 20 kPa, pipes of 20 m at 5 m/s twice their straight drop, movers
    of 0.7 (hydraulic) x 0.7 (motor), a dry cooler for 36 °C with fans of 5 %; racks carry PG25, the tower's
    loop 40 % glycol by volume.
    """
    efficiency = 0.7 * 0.7
    rack = 1e6 / 5 / 3981 / 1007
    economiser_plant, economiser_tower = 0.6e6 / 5 / 4184 / 990, 0.6e6 / 5 / 3754 / 1020
    at_load = 0.36  # (60 %)²: the economiser's loops are sized for the load that runs
    tower_pa = (80e3 + _pipes_pa(economiser_tower, 1020, 0.0021)) / at_load
    pumps = (
        PumpDuty("CDU", rack, Resistance(80e3, 2, 80e3 + _pipes_pa(rack, 1007, 0.0012)), efficiency),
        PumpDuty("plant side", economiser_plant / 0.6, Resistance(80e3 / at_load, 2), efficiency),
        PumpDuty("tower side", economiser_tower / 0.6, Resistance(80e3 / at_load, 2), efficiency),
        PumpDuty("tower", economiser_tower / 0.6, Resistance(tower_pa, 2), efficiency),
    )
    plant = LiquidPlant(1e6, pumps, DryCooler(1e6, 36, 44, 39, fan_share=0.05), supply_c=45)
    it = np.full(outdoor_c.shape, 0.6e6)
    took = plant_power(plant, it, outdoor_c, outdoor_c)
    pump: Floats = np.sum(list(took.pump_w.values()), axis=0)
    return PublishedYear(it, pump, took.fan_w + took.air_fan_w, took.chiller_w, took.supply_c)


def energyplus_year(outdoor_c: Floats) -> PublishedYear:
    """EnergyPlus' 1ZoneDataCenterCRAC_wApproachTemp with the example's own equipment and monthly load."""
    load = np.array(TAMPA_LOAD_BY_MONTH)[month_of_hour()]
    hall = hall_power(ECONOPHASE_HALL, load, outdoor_c)
    return PublishedYear(hall.it_w, np.zeros_like(load), hall.fan_w, hall.compressor_w, hall.supply_c)


YEARS: dict[str, Published] = {
    "lbnl-chicago": Published(
        "chicago",
        "Chicago O'Hare TMY3 (NREL, 2008), dry bulb",
        1.0659,
        "cooling over IT, no electrical losses; the pumps of CDU, economiser and tower, without the "
        "plant's own loop, as the source sums them",
        "lbl-srg/modelica-buildings, reference result of ChillerWSE",
        "PUE = 1 + (pumps + fans + chiller) / IT; V Δp / η; dry cooler by ε-NTU; affinity laws",
        (
            "equipment, temperatures and load are the source's parameters",
            "chosen here: each hour steady; pipes' walls of 15 µm; a dry cooler's UA ~ speed^0.6",
        ),
        lbnl_year,
    ),
    "energyplus-tampa": Published(
        "tampa",
        "Tampa International TMY3 (NREL, 2008), dry bulb",
        1.2217,
        "cooling over IT with the servers' fans, no electrical losses, energy-weighted",
        "EnergyPlus 25.2, example 1ZoneDataCenterCRAC_wApproachTemp, 8,760 h",
        "PUE = 1 + (fans + compressors) / IT; coils P = Qcap CapFT CapFFF / COP EIRFT EIRFFF x PLR / PLF",
        (
            "equipment, its curves and the load are the example file's",
            (
                "chosen here: each hour steady; capacity at a wet bulb of 20.3 °C in the room; "
                f"{1e3 * ECONOPHASE_HALL.room_kg_per_kg:g} g/kg of water in its air, which walls see "
                f"{ECONOPHASE_HALL.envelope_k:g} K above the supply"
            ),
        ),
        energyplus_year,
    ),
}


def published_named(name: str) -> Published:
    """The published year of that name. Raises BadInput with the nearest."""
    if name not in YEARS:
        raise BadInput(f"There is no published site '{name}'.", nearest(name, list(YEARS)))
    return YEARS[name]


def _pipes_pa(flow_m3_per_s: float, density: float, viscosity: float) -> float:
    """Out and back."""
    diameter = (4 * flow_m3_per_s / (np.pi * 5)) ** 0.5
    return 2 * 2 * pipe_drop_pa(flow_m3_per_s, diameter, 20, density, viscosity)
