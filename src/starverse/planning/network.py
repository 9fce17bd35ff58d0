"""The network that a cluster's file or a line of words describes."""

from dataclasses import replace

from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.model.names import nearest, shown
from starverse.model.spec import GBPS, Clos, Cluster, Dragonfly, Ethernet, FatTree, HyperX, Torus
from starverse.physics.fabric import dragonfly, tree
from starverse.physics.fabric.grid import Grid
from starverse.physics.fabric.topology import Nodes, Topology
from starverse.physics.training.layout import Card

CARDS_MAX = 65_536
"""A network beyond this is not laid out link by link."""

HEADS = ("torus", "hyperx", "ethernet", "clos", "rail", "dragonfly")
ALSO = {
    "bcube": "hyperx", "hypercube": "hyperx", "ring": "torus", "switch": "ethernet", "fat-tree": "clos",
    "fattree": "clos", "leaf-spine": "clos", "rails": "rail",
}  # fmt: skip
"""What people call some of them."""


def network_of(cluster: Cluster) -> Topology:
    """The network of a cluster, its cards numbered node by node in the order of its levels.

    Where the tiers of a Clos have ports left, the network has more cards than the cluster: those beyond
    `cluster.cards` are not there. Raises BadInput where it is too large to be laid out.
    """
    _check_size(cluster.name or "The cluster", cluster.cards)
    outside, node = _between(cluster), cluster.node
    if node.cards == 1 or not node.inside_gbps:
        return outside
    by_rail = cluster.network.__struct_config__.tag == "rail"
    return Nodes(outside, node.cards, node.inside_gbps * GBPS, node.inside_hop_ns, by_rail)


def link_of(cluster: Cluster) -> tuple[int, int]:
    """What a link between neighbours of a cluster's torus carries, bytes/s, and what its hop takes, ns.

    As `physics.fabric.closed` wants it: all cables between two neighbouring domains together. Raises BadInput
    for a cluster without a torus.
    """
    net = cluster.network
    if not isinstance(net, Torus):
        raise BadInput(
            f"{cluster.name or 'The cluster'} has no torus.", "Ask of one whose network is a torus."
        )
    return round(net.link_gbps * GBPS * net.cables), round(net.hop_ns)


def card_of(cluster: Cluster, card: Card) -> Card:
    """A card as it sits in a cluster: no more cards in its node, and no faster a wire, than the file says."""
    net, node = cluster.network, cluster.node
    wire = (getattr(net, "card_gbps", 0) or net.link_gbps) * GBPS
    inside = node.inside_gbps * GBPS or wire
    return replace(
        card,
        node_cards=node.cards,
        node_bytes_per_s=min(card.node_bytes_per_s, inside),
        network_bytes_per_s=wire,
    )


def topology_of(
    words: str, link_bytes_per_s: float = 100e9, hop_ns: float = 500, node_cards: int = 1,
    node_bytes_per_s: float = 450e9,
) -> Topology:  # fmt: skip
    """A network from a line of words; raises BadInput with the nearest that is known.

    `torus:32x32x30`, `torus:10x15x5/40` with 40 cards at each place; `hyperx:32x32x32`;
    `ethernet:512` (one switch); `clos:30720/64`, cards and ports a switch, `clos:30720/64/3` with leaves
    oversubscribed 3 : 1, `clos:30720/64/1/2` with two leaves a card; `rail:30720/64`, the same by rails of
    `node_cards`; `dragonfly:73/12/6/6`, groups, switches, cards and global cables each. With `node_cards`
    above 1, nodes have an NVLink-class switch.
    """
    bounded(GBPS / 1000, 1e6 * GBPS, link_bytes_per_s=link_bytes_per_s, node_bytes_per_s=node_bytes_per_s)
    bounded(0, 1e9, hop_ns=hop_ns)
    bounded(1, CARDS_MAX, node_cards=node_cards)
    head, _, rest = words.partition(":")
    if head not in HEADS:
        known = ALSO.get(head.lower())
        remedy = f"Did you mean '{known}'?" if known else nearest(head.lower(), HEADS)
        raise BadInput(f"There is no network {shown(head)}.", remedy)
    try:
        outside = _outside(head, rest, link_bytes_per_s, hop_ns, node_cards)
    except (ValueError, IndexError):
        examples = "torus:32x32x30, ethernet:512, clos:30720/64, rail:30720/64 or dragonfly:73/12/6/6"
        raise BadInput(f"'{words}' is not a network.", f"Write it like {examples}.") from None
    _check_size(words, outside.cards)
    if node_cards > 1:
        return Nodes(outside, node_cards, node_bytes_per_s, by_rail=head == "rail")
    return outside


def cards_said(words: str, topology: Topology) -> int:
    """The cards that a line of words asks for: fewer than the network has where a Clos has ports left."""
    head, _, rest = words.partition(":")
    return min(int(rest.partition("/")[0]), topology.cards) if head in {"clos", "rail"} else topology.cards


def _between(cluster: Cluster) -> Topology:
    """The network without what is inside the nodes."""
    net, speed = cluster.network, cluster.network.link_gbps * GBPS
    match net:
        case Torus() | HyperX():
            each = cluster.cards // cluster.count(net.of)
            card = (net.card_gbps or net.link_gbps) * GBPS if each > 1 else net.card_gbps * GBPS
            kind = "torus" if isinstance(net, Torus) else "hyperx"
            return Grid(net.size, kind, each, speed * net.cables, card, net.hop_ns)
        case Ethernet():
            return tree.FatTree((cluster.cards,), (1,), (speed,), hop_ns=net.hop_ns)
        case FatTree():
            return tree.FatTree(net.down, net.up, (speed,) * len(net.down), hop_ns=net.hop_ns)
        case Dragonfly():
            card, apart = (net.card_gbps * GBPS or speed, net.global_gbps * GBPS or speed)
            sizes = net.groups, net.switches, net.cards_each, net.global_each
            return dragonfly.Dragonfly(*sizes, card, speed, apart, net.hop_ns)
    rails = 1 if isinstance(net, Clos) else cluster.node.cards
    return tree.clos(
        cluster.cards, net.radix, speed, net.oversubscription, rails, net.hop_ns, net.leaves_each
    )


def _outside(head: str, rest: str, speed: float, hop_ns: float, node_cards: int) -> Topology:
    shape, *more = rest.split("/")
    if head in {"torus", "hyperx"}:
        dims = tuple(int(length) for length in shape.split("x"))
        each = int(more[0]) if more else 1
        return Grid(dims, head, each, link_bytes_per_s=speed, hop_ns=hop_ns)
    if head == "dragonfly":
        switches, cards_each, global_each = (int(number) for number in more)
        return dragonfly.Dragonfly(int(shape), switches, cards_each, global_each, speed, speed, speed, hop_ns)
    if head == "ethernet":
        return tree.FatTree((int(shape),), (1,), (speed,), hop_ns=hop_ns)
    thinner = float(more[1]) if len(more) > 1 else 1.0
    leaves = int(more[2]) if len(more) > 2 else 1
    rails = node_cards if head == "rail" else 1
    return tree.clos(int(shape), int(more[0]), speed, thinner, rails, hop_ns, leaves)


def _check_size(name: str, cards: int) -> None:
    if cards > CARDS_MAX:
        raise BadInput(f"{name} has {cards:,} cards.", f"Give a network of at most {CARDS_MAX:,}.")
