"""How long a collective takes on a network as it is: one question, one answer with its equation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.model.names import nearest
from starverse.physics.fabric.bucket import torus_allreduce_s
from starverse.physics.fabric.collectives import Timing, Wire, closed_form_s, torus_alltoall_s
from starverse.physics.fabric.grid import Grid
from starverse.physics.fabric.network import NO_LINKS, Flags, Network
from starverse.physics.fabric.steps import AS_FLOWS
from starverse.physics.fabric.topology import Nodes, Topology, latencies_ns
from starverse.physics.fabric.traffic import WELL, Conditions, collective

EQUATIONS = {
    "ring": "steps × (way + part / rate), part = bytes / cards",
    "halving-doubling": "2 × the sum over log2(cards) rounds of way + bytes / 2^round / rate",
    "hierarchical": "ring in the node + ring between nodes for bytes / node cards",
    "tree": "bytes / 2 up and down two binary trees at once / rate + 2 log2(cards) × way",
    "bucket": "ring by ring along the axes of the torus, each carrying what the one before has scattered",
    "direct": "the fullest link's bytes / its speed + way",
}
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

    `alone_s` is the closed form between equals on the cards' own wires, where the algorithm has one. Of the
    whole network, idle: hops and a small message's time between two cards (`topology.latencies_ns`), and what
    half of the cards can send to the other half.
    """

    timing: Timing
    algorithm: str
    equation: str
    source: str
    alone_s: float | None
    hops_mean: float
    hops_most: int
    message_mean_ns: float
    message_most_ns: float
    bisection_bytes_per_s: float


def plan_collective(
    topology: Topology,
    kind: str,
    bytes_: float,
    cards: int | Sequence[int] = 0,
    algorithm: str = "best",
    failed: Sequence[str] = (),
    conditions: Conditions = WELL,
) -> Answer:
    """How long a collective takes between cards (given, or the first so many, or all when 0).

    `failed` names switches and cards (`spine 3`) or cables (`leaf 0 → spine 3`). The quickest algorithm is
    taken where none is named. Raises BadInput for what is unknown or cut off.
    """
    if kind not in AS_FLOWS:
        raise BadInput(f"There is no collective '{kind}'.", nearest(kind, tuple(AS_FLOWS)))
    if bytes_ <= 0:
        raise BadInput(f"A collective of {bytes_:g} bytes does nothing.", "Give 1 byte or more.")
    bounded(0, 1e18, bytes=bytes_)
    ranks = _ranks(topology, cards)
    dead = _dead(topology.network, failed)
    if dead.any():
        conditions = conditions._replace(failed=dead | conditions.failed if conditions.failed.size else dead)
    node_cards = topology.node_cards if isinstance(topology, Nodes) else 1
    dims = _box(topology, ranks.size)
    found: dict[str, Timing] = {}
    for name in _tried(kind, algorithm, ranks.size, node_cards, dims):
        found[name] = collective(topology, kind, name, ranks, bytes_, conditions, node_cards, dims)
    name = min(found, key=lambda one: found[one].time_s)
    hops, share = topology.distances()
    lag_ns, seen = latencies_ns(topology)
    return Answer(
        timing=found[name],
        algorithm=name,
        equation=EQUATIONS[name],
        source=SOURCES[name],
        alone_s=_alone_s(topology, kind, name, ranks.size, bytes_, found[name].wire_bytes_per_s),
        hops_mean=float(hops @ share),
        hops_most=int(hops.max()),
        message_mean_ns=float(lag_ns @ seen),
        message_most_ns=float(lag_ns.max()),
        bisection_bytes_per_s=topology.bisection_bytes_per_s(),
    )


def _ranks(topology: Topology, cards: int | Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    many = (cards or topology.cards) if isinstance(cards, int) else len(cards)
    if 2 <= many <= topology.cards:
        ranks = np.arange(many, dtype=np.int64) if isinstance(cards, int) else np.array(cards, dtype=np.int64)
        if ranks.min() >= 0 and ranks.max() < topology.cards:
            return ranks
    raise BadInput(
        f"{many} cards, of {topology.cards} there are, were asked for.",
        f"Give 2 or more, numbered 0 to {topology.cards - 1}.",
    )


def _dead(network: Network, failed: Sequence[str]) -> Flags:
    dead = np.zeros(network.links, np.bool_)
    for name in failed:
        one, arrow, other = name.replace("->", "→").partition("→")
        if arrow:
            dead |= network.links_between(network.vertex(one.strip()), network.vertex(other.strip()))
        else:
            dead |= network.links_at(network.vertex(name.strip()))
    return dead if failed else NO_LINKS


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


def _alone_s(
    topology: Topology, kind: str, algorithm: str, cards: int, bytes_: float, speed: float
) -> float | None:
    wire = Wire(speed, float(topology.network.latency_ns.max()))
    if isinstance(topology, Grid) and topology.kind == "torus" and kind == "all-to-all":
        return torus_alltoall_s(topology.dims, bytes_, wire) if cards == topology.cards else None
    if algorithm == "bucket":
        return torus_allreduce_s(_box(topology, cards), bytes_, wire)
    if algorithm == "hierarchical" or (kind, algorithm) == ("broadcast", "ring"):
        return None
    return closed_form_s(kind, algorithm, cards, bytes_, wire)
