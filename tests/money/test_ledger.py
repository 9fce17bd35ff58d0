"""The ledger: every posting is balanced, so all accounts together hold nothing."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starverse.model.events import Posted
from starverse.money import ledger

AMOUNT = st.integers(0, 10**15)
METER = st.tuples(AMOUNT, AMOUNT, AMOUNT)
TENANT = st.sampled_from(["ann", "bob"])
POSTINGS: dict[str, tuple[Callable[..., Posted], tuple[Any, ...]]] = {
    "trial": (ledger.trial, (TENANT, AMOUNT)),
    "top-up": (ledger.top_up, (TENANT, AMOUNT, st.just("bank"))),
    "hold": (ledger.hold, (TENANT, st.just("j"), st.just("j.0"), AMOUNT)),
    "charge": (ledger.charge, (TENANT, st.just("j"), st.just("j.0"), AMOUNT, METER)),
    "settle": (ledger.settle, (TENANT, st.just("j"), st.just("j.0"), AMOUNT, AMOUNT, METER)),
    "release": (ledger.release, (TENANT, st.just("j"), st.just("j.0"), AMOUNT)),
    "credit": (ledger.credit, (TENANT, st.just("j"), st.just("j.0"), AMOUNT, METER, st.just("fault"))),
}
ANY = st.one_of(*(st.builds(make, *parts) for make, parts in POSTINGS.values()))


@given(st.data())
@pytest.mark.parametrize("kind", POSTINGS)
def test_every_posting_is_balanced(kind: str, data: st.DataObject) -> None:
    make, parts = POSTINGS[kind]
    posting = make(*(data.draw(part) for part in parts))
    assert ledger.balanced(posting)
    assert sum(amount for _, amount in posting.lines) == 0
    assert posting.kind == {"settle": "charge"}.get(kind, kind)


def test_every_shape_of_posting_is_tested_here() -> None:
    shapes = {
        name
        for name, it in vars(ledger).items()
        if getattr(it, "__annotations__", {}).get("return") is Posted
    }
    assert shapes == {make.__name__ for make, _ in POSTINGS.values()}


@given(st.lists(ANY, max_size=30))
def test_all_accounts_together_hold_nothing(postings: list[Posted]) -> None:
    balances = ledger.balances(postings)
    assert sum(balances.values()) == 0
    for account, balance in balances.items():
        assert balance == sum(amount for p in postings for name, amount in p.lines if name == account)


def test_a_posting_that_is_not_balanced_is_found_out() -> None:
    assert not ledger.balanced(Posted("charge", "ann", (("wallet/ann", -5), ("income/compute", 4))))


@pytest.mark.parametrize(
    ("posting", "moves"),
    [
        (ledger.trial("ann", 10), {"wallet/ann": 10, "expense/trial": -10}),
        (ledger.top_up("ann", 7, "bank"), {"wallet/ann": 7, "gateway/top-up": -7}),
        (ledger.hold("ann", "j", "j.0", 5), {"wallet/ann": -5, "held/ann": 5}),
        (ledger.charge("ann", "j", "j.0", 3, (9, 0, 9)), {"held/ann": -3, "income/compute": 3}),
        (
            ledger.settle("ann", "j", "j.0", 2, 6, (9, 0, 9)),
            {"held/ann": -6, "income/compute": 2, "wallet/ann": 4},
        ),
        (ledger.release("ann", "j", "j.0", 6), {"held/ann": -6, "wallet/ann": 6}),
        (ledger.credit("ann", "j", "j.0", 1, (9, 0, 9), "fault"), {"wallet/ann": 1, "expense/fault": -1}),
    ],
)
def test_money_moves_where_the_table_says(posting: Posted, moves: dict[str, int]) -> None:
    assert dict(posting.lines) == moves
