"""A chiller's power by load and temperatures, and the economiser that spares it."""

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from starverse.model.errors import BadInput

Floats = NDArray[np.floating[Any]]


class Chiller(Struct, frozen=True):
    """A vapour-compression chiller of DOE-2's form: capacity, COP at its rating, and three curves.

    Each temperature curve is (1, x, x², y, y², xy) in x, the water leaving the evaporator, and y, the water
    entering the condenser, both in °C; `load_curve` is (1, p, p²) in the part load. The defaults are flat:
    power in proportion to heat at the rated COP, whatever the temperatures. `carnot_share` above zero takes
    the COP from the temperatures instead: share x Tev / (Tco - Tev), 2 K colder and warmer than the water.
    """

    capacity_w: float
    cop: float = 5.0
    carnot_share: float = 0.0
    capacity_curve: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    power_curve: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    load_curve: tuple[float, float, float] = (0.0, 1.0, 0.0)
    lift_least_k: float = 10.0

    def __post_init__(self) -> None:
        if self.capacity_w <= 0 or self.cop <= 0:
            raise BadInput("A chiller needs capacity and a COP.", "Give `capacity_w` and `cop` above zero.")


def carnot_chiller(
    capacity_w: float, cop: float, evaporator_c: float, condenser_c: float, lift_least_k: float = 10.0
) -> Chiller:
    """A chiller whose COP keeps its share of Carnot's from the design point on (LBNL,
    Chillers.Carnot_TEva)."""
    lift = condenser_c - evaporator_c + 4.0
    if lift <= 0:
        raise BadInput("A chiller lifts heat from cold to warm.", "Give `condenser_c` above `evaporator_c`.")
    ideal = (evaporator_c - 2.0 + 273.15) / lift
    return Chiller(capacity_w, cop, carnot_share=min(cop / ideal, 1.0), lift_least_k=lift_least_k)


def chiller_power_w(
    chiller: Chiller, heat_w: ArrayLike, evaporator_c: ArrayLike, condenser_c: ArrayLike
) -> Floats:
    """Compressor power in W for `heat_w` at leaving chilled and entering condenser water; shapes broadcast.

    P = Q0 CapFT EIR0 EIRFT EIRFPLR(p), p = Q / (Q0 CapFT) (DOE-2; EnergyPlus, Chiller:Electric:EIR). Raises
    BadInput where the heat exceeds the capacity.
    """
    heat, cold, warm = np.broadcast_arrays(
        *(np.asarray(x, dtype=float) for x in (heat_w, evaporator_c, condenser_c))
    )
    lifted = np.maximum(warm, cold + chiller.lift_least_k)
    able = chiller.capacity_w * _curve(chiller.capacity_curve, cold, lifted)
    if heat.size and (heat > able * (1 + 1e-9)).any():
        worst = float((heat - able).max())
        raise BadInput(
            f"The chiller is {worst:.3g} W too small.", "Raise its `capacity_w`, or the plant's design heat."
        )
    part = heat / able
    if chiller.carnot_share:
        cop = chiller.carnot_share * (cold - 2.0 + 273.15) / (lifted - cold + 4.0)
    else:
        cop = chiller.cop / _curve(chiller.power_curve, cold, lifted)
    a, b, c = chiller.load_curve
    power: Floats = able / cop * (a + part * (b + part * c))
    return np.where(heat > 0, power, 0.0)


def _curve(curve: tuple[float, ...], x: Floats, y: Floats) -> Floats:
    a, b, c, d, e, f = curve
    value: Floats = a + b * x + c * x * x + d * y + e * y * y + f * x * y
    return value
