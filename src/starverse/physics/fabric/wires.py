"""The wires by which cards and nodes send: how fast one flow is, and what no collective is quicker than."""

import numpy as np

from starverse.physics.fabric.collectives import bus_factor
from starverse.physics.fabric.network import Floats, Ints, Network
from starverse.physics.fabric.topology import Nodes, Topology


def node_of(topology: Topology, cards: Ints) -> Ints:
    """The node of each card; without nodes that have a switch inside, a card is one of its own."""
    return cards // topology.node_cards if isinstance(topology, Nodes) else cards


def wire_bytes_per_s(topology: Topology, cards: Ints) -> float:
    """What one flow of these cards carries at most, on a path of the network when it is well.

    By one of the wires that leave a card's node, or, where all cards are in one node, by the link inside.
    """
    if isinstance(topology, Nodes):
        if np.unique(node_of(topology, cards)).size == 1:
            return topology.inside_bytes_per_s
        return wire_bytes_per_s(topology.outside, cards)
    net = topology.network
    return float(net.bytes_per_s[_leaving(net, cards, 1)].max())


def wires_each(topology: Topology, kind: str, cards: Ints) -> float:
    """Of such wires, how many a card has for a collective: with so many full, it is as quick as it can be.

    No group of cards sends its bytes in less time than all wires that leave it take. Asked of each card,
    with all its links, and of each node, with the wires of those of its cards that take part: of all its
    cards where flows may pass through others, to change the rail or relayed on a card's several wires. Where
    all are in one node, a card has its link inside.
    """
    node = node_of(topology, cards)
    alone = np.ones(cards.size)
    if not isinstance(topology, Nodes):
        least = _least_s(kind, alone, _out(topology.network, cards, 1)[cards])
    elif np.unique(node).size == 1:
        least = _least_s(kind, alone, topology.inside_bytes_per_s * alone)
    else:
        size, nodes = topology.node_cards, np.unique(node)
        passed = topology.by_rail or several(topology, cards)
        every = (nodes[:, None] * size + np.arange(size)).reshape(-1)
        out = _out(topology.outside.network, every if passed else cards, size)[nodes]
        least = max(
            _least_s(kind, alone, _out(topology.network, cards, 1)[cards]),
            _least_s(kind, np.bincount(node)[nodes].astype(float), out),
        )
    return bus_factor(kind, cards.size) / least / wire_bytes_per_s(topology, cards)


def several(topology: Topology, cards: Ints) -> bool:
    """Whether a card has several wires to the network."""
    net = topology.outside.network if isinstance(topology, Nodes) else topology.network
    return int(np.bincount(net.tail[_leaving(net, cards, 1)]).max()) > 1


def _least_s(kind: str, cards: Floats, out_bytes_per_s: Floats) -> float:
    """Seconds per byte of the buffer, of groups of so many cards that send so fast; both (groups,).

    A result needs a part of each group, and each group the result: an all-reduce moves 2(m - 1) buffers
    between m groups (Patarasuk and Yuan, JPDC 2009), whoever sends how many. What comes in of a broadcast or
    an all-gather is bound like what goes out, as links are full duplex.
    """
    share = cards / cards.sum()
    match kind:
        case "all-reduce":
            return 2 * (cards.size - 1) / float(out_bytes_per_s.sum())
        case "all-to-all":
            return float((cards * (1 - share) / out_bytes_per_s).max())
        case "broadcast":
            return float((1 / out_bytes_per_s).max())
    return float(((1 - share) / out_bytes_per_s).max())


def _out(net: Network, cards: Ints, size: int) -> Floats:
    """What the wires of these cards carry out of each group of `size` cards; shape (groups,)."""
    leaving = _leaving(net, cards, size)
    out = np.bincount(net.tail[leaving] // size, net.bytes_per_s[leaving], minlength=net.cards // size)
    return out.astype(np.float64)


def _leaving(net: Network, cards: Ints, size: int) -> Ints:
    """The links from these cards that lead out of their groups of `size`."""
    own = np.zeros(net.vertices, np.bool_)
    own[cards] = True
    away = (net.head >= net.cards) | (net.head // size != net.tail // size)
    return np.flatnonzero(own[net.tail] & away)
