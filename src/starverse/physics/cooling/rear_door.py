"""Rear doors: what coils behind racks take from the air, how warm the room is then, and when they drip."""

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from starverse.model.errors import BadInput
from starverse.physics.cooling.exchanger import effectiveness, ntu_for
from starverse.physics.cooling.weather import check_hours

Floats = NDArray[np.floating[Any]]

AIR_J_PER_KG_K, AIR_KG_PER_M3 = 1006.0, 1.2
COOLANT_J_PER_KG_K = 3981.0
"""PG25 at 45 °C (LBNL)."""


class RearDoors(Struct, frozen=True):
    """All doors of a hall together at design: heat in W, how much the air and the coolant warm in K.

    All ASSUMED, as no maker's sheet was found that says them together: 12 K of the air through a rack, four
    fifths effective, fans that draw the air through nodes and coil against 200 Pa at half efficiency (2.8 %
    of the heat). Their speed follows the heat, not below `flow_least`.
    """

    heat_w: float
    coolant_k: float = 8.0
    air_k: float = 12.0
    effective_share: float = 0.8
    fan_pa: float = 200.0
    fan_efficiency: float = 0.5
    flow_least: float = 0.1

    def __post_init__(self) -> None:
        if not (self.heat_w > 0 and self.coolant_k > 0 and self.air_k > 0):
            raise BadInput(
                "Doors need heat, and air and coolant that it warms.",
                "Give `heat_w`, `air_k` and `coolant_k` above zero.",
            )


class DoorState(Struct, frozen=True):
    """The air onto the doors and in the room, in °C, and what the coolant gets in W, shaped as the inputs."""

    air_in_c: Floats
    room_c: Floats
    to_coolant_w: Floats


def rear_doors(
    doors: RearDoors, heat_w: ArrayLike, coolant_in_c: ArrayLike, dew_point_c: ArrayLike
) -> DoorState:
    """Where a room settles whose heat all goes through its doors; shapes broadcast.

    ε-NTU in crossflow with UA at design from the effectiveness, UA ~ n^0.6 as of a dry cooler; both flows
    follow the heat. The coil gets the racks' heat and that of the fans, which stand behind it:
    T = Tcoolant + (Q + Pfan) / (ε Cmin) onto the doors, and a room Q / Cair colder. Raises BadInput where the
    coolant is below the dew point, or the heat above the design's.
    """
    heat, coolant, dew = np.broadcast_arrays(
        *(np.asarray(each, dtype=float) for each in (heat_w, coolant_in_c, dew_point_c))
    )
    share = _flow_share(doors, heat)
    air, water = (doors.heat_w / rise for rise in (doors.air_k, doors.coolant_k))
    least, most = min(air, water), max(air, water)
    conductance = least * ntu_for(doors.effective_share, least / most, "cross") * share**0.6
    passed = effectiveness(conductance / (least * share), least / most, "cross")
    flows = air * share / AIR_J_PER_KG_K, water * share / COOLANT_J_PER_KG_K
    per_k = rear_door_heat_w(coolant + 1.0, coolant, *flows, passed, dew)
    taken = heat + door_fans_w(doors, heat)
    onto: Floats = coolant + taken / per_k
    return DoorState(onto, onto - heat / (air * share), taken)


def door_fans_w(doors: RearDoors, heat_w: ArrayLike) -> Floats:
    """The fans' power in W at a heat, of any shape: V Δp / η at design, V = Q / (ρ cp ΔT), and ~ n³."""
    flow = doors.heat_w / (AIR_KG_PER_M3 * AIR_J_PER_KG_K * doors.air_k)
    power: Floats = flow * doors.fan_pa / doors.fan_efficiency * _flow_share(doors, heat_w) ** 3
    return power


def rear_door_heat_w(
    air_in_c: ArrayLike,
    coolant_in_c: ArrayLike,
    air_kg_per_s: ArrayLike,
    coolant_kg_per_s: ArrayLike,
    effective_share: ArrayLike,
    dew_point_c: ArrayLike,
) -> Floats:
    """What rear doors take from the racks' air in W: ε Cmin (Tair - Tcoolant); shapes broadcast.

    Raises BadInput, with the hour of a year, where the coolant is below the room's dew point.
    """
    coolant, dew = np.broadcast_arrays(
        np.asarray(coolant_in_c, dtype=float), np.asarray(dew_point_c, dtype=float)
    )
    check_hours(
        "the rear doors' coolant is {:.1f} K below the dew point of the air",
        dew - coolant,
        -np.inf,
        0.0,
        "they would drip",
        "Warm it (a site's `plant.supply_c`), or do without doors (`plant.air_share` 0).",
    )
    air = np.asarray(air_kg_per_s, dtype=float) * AIR_J_PER_KG_K
    least = np.minimum(air, np.asarray(coolant_kg_per_s, dtype=float) * COOLANT_J_PER_KG_K)
    heat: Floats = effective_share * least * (np.asarray(air_in_c, dtype=float) - coolant)
    return heat


def _flow_share(doors: RearDoors, heat_w: ArrayLike) -> Floats:
    share = np.asarray(heat_w, dtype=float) / doors.heat_w
    remedy = "Raise the doors' `heat_w`, or lower the load."
    check_hours("rear doors get {:.3f} of their heat", share, 0.0, 1.0, "they take no more than all", remedy)
    return np.maximum(share, doors.flow_least)
