"""Where members go that come back to a gang."""

import numpy as np
import pytest
from tests.scheduler.placement.pictures import picture_of, same, tree_of

from starverse.scheduler.placement import ANYWHERE, Chosen, Rule
from starverse.scheduler.placement.rejoin import rejoin


def comes_back(free: str, kept: str, want: int, rule: Rule = ANYWHERE) -> str:
    topology, room = tree_of(free, "spine leaf")
    _, members = tree_of(kept, "spine leaf")
    nodes = np.flatnonzero(members)
    return picture_of(free, rejoin(topology, room, want, rule, Chosen(nodes, members[nodes])))


TWO_LEAVES = "s/l0 {} {} {} {}\ns/l1 {} {} {} {}"


@pytest.mark.parametrize("rule", [ANYWHERE, Rule(prefer=1), Rule(require=1)])
def test_a13_a_member_comes_back_under_the_same_switch(rule: Rule) -> None:
    free = TWO_LEAVES.format(*"...11...")
    kept = TWO_LEAVES.format(*"11......")
    assert comes_back(free, kept, 1, rule) == same(TWO_LEAVES.format(*"...1...."))


def test_a13_without_a_place_there_it_waits_or_goes_to_the_next() -> None:
    free = TWO_LEAVES.format(*"....1...")
    kept = TWO_LEAVES.format(*"11......")
    assert comes_back(free, kept, 1, Rule(require=1)) == ""
    assert comes_back(free, kept, 1) == same(free)


def test_h3_two_nodes_are_replaced_and_the_others_stay() -> None:
    free = "s0/l0 . . 1\ns0/l1 . 1 1\ns1/l2 1 1 1"
    kept = "s0/l0 1 1 .\ns0/l1 1 . .\ns1/l2 . . ."
    assert comes_back(free, kept, 2) == same("s0/l0 . . .\ns0/l1 . 1 1\ns1/l2 . . .")
    assert comes_back(free, kept, 3) == same("s0/l0 . . 1\ns0/l1 . 1 1\ns1/l2 . . .")


def test_a_broken_slice_is_made_whole_where_it_lies() -> None:
    free = "s/l0 . 1 1 .\ns/l1 . . 1 1\ns/l2 1 1 1 1"
    kept = "s/l0 1 . . .\ns/l1 1 1 1 .\ns/l2 . . . ."
    quads = Rule(slices=((1, 4),))
    assert comes_back(free, kept, 4, quads) == ""
    assert comes_back(free.replace(". 1 1 .", ". 1 1 1"), kept, 4, quads) == same(
        "s/l0 . 1 1 1\ns/l1 . . 1 .\ns/l2 . . . ."
    )


def test_what_stays_counts_where_a_gang_spreads() -> None:
    free = "s/l0 . 1 1 1\ns/l1 1 1 1 1"
    kept = "s/l0 1 . . .\ns/l1 . . . ."
    assert comes_back(free, kept, 3, Rule(spread=((1, 2),))) == same("s/l0 . 1 . .\ns/l1 1 1 . .")


def test_a_gang_of_which_nothing_is_left_is_placed_anew() -> None:
    free = TWO_LEAVES.format(*"1..11...")
    assert comes_back(free, TWO_LEAVES.format(*"........"), 2) == same(TWO_LEAVES.format(*"1..1...."))


def test_a_broken_slice_of_a_pod_stays_in_the_rack_that_holds_the_gang() -> None:
    slices = Rule(require=1, slices=((0, 2),))
    assert comes_back("s/l0 . .\ns/l1 1 1", "s/l0 1 .\ns/l1 . .", 1, slices) == ""
    assert comes_back("s/l0 . 1\ns/l1 1 1", "s/l0 1 .\ns/l1 . .", 1, slices) == same("s/l0 . 1\ns/l1 . .")
