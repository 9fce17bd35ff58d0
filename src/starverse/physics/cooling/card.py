"""How hot a card gets: its thermal resistances by kind of cooling, and its steady temperatures."""

from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from starverse.model.bounds import spanned
from starverse.model.errors import BadInput
from starverse.physics.cooling.fluids import Fluid, peak_flux_w_per_cm2, properties

Floats = NDArray[np.floating[Any]]

Kind = Literal["air", "cold-plate", "single-phase", "two-phase"]
KINDS: tuple[Kind, ...] = ("air", "cold-plate", "single-phase", "two-phase")

COLD_PLATE_PG25: tuple[tuple[float, float], ...] = (
    (0.4, 0.0389),
    (0.5, 0.0325),
    (0.6, 0.0300),
    (0.7, 0.0280),
    (0.8, 0.0265),
    (0.9, 0.0255),
    (1.0, 0.0245),
    (1.2, 0.0230),
    (1.4, 0.0220),
    (1.6, 0.0214),
    (1.8, 0.0209),
    (2.0, 0.0204),
    (2.2, 0.0200),
    (2.4, 0.0197),
)
"""L/min of PG25, K/W from case to coolant inlet: OCP OAI System Liquid Cooling Guidelines (2023), figure 7,
for a 1 kW OAM, as read off by LBNL (Modelica Buildings, OCP_1kW_OAM_PG25)."""

_PLATE_LIMIT, _PLATE_FILM, _PLATE_POWER = 0.0176227, 0.0066889, 1.25495
"""Fitted to every other row above (0.4, 0.6, 0.8, … L/min) by least squares of the logarithms; the rest is
held out, and met within 1 %, but for 0.5 L/min (3.4 %)."""

JUNCTION_C = (-40.0, 125.0)
"""Dies whose heat and failures the models speak of, °C: industrial silicon's usual range, ASSUMED. JEDEC's
life tests (JESD22-A108), from which activation energies come, run at 125 °C as a rule."""


class CardThermal(Struct, frozen=True):
    """Two nodes: the die (1) and what carries its heat away (2: cold plate, heat sink, boiling surface).

    C1 dT1/dt = P - (T1 - T2) / R1; C2 dT2/dt = (T1 - T2) / R1 - (T2 - Tin) / R2.
    """

    die_k_per_w: float = 0.020
    sink_k_per_w: float = 0.0245
    die_j_per_k: float = 60.0
    sink_j_per_k: float = 250.0

    def __post_init__(self) -> None:
        if min(self.die_k_per_w, self.sink_k_per_w, self.die_j_per_k, self.sink_j_per_k) <= 0:
            raise BadInput(
                "A card's thermal resistances and heat capacities must be above zero.",
                "Give `die_k_per_w`, `sink_k_per_w`, `die_j_per_k` and `sink_j_per_k`.",
            )


def cold_plate_k_per_w(flow_l_per_min: ArrayLike) -> Floats:
    """Case to coolant in K/W of a PG25 cold plate: R = R∞ + A V^-n, fitted to the OCP table.

    A constant conduction part and a film that thins with flow (Incropera, ch. 8: h ~ V^n). Raises BadInput
    outside 0.4 to 2.4 L/min, where nothing was measured.
    """
    flow = np.asarray(flow_l_per_min, dtype=float)
    low, high = COLD_PLATE_PG25[0][0], COLD_PLATE_PG25[-1][0]
    if flow.size and not (flow.min() >= low and flow.max() <= high):
        raise BadInput(
            f"No cold plate was measured at {spanned(flow.min(), flow.max())} L/min.",
            f"Keep `flow_l_per_min` from {low:g} to {high:g}.",
        )
    resistance: Floats = _PLATE_LIMIT + _PLATE_FILM * flow**-_PLATE_POWER
    return resistance


def steady_c(
    power_w: ArrayLike, inlet_c: ArrayLike, thermal: CardThermal, leakage_per_k: float = 0.0
) -> Floats:
    """The die's steady temperature in °C: Tin + P (R1 + R2), with P growing by `leakage_per_k` above it.

    With leakage P = P0 (1 + a (T - Tin)), so T - Tin = R P0 / (1 - a R P0). Raises BadInput on thermal
    runaway, where a R P0 reaches 1.
    """
    rise = np.asarray(power_w, dtype=float) * (thermal.die_k_per_w + thermal.sink_k_per_w)
    gain = leakage_per_k * rise
    if gain.size and gain.max() >= 1:
        raise BadInput("At this power and resistance, leakage runs away.", "Cool better or lower the power.")
    temperature: Floats = np.asarray(inlet_c, dtype=float) + rise / (1 - gain)
    return temperature


def air_k_per_w(reference_k_per_w: float, flow_share: ArrayLike, exponent: float = 0.65) -> Floats:
    """A heat sink's resistance in K/W at a share of its reference air flow: R ~ V^-0.5 (laminar) to V^-0.8.

    Raises BadInput for no flow.
    """
    flow = np.asarray(flow_share, dtype=float)
    if flow.size and not flow.min() > 0:
        raise BadInput(
            "A heat sink without air flow has no resistance to speak of.", "Give `flow_share` > 0."
        )
    resistance: Floats = reference_k_per_w * flow**-exponent
    return resistance


def immersed_k_per_w(
    fluid: Fluid, area_m2: float, power_w: float, forced_w_per_m2_k: float | None = None
) -> float:
    """Sink to bath in K/W of a card in single-phase immersion.

    Forced: 1 / (h A). Else natural convection on a vertical plate, Nu = 0.59 Ra^0.25 (Incropera, equation
    9.26, laminar), with properties at 45 °C, solved for the temperature difference at `power_w`: since h ~
    ΔT^0.25, R ~ P^-0.2. `area_m2` is the wetted area, fins included; the plate's height is taken as 0.1 m.
    """
    if area_m2 <= 0 or power_w <= 0:
        raise BadInput(
            "A card needs area and power to shed heat.", "Give `area_m2` and `power_w` above zero."
        )
    if forced_w_per_m2_k is not None:
        return 1 / (forced_w_per_m2_k * area_m2)
    near = properties(fluid, [40.0, 45.0])
    density = float(near.density_kg_per_m3[1])
    expansion_per_k = float(near.density_kg_per_m3[0] - density) / (5 * density)
    viscosity = float(near.viscosity_pa_s[1]) / density
    conductivity = float(near.conductivity_w_per_m_k[1])
    diffusivity = conductivity / (density * float(near.heat_capacity_j_per_kg_k[1]))
    height_m = 0.1
    rayleigh_per_k = 9.81 * expansion_per_k * height_m**3 / (viscosity * diffusivity)
    # Q = A k/H 0.59 (Ra1 ΔT)^0.25 ΔT
    difference_k = (power_w * height_m / (area_m2 * conductivity * 0.59 * rayleigh_per_k**0.25)) ** 0.8
    return float(difference_k / power_w)


def boiling_k_per_w(fluid: Fluid, area_cm2: float, power_w: float, film_k: float = 12.0) -> float:
    """Surface to saturation in K/W of a card in two-phase immersion, at `film_k` of wall superheat.

    The superheat is ASSUMED constant (nucleate boiling's wall warms little with power; 12 K for a treated
    surface). Raises BadInput where the flux exceeds the fluid's peak (film boiling: the card would burn out),
    or where its boiling is not known.
    """
    if area_cm2 <= 0 or power_w <= 0:
        raise BadInput("A card needs area and power to boil.", "Give `area_cm2` and `power_w` above zero.")
    flux, peak = power_w / area_cm2, peak_flux_w_per_cm2(fluid)
    if flux > peak:
        raise BadInput(
            f"{flux:.3g} W/cm² exceed what {fluid.name} takes away by boiling ({peak:.3g} W/cm²).",
            "Enlarge `area_cm2` or lower the power.",
        )
    return film_k / power_w
