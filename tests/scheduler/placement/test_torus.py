"""Where gangs go on a torus: the cheapest box that holds them, tried against every box."""

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from starverse.physics.fabric.closed import allreduce_in_box_ns
from starverse.scheduler.placement import ANYWHERE, Ints, Rule
from starverse.scheduler.placement.torus import place
from starverse.scheduler.topology import Topology

Cell = tuple[int, ...]


def torus_of(*dims: int, nodes: int = 1) -> Topology:
    """Racks of so many nodes; a pod is a plane of racks across the first axis."""
    topology = Topology(("pod", "rack"), "rack", dims)
    for cell in product(*map(range, dims)):
        for _ in range(nodes):
            topology.join((f"pod-{cell[0]}", f"rack-{cell}"), cell)
    return topology


def cells_of(topology: Topology, room: Ints, want: int, rule: Rule = ANYWHERE) -> set[Cell]:
    """The cells a gang is given."""
    chosen = place(topology, room, want, rule)
    assert chosen
    assert chosen.members.sum() == want
    assert (chosen.members <= room[chosen.nodes]).all()
    return {topology.position[topology.domain[1, node]] for node in chosen.nodes}


def boxes(dims: Cell) -> list[tuple[int, set[Cell]]]:
    """Every box of a torus with its price."""
    every = []
    for size in product(*(range(1, d + 1) for d in dims)):
        price = prod(size) * allreduce_in_box_ns(size, dims)
        for corner in product(*map(range, dims)):
            axes = [[(at + i) % d for i in range(n)] for at, n, d in zip(corner, size, dims, strict=True)]
            every.append((price, set(product(*axes))))
    return every


@given(st.sampled_from([(3, 2, 2), (4, 3), (5,), (2, 3, 2)]), st.data())
@settings(max_examples=60, deadline=None)
def test_a_gang_lies_in_the_cheapest_box_that_holds_it(dims: Cell, data: st.DataObject) -> None:
    topology = torus_of(*dims)
    room = np.array(data.draw(st.lists(st.integers(0, 3), min_size=prod(dims), max_size=prod(dims))))
    want = data.draw(st.integers(1, max(1, int(room.sum()))))
    if room.sum() < want:
        assert place(topology, room, want) is None
        return
    cells = cells_of(topology, room, want)
    of_cell = dict(zip(topology.position, room.tolist(), strict=True))
    holding = [
        (price, held, box)
        for price, box in boxes(dims)
        if (held := sum(of_cell[cell] for cell in box)) >= want
    ]
    best = min((price, held) for price, held, _ in holding)
    assert any(cells <= box for price, held, box in holding if (price, held) == best)


def test_a_box_reaches_around_the_ends() -> None:
    topology = torus_of(6)
    assert cells_of(topology, np.array([1, 0, 0, 0, 0, 1]), 2) == {(5,), (0,)}
    assert cells_of(topology, np.array([1, 1, 0, 0, 1, 1]), 4) == {(4,), (5,), (0,), (1,)}


def test_a_line_that_goes_all_around_is_taken_before_one_that_does_not() -> None:
    topology = torus_of(6, 3)
    assert cells_of(topology, np.ones(18, np.int64), 3) == {(0, 0), (0, 1), (0, 2)}


def test_what_one_rack_holds_goes_into_the_tightest() -> None:
    topology = torus_of(4, nodes=2)
    assert cells_of(topology, np.array([2, 2, 2, 2, 1, 2, 2, 2]), 3) == {(2,)}


def test_of_equal_boxes_the_one_with_least_room_is_taken() -> None:
    topology = torus_of(8)
    assert cells_of(topology, np.array([3, 3, 3, 3, 2, 2, 3, 3]), 4) == {(4,), (5,)}


@pytest.mark.parametrize("rule", [Rule(require=0), Rule(prefer=0)])
def test_a_pod_that_must_or_should_hold_all_does(rule: Rule) -> None:
    topology = torus_of(3, 4)
    room = np.array([1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1])
    assert cells_of(topology, room, 3, rule) == {(2, 0), (2, 2), (2, 3)}


def test_a_pod_that_cannot_hold_all() -> None:
    topology = torus_of(3, 4)
    room = np.ones(12, np.int64)
    assert place(topology, room, 5, Rule(require=0)) is None
    assert len(cells_of(topology, room, 5, Rule(prefer=0))) == 5


def test_slices_hold_on_a_torus() -> None:
    topology = torus_of(4, nodes=3)
    room = np.array([1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 0, 0])
    assert cells_of(topology, room, 4, Rule(slices=((1, 2),))) == {(0,), (1,)}
    assert place(topology, room, 8, Rule(slices=((1, 2),))) is None


def test_slices_of_pods_hold_on_a_torus() -> None:
    topology = torus_of(3, 4)
    room = np.array([1, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0, 0])
    assert cells_of(topology, room, 4, Rule(slices=((0, 2),))) <= {(0, 0), (0, 1), (0, 2), (2, 0), (2, 1)}


@pytest.mark.parametrize(("want", "shape"), [(4, [1, 2, 2]), (5, [1, 1, 5]), (8, [2, 2, 2]), (12, [2, 2, 3])])
def test_a_gang_lies_in_a_compact_box(want: int, shape: list[int]) -> None:
    """Not in a part of a longer ring: a line that is not closed takes no longer, but for the hops back."""
    cells = cells_of(torus_of(10, 15, 5), np.ones(750, np.int64), want)
    assert sorted(len({cell[axis] for cell in cells}) for axis in range(3)) == shape
