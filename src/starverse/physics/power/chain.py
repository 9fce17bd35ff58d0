"""The losses between the grid and the card: transformer, UPS, rectifier, busbar, power supply."""

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from starverse.model.errors import BadInput

Floats = NDArray[np.floating[Any]]


class Stage(Struct, frozen=True):
    """A converter whose loss, as a share of its rating, is a + b x + c x² at the load x = output / rating.

    The quadratic form of the Green Grid's and of IEC 62040-3's efficiency curves: a turns up at no load
    (magnetisation, fans, control), b with current (semiconductors), c with its square (copper).
    """

    name: str
    fixed_share: float
    linear_share: float
    square_share: float = 0.0

    def loss_w(self, output_w: ArrayLike, rated_w: float) -> Floats:
        """Loss in W at `output_w`, of any shape. Raises BadInput above the rating: no curve says more."""
        if rated_w <= 0:
            raise BadInput(
                f"A {self.name} rated {rated_w:g} W carries nothing.", "Give `rated_w` above zero."
            )
        load = np.asarray(output_w, dtype=float) / rated_w
        if load.size and load.max() > 1 + 1e-9:
            raise BadInput(
                f"{load.max() * rated_w:g} W overload a {self.name} rated {rated_w:g} W.",
                "Raise `rated_w`, or spread the load.",
            )
        loss: Floats = rated_w * (self.fixed_share + load * (self.linear_share + load * self.square_share))
        return loss


# Typical units, not one maker's: coefficients assumed.
TRANSFORMER = Stage("transformer", 0.004, 0.0, 0.006)
UPS_DOUBLE = Stage("double-conversion UPS", 0.012, 0.018, 0.008)
UPS_ECO = Stage("UPS in eco mode", 0.006, 0.008)
DISTRIBUTION = Stage("distribution", 0.0, 0.0, 0.005)
# 80 PLUS Titanium, 230 V: 90, 94, 96 and 91 % at 10, 20, 50 and 100 % (the programme's table of levels);
# the quadratic of least squares over those four points.
SUPPLY_TITANIUM = Stage("Titanium power supply", 0.0176, -0.0647, 0.1458)
# An open-rack rectifier shelf: 97.5 % at its best, near half load (OCP Open Rack V3, 48 V PSU).
RECTIFIER_48V = Stage("48 V rectifier", 0.004, 0.0104, 0.0148)


class Chain(Struct, frozen=True):
    """Stages from the grid's side to the card's, each with how much of its rating the peak load fills.

    A stage left of another carries that one's loss too. `busbar_ohm` is the copper between rectifier and node
    for one rack, there and back, at `busbar_v`.
    """

    name: str
    stages: tuple[tuple[Stage, float], ...]
    busbar_ohm: float = 0.0
    busbar_v: float = 48.0
    busbar_most_a: float = 2_000.0
    """ASSUMED: 96 kW at 48 V. Racks beyond it are fed at a higher voltage."""


AC_CHAIN = Chain(
    "AC: transformer, double-conversion UPS, distribution, power supplies",
    ((TRANSFORMER, 0.5), (UPS_DOUBLE, 0.5), (DISTRIBUTION, 1.0), (SUPPLY_TITANIUM, 0.5)),
)
"""Redundant (2N) upstream and at the node: each path is half filled at peak."""

AC_CHAIN_ECO = Chain(
    "AC with the UPS in eco mode",
    ((TRANSFORMER, 0.5), (UPS_ECO, 0.5), (DISTRIBUTION, 1.0), (SUPPLY_TITANIUM, 0.5)),
)

BUSBAR_CHAIN = Chain(
    "48 V DC busbar: transformer, eco UPS, distribution, rectifier shelf with batteries",
    ((TRANSFORMER, 0.5), (UPS_ECO, 0.5), (DISTRIBUTION, 1.0), (RECTIFIER_48V, 0.6)),
    busbar_ohm=1e-4,
)


class Losses(Struct, frozen=True):
    """What a chain takes in and where it is lost, in W, each shaped as the load."""

    input_w: Floats
    by_stage_w: dict[str, Floats]

    @property
    def lost_w(self) -> Floats:
        """All losses together."""
        total: Floats = np.sum(list(self.by_stage_w.values()), axis=0)
        return total


def chain_losses(chain: Chain, load_w: ArrayLike, peak_load_w: float, racks: int = 1) -> Losses:
    """Follow `load_w` (any shape, in W) up the chain to the grid.

    Each stage is rated at its peak load over its filling, where the peak load is what it carries when the
    racks draw `peak_load_w`. The busbar loses I²R in each of `racks` racks, sharing the load evenly (Joule).
    Raises BadInput above the peak, and where a busbar would carry more than it can.
    """
    carried = np.asarray(load_w, dtype=float)
    peak = float(peak_load_w)
    if carried.size and carried.max() > peak * (1 + 1e-9):
        raise BadInput(
            f"A load of {carried.max():g} W exceeds the peak of {peak:g} W.", "Give the true `peak_load_w`."
        )
    losses: dict[str, Floats] = {}
    if chain.busbar_ohm:
        _check_amperes(chain, peak / racks)
        losses["busbar"] = busbar_loss_w(carried, chain.busbar_v, chain.busbar_ohm, racks)
        carried = carried + losses["busbar"]
        peak += float(busbar_loss_w(peak, chain.busbar_v, chain.busbar_ohm, racks))
    for stage, filled in reversed(chain.stages):
        rated = peak / filled
        losses[stage.name] = stage.loss_w(carried, rated)
        peak += float(stage.loss_w(peak, rated))
        carried = carried + losses[stage.name]
    return Losses(carried, losses)


def _check_amperes(chain: Chain, rack_w: float) -> None:
    amperes = rack_w / chain.busbar_v
    if amperes > chain.busbar_most_a * (1 + 1e-9):
        raise BadInput(
            f"A rack of {rack_w:,.0f} W takes {amperes:,.0f} A at {chain.busbar_v:g} V, and a busbar carries "
            f"{chain.busbar_most_a:,.0f} A at most (assumed).",
            f"Give racks of at most {chain.busbar_most_a * chain.busbar_v:,.0f} W, or another chain.",
        )


def busbar_loss_w(load_w: ArrayLike, volts: float, ohm: float, racks: int = 1) -> Floats:
    """I²R of `racks` busbars that share `load_w` evenly: 30 kW at 48 V over 0.1 mΩ lose 39 W."""
    if volts <= 0 or racks < 1:
        raise BadInput(
            f"{racks} busbars at {volts:g} V carry nothing.", "Give `volts` and `racks` above zero."
        )
    amperes = np.asarray(load_w, dtype=float) / racks / volts
    loss: Floats = racks * amperes**2 * ohm
    return loss


def loss_share(losses: Losses) -> Floats:
    """Losses as a share of what comes in, shaped as the load."""
    share: Floats = losses.lost_w / losses.input_w
    return share
