"""A liquid-cooled plant through the hours: pumps, heat rejection, a chiller where the weather is too warm."""

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from starverse.model.errors import BadInput
from starverse.physics.cooling.chiller import Chiller, chiller_power_w
from starverse.physics.cooling.loop import Resistance, pressure_drop_pa, pump_power_w
from starverse.physics.cooling.rear_door import RearDoors, door_fans_w, rear_doors
from starverse.physics.cooling.rejection import DryCooler, Rejected, Tower, dry_cooler, tower

Floats = NDArray[np.floating[Any]]


class PumpDuty(Struct, frozen=True):
    """Pumps of one loop: their flow follows the heat (constant temperature difference), not below
    `least_share`."""

    name: str
    design_m3_per_s: float
    resistance: Resistance
    efficiency: float = 0.65
    least_share: float = 0.1


class LiquidPlant(Struct, frozen=True):
    """A plant for `it_w` of design heat.

    `supply_c` is what the racks shall get; `approach_k` how much warmer that is than what the cooler returns,
    all heat exchangers together; `range_k` how much the coolant warms in the racks. `doors` take their share
    of the heat, at the racks' supply, and the plant gets their fans' power as well.
    """

    it_w: float
    pumps: tuple[PumpDuty, ...]
    rejection: DryCooler | Tower
    supply_c: float = 40.0
    approach_k: float = 6.0
    range_k: float = 5.0
    chiller: Chiller | None = None
    doors: RearDoors | None = None

    def __post_init__(self) -> None:
        if self.it_w <= 0 or self.range_k <= 0 or self.approach_k < 0:
            raise BadInput(
                "A plant needs heat, and coolant that warms.",
                "Give `it_w` and `range_k` above zero, `approach_k` of at least zero.",
            )
        if self.doors and self.doors.heat_w > self.it_w * (1 + 1e-9):
            raise BadInput("Rear doors take no more than all heat.", "Lower the doors' `heat_w`.")


class PlantPower(Struct, frozen=True):
    """What a plant takes hour by hour: pumps by loop, fans and chiller in W, water in kg/s, supply in °C.

    `room_c` is the air that rear doors leave in the room, where there are doors.
    """

    pump_w: dict[str, Floats]
    fan_w: Floats
    air_fan_w: Floats
    chiller_w: Floats
    water_kg_per_s: Floats
    supply_c: Floats
    room_c: Floats | None = None

    @property
    def total_w(self) -> Floats:
        """All of it."""
        total: Floats = (
            np.sum(list(self.pump_w.values()), axis=0) + self.fan_w + self.air_fan_w + self.chiller_w
        )
        return total


def plant_power(
    plant: LiquidPlant,
    it_w: ArrayLike,
    dry_bulb_c: ArrayLike,
    wet_bulb_c: ArrayLike,
    dew_point_c: ArrayLike | None = None,
) -> PlantPower:
    """A plant's power at the racks' heat and the weather; shapes broadcast. Quasi-steady: each hour by
    itself. Rear doors want the dew point of their room's air.

    Pumps: V Δp(V) / η, V following the heat. The cooler gets the racks' heat, the pumps' and the chiller's
    and holds `supply_c` - `approach_k` if it can; else the economiser takes the share
    (Treturn - Treached) / range and the chiller the rest (series trim), or without a chiller the supply
    warms. Raises BadInput above the design heat, and where doors would drip (`rear_doors`).
    """
    heat, dry, wet = np.broadcast_arrays(
        *(np.asarray(x, dtype=float) for x in (it_w, dry_bulb_c, wet_bulb_c))
    )
    if heat.size and not (heat.min() >= 0 and heat.max() <= plant.it_w * (1 + 1e-9)):
        raise BadInput(
            f"{heat.max():.4g} W exceed the plant's {plant.it_w:.4g} W.", "Raise `it_w`, or lower the load."
        )
    share = heat / plant.it_w
    pumps = {}
    for duty in plant.pumps:
        flow = np.maximum(share, duty.least_share)
        pumps[duty.name] = pump_power_w(
            flow * duty.design_m3_per_s, pressure_drop_pa(duty.resistance, flow), duty.efficiency
        )
    doors = plant.doors
    air_fans = door_fans_w(doors, share * doors.heat_w) if doors else np.zeros(heat.shape)
    load = heat + air_fans + (np.sum(list(pumps.values()), axis=0) if pumps else 0.0)
    flow = np.maximum(share, 0.1)
    wanted = np.full(heat.shape, plant.supply_c - plant.approach_k)
    rejected = _reject(plant.rejection, load, wanted, dry, wet, flow)
    short_k = rejected.coolant_out_c - wanted
    chiller: Floats = np.zeros(heat.shape)
    if plant.chiller is not None:
        lifted = load * np.clip(short_k / plant.range_k, 0, 1)
        chiller = chiller_power_w(plant.chiller, lifted, wanted, rejected.coolant_out_c)
        rejected = _reject(plant.rejection, load + chiller, wanted, dry, wet, flow)
        supply = np.full(heat.shape, plant.supply_c)
    else:
        supply = plant.supply_c + np.maximum(short_k, 0.0)
    room = None if doors is None else _room_c(doors, share, supply, dew_point_c)
    return PlantPower(pumps, rejected.fan_w, air_fans, chiller, rejected.water_kg_per_s, supply, room)


def _room_c(doors: RearDoors, share: Floats, supply_c: Floats, dew_point_c: ArrayLike | None) -> Floats:
    if dew_point_c is None:
        raise BadInput("Whether rear doors drip hangs on the room's air.", "Give `dew_point_c`.")
    return rear_doors(doors, share * doors.heat_w, supply_c, dew_point_c).room_c


def _reject(
    rejection: DryCooler | Tower, heat: Floats, wanted: Floats, dry: Floats, wet: Floats, flow: Floats
) -> Rejected:
    if isinstance(rejection, Tower):
        return tower(rejection, heat, wanted, wet, dry)
    return dry_cooler(rejection, heat, wanted, dry, wet, flow)
