"""When a gang could start if all that runs stays as long as it may."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starverse.model.allocation import Share
from starverse.model.job import JobSpec, Shape
from starverse.model.units import CARD
from starverse.scheduler import kernels as k
from starverse.scheduler.calendar import earliest
from starverse.scheduler.line import Request, request_of
from starverse.scheduler.space import Space

NEVER = int(k.NEVER)


def space_of(ends: list[list[int]]) -> Space:
    """Nodes by the moments at which their cards come free."""
    space = Space()
    for n, cards in enumerate(ends):
        space.join(f"n{n}", (1 << len(cards)) - 1, is_open=True)
        for card, ends_ms in enumerate(cards):
            if ends_ms:
                space.take(space.lot((Share.of(f"n{n}", [card]),)), ends_ms)
    return space


def wants(space: Space, cards: int, member: int = 1, length_ms: int = 10) -> Request:
    spec = JobSpec("j", "t", cards * CARD, cards * CARD, shape=Shape(member=member * CARD))
    return request_of(spec, length_ms, False, space)


CASES = [
    # sentence, when cards come free, cards, member, the earliest start
    ("what is free is free now", [[0, 0]], 2, 1, 5),
    ("as soon as enough are free", [[7, 30], [20]], 2, 1, 20),
    ("all when the last is free", [[7, 30], [20]], 3, 1, 30),
    ("never more than there are", [[7, 30], [20]], 4, 1, None),
    ("a member waits for its whole node", [[7, 30], [20, 21]], 2, 2, 21),
    ("members count node by node", [[7, 8, 9], [20, 21, 99]], 4, 2, 21),
]


@pytest.mark.parametrize(
    ("ends", "cards", "member", "at_ms"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_of_runs(ends: list[list[int]], cards: int, member: int, at_ms: int | None) -> None:
    space = space_of(ends)
    slot = earliest(space, wants(space, cards, member), 5, NEVER)
    assert (slot.at_ms if slot else None) == at_ms


def test_before_a_reservation_only_what_is_over_in_time() -> None:
    space = space_of([[0, 0]])
    space.claim(space.lot((Share.of("n0", [0, 1]),)), 50, 90, -1)
    assert earliest(space, wants(space, 2, length_ms=45), 5, NEVER).at_ms == 5  # type: ignore[union-attr]
    assert earliest(space, wants(space, 2, length_ms=46), 5, NEVER).at_ms == 90  # type: ignore[union-attr]


def test_claims_of_those_who_are_not_minded_are_no_hindrance() -> None:
    space = space_of([[0, 0]])
    space.claim(space.lot((Share.of("n0", [0, 1]),)), 50, 90, 7)
    assert earliest(space, wants(space, 2, length_ms=60), 5, NEVER).at_ms == 90  # type: ignore[union-attr]
    assert earliest(space, wants(space, 2, length_ms=60), 5, 7).at_ms == 5  # type: ignore[union-attr]


@given(
    st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=4), min_size=1, max_size=5),
    st.integers(1, 4), st.integers(1, 6),
)  # fmt: skip
def test_it_is_the_first_moment_at_which_so_many_members_are_free(
    ends: list[list[int]], member: int, count: int
) -> None:
    space = space_of(ends)
    slot = earliest(space, wants(space, member * count, member), 0, NEVER)
    by_hand = next(
        (t for t in range(41) if sum(sum(e <= t for e in node) // member for node in ends) >= count), None
    )
    assert (slot.at_ms if slot else None) == by_hand
    if slot:
        counts = np.bitwise_count(slot.lot.masks)
        assert int(counts.sum()) == member * count
        assert not (counts % member).any()


@given(
    st.lists(st.lists(st.integers(0, 40), min_size=2, max_size=2), min_size=1, max_size=6),
    st.sampled_from([(1, 1), (2, 1), (2, 2), (4, 2), (5, 1)]),
    st.integers(0, 100),
)
def test_where_the_last_one_started_changes_no_answer(
    ends: list[list[int]], asked: tuple[int, int], guess_ms: int
) -> None:
    """The guess may be far too early or too late: what is found is the same."""
    fresh, misled = space_of(ends), space_of(ends)
    request = wants(fresh, *asked)
    misled.starts_ms[request.member, request.least.bit_length()] = guess_ms
    slot, same = (earliest(space, request, 5, NEVER) for space in (fresh, misled))
    assert (slot is None) == (same is None)
    if slot and same:
        assert slot.at_ms == same.at_ms
        assert (slot.lot.nodes == same.lot.nodes).all()
        assert (slot.lot.masks == same.lot.masks).all()
