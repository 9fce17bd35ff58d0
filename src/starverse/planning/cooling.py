"""How hot a card gets with a coolant, what it takes, how long it lasts without flow, and what nodes need."""

import inspect
from typing import Any

from msgspec import Struct

from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.model.names import nearest
from starverse.physics.cooling.card import (
    JUNCTION_C,
    KINDS,
    CardThermal,
    steady_c,
)
from starverse.physics.cooling.exchanger import CDUS, cdu_pump_w, facility_supply_c
from starverse.physics.power.card import NodePower, node_power_w
from starverse.planning.sinks import around_c, lasting_s, sink_of
from starverse.planning.site_file import Cards

EQUATION = (
    "T = Tin + P (R1 + R2) / (1 - a P (R1 + R2)); pump V Δp / η, V ~ n, P ~ n³; CDU by ε-NTU, UA ~ m^0.8; "
    "a loop delays by volume / flow; "
    "capacity = share × nodes × (cards' P + what is beside) × (1 + fans)"
)
SOURCES = {
    "air": "0.073 K/W at the reference flow (83 °C for 700 W at 32 °C, the article's claim), sink ~ V^-0.65",
    "cold-plate": "OCP OAI System Liquid Cooling Guidelines (2023), figure 7, PG25; fitted R∞ + A V^-n",
    "single-phase": "natural convection, Nu = 0.59 Ra^0.25 (Incropera, equation 9.26)",
    "two-phase": "pool boiling at 12 K of superheat, below the fluid's peak flux",
}
CAPACITY_SHARE = 1.4
"""Cooling that is installed, over its heat: one unit of reserve, assumed."""

CARDS_W: dict[str, float] = {"a100": 400, "h100": 700, "h200": 700, "b200": 1_000, "rtx-4090": 450}
"""Full power by the makers' data sheets (SXM cards; the RTX 4090 as a graphics card)."""
IDLE_SHARE = 80 / 700
"""Of full power, without load: assumed."""

LIMIT_C = 87.0
"""Where cards throttle: assumed."""

NODE = Cards()
"""A node of the reference cluster: its cards, and what it takes beside them."""

_RANGES: dict[str, tuple[float, float]] = {
    "power_w": (0, 1e5),
    "inlet_c": (-50, 150),
    "flow_l_per_min": (0, 1_000),
    "limit_c": (0, JUNCTION_C[1]),
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
    "inlet_step_k": (-100, 100),
    "after_s": (0, 1e5),
    "cdu_share": (0.05, 1),
    "nodes": (1, 1e6),
    "capacity_share": (1, 100),
    "full_w": (0, 1e5),
}
"""What each number may be."""

_ONLY = {
    "flow_l_per_min": ("cold-plate",),
    "pump_speed_share": ("cold-plate",),
    "loop_pa": ("cold-plate",),
    "pump_efficiency": ("cold-plate",),
    "loop_l_per_kw": ("cold-plate",),
    "approach_k": ("cold-plate", "single-phase"),
    "inlet_step_k": ("cold-plate",),
    "after_s": ("cold-plate",),
    "cdu": ("cold-plate",),
    "cdu_share": ("cold-plate",),
    "area_m2": ("single-phase", "two-phase"),
    "tank_l_per_kw": ("single-phase",),
    "air_flow_share": ("air",),
    "air_share": ("cold-plate",),
    "sink_j_per_k": ("air", "cold-plate"),
    "inlet_c": ("air", "cold-plate", "single-phase"),
}
"""What is asked of some kinds only; elsewhere it would go unheeded."""

_WITH = {"inlet_step_k": "after_s", "cdu_share": "cdu"}
"""What is asked only with something else."""


class CduAnswer(Struct, frozen=True):
    """A CDU at a share of its heat and flows: its approach by ε-NTU, its pumps by the affinity laws."""

    name: str
    source: str
    heat_kw: float
    approach_k: float
    pump_kw: float


class CoolingAnswer(Struct, frozen=True):
    """What `plan cooling` says.

    `k_per_w` is die to coolant, `sink_k_per_w` its outer part (OCP's table for a cold plate).
    `seconds_to_limit` is without flow: for a cold plate or air by the card's own heat capacity, for a tank by
    the liquid's. `heat_kw` is of the nodes, `capacity_kw` what is to be
    installed for it. `delay_s` is how late a change of the coolant's temperature comes around the loop, and
    `around_c` what has come round `after_s` after one.
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
    around_c: float | None
    pump_w_per_card: float
    cdu: CduAnswer | None
    to_rear_door_w: float
    seconds_to_limit: float | None
    limit_c: float
    nodes: int
    heat_kw: float
    capacity_kw: float
    notes: tuple[str, ...]


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
    limit_c: float = LIMIT_C,
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
    inlet_step_k: float = 10.0,
    after_s: float | None = None,
    cdu: str = "",
    cdu_share: float = 1.0,
    nodes: int = 1,
    capacity_share: float = CAPACITY_SHARE,
    full_w: float | None = None,
) -> CoolingAnswer:
    """A card's steady temperature in °C under one of four kinds of cooling.

    `inlet_c` is the coolant's, or the air's, or the bath's; two-phase boils at its own. `area_m2` is the
    wetted area of an immersed card; a tenth of it boils. `air_share` of the heat goes past the plate to rear
    doors. A CDU's water is `approach_k` colder than what it cools. At `pump_speed_share` the flow is that
    share of `flow_l_per_min`; `after_s` after the coolant's inlet warms by `inlet_step_k` the answer says
    what has come round. `cdu` names one whose approach, at `cdu_share` of its heat and flows, takes the
    place of `approach_k`. So many `nodes` of such cards, as the reference cluster has them, want
    `capacity_share` times their heat of cooling. Loops, tanks and cooling are built for cards at `full_w`,
    `power_w` where nothing is said. Raises BadInput for an unknown kind, a coolant that doesn't
    go with it, what is not of that kind, and anything outside the tables.
    """
    given: dict[str, Any] = dict(locals())
    _check(kind, given)
    carried_w = power_w * (1 - air_share)
    full = power_w if full_w is None else full_w
    sink = sink_of(kind, given, carried_w)
    thermal = CardThermal(die_k_per_w=die_k_per_w, sink_k_per_w=sink.k_per_w, sink_j_per_k=sink_j_per_k)
    die_c = float(steady_c(carried_w, sink.at_c, thermal))
    _check_die(die_c)
    seconds, until = lasting_s(kind, given, sink, thermal, die_c)
    unit = _unit(cdu, inlet_c, cdu_share) if cdu else None
    behind_k = unit.approach_k if unit else approach_k
    flow, heat_kw = sink.flow, nodes_kw(kind, power_w, nodes)
    return CoolingAnswer(
        kind=kind,
        coolant=sink.coolant,
        power_w=power_w,
        equation=EQUATION,
        source=SOURCES[kind],
        die_c=die_c,
        sink_c=sink.at_c + sink.k_per_w * carried_w,
        coolant_in_c=sink.at_c,
        coolant_out_c=flow.out_c if flow else None,
        facility_in_c=inlet_c - behind_k if kind in {"cold-plate", "single-phase"} else None,
        k_per_w=die_k_per_w + sink.k_per_w,
        sink_k_per_w=sink.k_per_w,
        flow_l_per_min=flow.l_per_min if flow else None,
        delay_s=flow.delay_s if flow else None,
        around_c=around_c(flow, inlet_c, inlet_step_k, after_s) if flow and after_s is not None else None,
        pump_w_per_card=flow.pump_w if flow else 0.0,
        cdu=unit,
        to_rear_door_w=power_w - carried_w,
        seconds_to_limit=seconds,
        limit_c=limit_c,
        nodes=nodes,
        heat_kw=heat_kw,
        capacity_kw=capacity_share * nodes_kw(kind, full, nodes),
        notes=(*sink.notes, *until, _node_said(kind)),
    )


def _check_die(die_c: float) -> None:
    low, high = JUNCTION_C
    if not low <= die_c <= high:
        raise BadInput(
            f"The die would be at {die_c:,.0f} °C, and no card is known beyond {low:g} to {high:g} °C "
            "(junctions of silicon, assumed).",
            "Change `power_w` or `inlet_c`, or how it is cooled.",
        )


def nodes_kw(kind: str, power_w: float, nodes: int) -> float:
    """The heat of nodes as the reference cluster has them, in kW; fans only where cards are cooled by air."""
    node = NodePower(NODE.per_node, NODE.node_w, fan_share=NODE.fan_share if kind == "air" else 0.0)
    return nodes * float(node_power_w(node, NODE.per_node * power_w)) / 1e3


def _node_said(kind: str) -> str:
    fans = f", {100 * NODE.fan_share:g} % for fans" if kind == "air" else ""
    return f"a node: {NODE.per_node} cards and {NODE.node_w / 1e3:g} kW beside{fans}; reserve: assumed"


def _unit(name: str, inlet_c: float, share: float) -> CduAnswer:
    """A CDU at a share of its heat and flows that holds the plates' inlet."""
    if name not in CDUS:
        raise BadInput(f"There is no CDU '{name}'.", nearest(name, list(CDUS)))
    cdu = CDUS[name]
    approach_k = inlet_c - float(facility_supply_c(cdu, inlet_c, share))
    pump_kw = float(cdu_pump_w(cdu, share)) / 1e3
    return CduAnswer(cdu.name, cdu.source, share * cdu.heat_w / 1e3, approach_k, pump_kw)


def _check(kind: str, given: dict[str, Any]) -> None:
    if kind not in KINDS:
        raise BadInput(f"There is no cooling '{kind}'.", nearest(kind, KINDS))
    if given["power_w"] <= 0:
        raise BadInput(f"A card of {given['power_w']:g} W needs no cooling.", "Give `power_w` above zero.")
    for name, (low, high) in _RANGES.items():
        bounded(low, high, **{name: given[name]})
    if given["full_w"] is not None and given["full_w"] < given["power_w"]:
        raise BadInput(
            f"A card of {given['full_w']:g} W at full load draws no {given['power_w']:g} W.",
            "Raise `full_w`, or lower `power_w`.",
        )
    usual = inspect.signature(plan_cooling).parameters
    changed = {name for name, value in given.items() if value != usual[name].default}
    for name, kinds in _ONLY.items():
        if kind not in kinds and name in changed:
            raise BadInput(
                f"`{name}` does not apply to {kind} cooling, but to {' and '.join(kinds)}.",
                f"Leave `{name}` out.",
            )
    for name, other in _WITH.items():
        if name in changed and other not in changed:
            raise BadInput(f"`{name}` says nothing without `{other}`.", f"Give `{other}`, too.")
    if {"cdu", "approach_k"} <= changed:
        raise BadInput("`cdu` and `approach_k` both say an approach.", "Leave one of them out.")
