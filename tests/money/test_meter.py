"""Metering: parts add up to the whole, holds cover, and not a micro-yuan is made up."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starverse.model.units import CARD, DAY_MS, HOUR_MS, YUAN
from starverse.money.meter import affordable_ms, cost, hold_for

PRICES = st.one_of(st.just(0), st.integers(1, 10**12), st.just(10**30))
CARDS = st.integers(1, 10**6).map(lambda cards: cards * CARD)
TIMES = st.one_of(st.integers(0, 10_000), st.integers(0, 400 * DAY_MS), st.just(10**20))


@pytest.mark.parametrize(
    ("price", "cards", "ms", "micro_yuan"),
    [
        (1_850_000, 1, HOUR_MS, 1_850_000),
        (1_850_000, 8, HOUR_MS, 14_800_000),
        (1_850_000, 1, 1_000, 513),  # 1.85 yuan an hour is 513.88… micro-yuan a second
        (1_850_000, 1, 1, 0),
        (3_600_000, 1, 1, 1),
        (15 * YUAN, 1_000, DAY_MS, 360_000 * YUAN),
        (0, 1_000_000, 10**15, 0),
        (1_850_000, 1, 0, 0),
    ],
)
def test_what_a_card_costs_is_cut_to_a_micro_yuan(price: int, cards: int, ms: int, micro_yuan: int) -> None:
    assert cost(price, cards * CARD, ms) == micro_yuan


def test_a_full_hour_costs_the_price_to_the_millisecond() -> None:
    assert cost(1_850_000, CARD, HOUR_MS) == 1_850_000
    assert cost(1_850_000, CARD, HOUR_MS - 1) < 1_850_000


@given(PRICES, CARDS, st.lists(TIMES, min_size=1, max_size=20))
def test_charges_at_any_moments_add_up_to_the_whole(price: int, milli_cards: int, pieces: list[int]) -> None:
    charged = ran_ms = 0
    for piece_ms in pieces:
        ran_ms += piece_ms
        due = cost(price, milli_cards, ran_ms) - charged
        assert due >= 0
        charged += due
    assert charged == cost(price, milli_cards, sum(pieces))


@given(PRICES, CARDS, st.lists(TIMES, min_size=1, max_size=20))
def test_credits_for_parts_never_exceed_the_charge_for_the_whole(
    price: int, milli_cards: int, pieces: list[int]
) -> None:
    assert sum(cost(price, milli_cards, piece) for piece in pieces) <= cost(price, milli_cards, sum(pieces))


@given(PRICES, CARDS, TIMES)
def test_a_hold_covers_the_cost_and_hardly_more(price: int, milli_cards: int, ms: int) -> None:
    exactly = Fraction(price * milli_cards * ms, CARD * HOUR_MS)
    assert cost(price, milli_cards, ms) <= exactly <= hold_for(price, milli_cards, ms)
    assert hold_for(price, milli_cards, ms) - cost(price, milli_cards, ms) == (exactly.denominator > 1)


@given(st.integers(0, 10**18), PRICES.filter(bool), CARDS)
def test_what_money_pays_for_is_the_longest_that_it_covers(money: int, price: int, milli_cards: int) -> None:
    ms = affordable_ms(money, price, milli_cards)
    assert hold_for(price, milli_cards, ms) <= money < hold_for(price, milli_cards, ms + 1)


@given(PRICES, CARDS, TIMES, TIMES)
def test_more_time_never_costs_less(price: int, milli_cards: int, ms: int, more_ms: int) -> None:
    assert cost(price, milli_cards, ms) <= cost(price, milli_cards, ms + more_ms)
