"""How hot a card gets with a coolant, what it takes, how long it lasts without flow, and what nodes need."""

import inspect
from typing import Any

from msgspec import Struct

from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.model.names import nearest
from starverse.physics.cooling.card import (
    KINDS,
    CardThermal,
    air_k_per_w,
    boiling_k_per_w,
    cold_plate_k_per_w,
    immersed_k_per_w,
    steady_c,
)
from starverse.physics.cooling.fluids import Fluid, dielectric_named, fluid_named, properties
from starverse.physics.cooling.immersion import stored_j, warmest_c
from starverse.physics.cooling.loop import Pump, affinity
from starverse.physics.cooling.step import seconds_until
from starverse.physics.power.card import NodePower, node_power_w
from starverse.planning.site_file import Cards

EQUATION = (
    "T = Tin + P (R1 + R2) / (1 - a P (R1 + R2)); pump V Δp / η, V ~ n, P ~ n³; "
    "capacity = share × nodes × (cards' P + what is beside) × (1 + fans)"
)
SOURCES = {
    "air": "0.073 K/W at the reference flow (83 °C for 700 W at 32 °C, the article's claim), sink ~ V^-0.65",
    "cold-plate": "OCP OAI System Liquid Cooling Guidelines (2023), figure 7, PG25; fitted R∞ + A V^-n",
    "single-phase": "natural convection, Nu = 0.59 Ra^0.25 (Incropera, equation 9.26)",
    "two-phase": "pool boiling at 12 K of superheat, below the fluid's peak flux",
}
AIR_K_PER_W = 0.073
"""Die to air at the reference flow."""

CAPACITY_SHARE = 1.4
"""Cooling that is installed, over its heat: one unit of reserve, assumed."""

DEFAULT_COOLANT = {
    "air": "air",
    "cold-plate": "pg25",
    "single-phase": "silicone-oil",
    "two-phase": "novec-649",
}

CARDS_W: dict[str, float] = {"a100": 400, "h100": 700, "h200": 700, "b200": 1_000, "rtx-4090": 450}
"""Full power by the makers' data sheets (SXM cards; the RTX 4090 as a graphics card)."""
IDLE_SHARE = 80 / 700
"""Of full power, without load: assumed."""

NODE = Cards()
"""A node of the reference cluster: its cards, and what it takes beside them."""

_RANGES: dict[str, tuple[float, float]] = {
    "power_w": (0, 1e5),
    "inlet_c": (-50, 150),
    "flow_l_per_min": (0, 1_000),
    "limit_c": (0, 1_000),
    "die_k_per_w": (1e-4, 1),
    "loop_pa": (0, 1e7),
    "pump_efficiency": (0.01, 1),
    "pump_speed_share": (0.01, 1),
    "area_m2": (1e-3, 100),
    "air_flow_share": (0.01, 10),
    "air_share": (0, 0.9),
    "sink_j_per_k": (1, 1e5),
    "approach_k": (0, 30),
    "loop_l_per_kw": (0.01, 1_000),
    "tank_l_per_kw": (0.01, 1_000),
    "nodes": (1, 1e6),
    "capacity_share": (1, 100),
}
"""What each number may be."""

_ONLY = {
    "flow_l_per_min": ("cold-plate",),
    "pump_speed_share": ("cold-plate",),
    "loop_pa": ("cold-plate",),
    "pump_efficiency": ("cold-plate",),
    "loop_l_per_kw": ("cold-plate",),
    "approach_k": ("cold-plate", "single-phase"),
    "area_m2": ("single-phase", "two-phase"),
    "tank_l_per_kw": ("single-phase",),
    "air_flow_share": ("air",),
    "air_share": ("cold-plate",),
    "sink_j_per_k": ("air", "cold-plate"),
}
"""What is asked of some kinds only; elsewhere it would go unheeded."""


class CoolingAnswer(Struct, frozen=True):
    """What `plan cooling` says.

    `k_per_w` is die to coolant, `sink_k_per_w` its outer part (OCP's table for a cold plate).
    `seconds_to_limit` is without flow: for a cold plate or air by the card's own heat capacity, for a tank by
    the liquid's. `heat_kw` is of the nodes, `capacity_kw` what is to be
    installed for it. `delay_s` is how late a change of the coolant's temperature comes around the loop.
    """

    kind: str
    coolant: str
    power_w: float
    equation: str
    source: str
    die_c: float
    sink_c: float
    coolant_in_c: float
    coolant_out_c: float | None
    facility_in_c: float | None
    """Of the water that a CDU gets."""
    k_per_w: float
    sink_k_per_w: float
    flow_l_per_min: float | None
    delay_s: float | None
    pump_w_per_card: float
    to_rear_door_w: float
    seconds_to_limit: float | None
    limit_c: float
    nodes: int
    heat_kw: float
    capacity_kw: float
    notes: tuple[str, ...]


class _Flow(Struct, frozen=True):
    """A cold plate's coolant on its way round."""

    l_per_min: float
    out_c: float
    delay_s: float
    pump_w: float


def card_w(card: str, load_share: float) -> float:
    """A card's power in W at a load: idle + (full - idle) u. Raises BadInput with the nearest name."""
    bounded(0, 1, load_share=load_share)
    if card not in CARDS_W:
        raise BadInput(f"There is no card '{card}'.", nearest(card, list(CARDS_W)))
    return CARDS_W[card] * (IDLE_SHARE + (1 - IDLE_SHARE) * load_share)


def plan_cooling(
    kind: str = "cold-plate",
    power_w: float = 700.0,
    inlet_c: float = 32.0,
    flow_l_per_min: float = 1.0,
    coolant: str = "",
    die_k_per_w: float = 0.020,
    limit_c: float = 87.0,
    loop_pa: float = 250_000.0,
    pump_efficiency: float = 0.65,
    area_m2: float = 0.30,
    air_flow_share: float = 1.0,
    air_share: float = 0.0,
    sink_j_per_k: float = 250.0,
    approach_k: float = 4.0,
    loop_l_per_kw: float = 1.0,
    tank_l_per_kw: float = 10.0,
    pump_speed_share: float = 1.0,
    nodes: int = 1,
    capacity_share: float = CAPACITY_SHARE,
) -> CoolingAnswer:
    """A card's steady temperature in °C under one of four kinds of cooling.

    `inlet_c` is the coolant's, or the air's, or the bath's; two-phase boils at its own. `area_m2` is the
    wetted area of an immersed card; a tenth of it boils. `air_share` of the heat goes past the plate to rear
    doors. A CDU's water is `approach_k` colder than what it cools. At `pump_speed_share` the flow is that
    share of `flow_l_per_min`. So many `nodes` of such cards, as the reference cluster has them, want
    `capacity_share` times their heat of cooling. Raises BadInput for an unknown kind, a coolant that doesn't
    go with it, what is not of that kind, and anything outside the tables.
    """
    given: dict[str, Any] = dict(locals())
    if kind not in KINDS:
        raise BadInput(f"There is no cooling '{kind}'.", f"There is {', '.join(KINDS)}.")
    if power_w <= 0:
        raise BadInput(f"A card of {power_w:g} W needs no cooling.", "Give `power_w` above zero.")
    for name, (low, high) in _RANGES.items():
        bounded(low, high, **{name: given[name]})
    _check_applies(kind, given)
    coolant = coolant or DEFAULT_COOLANT[kind]
    carried_w = power_w * (1 - air_share)
    flow: _Flow | None = None
    fluid: Fluid | None = None
    at_c = inlet_c
    if kind == "air":
        _only(coolant, ("air",), kind)
        sink, notes = _in_air(die_k_per_w, air_flow_share)
    elif kind == "cold-plate":
        _only(coolant, ("pg25",), kind)
        pump = Pump(flow_l_per_min / 60_000, loop_pa, pump_efficiency)
        flow = _around(pump, pump_speed_share, carried_w, inlet_c, loop_l_per_kw)
        sink, notes = float(cold_plate_k_per_w(flow.l_per_min)), ()
    elif kind == "single-phase":
        fluid = dielectric_named(coolant)
        sink, notes = _immersed(fluid, area_m2, power_w, inlet_c)
    else:
        boiling = dielectric_named(coolant)
        sink = boiling_k_per_w(boiling, area_m2 * 1e4 / 10, power_w)
        assert boiling.boiling_c is not None
        at_c = boiling.boiling_c
        notes = (
            f"{coolant} boils at {at_c:g} °C, whatever `inlet_c` is",
            "without condensing the pool stays as warm, and lasts until it has boiled off",
        )
    thermal = CardThermal(die_k_per_w=die_k_per_w, sink_k_per_w=sink, sink_j_per_k=sink_j_per_k)
    die_c = float(steady_c(carried_w, at_c, thermal))
    seconds: float | None = None
    if kind in {"air", "cold-plate"} and die_c < limit_c:
        seconds = seconds_until(thermal, carried_w, die_c, limit_c)
    if fluid is not None and die_c < limit_c:
        seconds, until = _bath_seconds(fluid, tank_l_per_kw, inlet_c, limit_c - die_c)
        notes = (*notes, until)
    heat_kw = nodes_kw(kind, power_w, nodes)
    by_cdu = kind in {"cold-plate", "single-phase"}
    return CoolingAnswer(
        kind=kind,
        coolant=coolant,
        power_w=power_w,
        equation=EQUATION,
        source=SOURCES[kind],
        die_c=die_c,
        sink_c=at_c + sink * carried_w,
        coolant_in_c=at_c,
        coolant_out_c=flow.out_c if flow else None,
        facility_in_c=inlet_c - approach_k if by_cdu else None,
        k_per_w=die_k_per_w + sink,
        sink_k_per_w=sink,
        flow_l_per_min=flow.l_per_min if flow else None,
        delay_s=flow.delay_s if flow else None,
        pump_w_per_card=flow.pump_w if flow else 0.0,
        to_rear_door_w=power_w - carried_w,
        seconds_to_limit=seconds,
        limit_c=limit_c,
        nodes=nodes,
        heat_kw=heat_kw,
        capacity_kw=capacity_share * heat_kw,
        notes=(*notes, _node_said(kind)),
    )


def nodes_kw(kind: str, power_w: float, nodes: int) -> float:
    """The heat of nodes as the reference cluster has them, in kW; fans only where cards are cooled by air."""
    node = NodePower(NODE.per_node, NODE.node_w, fan_share=NODE.fan_share if kind == "air" else 0.0)
    return nodes * float(node_power_w(node, NODE.per_node * power_w)) / 1e3


def _node_said(kind: str) -> str:
    fans = f", {100 * NODE.fan_share:g} % for fans" if kind == "air" else ""
    return f"a node: {NODE.per_node} cards and {NODE.node_w / 1e3:g} kW beside{fans}; reserve: assumed"


def _in_air(die_k_per_w: float, air_flow_share: float) -> tuple[float, tuple[str, ...]]:
    if die_k_per_w >= AIR_K_PER_W:
        raise BadInput(
            f"`die_k_per_w` = {die_k_per_w:g} leaves nothing of {AIR_K_PER_W:g} K/W for the heat sink.",
            f"Give less than {AIR_K_PER_W:g}.",
        )
    sink = float(air_k_per_w(AIR_K_PER_W - die_k_per_w, air_flow_share))
    return sink, ("fans are the server's, and count as IT in PUE but not in TUE",)


def _around(pump: Pump, speed: float, power_w: float, inlet_c: float, loop_l_per_kw: float) -> _Flow:
    """The coolant of one card: its flow, outlet, way round, and the pump's power at its speed."""
    moved, _, pump_w = affinity(pump, speed)
    l_per_min = float(moved) * 60_000
    if l_per_min <= 0:
        raise BadInput("A cold plate without flow does not settle.", "Give `flow_l_per_min` above zero.")
    found = properties(fluid_named("pg25"), inlet_c)
    litre = float(found.density_kg_per_m3) * float(found.heat_capacity_j_per_kg_k) / 1000
    out_c = inlet_c + power_w / (litre * l_per_min / 60)
    return _Flow(l_per_min, out_c, loop_l_per_kw * power_w / 1e3 / (l_per_min / 60), float(pump_w))


def _immersed(fluid: Fluid, area_m2: float, power_w: float, inlet_c: float) -> tuple[float, tuple[str, ...]]:
    sink = immersed_k_per_w(fluid, area_m2, power_w)
    if fluid.boiling_c is not None and inlet_c + sink * power_w >= fluid.boiling_c:
        raise BadInput(
            f"At {inlet_c + sink * power_w:.0f} °C {fluid.name} boils: this is no single-phase cooling.",
            "Choose a coolant that boils higher, or `two-phase`.",
        )
    notes = ["natural convection on a bare or finned surface; forced flow does better"]
    if fluid.flash_c is not None:
        notes.append(f"the flash point of {fluid.name} is {fluid.flash_c:g} °C")
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


def _check_applies(kind: str, given: dict[str, object]) -> None:
    usual = inspect.signature(plan_cooling).parameters
    for name, kinds in _ONLY.items():
        if kind not in kinds and given[name] != usual[name].default:
            raise BadInput(
                f"`{name}` does not apply to {kind} cooling, but to {' and '.join(kinds)}.",
                f"Leave `{name}` out.",
            )


def _only(coolant: str, known: tuple[str, ...], kind: str) -> None:
    if coolant not in known:
        raise BadInput(
            f"No {kind} was measured with '{coolant}'.", f"Take {' or '.join(known)} as `coolant`."
        )
