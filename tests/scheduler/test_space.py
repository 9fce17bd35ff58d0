"""The free cards: a place is found whole or not at all, tight, and on few nodes; against a simple model."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.scheduler.pictures import insides, picture_of, space_of

from starverse.model.allocation import Share, card_count
from starverse.scheduler.space import Space

CASES = [
    # what is free           cards  where
    ("one card", ".", 1, "1"),
    ("no card left", "xx", 1, None),
    ("the fullest node that holds it", "..... x.. ...", 2, "..... x11 ..."),
    ("an exact fit before a looser one", "... .. ....", 2, "... 11 ...."),
    ("the first of equal nodes", ".. .. ..", 1, "1. .. .."),
    ("the lowest cards", "x.x..", 2, "x1x1."),
    ("a whole node", "....", 4, "1111"),
    ("more than there is", "... ...", 7, None),
    ("all there is", "... ..", 5, "111 11"),
    ("as few nodes as can be", ". .. ....", 6, ". 11 1111"),
    ("the rest on the fullest node that holds it", ".... .... .. .", 5, "1111 .... .. 1"),
    ("the rest on a node as large", "... ...", 4, "111 1.."),
    ("the rest on a smaller one that is no exact fit", ".... ....  ...", 6, "1111 .... 11."),
    ("no broken card", "#.#.", 2, "#1#1"),
    ("not more than is whole", "##.", 2, None),
    ("no card of a closed node", "---- ..", 2, "---- 11"),
    ("nothing where all is closed", "---- ----", 1, None),
    ("nothing of nothing", "", 1, None),
]


@pytest.mark.parametrize(
    ("before", "count", "after"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_place_is(before: str, count: int, after: str | None) -> None:
    before = " ".join(before.split())
    space = space_of(before)
    shares = space.find(count)
    assert (picture_of(before, {"1": shares}) if shares else None) == after


class SpaceAgainstModel(RuleBasedStateMachine):
    """Space against sets of cards: `nodes` holds (healthy, used, is it open), `runs` what each run has."""

    @initialize()
    def begin(self) -> None:
        self.space = Space()
        self.nodes: dict[str, tuple[set[int], set[int], bool]] = {}
        self.runs: list[tuple[Share, ...]] = []

    def free_on(self, node: str) -> set[int]:
        healthy, used, is_open = self.nodes[node]
        return healthy - used if is_open else set()

    @rule(
        node=st.sampled_from("abcdef"), healthy=st.sets(st.integers(0, 7), max_size=8), is_open=st.booleans()
    )
    def join_break_or_close(self, node: str, healthy: set[int], is_open: bool) -> None:
        changes = self.space.changes
        self.space.join(node, sum(1 << card for card in healthy), is_open)
        self.nodes[node] = healthy, self.nodes[node][1] if node in self.nodes else set(), is_open
        assert self.space.changes > changes

    @rule(count=st.integers(1, 20))
    def find_and_take(self, count: int) -> None:
        before = insides(self.space)
        shares = self.space.find(count)
        assert insides(self.space) == before, "to look is not to touch"
        self.is_well_chosen(shares, count)
        for share in shares:
            self.space.take(share.node, share.mask)
            self.nodes[share.node][1].update(share.cards)
        if shares:
            self.runs.append(shares)

    def is_well_chosen(self, shares: tuple[Share, ...], count: int) -> None:
        free = {node: self.free_on(node) for node in self.nodes}
        if count > sum(map(len, free.values())):
            assert shares == ()
            return
        assert card_count(shares) == count
        assert len({share.node for share in shares}) == len(shares)
        for share in shares:
            cards = sorted(free[share.node])
            assert share.cards == tuple(cards[: share.count]), "the lowest free cards of a node"
        *whole, last = shares
        assert all(share.count == len(free[share.node]) for share in whole), (
            "nodes are filled up before the last"
        )
        rest = {
            node: len(cards) for node, cards in free.items() if node not in {share.node for share in whole}
        }
        tightest = min(size for size in rest.values() if size >= last.count)
        assert len(free[last.node]) == tightest, "the rest is on the fullest node that holds it"
        sizes = sorted(map(len, free.values()), reverse=True)
        fewest = next(n for n in range(1, len(sizes) + 1) if sum(sizes[:n]) >= count)
        assert len(shares) == fewest

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        changes = self.space.changes
        for share in self.runs.pop(data.draw(st.integers(0, len(self.runs) - 1))):
            self.space.give(share.node, share.mask)
            self.nodes[share.node][1].difference_update(share.cards)
        assert self.space.changes > changes

    @precondition(lambda self: self.space.free)
    @rule(data=st.data())
    def try_and_undo(self, data: st.DataObject) -> None:
        before = insides(self.space)
        shares = self.space.find(data.draw(st.integers(1, self.space.free)))
        for share in shares:
            self.space.take(share.node, share.mask)
        assert insides(self.space) != before
        for share in data.draw(st.permutations(shares)):
            self.space.undo(share.node, share.mask)
        assert insides(self.space) == before

    @invariant()
    def counts_agree(self) -> None:
        free = {node: self.free_on(node) for node in self.nodes}
        assert self.space.free == sum(map(len, free.values()))
        for node, (healthy, used, _) in self.nodes.items():
            assert self.space.used_on(node) == sum(1 << card for card in used)
            assert self.space.free_on(node) == sum(1 << card for card in healthy - used)


TestSpaceAgainstModel: Any = SpaceAgainstModel.TestCase


def test_two_runs_never_have_one_card() -> None:
    space = space_of("x.")
    with pytest.raises(AssertionError, match="two runs on one card of n0"):
        space.take("n0", 0b11)


def test_cards_that_nobody_had_cannot_be_given_back() -> None:
    space = space_of("x.")
    with pytest.raises(AssertionError, match="were not used"):
        space.give("n0", 0b10)


@given(st.permutations(range(6)), st.permutations(range(6)), st.integers(1, 12))
def test_the_order_in_which_cards_came_free_does_not_matter(
    one: list[int], other: list[int], count: int
) -> None:
    assume(one != other)
    spaces = []
    for order in (one, other):
        space = space_of("xx xx xx xx xx xx")
        for node in order:
            space.give(f"n{node}", 0b11)
        spaces.append(space)
    assert spaces[0].find(count) == spaces[1].find(count)
