"""What every network can say of itself, and the node's own domain in front of it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from starverse.model.errors import BadInput
from starverse.physics.fabric.network import NO_LINKS, Flags, Floats, Ints, Network, Routes, end_to_end

ENDS_NS = 1_100.0
"""What sending and receiving take beside the way: two network cards of 0.3 to 0.8 us each."""


class Topology(Protocol):
    """A network that knows its ways: `Grid`, `FatTree`, `Dragonfly`, `Nodes`."""

    @property
    def cards(self) -> int:
        """How many cards there are."""

    @property
    def network(self) -> Network:
        """Its links."""

    @property
    def detours(self) -> bool:
        """Whether a flow that is spread takes ways that are longer than the one it takes else."""

    def route(
        self, source: Ints, target: Ints, salt: int = ..., failed: Flags = ..., spread: bool = ...
    ) -> Routes:
        """The links of each flow from card to card."""

    def distances(self) -> tuple[Ints, Floats]:
        """Hops between two different cards, and the share of ordered pairs that far apart."""

    def bisection_bytes_per_s(self) -> float:
        """What half of the cards can send to the other half."""


@dataclass(frozen=True)
class Nodes:
    """A network between nodes, and an NVLink-class switch in each with `inside_bytes_per_s` a card each way.

    Cards of one node talk over the switch. With `by_rail`, what goes to a card of another rail first crosses
    to the card of that rail in its own node, and stays on one rail of the network (NCCL's PXN).
    """

    outside: Topology
    node_cards: int
    inside_bytes_per_s: float
    inside_hop_ns: float = 250
    by_rail: bool = False

    def __post_init__(self) -> None:
        """Refuse nodes that do not divide the cards."""
        if self.node_cards < 1 or self.outside.cards % self.node_cards:
            raise BadInput(
                f"{self.outside.cards} cards do not divide into nodes of {self.node_cards}.",
                "Make node_cards a divisor.",
            )

    @property
    def cards(self) -> int:
        """How many cards there are."""
        return self.outside.cards

    @property
    def detours(self) -> bool:
        """As outside."""
        return self.outside.detours

    @cached_property
    def network(self) -> Network:
        """The links of the network outside, then two of each card to its node's switch."""
        out = self.outside.network
        card = np.arange(self.cards)
        node = out.vertices + card // self.node_cards
        more = np.full(2 * self.cards, float(self.inside_bytes_per_s))
        return Network(
            self.cards,
            out.vertices + self.cards // self.node_cards,
            np.concatenate((out.tail, card, node)),
            np.concatenate((out.head, node, card)),
            np.concatenate((out.bytes_per_s, more)),
            np.concatenate((out.latency_ns, np.full(more.size, float(self.inside_hop_ns)))),
            lambda v: f"node {v - out.vertices}" if v >= out.vertices else out.vertex_name(v),
        )

    def route(
        self, source: Ints, target: Ints, salt: int = 0, failed: Flags = NO_LINKS, spread: bool = False
    ) -> Routes:
        """The links of each flow: inside the node where it can, outside as the network there says.

        Where the switch of the node, or the rail of the target, has failed, the network outside is asked for
        a way from the source itself; a flow is `cut` when it has none either.
        """
        out = self.outside.network.links
        rail = source // self.node_cards * self.node_cards + target % self.node_cards
        leaves = np.where(source // self.node_cards == target // self.node_cards, target, source)
        leaves = rail if self.by_rail else leaves  # where the flow leaves the inside of its first node
        dead = failed if failed.any() else np.zeros(self.network.links, np.bool_)
        blocked = (leaves != source) & (dead[out + source] | dead[out + self.cards + leaves])
        leaves = np.where(blocked, source, leaves)
        asked = target, salt, dead[:out], spread
        outside = self.outside.route(leaves, *asked)
        if (outside.cut & (leaves != source)).any():
            leaves = np.where(outside.cut, source, leaves)
            outside = self.outside.route(leaves, *asked)
        return end_to_end(self._inside(source, leaves), outside)

    def _inside(self, source: Ints, target: Ints) -> Routes:
        """From card to card of the same node over its switch."""
        links = self.outside.network.links
        moves = source != target
        first = np.concatenate(([0], np.cumsum(2 * moves)))
        link = np.stack((links + source[moves], links + self.cards + target[moves]), 1).reshape(-1)
        return Routes(first, link, np.ones(link.size), np.zeros(source.size, np.bool_))

    def distances(self) -> tuple[Ints, Floats]:
        """Switches and cards passed from the first card to the others, and the share of them so far away."""
        links = np.diff(_from(self, 0).first)
        counts = np.bincount(links[links > 0] - 1)
        seen = np.flatnonzero(counts)
        return seen, counts[seen] / counts.sum()

    def bisection_bytes_per_s(self) -> float:
        """As outside: no node is cut."""
        return self.outside.bisection_bytes_per_s()


def latencies_ns(topology: Topology, ends_ns: float = ENDS_NS, source: int = 0) -> tuple[Floats, Floats]:
    """The time of a small message on an idle network from one card to the others, and the share of cards.

    `ends_ns` is what sending and receiving take, the rest the links of the way. From whichever card, as long
    as all see the same of the network.
    """
    routes = _from(topology, source)
    lag = routes.latency_ns(topology.network)[np.diff(routes.first) > 0] + ends_ns
    found, counts = np.unique(lag.round(6), return_counts=True)
    return found, counts / counts.sum()


def _from(topology: Topology, source: int) -> Routes:
    """The ways from a card to all."""
    return topology.route(np.full(topology.cards, source), np.arange(topology.cards))
