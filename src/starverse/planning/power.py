"""What a machine or a rack draws from the grid, and which converter loses how much of it."""

import inspect
from math import inf
from typing import Any

import numpy as np
from msgspec import Struct, structs

from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.model.names import nearest
from starverse.physics.cooling.card import JUNCTION_C
from starverse.physics.power.card import (
    CardPower,
    NodePower,
    capped_speed_share,
    card_power_w,
    node_power_w,
    rack_power_w,
)
from starverse.physics.power.chain import (
    AC_CHAIN,
    AC_CHAIN_ECO,
    BUSBAR_CHAIN,
    RECTIFIER_48V,
    SUPPLY_TITANIUM,
    UPS_DOUBLE,
    UPS_ECO,
    Chain,
    chain_losses,
)
from starverse.physics.power.frontier import FRONTIER, shelf_power
from starverse.planning.cooling import NODE
from starverse.planning.cooling import card_w as card_full_w

FRONTIER_NAME = "frontier-9472"
CHAINS: dict[str, Chain] = {"busbar": BUSBAR_CHAIN, "ac": AC_CHAIN, "ac-eco": AC_CHAIN_ECO}
SYSTEMS = (FRONTIER_NAME, *CHAINS)

SHELF_EQUATION = "SIVOC in = (P + 13) / 0.98, rectifier in = (P + 17) / 0.96; P = idle + (full - idle) u"
SHELF_SOURCE = "ExaDigiT/RAPS at 6c142bf, config/frontier.yaml and raps/power.py"
CHAIN_EQUATION = "loss = rating (a + b x + c x²) at x = output / rating, stage upon stage; busbar I²R"
CHAIN_SOURCE = (
    "the quadratic of IEC 62040-3's efficiency curves; 80 PLUS Titanium, OCP Open Rack V3; the rest assumed"
)

CARD_EQUATION = "P = min(cap, (idle + (full - idle) u) (1 + a (T - 63 °C)))"
CARD_SOURCE = "linear in load as ExaDigiT/RAPS; idle share and leakage (0.3 to 0.5 % a kelvin) assumed"
RACK_W = 30_000.0
"""Of a rack where nothing is said."""

_CONVERTING = {SUPPLY_TITANIUM.name, UPS_DOUBLE.name, UPS_ECO.name}
_CONVERTING_BUSBAR = {RECTIFIER_48V.name, "busbar"}


class StageLoss(Struct, frozen=True):
    """A converter and what it loses."""

    stage: str
    lost_kw: float


class RackOfCards(Struct, frozen=True):
    """What the rack behind a chain is made of: a card at its temperature and under its cap, a node, the rack.

    `speed_share` is how busy the cap lets a card be, at most.
    """

    card: str
    card_w: float
    speed_share: float
    node_w: float
    rack_w: float


class PowerAnswer(Struct, frozen=True):
    """What `plan power` says: from the grid, and lost on the way, all at one load."""

    system: str
    load_share: float
    total_mw: float
    lost_mw: float
    loss_share: float
    by_stage: tuple[StageLoss, ...]
    converting_kw: float | None
    converting_share: float | None
    saved_kw: float | None
    """Less lost by conversion than in the chain compared with."""
    rack: RackOfCards | None
    equation: str
    source: str
    notes: tuple[str, ...]


class Converting(Struct, frozen=True):
    """What is lost in converting alone, in W, and as a share of what goes in."""

    lost_w: float
    share: float


def plan_power(
    system: str = FRONTIER_NAME,
    load_share: float = 1.0,
    rack_w: float | None = None,
    against: str = "",
    card: str = "",
    nodes: int = 4,
    temperature_c: float = CardPower(0, 0).reference_c,
    leakage_per_k: float = CardPower(0, 0).leakage_per_k,
    cap_w: float | None = None,
) -> PowerAnswer:
    """Power of Frontier's 9,472 nodes, or of a rack on one of three chains, at a load from 0 to 1.

    A rack is `rack_w` at full load (30 kW), or so many `nodes` of 8 cards of a name, each with its leakage at
    the die's `temperature_c` and under `cap_w`; then the chain is built for that rack uncapped at full load.
    `against` names the chain that a chain is compared with. Raises BadInput for names that are not known, and
    for what says nothing of that system.
    """
    _check(dict(locals()))
    if system == FRONTIER_NAME:
        return _frontier(load_share)
    chain = CHAINS[system]
    rack, full_w = None, RACK_W if rack_w is None else rack_w
    if card:
        cap = inf if cap_w is None else cap_w
        cards = CardPower(card_full_w(card, 0.0), card_full_w(card, 1.0), cap, leakage_per_k)
        rack = _rack(card, cards, nodes, load_share, temperature_c)
        full_w = _rack(card, structs.replace(cards, cap_w=inf), nodes, 1.0, temperature_c).rack_w
    drawn_w = rack.rack_w if rack else full_w * load_share
    mine = converting(chain, full_w, drawn_w / full_w)
    found = _losses(chain, full_w, drawn_w / full_w)
    lost = sum(found.values())
    saved = None
    if against:
        saved = (converting(CHAINS[against], full_w, drawn_w / full_w).lost_w - mine.lost_w) / 1e3
    return PowerAnswer(
        system=chain.name,
        load_share=load_share,
        total_mw=(drawn_w + lost) / 1e6,
        lost_mw=lost / 1e6,
        loss_share=lost / (drawn_w + lost),
        by_stage=tuple(StageLoss(name, watts / 1e3) for name, watts in found.items()),
        converting_kw=mine.lost_w / 1e3,
        converting_share=mine.share,
        saved_kw=saved,
        rack=rack,
        equation=f"{CARD_EQUATION}; {CHAIN_EQUATION}" if card else CHAIN_EQUATION,
        source=f"{CARD_SOURCE}; {CHAIN_SOURCE}" if card else CHAIN_SOURCE,
        notes=(
            f"a rack of {full_w / 1e3:.4g} kW at full load",
            "the load is that of the cards, which idle at a share of their power, with nodes beside"
            if rack
            else "the load is a share of the rack's power: at 0 all of it is off; idle cards: by `card`",
            "converting: UPS and supplies, or with a busbar, on which batteries hang, rectifiers and bar",
        ),
    )


def converting(chain: Chain, rack_w: float, load_share: float = 1.0) -> Converting:
    """What is lost in converting for a rack.

    With a busbar the batteries hang on it, so that the UPS before it is not needed.
    """
    stages = _CONVERTING_BUSBAR if chain is BUSBAR_CHAIN else _CONVERTING
    lost = sum(watts for name, watts in _losses(chain, rack_w, load_share).items() if name in stages)
    return Converting(lost, lost / (rack_w * load_share + lost))


def _losses(chain: Chain, rack_w: float, load_share: float) -> dict[str, float]:
    by_stage = chain_losses(chain, rack_w * load_share, rack_w).by_stage_w
    return {name: float(watts) for name, watts in by_stage.items()}


def _frontier(load_share: float) -> PowerAnswer:
    loads = np.full((1, FRONTIER.nodes), load_share)
    power = shelf_power(FRONTIER, loads, loads)
    total, lost = float(power.total_w[0]), float(power.lost_w[0])
    sivoc, rectifier = float(power.sivoc_w[0]), float(power.rectifier_w[0])
    return PowerAnswer(
        system=f"Frontier, {FRONTIER.nodes:,} nodes on rectifier shelves, with switches and CDUs",
        load_share=load_share,
        total_mw=total / 1e6,
        lost_mw=lost / 1e6,
        loss_share=lost / total,
        by_stage=(StageLoss("SIVOC", sivoc / 1e3), StageLoss("rectifier", rectifier / 1e3)),
        converting_kw=None,
        converting_share=None,
        saved_kw=None,
        rack=None,
        equation=SHELF_EQUATION,
        source=SHELF_SOURCE,
        notes=("processors and cards are all at this load, at 0 they idle; nothing is fitted",),
    )


_RANGES: dict[str, tuple[float, float]] = {
    "load_share": (0, 1),
    "rack_w": (1, 1e7),
    "nodes": (1, 10_000),
    "temperature_c": JUNCTION_C,
    "leakage_per_k": (0, 0.005),
    "cap_w": (1, 1e5),
}
"""What each number may be; leakage is measured from 0.3 to 0.5 % a kelvin."""


def _check(given: dict[str, Any]) -> None:
    for name, (low, high) in _RANGES.items():
        bounded(low, high, **{name: given[name]})
    system, against = given["system"], given["against"]
    if system not in SYSTEMS:
        raise BadInput(f"There is no power system '{system}'.", nearest(system, SYSTEMS))
    usual = inspect.signature(plan_power).parameters
    changed = [name for name, value in given.items() if value != usual[name].default]
    if system == FRONTIER_NAME:
        for name in changed:
            if name != "load_share":
                raise BadInput(f"`{name}` is of a rack, not of Frontier's shelves.", f"Leave out `{name}`.")
    elif against and against not in CHAINS:
        raise BadInput(f"There is no power chain '{against}'.", nearest(against, list(CHAINS)))
    if given["card"] and given["rack_w"] is not None:
        raise BadInput("`card` and `rack_w` both say what a rack draws.", "Leave one of them out.")
    for name in ("nodes", "temperature_c", "leakage_per_k", "cap_w"):
        if name in changed and not given["card"]:
            raise BadInput(f"`{name}` is of cards.", "Name one by `card`, such as h100.")


def _rack(name: str, card: CardPower, nodes: int, load_share: float, temperature_c: float) -> RackOfCards:
    """Nodes as the reference cluster has them, without fans."""
    speed = float(capped_speed_share(card, temperature_c))
    card_w = float(card_power_w(card, load_share, temperature_c))
    node = NodePower(NODE.per_node, NODE.node_w)
    node_w = float(node_power_w(node, NODE.per_node * card_w))
    rack_w = float(rack_power_w(np.full(nodes, node_w), nodes)[0])
    return RackOfCards(name, card_w, speed, node_w, rack_w)
