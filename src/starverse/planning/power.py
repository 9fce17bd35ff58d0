"""What a machine or a rack draws from the grid, and which converter loses how much of it."""

import numpy as np
from msgspec import Struct

from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.model.names import nearest
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

FRONTIER_NAME = "frontier-9472"
CHAINS: dict[str, Chain] = {"busbar": BUSBAR_CHAIN, "ac": AC_CHAIN, "ac-eco": AC_CHAIN_ECO}
SYSTEMS = (FRONTIER_NAME, *CHAINS)

SHELF_EQUATION = "SIVOC in = (P + 13) / 0.98, rectifier in = (P + 17) / 0.96; P = idle + (full - idle) u"
SHELF_SOURCE = "ExaDigiT/RAPS at 6c142bf, config/frontier.yaml and raps/power.py"
CHAIN_EQUATION = "loss = rating (a + b x + c x²) at x = output / rating, stage upon stage; busbar I²R"
CHAIN_SOURCE = (
    "the quadratic of IEC 62040-3's efficiency curves; 80 PLUS Titanium, OCP Open Rack V3; the rest assumed"
)

_CONVERTING = {SUPPLY_TITANIUM.name, UPS_DOUBLE.name, UPS_ECO.name}
_CONVERTING_BUSBAR = {RECTIFIER_48V.name, "busbar"}


class StageLoss(Struct, frozen=True):
    """A converter and what it loses."""

    stage: str
    lost_kw: float


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
    equation: str
    source: str
    notes: tuple[str, ...]


class Converting(Struct, frozen=True):
    """What is lost in converting alone, in W, and as a share of what goes in."""

    lost_w: float
    share: float


def plan_power(
    system: str = FRONTIER_NAME, load_share: float = 1.0, rack_w: float = 30_000.0, against: str = ""
) -> PowerAnswer:
    """Power of Frontier's 9,472 nodes, or of a rack on one of three chains, at a load from 0 to 1.

    `against` names the chain that a chain is compared with. Raises BadInput for names that are not known.
    """
    bounded(0, 1, load_share=load_share)
    bounded(1, 1e7, rack_w=rack_w)
    if system not in SYSTEMS:
        raise BadInput(f"There is no power system '{system}'.", nearest(system, SYSTEMS))
    if system == FRONTIER_NAME:
        if against:
            raise BadInput("Frontier's shelves are compared with nothing.", "Leave out `against`.")
        return _frontier(load_share)
    found = _losses(CHAINS[system], rack_w, load_share)
    mine = converting(CHAINS[system], rack_w, load_share)
    saved = None
    if against:
        if against not in CHAINS:
            raise BadInput(f"There is no power chain '{against}'.", nearest(against, list(CHAINS)))
        saved = (converting(CHAINS[against], rack_w, load_share).lost_w - mine.lost_w) / 1e3
    lost = sum(found.values())
    total = rack_w * load_share + lost
    return PowerAnswer(
        system=CHAINS[system].name,
        load_share=load_share,
        total_mw=total / 1e6,
        lost_mw=lost / 1e6,
        loss_share=lost / total,
        by_stage=tuple(StageLoss(name, watts / 1e3) for name, watts in found.items()),
        converting_kw=mine.lost_w / 1e3,
        converting_share=mine.share,
        saved_kw=saved,
        equation=CHAIN_EQUATION,
        source=CHAIN_SOURCE,
        notes=(
            f"a rack of {rack_w / 1e3:g} kW at full load",
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
        equation=SHELF_EQUATION,
        source=SHELF_SOURCE,
        notes=("processors and cards are all at this load; nothing is fitted",),
    )
