"""The power chain of Frontier as published, from node to grid, for thousands of nodes and steps."""

from typing import Any

import numpy as np
from msgspec import Struct
from numba import njit
from numpy.typing import NDArray

from starverse.model.errors import BadInput

Floats = NDArray[np.floating[Any]]


class ShelfSystem(Struct, frozen=True):
    """A machine of nodes on rectifier shelves; RAPS's model, each converter an affine curve (P + c) / η.

    The numbers are config/frontier.yaml of ExaDigiT/RAPS at 6c142bf (MIT): 74 racks of 8 chassis of 16 nodes,
    4 switches and 4 rectifiers; 25 CDUs. SIVOC is the 380 V to 12 V stage in the node.
    """

    racks: int = 74
    chassis_per_rack: int = 8
    nodes_per_chassis: int = 16
    rectifiers_per_chassis: int = 4
    switches_per_chassis: int = 4
    switch_w: float = 250.0
    cdus: int = 25
    cdu_w: float = 8473.47
    processor_idle_w: float = 90.0
    processor_load_w: float = 280.0
    cards_per_node: int = 4
    card_idle_w: float = 88.0
    card_load_w: float = 560.0
    constant_w: float = 74.26 + 4 * 20.0 + 30.0
    """Memory, four network cards, flash."""
    sivoc_fixed_w: float = 13.0
    sivoc_efficiency: float = 0.98
    rectifier_fixed_w: float = 17.0
    rectifier_efficiency: float = 0.96

    @property
    def nodes(self) -> int:
        """All nodes."""
        return self.racks * self.chassis_per_rack * self.nodes_per_chassis


FRONTIER = ShelfSystem()


class ShelfPower(Struct, frozen=True):
    """Power at the grid, and what converters lose of it, by stage, all in W, shape (steps,)."""

    total_w: Floats
    sivoc_w: Floats
    rectifier_w: Floats

    @property
    def lost_w(self) -> Floats:
        """All losses together."""
        lost: Floats = self.sivoc_w + self.rectifier_w
        return lost


def shelf_power(system: ShelfSystem, processor_share: Floats, card_share: Floats) -> ShelfPower:
    """A machine's power from its nodes' loads (0 to 1), each of shape (steps, nodes).

    Node: P = idle + (full - idle) u, summed; SIVOC in = (P + 13) / 0.98; a chassis' nodes and switches share
    its rectifiers evenly, each in = (P + 17) / 0.96 (raps/power.py). The CDUs come on top as a constant.
    Raises BadInput for a wrong shape.
    """
    for what, loads in (("processor_share", processor_share), ("card_share", card_share)):
        if loads.ndim != 2 or loads.shape[1] != system.nodes:
            raise BadInput(
                f"`{what}` has shape {loads.shape}.",
                f"Give steps by {system.nodes} nodes, loads from 0 to 1.",
            )
    return ShelfPower(
        *_shelf_kernel(
            processor_share,
            card_share,
            system.nodes_per_chassis,
            system.rectifiers_per_chassis,
            system.processor_idle_w + system.cards_per_node * system.card_idle_w + system.constant_w,
            system.processor_load_w - system.processor_idle_w,
            system.cards_per_node * (system.card_load_w - system.card_idle_w),
            system.sivoc_fixed_w,
            system.sivoc_efficiency,
            system.switches_per_chassis * system.switch_w,
            system.rectifier_fixed_w,
            system.rectifier_efficiency,
            system.cdus * system.cdu_w,
        )
    )


@njit(cache=True, fastmath=True)
def _shelf_kernel(
    processor: Any,
    card: Any,
    nodes_per_chassis: int,
    rectifiers: int,
    idle_w: float,
    processor_span_w: float,
    cards_span_w: float,
    sivoc_fixed_w: float,
    sivoc_efficiency: float,
    switches_w: float,
    rectifier_fixed_w: float,
    rectifier_efficiency: float,
    cdus_w: float,
) -> Any:
    steps, nodes = processor.shape
    total = np.empty(steps)
    sivoc = np.empty(steps)
    rectifier = np.empty(steps)
    for step in range(steps):
        step_in = 0.0
        sivoc_lost = 0.0
        rectifier_lost = 0.0
        for first in range(0, nodes, nodes_per_chassis):
            out = 0.0
            for node in range(first, first + nodes_per_chassis):
                out += processor_span_w * processor[step, node] + cards_span_w * card[step, node]
            out += nodes_per_chassis * idle_w
            sivoc_in = (out + nodes_per_chassis * sivoc_fixed_w) / sivoc_efficiency
            shelf_out = sivoc_in + switches_w
            shelf_in = (shelf_out + rectifiers * rectifier_fixed_w) / rectifier_efficiency
            step_in += shelf_in
            sivoc_lost += sivoc_in - out
            rectifier_lost += shelf_in - shelf_out
        total[step] = step_in + cdus_w
        sivoc[step] = sivoc_lost
        rectifier[step] = rectifier_lost
    return total, sivoc, rectifier
