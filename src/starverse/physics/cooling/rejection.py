"""Rejecting heat to the weather: dry coolers, cooling towers and the water they evaporate."""

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from starverse.model.errors import BadInput
from starverse.physics.cooling.exchanger import effectiveness, ntu_for
from starverse.physics.cooling.moist import SEA_LEVEL_PA, humidity_ratio, humidity_ratio_at_wet_bulb

Floats = NDArray[np.floating[Any]]

_LATENT = 2.43e6
"""J/kg of water evaporating at 30 °C (IAPWS-95)."""


class DryCooler(Struct, frozen=True):
    """A dry cooler at its design point: heat in W, °C of the air and of the coolant in and out.

    `fan_share` is fan power over heat at design (1.5 to 2 % is usual; LBNL's record has 5 %).
    `wet_effectiveness` above zero makes it a hybrid: pads bring the air so far towards its wet bulb.
    """

    heat_w: float
    air_c: float = 36.0
    coolant_in_c: float = 44.0
    coolant_out_c: float = 39.0
    capacity_ratio: float = 1.0
    """The coolant's heat capacity flow over the air's, at design."""
    fan_share: float = 0.02
    exponent: float = 0.6
    fan_least: float = 0.1
    wet_effectiveness: float = 0.0
    wet_above_c: float = 25.0
    """Pads run only where the air is warmer than this."""


class Rejected(Struct, frozen=True):
    """What rejecting heat took, each shaped as the inputs: fans in W, water in kg/s, coolant out in °C."""

    fan_w: Floats
    water_kg_per_s: Floats
    coolant_out_c: Floats
    speed_share: Floats


def dry_cooler(
    cooler: DryCooler,
    heat_w: ArrayLike,
    coolant_out_c: ArrayLike,
    dry_bulb_c: ArrayLike,
    wet_bulb_c: ArrayLike,
    flow_share: ArrayLike,
) -> Rejected:
    """The fan speed that holds `coolant_out_c` at `heat_w`, and the temperature reached where none does.

    ε-NTU in crossflow, with UA ~ n^0.6 and air flow ~ n, fan power ~ n³ (fan affinity), not below
    `fan_least`; speed by bisection. `flow_share` is the coolant's flow over design. Shapes broadcast.
    """
    heat, wanted, air, wet, flow = np.broadcast_arrays(
        *(np.asarray(x, dtype=float) for x in (heat_w, coolant_out_c, dry_bulb_c, wet_bulb_c, flow_share))
    )
    if flow.size and not flow.min() > 0:
        raise BadInput("Without coolant flow no heat is rejected.", "Give `flow_share` above zero.")
    wetted = (air > cooler.wet_above_c) & (cooler.wet_effectiveness > 0)
    cooled_k = np.where(wetted, cooler.wet_effectiveness * np.maximum(air - wet, 0), 0.0)
    onto = air - cooled_k
    coolant0 = cooler.heat_w / (cooler.coolant_in_c - cooler.coolant_out_c)
    air0 = coolant0 / cooler.capacity_ratio
    design = (cooler.coolant_in_c - cooler.coolant_out_c) / (cooler.coolant_in_c - cooler.air_c)
    least0 = min(coolant0, air0)
    conductance0 = least0 * ntu_for(design * coolant0 / least0, least0 / max(coolant0, air0), "cross")
    coolant = coolant0 * flow

    def passed_w_per_k(speed: Floats) -> Floats:
        wind = air0 * speed
        least = np.minimum(coolant, wind)
        ntu = conductance0 * speed**cooler.exponent / least
        passed: Floats = effectiveness(ntu, least / np.maximum(coolant, wind), "cross") * least
        return passed

    speed, out = _held(passed_w_per_k, heat, wanted, onto, coolant, cooler.fan_least)
    # Pads evaporate what cools the air: m cp ΔT / hfg.
    water = air0 * speed * cooled_k / _LATENT
    return Rejected(cooler.fan_share * cooler.heat_w * speed**3, water, out, speed)


class Tower(Struct, frozen=True):
    """An evaporative tower at its design point.

    `approach_k` above the wet bulb (usually 3 to 5 K) at full heat and fan; `cycles` of
    concentration, how often water goes round before it is drained; `drift_share` of the circulating water.
    """

    heat_w: float
    range_k: float = 5.0
    approach_k: float = 4.0
    wet_bulb_c: float = 27.5
    fan_share: float = 0.012
    cycles: float = 5.0
    drift_share: float = 2e-5
    fan_least: float = 0.1


def tower(
    unit: Tower, heat_w: ArrayLike, coolant_out_c: ArrayLike, wet_bulb_c: ArrayLike, dry_bulb_c: ArrayLike
) -> Rejected:
    """The fan speed that holds `coolant_out_c`, water lost, and the temperature reached at full speed.

    Merkel's theory as ε-NTU on enthalpy, with Braun's effective heat capacity of saturated air (Braun, Klein
    and Mitchell, ASHRAE Trans. 95, 1989): the approach at part heat and speed follows from UA ~ n^0.6.
    Evaporation is what the air takes up until it leaves saturated, with the heat in its enthalpy; blow-down
    is evaporation / (cycles - 1), drift a share of what circulates.
    Water circulates at the design flow whatever the heat. Shapes broadcast.
    """
    heat, wanted, wet, dry = np.broadcast_arrays(
        *(np.asarray(x, dtype=float) for x in (heat_w, coolant_out_c, wet_bulb_c, dry_bulb_c))
    )
    if unit.cycles <= 1:
        raise BadInput("A tower's cycles of concentration exceed 1.", "Give `cycles` of 3 to 7.")
    coolant = unit.heat_w / unit.range_k
    design_in_c = unit.wet_bulb_c + unit.approach_k + unit.range_k
    effective0 = _effective_heat(np.asarray(unit.wet_bulb_c), np.asarray(design_in_c))
    design = unit.range_k / (unit.range_k + unit.approach_k)
    air0 = float(coolant / effective0)
    conductance0 = coolant * ntu_for(design, 1.0)
    effective = _effective_heat(wet, np.maximum(wanted + heat / coolant, wet + 1.0))

    def passed_w_per_k(speed: Floats) -> Floats:
        wind = air0 * speed * effective
        least = np.minimum(coolant, wind)
        conductance = conductance0 * speed**0.6 * effective / effective0
        passed: Floats = effectiveness(conductance / least, least / np.maximum(coolant, wind)) * least
        return passed

    speed, out = _held(passed_w_per_k, heat, wanted, wet, coolant, unit.fan_least)
    wind = air0 * speed
    leaving = humidity_ratio(_saturated_c(_enthalpy(wet) + heat / wind), 1.0, SEA_LEVEL_PA)
    entering = humidity_ratio_at_wet_bulb(np.maximum(dry, wet), wet, SEA_LEVEL_PA)
    evaporated = np.maximum(wind * (leaving - entering), 0.0)
    water = evaporated * unit.cycles / (unit.cycles - 1) + unit.drift_share * coolant / 4180
    return Rejected(unit.fan_share * unit.heat_w * speed**3, water, out, speed)


def _held(
    passed_w_per_k: Callable[[Floats], Floats],
    heat: Floats,
    wanted: Floats,
    onto: Floats,
    coolant: Floats | float,
    least: float,
) -> tuple[Floats, Floats]:
    """The slowest speed at which the coolant leaves as cold as wanted, by bisection, and as it then leaves.

    `passed_w_per_k` is ε Cmin at a speed, `onto` the air's °C, `coolant` its heat capacity flow in W/K.
    Heat = ε Cmin (Tin - Tair) with Tin = Tout + heat / coolant.
    """

    def able_w(speed: Floats) -> Floats:
        passed = passed_w_per_k(speed)
        able: Floats = passed * (wanted - onto) / (1 - passed / coolant)
        return able

    low, high = np.full(heat.shape, least), np.ones(heat.shape)
    for _ in range(30):
        middle = (low + high) / 2
        short = able_w(middle) < heat
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    slowest = np.full(heat.shape, least)
    speed = np.where((heat <= 0) | (able_w(slowest) >= heat), slowest, high)
    reached = onto + heat * (1 / passed_w_per_k(speed) - 1 / coolant)
    return speed, np.maximum(reached, wanted)


def _enthalpy(celsius: Floats) -> Floats:
    """Of saturated air at sea level, J per kg of dry air (ASHRAE 2017, 1, equation 30)."""
    ratio = humidity_ratio(celsius, 1.0, SEA_LEVEL_PA)
    found: Floats = 1006 * celsius + ratio * (2.501e6 + 1860 * celsius)
    return found


def _effective_heat(wet_c: Floats, water_c: Floats) -> Floats:
    """Braun's heat capacity of saturated air: its enthalpy's slope from the wet bulb to the water, J/kg/K."""
    slope: Floats = (_enthalpy(water_c) - _enthalpy(wet_c)) / (water_c - wet_c)
    return slope


def _saturated_c(enthalpy: Floats) -> Floats:
    """The temperature at which saturated air has that enthalpy, by bisection to 1e-4 K."""
    low, high = np.full(enthalpy.shape, -40.0), np.full(enthalpy.shape, 90.0)
    for _ in range(21):
        middle = (low + high) / 2
        above = _enthalpy(middle) > enthalpy
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    found: Floats = (low + high) / 2
    return found
