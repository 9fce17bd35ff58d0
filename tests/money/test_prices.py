"""Dated prices: the one in force, from its first millisecond to the next one's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starverse.control.state import State
from starverse.model import events as ev
from starverse.money.prices import EXAMPLE_PRICES, price_at


@pytest.mark.parametrize(
    ("at_ms", "price"), [(0, 0), (99, 0), (100, 5), (199, 5), (200, 3), (299, 3), (300, 9), (10**15, 9)]
)
def test_a_price_holds_from_its_date_until_the_next(at_ms: int, price: int) -> None:
    assert price_at([(100, 5), (200, 3), (300, 9)], at_ms) == price


def test_before_any_price_there_is_none() -> None:
    assert price_at([], 10**15) == 0


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)), max_size=12), st.integers(0, 25))
def test_the_price_is_that_of_the_last_word_for_the_latest_date(
    words: list[tuple[int, int]], at_ms: int
) -> None:
    state = State()
    for from_ms, price in words:
        state.apply(ev.PriceSet("cpu", price, from_ms), 1)
    due = [(from_ms, said, price) for said, (from_ms, price) in enumerate(words) if from_ms <= at_ms]
    assert price_at(state.truth.prices.get("cpu", []), at_ms) == (max(due)[2] if due else 0)


def test_example_prices_are_positive() -> None:
    assert min(EXAMPLE_PRICES.values()) > 0
