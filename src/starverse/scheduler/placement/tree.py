"""A place in the tree of domains: as low as possible, in as few as possible, where least room is left."""

from functools import lru_cache
from math import lcm

import numpy as np

from starverse.scheduler.placement import ANYWHERE, Chosen, Ints, Rule, kernels
from starverse.scheduler.topology import Topology


def place(topology: Topology, room: Ints, want: int, rule: Rule = ANYWHERE) -> Chosen | None:
    """The nodes for `want` members, None when they do not fit by the rule.

    `room` holds how many members each node could take, by number. All go into the innermost domain that holds
    them (so into one of the preferred level where that can be), of several into the tightest, so that large
    blocks stay whole; among equals into the one whose parents have least room, then the first in the tree.
    In it, as few racks as possible come before as few nodes. The nodes are in the order of the tree, so that
    neighbours by rank are neighbours by wire.
    """
    return place_within(topology, room, want, rule, UNBOUND)


def place_within(topology: Topology, room: Ints, want: int, rule: Rule, left: Ints) -> Chosen | None:
    """The same, where each domain of the tree's row may take no more than is `left` to it."""
    assert want > 0, "a gang has a member"
    tree = topology.tree
    grain, limit = terms(len(topology.levels), rule)
    if want % grain[0]:
        return None
    nodes, members = kernels.place(*tree[:4], room, want, rule.require + 1, grain, limit, left, rule.balanced)
    return Chosen(nodes, members) if nodes.size else None


def rooms(topology: Topology, room: Ints, level: int, rule: Rule) -> Ints:
    """What each domain of a level could take by the rule, in the order of the tree."""
    tree = topology.tree
    grain, limit = terms(len(topology.levels), rule)
    row = kernels.rooms(tree.starts, tree.first, tree.nodes, room, grain, limit, UNBOUND)
    return row[tree.starts[level + 1] : tree.starts[level + 2]]


UNBOUND: Ints = np.empty(0, np.int64)
"""No limits but those of the levels."""


@lru_cache(maxsize=1024)
def terms(depth: int, rule: Rule) -> tuple[Ints, Ints]:
    """What a domain of each level, the cluster first and the node last, takes a multiple of, and at most."""
    grain = np.ones(depth + 2, np.int64)
    limit = np.full(depth + 2, kernels.UNLIMITED, np.int64)
    for level, members in rule.slices:
        grain[level + 1] = members
    for level, members in rule.spread:
        limit[level + 1] = members
    for level in range(depth, -1, -1):
        grain[level] = lcm(int(grain[level]), int(grain[level + 1]))
    return grain, np.minimum.accumulate(limit)
