"""Frontier's power, node to grid, against RAPS's runs of the same configuration."""

import numpy as np
import pytest

from starverse.model.errors import BadInput
from starverse.physics.power.frontier import FRONTIER, shelf_power

EDGES = [("idle", 0.0, 7.3065, 0.57), ("peak", 1.0, 28.2279, 1.81)]


@pytest.mark.parametrize(("case", "load", "raps_mw", "raps_lost_mw"), EDGES, ids=[e[0] for e in EDGES])
def test_frontier_draws_what_raps_says(case: str, load: float, raps_mw: float, raps_lost_mw: float) -> None:
    """To 0.1 %; RAPS prints its losses to two digits (0.57 is anything from 0.565 to 0.575)."""
    loads = np.full((2, FRONTIER.nodes), load)
    power = shelf_power(FRONTIER, loads, loads)
    assert power.total_w / 1e6 == pytest.approx(raps_mw, rel=1e-3), case
    assert power.lost_w / 1e6 == pytest.approx(raps_lost_mw, abs=0.005)


def test_frontier_has_9472_nodes() -> None:
    assert FRONTIER.nodes == 9472


def test_what_comes_in_is_load_and_losses() -> None:
    loads = np.linspace(0, 1, 2 * FRONTIER.nodes).reshape(2, -1)
    power = shelf_power(FRONTIER, loads, loads[::-1])
    nodes_w = FRONTIER.processor_idle_w + FRONTIER.cards_per_node * FRONTIER.card_idle_w + FRONTIER.constant_w
    cards_w = FRONTIER.cards_per_node * (FRONTIER.card_load_w - FRONTIER.card_idle_w)
    out = (nodes_w + 190 * loads + cards_w * loads[::-1]).sum(axis=1)
    switches_w = FRONTIER.racks * FRONTIER.chassis_per_rack * FRONTIER.switches_per_chassis * 250.0
    assert power.total_w - power.lost_w == pytest.approx(out + switches_w + 25 * 8473.47, rel=1e-12)


def test_a_wrong_shape_is_refused() -> None:
    with pytest.raises(BadInput, match="9472 nodes"):
        shelf_power(FRONTIER, np.zeros((2, 3)), np.zeros((2, 3)))
