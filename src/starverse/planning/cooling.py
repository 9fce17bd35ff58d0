"""How hot a card gets with a coolant, what its pump takes, and how long it lasts without flow."""

from msgspec import Struct

from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.physics.cooling.card import (
    KINDS,
    CardThermal,
    air_k_per_w,
    boiling_k_per_w,
    cold_plate_k_per_w,
    immersed_k_per_w,
    steady_c,
)
from starverse.physics.cooling.fluids import fluid_named, properties
from starverse.physics.cooling.step import seconds_until

EQUATION = "T = Tin + P (R1 + R2) / (1 - a P (R1 + R2)); pump V Δp / η"
SOURCES = {
    "air": "0.073 K/W at the reference flow (83 °C for 700 W at 32 °C, the article's claim), sink ~ V^-0.65",
    "cold-plate": "OCP OAI System Liquid Cooling Guidelines (2023), figure 7, PG25; fitted R∞ + A V^-n",
    "single-phase": "natural convection, Nu = 0.59 Ra^0.25 (Incropera, equation 9.26)",
    "two-phase": "pool boiling at 12 K of superheat, below the fluid's peak flux",
}
AIR_K_PER_W = 0.073
"""Die to air at the reference flow."""

DEFAULT_COOLANT = {
    "air": "air",
    "cold-plate": "pg25",
    "single-phase": "silicone-oil",
    "two-phase": "novec-649",
}


class CoolingAnswer(Struct, frozen=True):
    """What `plan cooling` says. `seconds_to_limit` is without flow; a bath or boiling fluid has none to
    lose."""

    kind: str
    coolant: str
    equation: str
    source: str
    die_c: float
    sink_c: float
    coolant_in_c: float
    coolant_out_c: float | None
    k_per_w: float
    pump_w_per_card: float
    seconds_to_limit: float | None
    limit_c: float
    notes: tuple[str, ...]


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
) -> CoolingAnswer:
    """A card's steady temperature in °C under one of four kinds of cooling.

    `inlet_c` is the coolant's, or the air's, or the bath's; two-phase boils at its own. `area_m2` is the
    wetted area of an immersed card; a tenth of it boils. Raises BadInput for an unknown kind, a coolant that
    doesn't go with it, and anything outside the tables.
    """
    if kind not in KINDS:
        raise BadInput(f"There is no cooling '{kind}'.", f"There is {', '.join(KINDS)}.")
    if power_w <= 0:
        raise BadInput(f"A card of {power_w:g} W needs no cooling.", "Give `power_w` above zero.")
    bounded(0, 1e5, power_w=power_w)
    bounded(-50, 150, inlet_c=inlet_c)
    bounded(0, 1_000, flow_l_per_min=flow_l_per_min, limit_c=limit_c)
    bounded(1e-4, 1, die_k_per_w=die_k_per_w)
    bounded(0, 1e7, loop_pa=loop_pa)
    bounded(0.01, 1, pump_efficiency=pump_efficiency)
    bounded(1e-3, 100, area_m2=area_m2)
    bounded(0.01, 10, air_flow_share=air_flow_share)
    if kind == "air" and die_k_per_w >= AIR_K_PER_W:
        raise BadInput(
            f"`die_k_per_w` = {die_k_per_w:g} leaves nothing of {AIR_K_PER_W:g} K/W for the heat sink.",
            f"Give less than {AIR_K_PER_W:g}.",
        )
    coolant = coolant or DEFAULT_COOLANT[kind]
    out_c: float | None = None
    pump_w = 0.0
    notes: tuple[str, ...] = ()
    sink, at_c = 0.0, inlet_c
    if kind == "air":
        sink = float(air_k_per_w(AIR_K_PER_W - die_k_per_w, air_flow_share))
        notes = ("fans are the server's, and count as IT in PUE but not in TUE",)
    elif kind == "cold-plate":
        _only(coolant, ("pg25",), kind)
        sink = float(cold_plate_k_per_w(flow_l_per_min))
        found = properties(fluid_named(coolant), inlet_c)
        litre = float(found.density_kg_per_m3) * float(found.heat_capacity_j_per_kg_k) / 1000
        out_c = inlet_c + power_w / (litre * flow_l_per_min / 60)
        pump_w = flow_l_per_min / 60_000 * loop_pa / pump_efficiency
    elif kind == "single-phase":
        fluid = fluid_named(coolant)
        sink = immersed_k_per_w(fluid, area_m2, power_w)
        if fluid.boiling_c is not None and inlet_c + sink * power_w >= fluid.boiling_c:
            raise BadInput(
                f"At {inlet_c + sink * power_w:.0f} °C {coolant} boils: this is no single-phase cooling.",
                "Choose a coolant that boils higher, or `two-phase`.",
            )
        notes = ("natural convection on a bare or finned surface; forced flow does better",)
    else:
        fluid = fluid_named(coolant)
        sink = boiling_k_per_w(fluid, area_m2 * 1e4 / 10, power_w)
        assert fluid.boiling_c is not None
        at_c = fluid.boiling_c
        notes = (f"{coolant} boils at {at_c:g} °C, whatever `inlet_c` is",)
    thermal = CardThermal(die_k_per_w=die_k_per_w, sink_k_per_w=sink)
    die_c = float(steady_c(power_w, at_c, thermal))
    lost = kind in {"air", "cold-plate"} and die_c < limit_c
    return CoolingAnswer(
        kind=kind,
        coolant=coolant,
        equation=EQUATION,
        source=SOURCES[kind],
        die_c=die_c,
        sink_c=at_c + sink * power_w,
        coolant_in_c=at_c,
        coolant_out_c=out_c,
        k_per_w=die_k_per_w + sink,
        pump_w_per_card=pump_w,
        seconds_to_limit=seconds_until(thermal, power_w, die_c, limit_c) if lost else None,
        limit_c=limit_c,
        notes=notes,
    )


def _only(coolant: str, known: tuple[str, ...], kind: str) -> None:
    if coolant not in known:
        raise BadInput(
            f"No {kind} was measured with '{coolant}'.", f"Take {' or '.join(known)} as `coolant`."
        )
