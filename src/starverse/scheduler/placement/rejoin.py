"""A place for members that come back to a gang of which the rest stays where it lies."""

import numpy as np

from starverse.scheduler.placement import Chosen, Ints, Rule
from starverse.scheduler.placement.tree import place, place_within, terms
from starverse.scheduler.topology import Topology


def rejoin(topology: Topology, room: Ints, want: int, rule: Rule, kept: Chosen) -> Chosen | None:
    """The nodes for `want` members more, None when they do not fit by the rule together with those `kept`.

    Where the gang lies already comes first: on its nodes, else in its racks, and so outwards, so that the
    lowest domain that holds the whole gang stays the same if it can. A slice that lost members is made whole
    in its own domain. Nodes and members as from `tree.place`.
    """
    if not kept.nodes.size:
        return place(topology, room, want, rule)
    lies = _Gang(topology, room, kept, rule)
    for level, members in reversed(rule.slices):
        for domain in lies.broken(level, members):
            if not lies.mend(level, domain, members):
                return None
    missing = want - lies.added
    if missing < 0 or (missing and not lies.grow(missing, rule, -1, 0)):
        return None
    nodes = np.flatnonzero(lies.given)
    nodes = nodes[np.argsort(topology.tree.leaf[nodes])]
    return Chosen(nodes, lies.given[nodes])


class _Gang:
    """The gang as it is being mended, mutable: where it lies, what it was given, and what room remains."""

    def __init__(self, topology: Topology, room: Ints, kept: Chosen, rule: Rule) -> None:
        self.topology = topology
        self.rule = rule
        self.room = room.copy()
        self.held = np.zeros(topology.nodes, np.int64)
        np.add.at(self.held, kept.nodes, kept.members)
        self.given = np.zeros(topology.nodes, np.int64)
        self.added = 0

    def broken(self, level: int, members: int) -> list[int]:
        """The domains of a level that hold no whole multiple of so many members."""
        held = np.bincount(self._domains(level), self.held, self.topology.count(level)).astype(np.int64)
        return [int(domain) for domain in np.flatnonzero(held % members)]

    def mend(self, level: int, domain: int, members: int) -> bool:
        """Fill up the last slice in a domain; whether that could be done."""
        held = int(self.held[self._domains(level) == domain].sum())
        inner = tuple(slice_ for slice_ in self.rule.slices if slice_[0] > level)
        return self.grow(-held % members, self.rule._replace(slices=inner), level, domain)

    def grow(self, want: int, rule: Rule, level: int, domain: int) -> bool:
        """Add members inside a domain, as near to the gang as can be; whether that could be done."""
        inside = np.where(self._domains(level) == domain, self.room, 0)
        left = self._left()
        anywhere = rule._replace(require=-1)
        for near in range(len(self.topology.levels), max(level, rule.require) - 1, -1):
            domains = self._domains(near)
            used = np.zeros(self.topology.count(near), np.bool_)
            used[domains[self.held > 0]] = True
            chosen = place_within(self.topology, np.where(used[domains], inside, 0), want, anywhere, left)
            if chosen:
                for whose, more in ((self.held, 1), (self.given, 1), (self.room, -1)):
                    whose[chosen.nodes] += more * chosen.members
                self.added += want
                return True
        return False

    def _domains(self, level: int) -> Ints:
        """The domain of each node at a level."""
        if level < 0:
            return np.zeros(self.topology.nodes, np.int64)
        if level == len(self.topology.levels):
            return np.arange(self.topology.nodes)
        return self.topology.domain[level, : self.topology.nodes]

    def _left(self) -> Ints:
        """How much each domain of the row may still take, by what it and those around it hold."""
        tree = self.topology.tree
        _, limit = terms(len(self.topology.levels), self.rule)
        left = np.empty(tree.starts[-1], np.int64)
        level_of = np.repeat(np.arange(tree.starts.size - 1), np.diff(tree.starts))
        left[:] = limit[level_of]
        at = tree.leaf
        while at[0] >= 0:
            np.subtract.at(left, at, self.held)
            at = tree.above[at]
        for start, end in zip(tree.starts[1:-1], tree.starts[2:], strict=True):
            left[start:end] = np.minimum(left[start:end], left[tree.above[start:end]])
        return np.maximum(left, 0)
