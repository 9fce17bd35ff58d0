"""Where gangs go in a tree of domains, row by row of what users of other schedulers met."""

from tests.scheduler.placement.pictures import picture_of, same, tree_of

from starverse.scheduler.placement import Rule
from starverse.scheduler.placement.tree import place


def placed(picture: str, levels: str, want: int, rule: Rule = Rule()) -> str:
    topology, room = tree_of(picture, levels)
    return picture_of(picture, place(topology, room, want, rule))


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
