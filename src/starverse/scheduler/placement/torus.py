"""A place on a torus of domains: in the box whose all-reduce holds least of the fabric."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from starverse.physics.fabric.closed import allreduce_in_box_ns
from starverse.scheduler.placement import ANYWHERE, Chosen, Ints, Rule, kernels, tree
from starverse.scheduler.topology import Topology

Flags = NDArray[np.bool_]


def place(topology: Topology, room: Ints, want: int, rule: Rule = ANYWHERE) -> Chosen | None:
    """The nodes for `want` members, None when they do not fit by the rule.

    What one domain of the torus holds goes where the tree says. Else a box of domains, which may reach around
    the ends: of those with room for all the cheapest, among equals the one with least room, then the first.
    In it the tree says which nodes. Where a level outside the torus must or should hold all, so inside it.

    A box costs the time of an all-reduce over it, times its domains: so much of the fabric it holds. That is
    least for the fewest domains; among as many, for the box with the fewest hops: compact, or all around.
    """
    level = topology.torus_level
    inner = tree.place(topology, room, want, rule._replace(require=max(rule.require, level)))
    if inner or rule.require >= level:
        return inner
    for within in range(max(rule.require, min(rule.prefer, level - 1)), rule.require - 1, -1):
        chosen = _place_within(topology, room, want, rule, within)
        if chosen:
            return chosen
    return None


def _place_within(topology: Topology, room: Ints, want: int, rule: Rule, level: int) -> Chosen | None:
    """The nodes in the best box inside one domain of a level, -1 being the whole cluster."""
    best: tuple[int, int] | None = None
    chosen = None
    for domain in range(topology.count(level)):
        inside = room if level < 0 else np.where(topology.domain[level, : topology.nodes] == domain, room, 0)
        if not tree.place(topology, inside, want, rule):
            continue
        for box, price in _boxes_that_hold(topology, inside, want, rule):
            if best is not None and price >= best:
                break
            nodes = tree.place(topology, np.where(box, inside, 0), want, rule)
            if nodes:
                best, chosen = price, nodes
                break
    return chosen


def _boxes_that_hold(
    topology: Topology, room: Ints, want: int, rule: Rule
) -> Iterator[tuple[Flags, tuple[int, int]]]:
    """The nodes in each box that has room for all, and what the box costs and holds; the best box first.

    Of boxes of the same size, only the one with least room.
    """
    level, row = topology.torus_level, topology.tree
    numbers = row.numbers[row.starts[level + 1] : row.starts[level + 2]]
    sizes, costs, dims = _sizes(topology.torus)
    grid = np.zeros(dims, np.int64)
    np.add.at(grid.reshape(-1), topology.cells[numbers], tree.rooms(topology, room, level, rule))
    cell = topology.cells[topology.domain[level, : topology.nodes]]
    start = 0
    while True:
        size, corner, held = kernels.box(grid, sizes, costs, want, start)
        if size < 0:
            return
        inside = np.zeros(dims, np.bool_)
        axes = [(at + np.arange(d)) % whole for at, d, whole in zip(corner, sizes[size], dims, strict=True)]
        inside[np.ix_(*axes)] = True
        yield inside.reshape(-1)[cell], (int(costs[size]), held)
        start = size + 1


@lru_cache(maxsize=8)
def _sizes(torus: tuple[int, ...]) -> tuple[Ints, Ints, tuple[int, ...]]:
    """All sizes of boxes, from the cheapest to the dearest; what they cost; the torus, with three axes."""
    assert len(torus) <= 3, "a torus has three axes at most"
    dims = torus + (1,) * (3 - len(torus))
    sizes = product(*(range(1, d + 1) for d in dims))
    priced = sorted((prod(size) * allreduce_in_box_ns(size, dims), size) for size in sizes)
    return np.array([size for _, size in priced]), np.array([cost for cost, _ in priced]), dims
