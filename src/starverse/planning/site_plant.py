"""A site's plant: what the cooling of its file takes, hour by hour."""

from typing import Any

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from starverse.model.errors import BadInput
from starverse.physics.cooling.chiller import carnot_chiller
from starverse.physics.cooling.crac import ECONOPHASE_HALL, AirHall, AirServers, hall_power
from starverse.physics.cooling.fluids import Fluid, dielectric_named, fluid_named
from starverse.physics.cooling.immersion import Tanks, boiling_state, condenser, tank_state, tanks, warmest_c
from starverse.physics.cooling.loop import Resistance
from starverse.physics.cooling.moist import dew_point_c
from starverse.physics.cooling.plant import LiquidPlant, PumpDuty, plant_power
from starverse.physics.cooling.rear_door import RearDoors
from starverse.physics.cooling.rejection import DryCooler, Tower
from starverse.physics.cooling.weather import Weather, check_hours
from starverse.planning.site_file import Plant

Floats = NDArray[np.floating[Any]]

USUAL_FLUID = {"single-phase": "silicone-oil", "two-phase": "novec-649"}
"""What tanks hold where `plant.fluid` says nothing."""


class Cooled(Struct, frozen=True):
    """What cooling takes, shape (hours,): parts in W, water in kg/s, what racks get in °C.

    With immersion `tank_c` is the liquid where it is warmest; with rear doors `room_c` the air in the room.
    """

    pump_w: Floats
    fan_w: Floats
    compressor_w: Floats
    water_kg_per_s: Floats
    supply_c: Floats
    tank_c: Floats | None = None
    room_c: Floats | None = None

    @property
    def power_w(self) -> Floats:
        """All of it."""
        total: Floats = self.pump_w + self.fan_w + self.compressor_w
        return total


class AirHeat(Struct, frozen=True):
    """What an air hall's units carry away, in W, shape (hours,): IT with its fans, and what stands beside."""

    it_w: Floats
    fans_w: Floats
    beside_w: Floats


def cooled_by_air(heat: AirHeat, full: AirHeat, weather: Weather) -> Cooled:
    """Units of EnergyPlus' example, as many as the heat at full load takes; those rest that are not needed.

    Servers breathe 0.1 L/s per W as there. The heat of what stands `beside` the servers goes into the room's
    air, not through them.
    """
    it, fans, beside = heat.it_w, heat.fans_w, heat.beside_w
    peak, full_it, full_beside = (float(each.max()) for each in (it, full.it_w, full.beside_w))
    servers = AirServers(
        chips_w=float((it - fans).max()),
        fans_w=float(fans.max()),
        air_m3_per_s=peak * 1e-4,
        chips_curve=(0.0, 1.0, 0.0),
        air_curve=(0.0, 1.0, 0.0),
        supply_loss_share=float(beside.max()) / peak,
    )
    like = ECONOPHASE_HALL.unit
    scale = 1.3 * (full_it + full_beside) / like.capacity_w
    air = full_it * 1e-4 * 1.25
    unit = structs.replace(
        like,
        capacity_w=like.capacity_w * scale,
        air_m3_per_s=air,
        fan_w=air * like.fan_w / like.air_m3_per_s,
    )
    took = hall_power(AirHall(servers, unit, staged=True), it / peak, weather.dry_bulb_c)
    none = np.zeros_like(it)
    return Cooled(none, took.fan_w, took.compressor_w, none, took.supply_c)


def cooled_by_liquid(plant: Plant, heat: Floats, full_w: float, weather: Weather) -> Cooled:
    """A plant of cold plates or tanks for `full_w`, with rear doors for the share of the heat that is the
    air's.

    The room's air is taken as moist as the air outdoors. Raises BadInput where a liquid gets outside its
    table, vapour would be left, or doors would drip, with the hour.
    """
    built = _liquid_plant(plant, full_w)
    dew = dew_point_c(weather.dry_bulb_c, weather.relative_humidity) if built.doors else None
    took = plant_power(built, heat, weather.dry_bulb_c, weather.wet_bulb_c, dew)
    if plant.kind == "cold-plate":
        _check_table(fluid_named("pg25"), took.supply_c + plant.range_k)
    pump: Floats = np.sum(list(took.pump_w.values()), axis=0)
    return Cooled(
        pump,
        took.fan_w + took.air_fan_w,
        took.chiller_w,
        took.water_kg_per_s,
        took.supply_c,
        _tank_c(plant, heat, full_w, took.supply_c),
        took.room_c,
    )


def plate_l_per_min(plant: Plant, heat_w: float) -> float:
    """The glycol of one plate: its heat over the plant's range, as all racks' flow is sized."""
    return heat_w / (plant.range_k * 3981 * 1007) * 60_000


def tank_fluid(plant: Plant) -> Fluid:
    """What the tanks of a plant hold. Raises BadInput for what conducts, or is not known."""
    return dielectric_named(plant.fluid or USUAL_FLUID[plant.kind])


def _liquid_plant(plant: Plant, it_w: float) -> LiquidPlant:
    """A plant for `it_w` of heat as the file describes it; sized with 10 % for pumps and chiller.

    The cooler is designed for 8 K between air and returned coolant, the chiller for a COP of 5 between 7 and
    30 °C (AHRI 551/591's temperatures), keeping its share of Carnot's. Flow is heat over range: 1.007 kg/L x
    3,981 J/kg/K for PG25 through cold plates, the oil's own through single-phase tanks; what boils is not
    pumped, only the facility's water, through its condensers. Rear doors beside tanks have glycol.
    """
    in_tanks = 0.0 if plant.kind == "cold-plate" else 1 - plant.air_share
    if in_tanks < 1:
        _check_design(fluid_named("pg25"), plant, "the racks' coolant")
    flow = it_w * (1 - in_tanks) / (plant.range_k * 3981 * 1007)
    facility = it_w / (plant.range_k * 4180 * 990)
    pumps = [PumpDuty("facility", facility, Resistance(plant.facility_pa), plant.pump_efficiency)]
    if plant.kind == "single-phase" and in_tanks:
        pumps.append(_tanks(plant, it_w * in_tanks).pump)
    if in_tanks < 1:
        pumps.append(PumpDuty("racks", flow, Resistance(plant.loop_pa), plant.pump_efficiency))
    returned = plant.supply_c - plant.approach_k
    heat = 1.1 * it_w
    cooler: DryCooler | Tower
    if plant.rejection == "tower":
        cooler = Tower(heat, range_k=plant.range_k, fan_share=plant.fan_share)
    else:
        cooler = DryCooler(
            heat,
            air_c=returned - 8.0,
            coolant_in_c=returned + plant.range_k,
            coolant_out_c=returned,
            fan_share=plant.fan_share,
            wet_effectiveness=0.8 if plant.rejection == "hybrid" else 0.0,
        )
    chiller = carnot_chiller(heat, 5.0, 7.0, 30.0) if plant.chiller else None
    return LiquidPlant(
        it_w,
        tuple(pumps),
        cooler,
        supply_c=plant.supply_c,
        approach_k=plant.approach_k,
        range_k=plant.range_k,
        chiller=chiller,
        doors=RearDoors(it_w * plant.air_share, plant.range_k) if it_w * plant.air_share else None,
    )


def _tank_c(plant: Plant, heat: Floats, full_w: float, supply: Floats) -> Floats | None:
    """The warmest of the tanks' liquid, where there are tanks. Raises BadInput where vapour would be left."""
    heat, peak = heat * (1 - plant.air_share), full_w * (1 - plant.air_share)
    if plant.kind in {"air", "cold-plate"} or not peak:
        return None
    if plant.kind == "single-phase":
        out_c = tank_state(_tanks(plant, peak), heat, supply - plant.approach_k).tank_out_c
        _check_table(tank_fluid(plant), out_c)
        return out_c
    boiling = tank_fluid(plant)
    most = boiling_state(condenser(boiling, peak, plant.supply_c, plant.range_k), heat).water_most_c
    if (supply > most + 1e-6).any():
        raise BadInput(
            f"In the warmest hour the condensers get water of {supply.max():.1f} °C, and vapour is left.",
            "Set `plant.chiller`, or take another `plant.rejection`.",
        )
    assert boiling.boiling_c is not None
    return np.full_like(heat, boiling.boiling_c)


def _tanks(plant: Plant, heat_w: float) -> Tanks:
    fluid, loop_pa, efficiency = tank_fluid(plant), plant.loop_pa, plant.pump_efficiency
    _check_design(fluid, plant, "tanks", ", or choose another `plant.fluid`")
    return tanks(fluid, heat_w, plant.supply_c, plant.range_k, plant.approach_k, loop_pa, efficiency)


def _check_design(fluid: Fluid, plant: Plant, what: str, other: str = "") -> None:
    """Raises BadInput where a plant is asked to hold a liquid outside its table at any hour."""
    low, high = fluid.rows[0][0], fluid.rows[-1][0]
    if plant.supply_c < low or plant.supply_c + plant.range_k > high:
        raise BadInput(
            f"The table of {fluid.name} goes from {low:g} to {high:g} °C, and {what} from `plant.supply_c` = "
            f"{plant.supply_c:g} to {plant.supply_c + plant.range_k:g} °C.",
            f"Change `plant.supply_c` or `plant.range_k`{other}.",
        )


def _check_table(fluid: Fluid, returned_c: Floats) -> None:
    """Raises BadInput where a liquid leaves what it cools outside its table."""
    low, high = fluid.rows[0][0], warmest_c(fluid)
    known = f"the table of {fluid.name} goes from {low:g} to {high:g} °C"
    remedy = "Set `plant.chiller`, take another `plant.rejection`, or lower `plant.supply_c`."
    check_hours("the coolant returns at {:.1f} °C", returned_c, low, high, known, remedy)
