"""Cards of one kind: what is free, used, broken, closed and claimed, and what changed since."""

import numpy as np
import pytest

from starverse.model.allocation import Share
from starverse.scheduler import kernels as k
from starverse.scheduler.space import NOTHING_ELSE, Space

NEVER = int(k.NEVER)


def space_of(*nodes: int) -> Space:
    space = Space()
    for n, cards in enumerate(nodes):
        space.join(f"n{n}", (1 << cards) - 1, is_open=True)
    return space


def members(space: Space, member: int = 1, until_ms: int = 10, below: int = NEVER) -> list[int]:
    room = np.zeros(space.size, np.int64)
    args = space.node, space.card, space.slot, space.stock, NOTHING_ELSE, space.size
    k.room(*args, member, until_ms, below, room)
    return room.tolist()  # type: ignore[no-any-return]


def test_what_is_taken_is_not_free_until_it_is_given_back() -> None:
    space = space_of(4, 2)
    lot = space.lot((Share.of("n0", [1, 2]), Share.of("n1", [0])))
    space.take(lot, 100)
    assert (space.free, space.free_on("n0"), space.used_on("n1")) == (3, 0b1001, 0b1)
    space.give(lot)
    assert (space.free, space.used_on("n0")) == (6, 0)


def test_of_c9_a_card_cannot_be_taken_twice_nor_given_back_twice() -> None:
    space = space_of(2)
    lot = space.lot((Share.of("n0", [0]),))
    space.take(lot, 100)
    with pytest.raises(AssertionError, match="two runs on one card of n0"):
        space.take(lot, 100)
    space.give(lot)
    with pytest.raises(AssertionError, match="were not used"):
        space.give(lot)


def test_closed_nodes_and_broken_cards_have_no_room() -> None:
    space = space_of(4, 4)
    space.join("n0", 0b0111, is_open=True)
    space.join("n1", 0b1111, is_open=False)
    assert members(space) == [3, 0]
    assert members(space, member=2) == [1, 0]
    space.join("n1", 0b1111, is_open=True)
    assert members(space) == [3, 4]


def test_a_node_with_very_many_cards_is_several_rows_of_one_name() -> None:
    space = space_of(130)
    assert members(space) == [62, 62, 6]
    lot = space.lot((Share.of("n0", [0, 61, 62, 129]),))
    space.take(lot, 100)
    assert space.shares(lot) == (Share.of("n0", [0, 61, 62, 129]),)
    assert (space.free, space.free_on("n0").bit_count()) == (126, 126)


@pytest.mark.parametrize(
    ("until_ms", "below", "free"),
    [(50, NEVER, 4), (51, NEVER, 1), (51, 7, 4), (51, 8, 1), (500, 7, 4)],
    ids=["over before it begins", "not over", "of one who is not minded", "of one who is", "nobody minded"],
)
def test_a_claim_keeps_cards_from_whoever_minds_it_and_is_not_over_in_time(
    until_ms: int, below: int, free: int
) -> None:
    space = space_of(4)
    space.claim(space.lot((Share.of("n0", [0, 1, 2]),)), 50, 90, 7)
    assert members(space, until_ms=until_ms, below=below) == [free]


def test_many_claims_on_one_node_are_all_kept_and_let_go_one_by_one() -> None:
    space = space_of(8)
    lots = [space.lot((Share.of("n0", [card]),)) for card in range(8)]
    before = members(space, until_ms=1_000)
    for card, lot in enumerate(lots):
        space.claim(lot, 100, 200, card + 1)
    assert members(space, until_ms=1_000) == [0]
    for card, lot in enumerate(lots):
        space.unclaim(lot, card + 1)
        assert members(space, until_ms=1_000) == [card + 1]
    assert members(space, until_ms=1_000) == before


def test_what_could_take_more_since_is_told_each_once() -> None:
    space = space_of(2, 2, 2)
    changes = space.changes
    lot = space.lot((Share.of("n1", [0]),))
    space.take(lot, 100)
    assert space.changes == changes, "to take is not to loosen"
    space.give(lot)
    space.touch(lot)
    since = space.loosened_since(changes)
    assert since is not None
    assert since.tolist() == [1]


def test_who_slept_too_long_looks_at_all() -> None:
    space = space_of(1)
    lot = space.lot((Share.of("n0", [0]),))
    for _ in range(20_000):
        space.touch(lot)
    assert space.loosened_since(0) is None
    assert space.loosened_since(space.changes - 1) is not None


def test_a_node_counts_what_it_has_beside_cards_and_new_resources_are_new_rows() -> None:
    space = Space()
    space.join("n0", 0b1, True, stock=(("cpu", 8), ("memory", 9)))
    space.join("n1", 0b1, True, stock=(("cpu", 4), ("nic", 2)))
    assert space.stock[space.row("cpu"), :2].tolist() == [8, 4]
    assert space.stock[space.row("nic"), :2].tolist() == [0, 2]
