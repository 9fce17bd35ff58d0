"""What carries a card's heat away, by kind of cooling: how well, and for how long without flow."""

from typing import Any

import numpy as np
from msgspec import Struct

from starverse.model.errors import BadInput
from starverse.model.names import nearest
from starverse.physics.cooling.card import (
    CardThermal,
    air_k_per_w,
    boiling_k_per_w,
    cold_plate_k_per_w,
    immersed_k_per_w,
)
from starverse.physics.cooling.fluids import Fluid, dielectric_named, fluid_named, properties
from starverse.physics.cooling.immersion import stored_j, warmest_c
from starverse.physics.cooling.loop import Pump, affinity, delayed_c
from starverse.physics.cooling.step import seconds_until

AIR_K_PER_W = 0.073
"""Die to air at the reference flow."""

DEFAULT_COOLANT = {
    "air": "air",
    "cold-plate": "pg25",
    "single-phase": "silicone-oil",
    "two-phase": "novec-649",
}


class Flow(Struct, frozen=True):
    """A cold plate's coolant on its way round: what flows, leaves, how long it takes, and the pump in W."""

    l_per_min: float
    out_c: float
    delay_s: float
    pump_w: float


class Sink(Struct, frozen=True):
    """What carries a card's heat away: K/W from its lid, the coolant's °C, and what is to be said of it."""

    k_per_w: float
    at_c: float
    coolant: str
    notes: tuple[str, ...] = ()
    flow: Flow | None = None
    bath: Fluid | None = None


def sink_of(kind: str, given: dict[str, Any], carried_w: float) -> Sink:
    """The sink of a kind at a card's heat in W, from what was asked of `plan_cooling`.

    Raises BadInput for a coolant that doesn't go with the kind, and outside what was measured.
    """
    inlet_c, coolant = given["inlet_c"], given["coolant"] or DEFAULT_COOLANT[kind]
    if kind == "air":
        _only(coolant, ("air",), kind)
        k_per_w, notes = _in_air(given["die_k_per_w"], given["air_flow_share"])
        return Sink(k_per_w, inlet_c, coolant, notes)
    if kind == "cold-plate":
        _only(coolant, ("pg25",), kind)
        pump = Pump(given["flow_l_per_min"] / 60_000, given["loop_pa"], given["pump_efficiency"])
        held_l = given["loop_l_per_kw"] * full_w(given) * (1 - given["air_share"]) / 1e3
        flow = _around(pump, given["pump_speed_share"], carried_w, inlet_c, held_l)
        return Sink(float(cold_plate_k_per_w(flow.l_per_min)), inlet_c, coolant, (), flow)
    fluid = dielectric_named(coolant)
    if kind == "single-phase":
        k_per_w, notes = _immersed(fluid, given["area_m2"], carried_w, inlet_c)
        return Sink(k_per_w, inlet_c, coolant, notes, bath=fluid)
    k_per_w = boiling_k_per_w(fluid, given["area_m2"] * 1e4 / 10, carried_w)
    assert fluid.boiling_c is not None
    notes = (
        f"{coolant} boils at {fluid.boiling_c:g} °C",
        "without condensing the pool stays as warm, and lasts until it has boiled off",
    )
    return Sink(k_per_w, fluid.boiling_c, coolant, notes)


def lasting_s(
    kind: str, given: dict[str, Any], sink: Sink, thermal: CardThermal, die_c: float
) -> tuple[float | None, tuple[str, ...]]:
    """Seconds to the limit without flow, and what they are of, or why there are none."""
    limit_c = given["limit_c"]
    if die_c >= limit_c:
        return None, (f"no time to the limit: with flow the die is at {die_c:.1f} °C, past {limit_c:g} °C",)
    if kind in {"air", "cold-plate"}:
        return seconds_until(thermal, given["power_w"] * (1 - given["air_share"]), die_c, limit_c), ()
    if sink.bath is None:
        return None, ("the time to the limit is not modelled: no pool's liquid is known here",)
    litres = given["tank_l_per_kw"] * full_w(given) / given["power_w"]
    seconds, until = _bath_seconds(sink.bath, litres, given["inlet_c"], limit_c - die_c)
    return seconds, (until,)


def full_w(given: dict[str, Any]) -> float:
    """What a card draws at full load, for which its loop or tank is filled: idling drains none."""
    return float(given["power_w"] if given["full_w"] is None else given["full_w"])


def around_c(flow: Flow, inlet_c: float, step_k: float, after_s: float) -> float:
    """What comes round the loop so long after what enters it warmed by `step_k`."""
    in_table(fluid_named("pg25"), inlet_c + step_k, "then enters", "`inlet_step_k`")
    steps = 1_000
    entering, litres = np.full(steps, inlet_c + step_k), np.full(steps, flow.l_per_min / 60)
    held = flow.delay_s * flow.l_per_min / 60
    return float(delayed_c(entering, litres, held, max(after_s, 1e-3) / steps, start_c=inlet_c)[-1])


def _in_air(die_k_per_w: float, air_flow_share: float) -> tuple[float, tuple[str, ...]]:
    if die_k_per_w >= AIR_K_PER_W:
        raise BadInput(
            f"`die_k_per_w` = {die_k_per_w:g} leaves nothing of {AIR_K_PER_W:g} K/W for the heat sink.",
            f"Give less than {AIR_K_PER_W:g}.",
        )
    sink = float(air_k_per_w(AIR_K_PER_W - die_k_per_w, air_flow_share))
    return sink, ("fans are the server's, and count as IT in PUE but not in TUE",)


def _around(pump: Pump, speed: float, power_w: float, inlet_c: float, held_l: float) -> Flow:
    """The coolant of one card: its flow, outlet, way round, and the pump's power at its speed."""
    moved, _, pump_w = affinity(pump, speed)
    l_per_min = float(moved) * 60_000
    if l_per_min <= 0:
        raise BadInput("A cold plate without flow does not settle.", "Give `flow_l_per_min` above zero.")
    glycol = fluid_named("pg25")
    in_table(glycol, inlet_c, "enters", "`inlet_c`")
    found = properties(glycol, inlet_c)
    litre = float(found.density_kg_per_m3) * float(found.heat_capacity_j_per_kg_k) / 1000
    out_c = inlet_c + power_w / (litre * l_per_min / 60)
    in_table(glycol, out_c, f"leaves the plate of {power_w:g} W", "`power_w` or `inlet_c`, or raise the flow")
    return Flow(l_per_min, out_c, held_l / (l_per_min / 60), float(pump_w))


def _immersed(fluid: Fluid, area_m2: float, power_w: float, inlet_c: float) -> tuple[float, tuple[str, ...]]:
    in_table(fluid, inlet_c, "is", "`inlet_c`")
    sink = immersed_k_per_w(fluid, area_m2, power_w)
    if fluid.boiling_c is not None and inlet_c + sink * power_w >= fluid.boiling_c:
        raise BadInput(
            f"At {inlet_c + sink * power_w:.0f} °C {fluid.name} boils: this is no single-phase cooling.",
            "Choose a coolant that boils higher, or `two-phase`.",
        )
    notes = ["natural convection on a bare or finned surface; forced flow does better"]
    if fluid.flash_c is not None:
        above = ", and the bath is above it: WARNING" if inlet_c >= fluid.flash_c else ""
        notes.append(f"the flash point of {fluid.name} is {fluid.flash_c:g} °C{above}")
    return sink, tuple(notes)


def _bath_seconds(fluid: Fluid, l_per_kw: float, start_c: float, rise_k: float) -> tuple[float, str]:
    """How long a tank takes to warm by `rise_k`, at most to where its table ends: m ∫cp dT / P.

    The die follows the bath; what cards and boards store is left out, which is on the safe side.
    """
    end_c = min(start_c + rise_k, warmest_c(fluid))
    seconds = stored_j(fluid, l_per_kw, start_c, end_c) / 1e3
    if end_c < start_c + rise_k:
        return seconds, f"the time is until the tank is at {end_c:g} °C, where the table of its liquid ends"
    return seconds, f"the time is until the tank is at {end_c:.0f} °C and the die at its limit"


def in_table(fluid: Fluid, celsius: float, does: str, what: str) -> None:
    """Raises BadInput where a liquid is outside its table, with what to change."""
    low, high = fluid.rows[0][0], fluid.rows[-1][0]
    if not low <= celsius <= high:
        change = "Raise" if celsius < low else "Lower"
        raise BadInput(
            f"The {fluid.name} {does} at {celsius:.4g} °C, and its table goes from {low:g} to {high:g} °C.",
            f"{change} {what}.",
        )


def _only(coolant: str, known: tuple[str, ...], kind: str) -> None:
    if coolant not in known:
        raise BadInput(f"No {kind} was measured with '{coolant}' as `coolant`.", nearest(coolant, known))
