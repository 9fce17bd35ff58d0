"""A coolant loop: what pressure its flow takes, what its pumps draw, and how late its heat arrives."""

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from starverse.model.errors import BadInput

Floats = NDArray[np.floating[Any]]


class Resistance(Struct, frozen=True):
    """A loop's pressure drop: Δp = fixed + dp (m / m0)^n, n 1.85 for turbulent pipes (Hazen-Williams), 2
    for fittings.

    `fixed_pa` is what a control holds at any flow (a differential-pressure set point).
    """

    design_pa: float
    exponent: float = 1.85
    fixed_pa: float = 0.0


def pressure_drop_pa(resistance: Resistance, flow_share: ArrayLike) -> Floats:
    """Pressure drop in Pa at flows as a share of design, of any shape."""
    share = np.asarray(flow_share, dtype=float)
    if share.size and share.min() < 0:
        raise BadInput("Coolant does not flow backwards here.", "Give `flow_share` of at least 0.")
    drop: Floats = resistance.fixed_pa + resistance.design_pa * share**resistance.exponent
    return drop


def pipe_drop_pa(
    flow_m3_per_s: float,
    diameter_m: float,
    length_m: float,
    density_kg_per_m3: float,
    viscosity_pa_s: float,
    roughness_m: float = 1.5e-5,
) -> float:
    """Darcy-Weisbach, Δp = f L/D ρ v²/2, with Haaland's explicit friction factor (J. Fluids Eng. 105, 1983).

    Laminar below Re 2300: f = 64 / Re. Pa for a straight pipe; bends and fittings are the caller's factor.
    """
    if min(flow_m3_per_s, diameter_m, length_m) <= 0:
        raise BadInput(
            "A pipe needs flow, diameter and length.",
            "Give `flow_m3_per_s`, `diameter_m` and `length_m` above zero.",
        )
    speed = flow_m3_per_s / (np.pi * diameter_m**2 / 4)
    reynolds = density_kg_per_m3 * speed * diameter_m / viscosity_pa_s
    if reynolds < 2300:
        friction = 64 / reynolds
    else:
        rough = (roughness_m / diameter_m / 3.7) ** 1.11
        friction = (-1.8 * np.log10(rough + 6.9 / reynolds)) ** -2
    return float(friction * length_m / diameter_m * density_kg_per_m3 * speed**2 / 2)


class Pump(Struct, frozen=True):
    """A pump with its drive: `efficiency` is hydraulic times motor times drive at the design point."""

    design_m3_per_s: float
    design_pa: float
    efficiency: float = 0.7 * 0.93 * 0.97

    @property
    def design_w(self) -> float:
        """Electrical power at the design point."""
        return self.design_m3_per_s * self.design_pa / self.efficiency


def pump_power_w(flow_m3_per_s: ArrayLike, head_pa: ArrayLike, efficiency: float) -> Floats:
    """Electrical power in W of moving a flow against a head: V Δp / η, shapes broadcast."""
    if not 0 < efficiency <= 1:
        raise BadInput(f"An efficiency of {efficiency:g} is not a share.", "Give `efficiency` above 0, to 1.")
    power: Floats = np.asarray(flow_m3_per_s, dtype=float) * np.asarray(head_pa, dtype=float) / efficiency
    return power


def affinity(pump: Pump, speed_share: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Flow in m³/s, head in Pa and power in W at a share of full speed: Q ~ n, H ~ n², P ~ n³.

    The affinity laws (Karassik, Pump Handbook), on a system curve through the origin; below 20 % speed drives
    and motors lose more than this says.
    """
    speed = np.asarray(speed_share, dtype=float)
    if speed.size and not (speed.min() >= 0 and speed.max() <= 1):
        raise BadInput("A pump runs between standstill and full speed.", "Give `speed_share` from 0 to 1.")
    flow: Floats = pump.design_m3_per_s * speed
    head: Floats = pump.design_pa * speed**2
    power: Floats = pump.design_w * speed**3
    return flow, head, power


def delayed_c(
    inlet_c: Floats, flow_m3_per_s: Floats, volume_m3: float, step_s: float, *, start_c: float
) -> Floats:
    """The temperature at a pipe's end, shape (steps,), of what entered it: plug flow, each parcel keeps its
    heat.

    What leaves in a step entered when the flow since then filled `volume_m3`: the delay is volume over flow,
    also where the flow changes or stops (then the last temperature stands). The pipe is full of `start_c` at
    first. Heat is followed rather than temperature, so that none is lost between steps.
    """
    if inlet_c.shape != flow_m3_per_s.shape or inlet_c.ndim != 1:
        raise BadInput("Temperatures and flows come step by step.", "Give both with shape (steps,).")
    if volume_m3 < 0 or step_s <= 0:
        raise BadInput("A pipe has a volume, time a step.", "Give `volume_m3` from 0, `step_s` above 0.")
    volume = flow_m3_per_s * step_s
    passed = np.concatenate(([0.0], np.cumsum(volume)))
    heat = np.concatenate(([0.0], np.cumsum(volume * inlet_c)))
    entered = np.concatenate(([-volume_m3], passed))
    content = np.concatenate(([-volume_m3 * start_c], heat))
    left = np.diff(np.interp(passed - volume_m3, entered, content))
    moves = volume > 0
    leaving = np.where(moves, left / np.where(moves, volume, 1.0), np.nan)
    # where nothing moved, what left last still stands at the end
    last = np.maximum.accumulate(np.where(moves, np.arange(len(leaving)), -1))
    stands: Floats = np.where(last >= 0, leaving[np.maximum(last, 0)], start_c)
    return stands


def facility_loss_rise_k(
    power_w: float, inventory_l: float, seconds: float, heat_j_per_l_k: float = 4008.0
) -> float:
    """How far a loop warms when only the facility's side is lost: P t / (V ρ c), in K.

    1 L/kW warms by 0.25 K/s: 3.7 K in 15 s (PG25 at 45 °C: 1,007 kg/m³ × 3,981 J/kg/K).
    """
    if inventory_l <= 0:
        raise BadInput("A loop without coolant holds no heat.", "Give `inventory_l` above zero.")
    return power_w * seconds / (inventory_l * heat_j_per_l_k)
