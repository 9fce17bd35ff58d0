"""An air-cooled hall: servers that follow their inlet, cooled by direct-expansion CRAC units."""

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from starverse.physics.cooling.moist import SEA_LEVEL_PA
from starverse.physics.cooling.weather import check_hours

Floats = NDArray[np.floating[Any]]

AIR_J_PER_KG_K = 1006.0
VAPOUR_J_PER_KG_K = 1860.0


class AirServers(Struct, frozen=True):
    """Servers as EnergyPlus has them (ElectricEquipment:ITE:AirCooled), in W and m³/s at their design.

    Power of chips and flow of air are (1, load, inlet °C) polynomials of their design values; fans follow the
    flow. `supply_loss_share` is the power supply's loss, released in the room.
    """

    chips_w: float
    fans_w: float
    air_m3_per_s: float
    chips_curve: tuple[float, float, float] = (-1.0, 1.0, 0.06667)
    air_curve: tuple[float, float, float] = (-1.4, 0.9, 0.1)
    supply_loss_share: float = 0.1


class CracUnit(Struct, frozen=True):
    """A DX unit as EnergyPlus has it (Coil:Cooling:DX:SingleSpeed with a variable-volume fan).

    `power_by_air` is EIRFT over outdoor dry bulb, `capacity_by_air` CapFT likewise at the room's wet bulb,
    both as (°C, factor) rows, linear in between. The rest are polynomials, constant first: the fan's power,
    the coil's CapFFF and EIRFFF in the flow's share, which they know within `flow_shares`; the runtime is
    PLR / PLF, PLF = 1 - `cycling_loss` (1 - PLR). Defaults are those of the example file below
    (HPACCoolCapFFF, HPACCOOLEIRFFF, HPACCOOLPLFFPLR).
    """

    capacity_w: float
    cop: float
    air_m3_per_s: float
    fan_w: float
    fan_curve: tuple[float, ...] = (0.06990146, 1.39500612, -3.35487336, 2.89232315)
    capacity_by_air: tuple[tuple[float, float], ...] = ((-10.0, 1.0), (46.0, 1.0))
    power_by_air: tuple[tuple[float, float], ...] = ((-10.0, 1.0), (46.0, 1.0))
    capacity_by_flow: tuple[float, ...] = (0.8, 0.2)
    power_by_flow: tuple[float, ...] = (1.156, -0.1816, 0.0256)
    flow_shares: tuple[float, float] = (0.5, 1.5)
    cycling_loss: float = 0.15
    supply_most_c: float = 25.0
    supply_least_c: float = 10.0


class AirHall(Struct, frozen=True):
    """Servers and unit with what lies between: approaches of supply and return in K, and the walls.

    `supply_approach_k` is how much warmer servers breathe than the unit blows; `return_approach_k` how much
    cooler the room's exhaust is than theirs. `envelope_w_per_k` is the building's conductance.
    """

    servers: AirServers
    unit: CracUnit
    supply_approach_k: float = 2.0
    return_approach_k: float = 1.0
    envelope_w_per_k: float = 0.0
    room_kg_per_kg: float = 0.011
    """Humidity of the room's air: assumed. Its heat capacity and density change by 2 % from dry air on."""
    envelope_k: float = 8.0
    """How much warmer than the supply the room is that the walls see: assumed."""
    staged: bool = False
    """The unit stands for many, of which some rest where all would blow less than their curves know."""


ECONOPHASE_HALL = AirHall(
    AirServers(chips_w=30_000.0, fans_w=20_000.0, air_m3_per_s=5.0),
    CracUnit(
        capacity_w=148_300.0,
        cop=4.5669,
        air_m3_per_s=8.5,
        fan_w=8.5 * 486.0 / 0.7,
        capacity_by_air=(
            (-10.0, 1.0),
            (24.0, 1.0),
            (30.0, 1.0),
            (35.0, 0.9849),
            (38.0, 0.9486),
            (46.0, 0.8509),
        ),
        power_by_air=(
            (-50.0, 0.042),
            (-4.0, 0.042),
            (-1.2222, 0.084),
            (1.5555, 0.084),
            (4.3333, 0.2269),
            (7.1111, 0.2395),
            (9.8888, 0.311),
            (12.6667, 0.3697),
            (15.4444, 0.4454),
            (18.222, 0.5462),
            (21.0, 0.6723),
            (23.77778, 0.7227),
            (26.55556, 0.7773),
            (29.33333, 0.8193),
            (32.11111, 0.895),
            (34.88889, 1.0),
            (50.0, 1.5),
        ),
    ),
    envelope_w_per_k=164.0,
)
"""EnergyPlus' example 1ZoneDataCenterCRAC_wApproachTemp: 100 servers of 500 W, a Liebert unit with pumped
refrigerant (its EconoPhase curves: the compressor rests in the cold). Capacity between the table's rows at
19.4 and 21 °C, the room's wet bulb of 20.3. Envelope: 232 m² of roof and 279 m² of wall at the file's
resistances."""


class HallPower(Struct, frozen=True):
    """Hourly power in W, each shaped as the inputs: what servers take, chips, the units' fans and
    compressors."""

    it_w: Floats
    chips_w: Floats
    fan_w: Floats
    compressor_w: Floats
    supply_c: Floats


def hall_power(hall: AirHall, load_share: ArrayLike, dry_bulb_c: ArrayLike) -> HallPower:
    """A hall's power at a load (0 to 1) and an outdoor temperature; shapes broadcast.

    The unit blows at full flow and at the temperature that carries the servers' heat away, the warmest that
    does; at its upper limit the flow falls instead, and where `staged` units rest before it falls out of
    their curves. Supply found by bisection on the heat balance
    m cp (Treturn - Tsupply) = Q(Tsupply), with Treturn from the servers' own flow and the two approaches.
    Coil: P = Qcap CapFT CapFFF / COP EIRFT EIRFFF x PLR / PLF (EnergyPlus Engineering Reference, Single-Speed
    Electric DX Air Cooling Coil). Raises BadInput outside the unit's tables, with the hour of a year that is
    farthest outside, and where the unit is too small for the heat.
    """
    load, outdoor = np.broadcast_arrays(
        np.asarray(load_share, dtype=float), np.asarray(dry_bulb_c, dtype=float)
    )
    unit = hall.unit
    tables = (unit.power_by_air, unit.capacity_by_air)
    low_c, high_c = max(rows[0][0] for rows in tables), min(rows[-1][0] for rows in tables)
    known = f"the units' tables go from {low_c:g} to {high_c:g} °C"
    check_hours("the outdoor air is at {:.1f} °C", outdoor, low_c, high_c, known, _REMEDY)
    heat_capacity = AIR_J_PER_KG_K + VAPOUR_J_PER_KG_K * hall.room_kg_per_kg
    full_kg_per_s = unit.air_m3_per_s * 1.2043  # standard air, as EnergyPlus rates volume flows at sea level
    low = np.full(load.shape, unit.supply_least_c)
    high = np.full(load.shape, unit.supply_most_c)
    for _ in range(40):
        middle = (low + high) / 2
        needed = _needed_kg_per_s(hall, load, outdoor, middle, heat_capacity)
        too_warm = needed > full_kg_per_s
        high = np.where(too_warm, middle, high)
        low = np.where(too_warm, low, middle)
    supply = high
    share = _needed_kg_per_s(hall, load, outdoor, supply, heat_capacity) / full_kg_per_s
    least, most = unit.flow_shares[0], min(unit.flow_shares[1], 1.0)
    running = np.clip(share / least, 1e-6, 1.0) if hall.staged else np.ones(load.shape)
    share = share / running
    known = f"their curves and fans go from {least:g} to {most:g}"
    check_hours("the units blow {:.3f} of their full flow", share, least, most, known, _REMEDY)
    chips, _, it = _servers(hall.servers, load, supply + hall.supply_approach_k)
    blower = running * unit.fan_w * np.polyval(unit.fan_curve[::-1], share)
    heat = _room_heat(hall, it, outdoor, supply) + blower
    capacity = running * unit.capacity_w * _at(unit.capacity_by_air, outdoor)
    capacity = capacity * np.polyval(unit.capacity_by_flow[::-1], share)
    part = heat / capacity
    known = "they take no more than all of it"
    check_hours("the heat is {:.3f} times what the units can take", part, 0.0, 1.0, known, _REMEDY)
    runtime = part / (1 - unit.cycling_loss * (1 - part))
    by_flow = np.polyval(unit.power_by_flow[::-1], share)
    compressor = capacity / unit.cop * _at(unit.power_by_air, outdoor) * by_flow * runtime
    return HallPower(it, chips, blower, compressor, supply)


_REMEDY = "Give a milder year, another kind of cooling, or larger units."


def _servers(servers: AirServers, load: Floats, inlet_c: Floats) -> tuple[Floats, Floats, Floats]:
    a, b, c = servers.chips_curve
    chips = servers.chips_w * (a + b * load + c * inlet_c)
    fans = servers.fans_w * _air_share(servers, load, inlet_c)
    it: Floats = (chips + fans) * (1 + servers.supply_loss_share)
    return chips, fans, it


def _air_share(servers: AirServers, load: Floats, inlet_c: Floats) -> Floats:
    a, b, c = servers.air_curve
    share: Floats = a + b * load + c * inlet_c
    return share


def _return_rise_k(hall: AirHall, load: Floats, supply: Floats, heat_capacity: float) -> Floats:
    """The room's exhaust above the supply."""
    inlet = supply + hall.supply_approach_k
    chips, fans, _ = _servers(hall.servers, load, inlet)
    density = SEA_LEVEL_PA / (287.05 * (inlet + 273.15)) / (1 + 1.6078 * hall.room_kg_per_kg)
    flow = hall.servers.air_m3_per_s * _air_share(hall.servers, load, inlet) * density
    rise: Floats = hall.supply_approach_k + (chips + fans) / (flow * heat_capacity) - hall.return_approach_k
    return rise


def _room_heat(hall: AirHall, it: Floats, outdoor: Floats, supply: Floats) -> Floats:
    room: Floats = it - hall.envelope_w_per_k * (supply + hall.envelope_k - outdoor)
    return room


def _needed_kg_per_s(
    hall: AirHall, load: Floats, outdoor: Floats, supply: Floats, heat_capacity: float
) -> Floats:
    _, _, it = _servers(hall.servers, load, supply + hall.supply_approach_k)
    heat = _room_heat(hall, it, outdoor, supply)
    flow: Floats = heat / (heat_capacity * _return_rise_k(hall, load, supply, heat_capacity))
    return flow


def _at(rows: tuple[tuple[float, float], ...], outdoor: Floats) -> Floats:
    table = np.array(rows)
    value: Floats = np.interp(outdoor, table[:, 0], table[:, 1])
    return value
