"""A card's power follows load, temperature and cap; nodes and racks add up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starverse.model.errors import BadInput
from starverse.physics.power.card import (
    CardPower,
    NodePower,
    capped_speed_share,
    card_power_w,
    node_power_w,
    rack_power_w,
)

CARD = CardPower(80, 700)


def test_a_card_draws_idle_and_load_power_at_its_reference() -> None:
    assert card_power_w(CARD, [0, 0.5, 1], 63).tolist() == [80, 390, 700]


def test_a_warmer_card_leaks() -> None:
    assert float(card_power_w(CARD, 1, 73)) == pytest.approx(700 * 1.04)


@given(st.floats(100, 700), st.floats(20, 90))
def test_the_speed_under_a_cap_just_meets_it(cap_w: float, temperature_c: float) -> None:
    card = CardPower(80, 700, cap_w)
    share = capped_speed_share(card, temperature_c)
    uncapped = CardPower(80, 700)
    power = float(card_power_w(uncapped, share, temperature_c))
    assert power <= cap_w * (1 + 1e-9)
    assert share == pytest.approx(1) or power == pytest.approx(cap_w)


def test_eight_cards_make_a_node_and_five_nodes_a_rack() -> None:
    node = NodePower(8, constant_w=600, processor_idle_w=200, processor_load_w=700, fan_share=0.1)
    node_w = node_power_w(node, 8 * 700, 1.0)
    assert float(node_w) == pytest.approx((5600 + 700 + 600) * 1.1)
    # fans keep their share at part load: linear, no cube
    assert float(node_power_w(node, 8 * 350, 0.5)) == pytest.approx((2800 + 450 + 600) * 1.1)
    assert rack_power_w(np.full(10, 7590.0), 5, 500).tolist() == [38450.0, 38450.0]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: CardPower(800, 700), "smaller one first"),
        (lambda: CardPower(80, 700, 50), "cap_w"),
        (lambda: card_power_w(CARD, 1.2, 60), "from 0 to 1"),
        (lambda: rack_power_w(np.ones(7), 5), "nodes_per_rack"),
    ],
    ids=["load below idle", "cap below idle", "load above one", "ragged racks"],
)
def test_impossible_cards_are_refused(call: object, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        call()  # type: ignore[operator]
