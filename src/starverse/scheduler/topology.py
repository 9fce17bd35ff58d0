"""Where nodes lie: a tree of named levels, of any depth, whose domains at one level may form a torus."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Tree(NamedTuple):
    """All domains in one row: the cluster, then level by level, the nodes last; children lie side by side.

    Siblings lie in the order of their numbers, so what lies inside a domain is one stretch of each level.
    """

    starts: Ints
    """Where each level starts in the row, the cluster's first; one more entry at the end."""
    first: Ints
    """The first child of each domain: its children end where those of the next domain start."""
    above: Ints
    """The parent of each domain; -1 above the cluster."""
    nodes: Ints
    """The numbers of the nodes, in the order of the row."""
    leaf: Ints
    """Where each node, by number, lies in the row."""
    numbers: Ints
    """The number of each domain of the row at its level."""


class Topology:
    """The domains of each level, mutable: grows as nodes join, by number, in any order.

    `levels` are named outermost first, without the node, whose level is the last: `len(levels)`. Level -1 is
    the whole cluster, with the one domain 0. Domains of a level are numbered in the order they were first
    seen; two domains of the same name in different parents are two domains.
    """

    def __init__(self, levels: Sequence[str] = (), torus_level: str = "", torus: Sequence[int] = ()) -> None:
        self.levels = tuple(levels)
        self.torus_level = self.levels.index(torus_level) if torus_level else -1
        """The level whose domains form a torus; -1 without one."""
        self.torus = tuple(torus)
        """How many domains there are along each axis."""
        self.nodes = 0
        depth = len(self.levels)
        self.domain: Ints = np.zeros((depth, 64), np.int64)
        """The domain of each node at each level: shape (levels, capacity); columns beyond `nodes` are 0."""
        self.parent: list[list[int]] = [[] for _ in range(depth)]
        """The parent of each domain, by level: a domain of the level above (0 for the outermost)."""
        self.names: list[list[str]] = [[] for _ in range(depth)]
        self.position: list[tuple[int, ...]] = []
        """Where each domain of the torus level lies on it."""
        self._number: list[dict[tuple[int, str], int]] = [{} for _ in range(depth)]
        self._tree: Tree | None = None
        self._cells: Ints | None = None

    @property
    def tree(self) -> Tree:
        """The domains in one row, as placement reads them; made anew after a node has joined."""
        if self._tree is None:
            self._tree = _tree_of(self.domain[:, : self.nodes])
        return self._tree

    @property
    def cells(self) -> Ints:
        """Where each domain of the torus level lies, by number: its place in a flat array of the torus."""
        if self._cells is None:
            axes = np.array(self.position, np.int64).reshape(-1, len(self.torus)).T
            self._cells = np.asarray(np.ravel_multi_index(tuple(axes), self.torus), np.int64)
        return self._cells

    def level(self, name: str) -> int:
        """The number of a level, `len(levels)` for "node", -1 for "" (the whole cluster).

        Raises ValueError for a name that is no level.
        """
        if not name:
            return -1
        return len(self.levels) if name == "node" else self.levels.index(name)

    def count(self, level: int) -> int:
        """How many domains there are at a level."""
        if level < 0:
            return 1
        return self.nodes if level == len(self.levels) else len(self.names[level])

    def join(self, place: Sequence[str], at: Sequence[int] = ()) -> int:
        """Add the next node in the domains `place`, outermost first; returns its number.

        Missing domains at the end are taken to be the node's own: unnamed ones, by themselves.
        """
        number = self.nodes
        if number == self.domain.shape[1]:
            self.domain = np.concatenate([self.domain, np.zeros_like(self.domain)], axis=1)
        parent = 0
        for level in range(len(self.levels)):
            name = place[level] if level < len(place) else f"({number})"
            parent = self._domain(level, parent, name, at)
            self.domain[level, number] = parent
        self.nodes += 1
        self._tree = self._cells = None
        return number

    def _domain(self, level: int, parent: int, name: str, at: Sequence[int]) -> int:
        numbers = self._number[level]
        domain = numbers.get((parent, name))
        if domain is None:
            domain = numbers[parent, name] = len(numbers)
            self.parent[level].append(parent)
            self.names[level].append(name)
            if level == self.torus_level:
                self.position.append(tuple(at))
        return domain


def _tree_of(domain: Ints) -> Tree:
    depth, nodes = domain.shape
    order = np.lexsort((np.arange(nodes), *domain[::-1]))
    inner = [np.cumsum(np.diff(numbers, prepend=numbers[:1]) != 0) for numbers in domain[:, order]]
    ranks = [np.zeros(nodes, np.int64), *inner, np.arange(nodes)]
    firsts = [np.flatnonzero(np.diff(rank, prepend=-1)) for rank in ranks]
    starts = np.cumsum([0, *(len(leaves) for leaves in firsts)])
    below = [starts[level + 1] + ranks[level + 1][firsts[level]] for level in range(depth + 1)]
    over = [starts[level] + ranks[level][firsts[level + 1]] for level in range(depth + 1)]
    leaf = np.empty(nodes, np.int64)
    leaf[order] = starts[-2] + np.arange(nodes)
    ends = np.full(nodes + 1, starts[-1])
    numbers = np.concatenate(
        [[0], *(domain[level, order[firsts[level + 1]]] for level in range(depth)), order]
    )
    return Tree(starts, np.concatenate([*below, ends]), np.concatenate([[-1], *over]), order, leaf, numbers)
