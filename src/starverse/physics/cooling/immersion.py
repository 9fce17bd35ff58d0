"""Immersion's own loops: a tank whose liquid is pumped through a CDU, and one that boils and condenses."""

from math import log
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from starverse.model.errors import BadInput
from starverse.physics.cooling.exchanger import Cdu, cdu_state, effectiveness
from starverse.physics.cooling.fluids import Fluid, properties
from starverse.physics.cooling.loop import Resistance, pressure_drop_pa, pump_power_w
from starverse.physics.cooling.plant import PumpDuty

Floats = NDArray[np.floating[Any]]

WATER_J_PER_KG_K = 4180.0


class Tanks(Struct, frozen=True):
    """Single-phase tanks with their dielectric pumps and CDUs, all together, at design."""

    pump: PumpDuty
    cdu: Cdu


class TankState(Struct, frozen=True):
    """Temperatures in °C, the pumps' and the water's power in W, each shaped as the inputs broadcast."""

    tank_in_c: Floats
    tank_out_c: Floats
    water_out_c: Floats
    pump_w: Floats
    to_water_w: Floats


def tanks(
    fluid: Fluid, heat_w: float, supply_c: float, range_k: float, approach_k: float,
    loop_pa: float = 250_000.0, efficiency: float = 0.65,
) -> Tanks:  # fmt: skip
    """Tanks for `heat_w`: the liquid enters at `supply_c` and warms by `range_k`; so does the CDU's water.

    Flow V = Q / (ρ cp ΔT) with the liquid's properties at its mean temperature; the water enters the CDU
    `approach_k` below the liquid's supply. Raises BadInput outside the liquid's table, or where it boils.
    """
    _heats(heat_w, range_k, approach_k)
    if fluid.boiling_c is not None and supply_c + range_k >= fluid.boiling_c:
        raise BadInput(
            f"{fluid.name} boils at {fluid.boiling_c:g} °C: no single-phase tank leaves at "
            f"{supply_c + range_k:g} °C.",
            "Lower `supply_c`, or choose `two-phase`.",
        )
    found = properties(fluid, supply_c + range_k / 2)
    properties(fluid, np.array([supply_c, supply_c + range_k]))  # both ends are in the table, too
    capacity = float(found.heat_capacity_j_per_kg_k)
    mass = heat_w / (capacity * range_k)
    flow = mass / float(found.density_kg_per_m3)
    pump = PumpDuty("tanks", flow, Resistance(loop_pa), efficiency)
    water = heat_w / (WATER_J_PER_KG_K * range_k)
    design_w = float(pump_power_w(flow, loop_pa, efficiency))
    cdu = Cdu(
        "of the tanks", fluid.source, heat_w, mass, water, approach_k, loop_pa, design_w,
        capacity, WATER_J_PER_KG_K,
    )  # fmt: skip
    return Tanks(pump, cdu)


def tank_state(loop: Tanks, heat_w: ArrayLike, water_in_c: ArrayLike) -> TankState:
    """Where tanks settle at a heat and a water temperature; both flows follow the heat, not below a tenth.

    Steady: what the servers give off, and the pump's work, which all ends in the liquid, cross the CDU (ε-NTU
    with flow-dependent films, `cdu_state`): Tout - Twater = (Q + Ppump) / (ε Cmin).
    """
    heat, water = np.broadcast_arrays(np.asarray(heat_w, dtype=float), np.asarray(water_in_c, dtype=float))
    share = np.maximum(heat / loop.cdu.heat_w, loop.pump.least_share)
    pump: Floats = pump_power_w(
        share * loop.pump.design_m3_per_s, pressure_drop_pa(loop.pump.resistance, share), loop.pump.efficiency
    )
    per_k = cdu_state(loop.cdu, 1.0, 0.0, share, share).heat_w  # what crosses is linear in the difference
    out = water + (heat + pump) / per_k
    found = cdu_state(loop.cdu, out, water, share, share)
    # The pump stands between the CDU and the tank, and warms what enters.
    mass = share * loop.cdu.rack_kg_per_s * loop.cdu.rack_j_per_kg_k
    return TankState(found.rack_supply_c + pump / mass, out, found.facility_return_c, pump, found.heat_w)


def stored_j(fluid: Fluid, litres: float, start_c: float, end_c: float) -> float:
    """Heat that a tank's liquid takes from `start_c` to `end_c`: m ∫cp dT, m = V ρ(start), in J.

    The heat capacity is straight between the table's rows, so that trapezoids over them are exact. Raises
    BadInput outside the table.
    """
    if litres <= 0:
        raise BadInput("A tank without liquid holds no heat.", "Give `litres` above zero.")
    inside = [row[0] for row in fluid.rows if min(start_c, end_c) < row[0] < max(start_c, end_c)]
    at = np.array([start_c, *(inside if end_c > start_c else reversed(inside)), end_c])
    found = properties(fluid, at)
    mass = litres / 1e3 * float(found.density_kg_per_m3[0])
    return mass * float(np.trapezoid(found.heat_capacity_j_per_kg_k, at))


def tank_c_after(fluid: Fluid, litres: float, start_c: float, heat_j: float) -> float:
    """How warm a tank's liquid is after so much heat that nothing carries away: the inverse of `stored_j`.

    Raises BadInput where the liquid's table ends, or it boils, before that.
    """
    most = warmest_c(fluid)
    if not 0 <= heat_j <= stored_j(fluid, litres, start_c, most):
        raise BadInput(
            f"{heat_j:.4g} J warm {litres:g} L of {fluid.name} beyond {most:g} °C, where its table ends.",
            "Give more liquid, or less heat.",
        )
    low, high = start_c, most
    for _ in range(100):
        middle = (low + high) / 2
        if stored_j(fluid, litres, start_c, middle) < heat_j:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def warmest_c(fluid: Fluid) -> float:
    """Up to where a liquid's table goes, or to its boiling point."""
    return min(fluid.rows[-1][0], float("inf") if fluid.boiling_c is None else fluid.boiling_c)


class Condenser(Struct, frozen=True):
    """Condensers over boiling tanks, all together: their water's flow at design in kg/s, and UA in W/K."""

    fluid: Fluid
    heat_w: float
    water_kg_per_s: float
    ua_w_per_k: float


class BoilingState(Struct, frozen=True):
    """Vapour in kg/s; the water's warmest inlet that still condenses it, and its outlet then, in °C; heat to
    the water in W. Each shaped as the heat."""

    vapour_kg_per_s: Floats
    water_most_c: Floats
    water_out_c: Floats
    to_water_w: Floats


def condenser(fluid: Fluid, heat_w: float, water_in_c: float, range_k: float) -> Condenser:
    """Condensers for `heat_w` whose water enters at `water_in_c` and warms by `range_k`.

    Vapour condenses at its boiling point, so that Cmin / Cmax is 0: ε = 1 - exp(-NTU) (Incropera, 11.35a),
    and UA = -C ln(1 - range / (Tboil - Tin)). Raises BadInput for a fluid without a boiling point in its
    table, and where the water would leave as warm as the vapour.
    """
    _heats(heat_w, range_k, 0.0)
    if fluid.boiling_c is None or fluid.latent_j_per_kg is None:
        raise BadInput(f"No boiling of {fluid.name} is in the table.", "Choose novec-649.")
    if water_in_c + range_k >= fluid.boiling_c:
        raise BadInput(
            f"Water of {water_in_c:g} °C that warms by {range_k:g} K condenses no {fluid.name}, "
            f"which boils at {fluid.boiling_c:g} °C.",
            "Lower `supply_c` or `range_k`.",
        )
    mass = heat_w / (WATER_J_PER_KG_K * range_k)
    ntu = -log(1 - range_k / (fluid.boiling_c - water_in_c))
    return Condenser(fluid, heat_w, mass, ntu * mass * WATER_J_PER_KG_K)


def boiling_state(unit: Condenser, heat_w: ArrayLike) -> BoilingState:
    """What boils at a heat, and how warm the water may be; its flow follows the heat, not below a tenth.

    m = Q / h_fg; the water takes it up at Tin = Tboil - Q / (ε C). Half of the resistance at design is the
    water's film, which goes with m^0.8 (Dittus-Boelter), the other half the vapour's, which stays.
    """
    heat = np.asarray(heat_w, dtype=float)
    boils, latent = unit.fluid.boiling_c, unit.fluid.latent_j_per_kg
    assert boils is not None
    assert latent is not None
    share = np.maximum(heat / unit.heat_w, 0.1)
    flow = share * unit.water_kg_per_s * WATER_J_PER_KG_K
    ua = unit.ua_w_per_k * 2 / (1 + share**-0.8)
    passed = effectiveness(ua / flow, 0.0)
    warmest: Floats = boils - heat / (passed * flow)
    taken: Floats = passed * flow * (boils - warmest)
    return BoilingState(heat / latent, warmest, warmest + taken / flow, taken)


def _heats(heat_w: float, range_k: float, approach_k: float) -> None:
    if not (heat_w > 0 and range_k > 0 and approach_k >= 0):
        raise BadInput(
            "A tank needs heat, and a coolant that warms.", "Give `heat_w` and `range_k` above zero."
        )
