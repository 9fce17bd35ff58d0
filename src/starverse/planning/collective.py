"""How long a collective takes on a network as it is: one question, one answer with its equation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.model.names import nearest
from starverse.physics.fabric.bucket import torus_bucket_s
from starverse.physics.fabric.collectives import Timing, Wire, torus_alltoall_s
from starverse.physics.fabric.grid import Grid
from starverse.physics.fabric.network import Flags, Ints, Network
from starverse.physics.fabric.steps import AS_FLOWS
from starverse.physics.fabric.topology import Nodes, Topology, latencies_ns
from starverse.physics.fabric.traffic import PAIRS_MAX, WELL, Conditions, collective, idle_s
from starverse.physics.fabric.wires import node_of, several, wire_bytes_per_s, wires_each

EQUATIONS = {
    "ring": "steps × (way + part / rate), part = bytes / cards",
    "halving-doubling": "2 × the sum over log2(cards) rounds of way + bytes / 2^round / rate",
    "hierarchical": "chunks through ring in the node, ring or tree between nodes, ring in the node at once",
    "tree": "(√(2 log2(cards) × way) + √(2 × bytes / rate))², half of the bytes by each of two trees",
    "bucket": "ring by ring along the axes of the torus, each carrying what the one before has scattered",
    "direct": "the fullest link's bytes / its speed + way",
    "reduce-scatter by halving-doubling": "the sum over log2(cards) rounds of way + bytes / 2^round / rate",
    "all-gather by halving-doubling": "the sum over log2(cards) rounds of way + bytes / 2^round / rate",
    "reduce-scatter by hierarchical": "chunks through ring in the node and ring between nodes at once",
    "all-gather by hierarchical": "chunks through ring between nodes and ring in the node at once",
    "all-gather by bucket": "ring by ring along the axes of the torus, each carrying what is gathered so far",
    "broadcast by ring": "(√((cards - 2) × way) + √(bytes / rate))²",
    "broadcast by tree": "(√(log2(cards) × way) + √(bytes / rate))², half of the bytes by each of two trees",
}
"""A way is the time of a message that carries nothing: ends and links."""
SOURCES = {
    "ring": "Patarasuk and Yuan, JPDC 2009",
    "halving-doubling": "Thakur et al., IJHPCA 2005",
    "hierarchical": "Jia et al., arXiv 1807.11205",
    "tree": "Sanders, Speck and Träff, Parallel Computing 2009",
    "bucket": "Chan et al., Concurrency and Computation 2007",
    "direct": "Bertsekas and Gallager, Data Networks, 6.5.2 (max-min fair rates)",
}


@dataclass(frozen=True)
class Answer:
    """A collective's timing, by which algorithm, by which equation, and what an idle network would do.

    `alone` is the closed form between equals, where the algorithm has one. Of the whole network, idle: hops
    and a small message's time between two cards (`topology.latencies_ns`), with the share of pairs so far
    apart, and what half of the cards can send to the other half.
    """

    timing: Timing
    algorithm: str
    equation: str
    source: str
    alone: Timing | None
    hops: tuple[tuple[int, float], ...]
    message_ns: tuple[tuple[float, float], ...]
    bisection_bytes_per_s: float

    @property
    def hops_mean(self) -> float:
        """Switches and cards passed between two cards on average."""
        return sum(hops * share for hops, share in self.hops)

    @property
    def hops_most(self) -> int:
        """The most of them."""
        return max(hops for hops, _ in self.hops)

    @property
    def message_mean_ns(self) -> float:
        """A small message's time between two cards on average."""
        return sum(time_ns * share for time_ns, share in self.message_ns)

    @property
    def message_most_ns(self) -> float:
        """The longest of them."""
        return max(time_ns for time_ns, _ in self.message_ns)


def plan_collective(
    topology: Topology,
    kind: str,
    bytes_: float,
    cards: int | Sequence[int] = 0,
    algorithm: str = "best",
    failed: Sequence[str] = (),
    conditions: Conditions = WELL,
    slowed: Mapping[str, float] = {},
    chunks: int = 0,
) -> Answer:
    """How long a collective takes between cards (given, or the first so many, or all when 0).

    `failed` names switches and cards (`spine 3`) or cables (`leaf 0 → spine 3`), `slowed` says to what share
    of their speed others are down. The quickest algorithm is taken where none is named; `chunks` are of those
    that take some (`traffic.collective`). Raises BadInput for what is unknown or cut off.
    """
    if kind not in AS_FLOWS:
        raise BadInput(f"There is no collective '{kind}'.", nearest(kind, tuple(AS_FLOWS)))
    if bytes_ <= 0:
        raise BadInput(f"A collective of {bytes_:g} bytes does nothing.", "Give 1 byte or more.")
    bounded(0, 1e18, bytes=bytes_)
    ranks = ranks_of(topology, cards)
    conditions = as_named(topology.network, conditions, failed, slowed)
    node_cards = topology.node_cards if isinstance(topology, Nodes) else 1
    dims = _box(topology, ranks.size)
    found: dict[str, Timing] = {}
    for name in _tried(kind, algorithm, ranks.size, node_cards, dims):
        found[name] = collective(topology, kind, name, ranks, bytes_, conditions, node_cards, dims, chunks)
    name = min(found, key=lambda one: found[one].time_s)
    hops, share = topology.distances()
    lag_ns, seen = latencies_ns(topology, conditions.ends_ns)
    by_itself = alone(topology, kind, name, bytes_, ranks, conditions, chunks)
    return Answer(
        timing=_no_quicker(found[name], by_itself),
        algorithm=name,
        equation=EQUATIONS.get(f"{kind} by {name}", EQUATIONS[name]),
        source=SOURCES[name],
        alone=by_itself,
        hops=tuple(zip(hops.tolist(), share.tolist(), strict=True)),
        message_ns=tuple(zip(lag_ns.tolist(), seen.tolist(), strict=True)),
        bisection_bytes_per_s=topology.bisection_bytes_per_s(),
    )


def alone(
    topology: Topology, kind: str, algorithm: str, bytes_: float, cards: Ints | None = None,
    conditions: Conditions = WELL, chunks: int = 0,
) -> Timing | None:  # fmt: skip
    """A collective in closed form between cards (all if none are named) that have the network to themselves.

    By the speed of one wire that leaves a card's node (`wires.wire_bytes_per_s`), the ways of its steps, and
    of the conditions their ends, memory and spread. None where the algorithm has no such form, or the cards
    are not what it takes them for: equals, with one wire where they send by several at once, and not some of
    them in one node.
    """
    ranks = np.arange(topology.cards) if cards is None else cards
    speed, hop_ns = wire_bytes_per_s(topology, ranks), float(topology.network.latency_ns.max())
    ends_ns, memory = conditions.ends_ns, conditions.memory_bytes_per_s
    box = _box(topology, ranks.size)
    time_s: float | None = None
    if kind == "all-to-all" and isinstance(topology, Grid) and topology.kind == "torus":
        time_s = torus_alltoall_s(box, bytes_, Wire(speed, hop_ns)) + ends_ns * 1e-9 if box else None
    elif algorithm == "bucket":
        wire = Wire(speed, hop_ns + ends_ns, memory)
        time_s = torus_bucket_s(kind, box, bytes_, wire, max(chunks, 1)) if box else None
    elif _is_between_equals(topology, algorithm, ranks, conditions.spread):
        time_s = idle_s(topology, kind, algorithm, ranks, bytes_, speed, conditions)
    if time_s is None:
        return None
    return Timing(kind, ranks.size, bytes_, time_s, speed, wires=wires_each(topology, kind, ranks))


def _no_quicker(timing: Timing, by_itself: Timing | None) -> Timing:
    """A timing, no quicker than alone where some shifts stand for all, within a tenth; any other is as it is,
    so that a form that promises too little shows."""
    is_drawn = timing.kind == "all-to-all" and timing.cards * (timing.cards - 1) > PAIRS_MAX
    if not is_drawn or by_itself is None or timing.kept_s is None or timing.kept_s >= by_itself.time_s:
        return timing
    share = by_itself.time_s / timing.kept_s
    return replace(
        timing,
        time_s=timing.time_s * share,
        kept_s=by_itself.time_s,
        mean_s=None if timing.mean_s is None else timing.mean_s * share,
    )


def _is_between_equals(topology: Topology, algorithm: str, cards: Ints, spread: bool) -> bool:
    """Whether cards see of the network what a form takes them to see."""
    if spread and several(topology, cards):
        return False  # each flow would go by several wires
    if algorithm == "ring":
        return True  # as quick as its slowest step, which leaves a node wherever there are two
    nodes = np.unique(node_of(topology, cards)).size
    if algorithm == "hierarchical" or 1 < nodes < cards.size:
        return False
    at_once = algorithm in {"direct", "tree"}
    return nodes == 1 or not (at_once and several(topology, cards))


def as_named(
    network: Network, conditions: Conditions, failed: Sequence[str], slowed: Mapping[str, float]
) -> Conditions:  # fmt: skip
    """The conditions with what has failed and what is slow, by the names of `plan_collective`."""
    if failed:
        dead = np.any([_links(network, name) for name in failed], axis=0)
        conditions = conditions._replace(failed=dead | conditions.failed if conditions.failed.size else dead)
    if slowed:
        share = np.ones(network.links) if conditions.speed_share is None else conditions.speed_share.copy()
        for name, to in slowed.items():
            bounded(1e-6, 1, **{name: to})
            share[_links(network, name)] *= to
        conditions = conditions._replace(speed_share=share)
    return conditions


def ranks_of(topology: Topology, cards: int | Sequence[int]) -> Ints:
    """The cards that were named, or the first so many, or all when 0; raises BadInput for others."""
    many = (cards or topology.cards) if isinstance(cards, int) else len(cards)
    if 2 <= many <= topology.cards:
        ranks = np.arange(many, dtype=np.int64) if isinstance(cards, int) else np.array(cards, dtype=np.int64)
        if ranks.min() >= 0 and ranks.max() < topology.cards:
            return ranks
    raise BadInput(
        f"{many} cards, of {topology.cards} there are, were asked for.",
        f"Give 2 or more, numbered 0 to {topology.cards - 1}.",
    )


def _links(network: Network, name: str) -> Flags:
    """The links of a switch or card, or of a cable."""
    one, arrow, other = name.replace("->", "→").partition("→")
    if arrow:
        return network.links_between(network.vertex(one.strip()), network.vertex(other.strip()))
    return network.links_at(network.vertex(name.strip()))


def _box(topology: Topology, cards: int) -> tuple[int, ...]:
    """The axes of a torus of cards, where all of them take part."""
    whole = isinstance(topology, Grid) and topology.kind == "torus" and not topology.apart
    return topology.dims if isinstance(topology, Grid) and whole and cards == topology.cards else ()


def _tried(kind: str, algorithm: str, cards: int, node_cards: int, dims: Sequence[int]) -> Sequence[str]:
    known = AS_FLOWS[kind]
    if algorithm != "best":
        if algorithm not in known:
            raise BadInput(f"There is no {kind} by the algorithm '{algorithm}'.", nearest(algorithm, known))
        return (algorithm,)
    fits = {
        "halving-doubling": cards & (cards - 1) == 0,
        "hierarchical": node_cards > 1 and cards % node_cards == 0,
        "bucket": len(dims) > 1,
    }
    return [name for name in known if fits.get(name, True)]
