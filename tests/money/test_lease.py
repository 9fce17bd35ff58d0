"""Leases: as long as the money lasts, never shorter than the least, and terms by which a run can live."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starverse.model.units import CARD, MINUTE_MS, SECOND_MS
from starverse.money.lease import LAST_LOOK_MS, LeaseTerms, lease_for
from starverse.money.meter import hold_for

TERMS = LeaseTerms()
PRICE = 3_600_000
"""A micro-yuan for each card-millisecond."""


@pytest.mark.parametrize(
    ("money", "price", "cards", "lease_s", "hold"),
    [
        (10**9, PRICE, 1, 600, 600_000),
        (600_000, PRICE, 1, 600, 600_000),
        (599_999, PRICE, 1, 599.999, 599_999),
        (30_000, PRICE, 1, 30, 30_000),
        (29_999, PRICE, 1, 0, 0),
        (60_000, PRICE, 2, 30, 60_000),
        (59_999, PRICE, 2, 0, 0),
        (0, PRICE, 1, 0, 0),
        (0, 0, 1_000_000, 600, 0),
        (-5, PRICE, 1, 0, 0),
        (10**30, 10**20, 1_000_000, 600, hold_for(10**20, 10**9, 600_000)),
    ],
)
def test_a_lease_is_as_long_as_the_window_or_the_money(
    money: int, price: int, cards: int, lease_s: float, hold: int
) -> None:
    assert lease_for(money, price, cards * CARD, TERMS) == (int(lease_s * 1_000), hold)


@given(st.integers(0, 10**15), st.integers(0, 10**12), st.integers(1, 30_000))
def test_a_lease_is_paid_for_and_the_longest_that_is(money: int, price: int, cards: int) -> None:
    lease_ms, hold = lease_for(money, price, cards * CARD, TERMS)
    assert 0 <= hold <= money
    if lease_ms:
        assert TERMS.least_ms <= lease_ms <= TERMS.window_ms
        assert hold == hold_for(price, cards * CARD, lease_ms)
        assert lease_ms == TERMS.window_ms or hold_for(price, cards * CARD, lease_ms + 1) > money
    else:
        assert hold_for(price, cards * CARD, TERMS.least_ms) > money


@pytest.mark.parametrize(
    ("window_s", "least_s", "grace_s"),
    [(600, 30, 30), (600, 10, 10), (20, 30, 5), (600, 30, -1), (20, 15, 9), (600, 12, 10), (0, 0, 0)],
)
def test_terms_by_which_no_run_could_live_are_refused(window_s: int, least_s: int, grace_s: int) -> None:
    with pytest.raises(ValueError, match="could not live"):
        LeaseTerms(window_s * SECOND_MS, least_s * SECOND_MS, grace_s * SECOND_MS)
    settings = {
        "window_ms": window_s * SECOND_MS,
        "least_ms": least_s * SECOND_MS,
        "grace_ms": grace_s * SECOND_MS,
    }
    with pytest.raises(msgspec.ValidationError, match="could not live"):
        msgspec.convert(settings, LeaseTerms)


def test_a_run_is_told_to_leave_before_it_would_leave_by_itself() -> None:
    assert LeaseTerms(MINUTE_MS, 20 * SECOND_MS, 10 * SECOND_MS).leaving_ms == 10 * SECOND_MS + LAST_LOOK_MS
