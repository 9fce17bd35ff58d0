"""Small clusters drawn by chance, and what can be said of them by trying everything."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from starverse.scheduler.placement import Chosen, Ints, Rule
from starverse.scheduler.topology import Topology


class Case(NamedTuple):
    """A question to placement."""

    topology: Topology
    room: Ints
    want: int
    rule: Rule


@st.composite
def cases(draw: st.DrawFn, nodes_max: int = 8, room_max: int = 2, want_max: int = 8) -> Case:
    """Up to three pods of three racks, with nodes in any order; every rule."""
    topology = Topology(("pod", "rack"))
    places = st.tuples(st.sampled_from("PQR"), st.sampled_from("abc"))
    room = draw(st.lists(st.integers(0, room_max), min_size=1, max_size=nodes_max))
    for _ in room:
        topology.join(draw(places))
    levels = st.integers(-1, 2)
    spread = draw(st.dictionaries(st.integers(0, 2), st.integers(1, 5), max_size=2))
    rule = Rule(
        draw(levels), draw(levels), draw(slices()), tuple(sorted(spread.items())), draw(st.booleans())
    )
    return Case(topology, np.array(room, np.int64), draw(st.integers(1, want_max)), rule)


@st.composite
def slices(draw: st.DrawFn) -> tuple[tuple[int, int], ...]:
    """Up to two kinds of slice, the outer a multiple of the inner."""
    levels = sorted(draw(st.sets(st.integers(0, 2), max_size=2)), reverse=True)
    sizes: list[tuple[int, int]] = []
    members = 1
    for level in levels:
        members *= draw(st.integers(1, 3))
        sizes.append((level, members))
    return tuple(reversed(sizes))


def held(topology: Topology, level: int, members: Sequence[int]) -> Counter[int]:
    """What each domain of a level holds, without those that hold nothing."""
    counts: Counter[int] = Counter()
    for node, count in enumerate(members):
        domain = 0 if level < 0 else node if level == 2 else int(topology.domain[level, node])
        counts[domain] += count
    return +counts


def crossed(topology: Topology, members: Sequence[int]) -> int:
    """The innermost level that holds all."""
    return max(level for level in range(-1, 3) if len(held(topology, level, members)) == 1)


def obeys(topology: Topology, members: Sequence[int], rule: Rule) -> bool:
    """Whether a gang lies as the rule says."""
    return (
        len(held(topology, rule.require, members)) == 1
        and all(n % size == 0 for lv, size in rule.slices for n in held(topology, lv, members).values())
        and all(n <= most for lv, most in rule.spread for n in held(topology, lv, members).values())
    )


def all_placements(room: Ints, want: int) -> Iterator[tuple[int, ...]]:
    """Each way to lay so many members."""
    ways = product(*(range(min(int(most), want) + 1) for most in room))
    return (members for members in ways if sum(members) == want)


def by_node(topology: Topology, chosen: Chosen) -> list[int]:
    """The members of each node."""
    members = [0] * topology.nodes
    for node, count in zip(chosen.nodes.tolist(), chosen.members.tolist(), strict=True):
        assert count > 0
        members[node] += count
    return members
