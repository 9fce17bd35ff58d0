"""A network as arrays: links between vertices, and the links that each flow takes."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from starverse.model.errors import BadInput

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NO_LINKS = np.zeros(0, np.bool_)
"""No link failed."""


@dataclass(frozen=True, eq=False)
class Network:
    """Links that carry bytes one way each, from the vertex `tail` to the vertex `head`.

    The first `cards` vertices are the cards, the others switches. Arrays are over links: `bytes_per_s`, and
    `latency_ns`, what a byte waits on the wire and in the switch it arrives at.
    """

    cards: int
    vertices: int
    tail: Ints
    head: Ints
    bytes_per_s: Floats
    latency_ns: Floats
    vertex_name: Callable[[int], str]

    @property
    def links(self) -> int:
        """How many links there are, each way counted."""
        return self.tail.size

    def link_name(self, link: int) -> str:
        """A link as people know it: `leaf 3 → spine 1`."""
        return f"{self.vertex_name(int(self.tail[link]))} → {self.vertex_name(int(self.head[link]))}"

    def vertex(self, name: str) -> int:
        """The vertex of a name; raises BadInput when there is none."""
        for vertex in range(self.vertices):
            if self.vertex_name(vertex) == name:
                return vertex
        raise BadInput(
            f"There is no '{name}' in this network.",
            f"Vertices are named like '{self.vertex_name(0)}' and '{self.vertex_name(self.vertices - 1)}'.",
        )

    def links_at(self, *vertices: int) -> Flags:
        """The links into and out of these vertices: what fails with a switch; shape (links,)."""
        tail: Flags = np.isin(self.tail, vertices)
        head: Flags = np.isin(self.head, vertices)
        return tail | head

    def links_between(self, one: int, other: int) -> Flags:
        """The links of the cables between two vertices, both ways; shape (links,)."""
        there = (self.tail == one) & (self.head == other)
        back = (self.tail == other) & (self.head == one)
        if not there.any():
            ends = f"'{self.vertex_name(one)}' and '{self.vertex_name(other)}'"
            raise BadInput(f"No cable joins {ends}.", "Name two neighbours.")
        either: Flags = there | back
        return either


@dataclass(frozen=True, eq=False)
class Routes:
    """The links that each flow takes, in order of travel: those of flow f are `link[first[f]:first[f + 1]]`.

    `share` is the part of the flow on each link: 1 where a flow takes one path, less where it is split.
    A flow with no links either stays on its card or is cut off (`cut`, shape (flows,)).
    """

    first: Ints
    link: Ints
    share: Floats
    cut: Flags

    @property
    def flows(self) -> int:
        """How many flows there are."""
        return self.first.size - 1

    def only(self, keep: Flags) -> "Routes":
        """The routes of some of the flows; `keep` has shape (flows,)."""
        counts = np.diff(self.first)
        inside = np.repeat(keep, counts)
        first = np.concatenate(([0], np.cumsum(counts[keep])))
        return Routes(first, self.link[inside], self.share[inside], self.cut[keep])

    def load(self, amount: Floats, links: int) -> Floats:
        """What lies on each link when flow f puts `amount[f]` on its path; shape (links,)."""
        counts = np.diff(self.first)
        load = np.bincount(self.link, np.repeat(amount, counts) * self.share, minlength=links)
        return load.astype(np.float64)

    def latency_ns(self, network: Network) -> Floats:
        """The time of a byte on each flow's way, the mean over its paths; shape (flows,)."""
        lag = network.latency_ns[self.link] * self.share
        owner = np.repeat(np.arange(self.flows), np.diff(self.first))
        return np.bincount(owner, lag, minlength=self.flows).astype(np.float64)


def end_to_end(before: Routes, after: Routes) -> Routes:
    """Each flow over its links of the one, then of the other; cut when either is."""
    parts = joined([before, after])
    flows = before.flows
    counts = np.diff(parts.first)
    order = np.stack((np.arange(flows), flows + np.arange(flows)), 1).reshape(-1)
    first = np.concatenate(([0], np.cumsum(counts[order])))
    inside = np.arange(first[-1]) - np.repeat(first[:-1] - parts.first[order], counts[order])
    cut = before.cut | after.cut
    routes = Routes(first[::2], parts.link[inside], parts.share[inside], np.zeros(flows, np.bool_))
    if not cut.any():
        return routes
    kept = routes.only(~cut)
    sizes = np.zeros(flows, np.int64)
    sizes[~cut] = np.diff(kept.first)
    return Routes(np.concatenate(([0], np.cumsum(sizes))), kept.link, kept.share, cut)


def joined(parts: list[Routes]) -> Routes:
    """The flows of several routes, one after the other."""
    starts = np.cumsum([0] + [part.link.size for part in parts])
    first = [part.first[:-1] + start for part, start in zip(parts, starts[:-1], strict=True)]
    return Routes(
        np.concatenate([*first, starts[-1:]]),
        np.concatenate([part.link for part in parts]),
        np.concatenate([part.share for part in parts]),
        np.concatenate([part.cut for part in parts]),
    )
