"""Members go where least becomes unusable, never over what is free, whatever was worked out before."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from starverse.model.job import Shape
from starverse.scheduler.placement.mix import (
    KINDS_MOST,
    NOTHING_KNOWN,
    Asked,
    Mix,
    Request,
    mix_of,
    request_of,
)
from starverse.scheduler.placement.packing import CLASSES_MOST, Choice, Packer, Room

CPU, MEMORY = 96_000, 100_000
ONE, FOUR, ALL = Request(1, 1000), Request(4, 1000), Request(8, 1000)


def room_of(cards: str, cpu: str = "", memory: str = "") -> Room:
    """Nodes one a line, free milli-cards of each card; free CPU and memory node by node."""
    rows = [[int(card) for card in line.split()] for line in cards.split("|")]
    card_free = np.zeros((len(rows), max(map(len, rows))), np.int64)
    for node, row in enumerate(rows):
        card_free[node, : len(row)] = row
    return Room(
        card_free,
        np.array([int(x) for x in cpu.split()] or [CPU] * len(rows), np.int64),
        np.array([int(x) for x in memory.split()] or [MEMORY] * len(rows), np.int64),
        np.arange(len(rows)),
    )


def take(room: Room, request: Request, choice: Choice) -> None:
    """Give the member its share of the cards, the CPU and the memory."""
    room.card_free[choice.node, list(choice.cards)] -= request.share
    room.cpu_free[choice.node] -= request.milli_cpu
    room.memory_free[choice.node] -= request.memory_mb


def fill(room: Room, mix: Mix, requests: list[Request]) -> list[Choice | None]:
    """Place them one by one with one packer."""
    packer = Packer(room, mix)
    choices = []
    for request in requests:
        choice = packer.choose(request)
        choices.append(choice)
        if choice:
            take(room, request, choice)
            packer.changed(choice.node)
    return choices


# ---- named cases ----

CASES = {
    # shares: what is asked, the nodes, the mix, where it goes
    "a share goes to the card it fits tightest": ("300", "1000 1000 | 400 1000 | 300 1000", {}, (2, (0,))),
    "a share opens no new card while one has room": ("500", "1000 500", {}, (0, (1,))),
    "0.1 and 0.2 of a card leave room for 0.7, exactly": ("700", "700 0", {}, (0, (0,))),
    "0.1 and 0.2 are no more than 0.3": ("300", "299 | 300", {}, (1, (0,))),
    "one milli-card too few is too few": ("701", "700 700", {}, None),
    "a whole card is no sum of shares": ("1000", "500 500 | 999 1", {}, None),
    "a gang of cards keeps whole nodes whole": (
        "2000",
        "1000 1000 1000 1000 | 1000 1000 0 0",
        {},
        (1, (0, 1)),
    ),
    "cards in use are left out": ("2000", "0 1000 300 1000", {}, (0, (1, 3))),
    "a share leaves a whole card for who wants one": ("500", "1000 700", {ONE: 1}, (0, (1,))),
    "a card leaves four for who wants four": (
        "1000",
        "1000 1000 1000 1000 | 1000 1000 1000 0",
        {FOUR: 1},
        (1, (0,)),
    ),
    "nothing is to be had where nothing is free": ("1000", "0 0 | 0 0", {ONE: 1}, None),
}


@pytest.mark.parametrize("case", CASES)
def test_a_member_goes(case: str) -> None:
    member, cards, mix, expected = CASES[case]
    assert Packer(room_of(cards), mix_of(mix)).choose(request_of(Shape(int(member)))) == expected


def test_a_node_short_of_cpu_or_memory_takes_nobody() -> None:
    room = room_of("1000 | 1000 | 1000", cpu="3999 8000 4000", memory="64 63 64")
    assert Packer(room, NOTHING_KNOWN).choose(Request(1, 1000, 4000, 64)) == (2, (0,))


def test_who_needs_no_cards_goes_where_cpu_is_of_least_use_to_cards() -> None:
    one = Request(1, 1000, 12_000)
    room = room_of("1000 1000 | 1000 1000", cpu="24000 96000")
    assert Packer(room, mix_of({one: 1})).choose(Request(0, 0, 24_000)) == (1, ())


def test_cpu_is_saved_before_it_has_run_out() -> None:
    one = Request(1, 1000, 12_000)
    room = room_of("1000 1000 1000 1000 | 1000 1000 1000 1000", cpu="48000 96000")
    assert Packer(room, mix_of({one: 1})).choose(Request(0, 0, 12_000)) == (1, ())


def test_only_allowed_nodes_are_chosen() -> None:
    packer = Packer(room_of("500 | 1000 | 700"), NOTHING_KNOWN)
    assert packer.choose(Request(1, 500), np.array([False, True, True])) == (2, (0,))
    assert packer.choose(Request(1, 500), np.zeros(3, np.bool_)) is None
    assert packer.choose(Request(1, 500)) == (0, (0,))


def test_equals_fill_the_nodes_in_the_order_of_the_tree() -> None:
    room = room_of("1000 1000 | 1000 1000 | 1000 1000")._replace(order=np.array([2, 0, 1]))
    nodes = [choice.node for choice in fill(room, NOTHING_KNOWN, [ONE] * 6) if choice]
    assert nodes == [1, 1, 2, 2, 0, 0]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 8), min_size=1, max_size=12), st.integers(1, 8))
def test_whole_cards_alone_go_to_the_tightest_node_the_first_of_those_alike(
    free: list[int], want: int
) -> None:
    room = room_of(" | ".join("1000 " * count + "0 " * (8 - count) for count in free))
    choice = Packer(room, NOTHING_KNOWN).choose(Request(want, 1000))
    fits = [(count, node) for node, count in enumerate(free) if count >= want]
    assert (choice and choice.node) == (min(fits)[1] if fits else None)


# ---- what always holds ----

FRACTIONS = st.builds(
    Request, st.just(1), st.integers(1, 1000), st.sampled_from([0, 1000, 4000]), st.sampled_from([0, 64])
)
WHOLES = st.builds(
    Request,
    st.sampled_from([1, 2, 4]),
    st.just(1000),
    st.sampled_from([0, 8000, 24_000]),
    st.sampled_from([0, 512]),
)
BARE = st.builds(Request, st.just(0), st.just(0), st.integers(1, 30_000), st.just(128))
REQUESTS = st.lists(st.one_of(FRACTIONS, WHOLES, BARE), max_size=30)
MIXES = st.dictionaries(st.one_of(FRACTIONS, WHOLES, BARE), st.integers(1, 50), max_size=8).map(mix_of)
CLUSTERS = st.lists(
    st.tuples(
        st.integers(1, 4), st.sampled_from([2000, 16_000, 64_000]), st.sampled_from([128, 1024, 100_000])
    ),
    min_size=1,
    max_size=6,
)


def built(nodes: list[tuple[int, int, int]]) -> Room:
    rows = " | ".join("1000 " * cards for cards, _, _ in nodes)
    cpu, memory = (" ".join(str(node[at]) for node in nodes) for at in (1, 2))
    return room_of(rows, cpu, memory)


@settings(deadline=None, max_examples=60)
@given(CLUSTERS, REQUESTS, MIXES)
def test_nothing_is_given_twice_and_nothing_fits_that_was_refused(
    nodes: list[tuple[int, int, int]], requests: list[Request], mix: Mix
) -> None:
    room = built(nodes)
    packer = Packer(room, mix)
    for request in requests:
        choice = packer.choose(request)
        fits = (
            ((room.card_free >= request.share).sum(axis=1) >= request.cards)
            & (room.cpu_free >= request.milli_cpu)
            & (room.memory_free >= request.memory_mb)
        )
        assert (choice is not None) == fits.any()
        if choice:
            assert fits[choice.node]
            assert len(set(choice.cards)) == len(choice.cards) == request.cards
            take(room, request, choice)
            packer.changed(choice.node)
        assert min(part.min() for part in room[:3]) >= 0


@settings(deadline=None, max_examples=60)
@given(CLUSTERS, REQUESTS, MIXES, st.data())
def test_what_was_worked_out_before_never_changes_a_choice(
    nodes: list[tuple[int, int, int]], requests: list[Request], mix: Mix, data: st.DataObject
) -> None:
    room = built(nodes)
    packer = Packer(room, mix)
    held: list[tuple[Request, Choice]] = []
    for request in requests:
        if held and data.draw(st.booleans()):
            other, where = held.pop(data.draw(st.integers(0, len(held) - 1)))
            take(room, other._replace(**{name: -getattr(other, name) for name in other._fields[1:]}), where)
            packer.changed(where.node)
        allowed = np.array([data.draw(st.booleans()) for _ in nodes]) if data.draw(st.booleans()) else None
        choice = packer.choose(request, allowed)
        assert choice == Packer(room, mix).choose(request, allowed)
        if choice:
            take(room, request, choice)
            packer.changed(choice.node)
            held.append((request, choice))


@settings(deadline=None, max_examples=30)
@given(CLUSTERS, REQUESTS, MIXES)
def test_equal_rooms_are_filled_alike(
    nodes: list[tuple[int, int, int]], requests: list[Request], mix: Mix
) -> None:
    assert fill(built(nodes), mix, requests) == fill(built(nodes), mix, requests)


# ---- what is remembered is bounded; what is expected is learned ----


def test_scores_are_kept_for_so_many_classes_only() -> None:
    packer = Packer(room_of("1000 1000"), NOTHING_KNOWN)
    for cpu in range(CLASSES_MOST + 5):
        assert packer.choose(Request(1, 500, cpu)) == (0, (0,))
    assert len(packer._scores) <= CLASSES_MOST


def test_another_mix_is_another_choice_at_once() -> None:
    room = room_of("1000 1000 1000 1000 | 1000 1000 1000 0")
    packer = Packer(room, mix_of({FOUR: 1}))
    assert packer.choose(ONE) == (1, (0,))
    packer.expect(mix_of({Request(3, 1000): 1}))
    assert packer.choose(ONE) == (0, (0,))


def test_a_mix_counts_the_most_frequent_only() -> None:
    mix = mix_of({Request(1, 1000, cpu): cpu for cpu in range(1, KINDS_MOST + 11)})
    assert mix.weight.size == KINDS_MOST
    assert mix.weight.min() == 11
    assert mix.total == mix.weight.sum()


def test_what_was_asked_is_expected_again_and_drawn_anew_seldom() -> None:
    asked = Asked([(ONE, 4)])
    assert asked.mix.total == 4
    mixes = set()
    for _ in range(996):
        asked.add(FOUR)
        mixes.add(id(asked.mix))
    assert len(mixes) < 30
    assert asked.mix.total > 4 / 5 * 1000
    assert asked.mix.asks[:, 0].tolist() == [1, 4]


def test_a_member_is_whole_cards_or_a_part_of_one() -> None:
    assert request_of(Shape(250, 500, 64)) == Request(1, 250, 500, 64)
    assert request_of(Shape(8000)) == ALL
    assert request_of(Shape(0, 1000)) == Request(0, 0, 1000)
    with pytest.raises(ValueError, match="1500 milli-cards"):
        request_of(Shape(1500))
