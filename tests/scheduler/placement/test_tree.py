"""Where gangs go in a tree of domains, row by row of what users of other schedulers met.

Where peers disagree on ties, only what must hold is asked: where the gang may not lie, and what it costs.
"""

import csv
from pathlib import Path

import numpy as np
import pytest
from tests.scheduler.placement.pictures import picture_of, same, tree_of

from starverse.scheduler.placement import ANYWHERE, Chosen, Rule
from starverse.scheduler.placement.blocks import largest_block
from starverse.scheduler.placement.tree import place
from starverse.scheduler.topology import Topology

TRACES = Path(__file__).parents[4] / "shared" / "traces"


def placed(picture: str, levels: str, want: int, rule: Rule = ANYWHERE) -> str:
    topology, room = tree_of(picture, levels)
    return picture_of(picture, place(topology, room, want, rule))


def one_by_one(picture: str, levels: str, count: int) -> str:
    """Where so many gangs of one member go, each after the other."""
    topology, room = tree_of(picture, levels)
    before = room.copy()
    for _ in range(count):
        chosen = place(topology, room, 1)
        assert chosen
        room[chosen.nodes] -= chosen.members
    given = before - room
    used = np.flatnonzero(given)
    return picture_of(picture, Chosen(used, given[used]))


def per_domain(topology: Topology, chosen: Chosen, level: int) -> list[int]:
    """The members in each domain of a level that has any, most first."""
    counts = np.bincount(topology.domain[level, chosen.nodes], chosen.members)
    return sorted((int(count) for count in counts if count), reverse=True)


# ---- fragmentation and topology ----


def test_a1_eight_free_cards_are_no_free_node_of_eight() -> None:
    picture = "/ 1 1 1 1 1 1 1 1"
    topology, cards = tree_of(picture, "")
    assert place(topology, cards // 8, 1) is None
    assert place(topology, cards, 8, Rule(require=0)) is None
    assert largest_block(topology, cards, topology.level("node")) == 1
    assert placed(picture, "", 8) == same("/ 1 1 1 1 1 1 1 1")


def test_a3_a_hundredth_node_in_pieces_is_no_hundredth_node() -> None:
    topology, nodes = tree_of("/ " + "1 " * 99 + ". " * 8, "")
    assert place(topology, nodes, 100) is None
    small = place(topology, np.array([8] * 99 + [1] * 8), 1)
    assert small
    assert small.nodes.tolist() == [99]


def test_a4_one_card_jobs_fill_one_rack_on_fewest_nodes() -> None:
    racks = "\n".join(f"r{r} {'4 ' * 18}" for r in range(3))
    want = same("\n".join(["r0 4 4 4" + " ." * 15, "r1" + " ." * 18, "r2" + " ." * 18]))
    assert one_by_one(racks, "rack", 12) == want
    assert placed(racks, "rack", 12) == want


def test_a4_what_is_broken_is_broken_further() -> None:
    tree = """
        p0/r0   8 8
        p0/r1   8 8
        p1/r2   8 8
        p1/r3   . 8
    """
    assert one_by_one(tree, "pod rack", 9) == same("""
        p0/r0   . .
        p0/r1   . .
        p1/r2   1 .
        p1/r3   . 8
    """)


def test_a5_two_cards_take_the_two_small_nodes() -> None:
    assert one_by_one("/ 2 1 1", "", 2) == same("/ . 1 1")


@pytest.mark.parametrize("rule", [ANYWHERE, Rule(prefer=0), Rule(require=0)])
def test_a11_one_leaf_that_holds_all_is_enough(rule: Rule) -> None:
    tree = """
        l0   1 1 1 1
        l1   1 1 1 1
    """
    assert placed(tree, "leaf", 4, rule) == same("""
        l0   1 1 1 1
        l1   . . . .
    """)


def test_a12_a_level_by_name_is_the_level_by_number() -> None:
    topology, room = tree_of("p/r0 1\np/r1 1", "pod rack")
    assert (topology.level("rack"), topology.level("node"), topology.level("")) == (1, 2, -1)
    assert place(topology, room, 2, Rule(require=topology.level("rack"))) is None
    assert place(topology, room, 2, Rule(require=topology.level("pod"))) is not None


def test_a14_segments_hold_however_often_the_topology_is_sent() -> None:
    blocks = "\n".join(f"b{b} {'1 ' * 18}" for b in range(3))
    answers = []
    for _ in range(2):
        topology, room = tree_of(blocks, "block")
        chosen = place(topology, room, 36, Rule(slices=((0, 12),)))
        assert chosen
        assert per_domain(topology, chosen, 0) == [12, 12, 12]
        answers.append(picture_of(blocks, chosen))
    assert answers[0] == answers[1]


# ---- from other schedulers' own suites ----


def test_case_5_a_job_that_must_lie_in_one_block_waits_for_one() -> None:
    topology, room = tree_of("b1 1 1 1 1\nb2 1 1 1 1", "block")
    one_block = Rule(require=0)
    for want in (2, 3):
        chosen = place(topology, room, want, one_block)
        assert chosen
        room[chosen.nodes] -= chosen.members
    assert place(topology, room, 3, one_block) is None
    assert place(topology, room, 3) is not None


def test_case_5_others_lie_over_the_blocks() -> None:
    topology, room = tree_of("b1 1 1 1 1\nb2 1 1 1 1", "block")
    for want in (3, 5):
        chosen = place(topology, room, want)
        assert chosen
        room[chosen.nodes] -= chosen.members
    assert not room.any()


def test_case_5_a_segment_divides_the_job() -> None:
    blocks = "b1 1 1 1 .\nb2 1 1 1 ."
    pairs = Rule(slices=((0, 2),))
    assert placed(blocks, "block", 4, pairs) == same("b1 1 1 . .\nb2 1 1 . .")
    assert placed(blocks, "block", 5, pairs) == ""


def test_case_6_fewest_racks_come_before_fewest_nodes() -> None:
    tree = """
        b1/r1   2
        b1/r2   2
        b1/r3   1 1 1 1
    """
    assert placed(tree, "block rack", 4, Rule(require=0)) == same("""
        b1/r1   .
        b1/r2   .
        b1/r3   1 1 1 1
    """)


def test_case_7_one_node_that_holds_all_is_taken() -> None:
    assert placed("/ 2 1 1", "", 2) == same("/ 2 . .")


def test_case_9_domains_are_filled_evenly() -> None:
    topology, room = tree_of("r1 5 5 5\nr2 5 5 5", "rack")
    chosen = place(topology, room, 25, Rule(balanced=True))
    assert chosen
    assert per_domain(topology, chosen, 0) == [13, 12]
    assert place(topology, room, 25) is not None


def test_case_9_fewest_nodes_come_before_even_ones() -> None:
    assert placed("/ 15 13 10", "", 23, Rule(balanced=True)) == same("/ 12 11 .")


IMPOSSIBLE = [
    pytest.param("r1 3 3 0", 6, ((0, 6), (1, 2)), id="no-rack"),
    pytest.param("r1 7 4\nr2 7 3", 16, ((0, 8), (1, 4)), id="one-rack"),
    pytest.param("r1 4\nr2 4\nr3 4", 12, ((0, 6), (1, 2)), id="hosts-only"),
]


@pytest.mark.parametrize(("picture", "want", "slices"), IMPOSSIBLE)
def test_case_12_impossible_slices_are_refused(
    picture: str, want: int, slices: tuple[tuple[int, int], ...]
) -> None:
    assert placed(picture, "rack", want, Rule(slices=slices)) == ""


SWITCHES = """
    s4/s0   {} {}
    s4/s1   {} {}
    s5/s2   {} {}
    s5/s3   {} {}
"""


def test_case_15_a_gang_stays_under_its_switch() -> None:
    some = SWITCHES.format(*"........")
    assert placed(some, "tier2 tier1", 2, Rule(require=1)) == ""
    split = SWITCHES.format(*".1.1.1.1")
    assert placed(split, "tier2 tier1", 2, Rule(require=1)) == ""
    topology, room = tree_of(split, "tier2 tier1")
    chosen = place(topology, room, 2, Rule(require=0))
    assert chosen
    assert per_domain(topology, chosen, 0) == [2]
    topology, room = tree_of(SWITCHES.format(*"11..1.11"), "tier2 tier1")
    chosen = place(topology, room, 2, Rule(require=1))
    assert chosen
    assert per_domain(topology, chosen, 1) == [2]


def test_case_15_all_parts_and_all_members_or_none() -> None:
    pairs = Rule(slices=((1, 2),))
    assert placed(SWITCHES.format(*"1111...1"), "tier2 tier1", 6, pairs) == ""
    assert placed(SWITCHES.format(*"1.1.1.1."), "tier2 tier1", 4, pairs) == ""
    assert placed(SWITCHES.format(*"1111..11"), "tier2 tier1", 6, pairs) == same(SWITCHES.format(*"1111..11"))


# ---- more rules ----


def test_a_preferred_level_is_left_only_if_it_must_be() -> None:
    tree = "p/r0 2 1\np/r1 2 2"
    assert placed(tree, "pod rack", 4, Rule(prefer=1)) == same("p/r0 . .\np/r1 2 2")
    assert placed(tree, "pod rack", 6, Rule(prefer=1)) == same("p/r0 2 .\np/r1 2 2")
    assert placed(tree, "pod rack", 6, Rule(require=1)) == ""


def test_no_more_than_so_many_lie_in_a_domain_that_spreads() -> None:
    spread = Rule(spread=((0, 2),))
    tree = "r0 4 4\nr1 4\nr2 4"
    assert placed(tree, "rack", 5, spread) == same("r0 2 .\nr1 2\nr2 1")
    assert placed(tree, "rack", 7, spread) == ""


def test_the_last_rack_is_the_tightest_that_holds_the_rest() -> None:
    tree = "r0 8 8\nr1 8 3\nr2 4 .\nr3 8 8"
    assert placed(tree, "rack", 19, ANYWHERE) == same("r0 8 8\nr1 . .\nr2 3 .\nr3 . .")


def test_nodes_come_in_the_order_of_the_tree() -> None:
    topology = Topology(("rack",))
    for rack in ("a", "b", "a", "b", "a"):
        topology.join((rack,))
    chosen = place(topology, np.ones(5, np.int64), 5)
    assert chosen
    assert chosen.nodes.tolist() == [0, 2, 4, 1, 3]


def test_a_node_that_joins_is_placed_on_at_once() -> None:
    topology, room = tree_of("r0 1", "rack")
    assert place(topology, room, 2) is None
    topology.join(("r0",))
    assert place(topology, np.append(room, 1), 2, Rule(require=0)) is not None


def test_a_real_and_irregular_fabric() -> None:
    table = TRACES / "alibaba-lingjun-2023" / "topo.csv"
    if not table.exists():
        pytest.skip(f"the trace {table.parent.name} is not here")
    topology = Topology(("dsw", "psw", "asw"))
    with table.open() as rows:
        for row in csv.DictReader(rows):
            topology.join((row["DSW"], row["PSW"], row["ASW"]))
    assert (topology.nodes, [topology.count(level) for level in range(3)]) == (847, [1, 3, 119])
    room = np.full(topology.nodes, 8, np.int64)
    for want, level in ((8, 3), (64, 2), (72, 1), (362 * 8, 1), (362 * 8 + 1, 0), (847 * 8, 0)):
        chosen = place(topology, room, want)
        assert chosen
        assert chosen.members.sum() == want
        assert place(topology, room, want, Rule(require=level)) is not None
        if level < 3:
            assert place(topology, room, want, Rule(require=level + 1)) is None
    assert place(topology, room, 847 * 8 + 1) is None
