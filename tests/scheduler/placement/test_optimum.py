"""How far placement is from the best there is, found by an exact solver."""

import numpy as np
import pytest
from ortools.sat.python import cp_model
from tests.scheduler.placement.clusters import by_node, crossed, held

from starverse.scheduler.placement import Ints, Rule
from starverse.scheduler.placement.tree import place
from starverse.scheduler.topology import Topology

Cost = tuple[int, int, int, int]
"""Levels crossed, pods, racks and nodes: the fewer the better, the first first."""


def cost_of(topology: Topology, members: list[int]) -> Cost:
    pods, racks, nodes = (len(held(topology, level, members)) for level in range(3))
    return 2 - crossed(topology, members), pods, racks, nodes


def best_cost(topology: Topology, room: Ints, want: int, rule: Rule) -> Cost | None:
    """The least cost of any placement, or none if there is no placement."""
    model = cp_model.CpModel()
    members = [model.new_int_var(0, int(most), "") for most in room]
    model.add(sum(members) == want)
    counts: list[cp_model.LinearExprT] = []
    apart: list[cp_model.IntVar] = []
    for level in range(3):
        used: list[cp_model.IntVar] = []
        for domain in range(topology.count(level)):
            inside = (
                [members[domain]]
                if level == 2
                else [
                    members[node]
                    for node in np.flatnonzero(topology.domain[level, : topology.nodes] == domain)
                ]
            )
            flag = model.new_bool_var("")
            used.append(flag)
            model.add(sum(inside) <= want * flag)
            model.add(sum(inside) >= flag)
            for _, size in (slice_ for slice_ in rule.slices if slice_[0] == level):
                model.add(sum(inside) == size * model.new_int_var(0, want, ""))
            for _, most in (limit for limit in rule.spread if limit[0] == level):
                model.add(sum(inside) <= most)
        several = model.new_bool_var("")
        model.add(sum(used) <= 1 + len(used) * several)
        apart.append(several)
        counts.append(sum(used))
    if rule.require >= 0:
        model.add(apart[rule.require] == 0)
    model.minimize(10**6 * sum(apart) + 10**4 * counts[0] + 10**2 * counts[1] + counts[2])
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return None
    assert status == cp_model.OPTIMAL
    return cost_of(topology, [solver.value(count) for count in members])


RULES = {
    "anywhere": Rule(),
    "one pod": Rule(require=0),
    "slices": Rule(slices=((1, 4), (2, 2))),
    "spread": Rule(spread=((1, 6),)),
}


@pytest.mark.parametrize("name", RULES)
def test_as_few_levels_are_crossed_as_can_be_and_hardly_more_nodes(name: str) -> None:
    chance = np.random.default_rng(7)
    over: list[tuple[int, ...]] = []
    for _ in range(40):
        topology = Topology(("pod", "rack"))
        for _ in range(12):
            topology.join((str(chance.integers(2)), str(chance.integers(3))))
        room = chance.integers(0, 9, topology.nodes)
        want = 4 * int(chance.integers(1, 10))
        chosen = place(topology, room, want, RULES[name])
        best = best_cost(topology, room, want, RULES[name])
        assert (chosen is None) == (best is None)
        if chosen and best:
            mine = cost_of(topology, by_node(topology, chosen))
            over.append(tuple(a - b for a, b in zip(mine, best, strict=True)))
    levels, pods, racks, nodes = np.mean(over, axis=0)
    assert len(over) >= 20
    assert (levels, pods) == (0, 0)
    assert racks <= 0.25, "on average: a tight pod may have its room in more racks"
    assert nodes <= 0.5, "on average: a tight rack may have its room on more nodes"
