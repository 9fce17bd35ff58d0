"""What a card, a node and a rack draw at a load and a temperature, under a cap."""

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from starverse.model.bounds import spanned
from starverse.model.errors import BadInput

Floats = NDArray[np.floating[Any]]


class CardPower(Struct, frozen=True):
    """A card's power: `idle_w` at no load, `load_w` at full load and `reference_c`, nothing above `cap_w`.

    `leakage_per_k` is the relative growth of power per kelvin (0.3 to 0.5 %, an engineering
    range, not a fit).
    """

    idle_w: float
    load_w: float
    cap_w: float = float("inf")
    leakage_per_k: float = 0.004
    reference_c: float = 63.0

    def __post_init__(self) -> None:
        if not 0 <= self.idle_w <= self.load_w:
            raise BadInput(
                f"A card that idles at {self.idle_w:g} W cannot draw {self.load_w:g} W at full load.",
                "Give `idle_w` and `load_w` in watts, the smaller one first.",
            )
        if self.cap_w < self.idle_w:
            raise BadInput(
                f"A cap of {self.cap_w:g} W is below the idle power of {self.idle_w:g} W.",
                "Raise `cap_w`, or leave it out.",
            )


def card_power_w(card: CardPower, load_share: ArrayLike, temperature_c: ArrayLike) -> Floats:
    """The power of cards in W, shaped as `load_share` (0 to 1) and `temperature_c` broadcast together.

    P = min(cap, (idle + (load - idle) u) (1 + a (T - Tref))): linear in utilisation as in RAPS
    (ExaDigiT/RAPS, raps/power.py), times a linear leakage.
    """
    share = _share(load_share)
    warmth = 1 + card.leakage_per_k * (np.asarray(temperature_c, dtype=float) - card.reference_c)
    power: Floats = np.minimum(card.cap_w, (card.idle_w + (card.load_w - card.idle_w) * share) * warmth)
    return power


def capped_speed_share(card: CardPower, temperature_c: ArrayLike) -> Floats:
    """The utilisation at which a card meets its cap, at most 1: what a cap leaves of its speed.

    The inverse of `card_power_w`, shaped as `temperature_c`. Where even idling exceeds the cap, 0;
    where load draws no more than idling, 1.
    """
    warmth = 1 + card.leakage_per_k * (np.asarray(temperature_c, dtype=float) - card.reference_c)
    span = card.load_w - card.idle_w
    if span == 0:
        return np.ones_like(warmth)
    speed: Floats = np.clip((card.cap_w / warmth - card.idle_w) / span, 0, 1)
    return speed


class NodePower(Struct, frozen=True):
    """What a node draws beside its cards: the constant part, and processors and fans by load.

    `fan_share` is what its fans draw as a share of all else, at any load: linear, an assumption (fans that
    slow down would take less at part load); zero in an immersed node.
    """

    cards: int
    constant_w: float
    processor_idle_w: float = 0.0
    processor_load_w: float = 0.0
    fan_share: float = 0.0


def node_power_w(node: NodePower, cards_w: ArrayLike, processor_share: ArrayLike = 0.0) -> Floats:
    """Power of nodes in W from `cards_w`, the sum over a node's cards, and the processors' load (0 to 1)."""
    processors = node.processor_idle_w + (node.processor_load_w - node.processor_idle_w) * _share(
        processor_share
    )
    power: Floats = (np.asarray(cards_w, dtype=float) + processors + node.constant_w) * (1 + node.fan_share)
    return power


def rack_power_w(nodes_w: Floats, nodes_per_rack: int, switches_w: float = 0.0) -> Floats:
    """Racks' power in W, shape (…, racks), from nodes' power, shape (…, racks * nodes_per_rack)."""
    nodes = np.asarray(nodes_w)
    if nodes_per_rack < 1 or nodes.shape[-1] % nodes_per_rack:
        raise BadInput(
            f"{nodes.shape[-1]} nodes do not fill racks of {nodes_per_rack}.",
            "Give `nodes_per_rack` so that it divides the number of nodes.",
        )
    racks: Floats = nodes.reshape(*nodes.shape[:-1], -1, nodes_per_rack).sum(axis=-1) + switches_w
    return racks


def _share(load_share: ArrayLike) -> Floats:
    share = np.asarray(load_share, dtype=float)
    if share.size and not (share.min() >= 0 and share.max() <= 1):
        raise BadInput(
            f"A load of {spanned(share.min(), share.max())} is not a share.", "Give `load_share` from 0 to 1."
        )
    return share
