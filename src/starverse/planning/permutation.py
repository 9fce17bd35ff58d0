"""How long each card takes to send to one other, all at once: who meets whom on a network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.physics.fabric.network import Ints
from starverse.physics.fabric.topology import Topology
from starverse.physics.fabric.traffic import WELL, Conditions, arrivals_s
from starverse.physics.fabric.wires import wire_bytes_per_s
from starverse.planning.collective import as_named, ranks_of

FAIR = (
    "bytes / max-min fair rate, taken anew whenever flows end, + way",
    "Bertsekas and Gallager, Data Networks, 6.5.2",
)
PAUSED = (
    "packets first come, first served; an input of which more than 15 wait in a switch is paused",
    "IEEE 802.1Qbb; checked against csg-htsim's RoCE",
)


@dataclass(frozen=True)
class Permuted:
    """The time of a flow, by all flows of all draws: its mean, what 99 % stay below (the mean of the draws)
    and the most; `alone_s` is that of a flow that nobody meets, with the longest way.
    """

    flows: int
    draws: int
    mean_s: float
    p99_s: float
    most_s: float
    alone_s: float
    equation: str
    source: str


def plan_permutation(
    topology: Topology, bytes_: float, draws: Sequence[Ints], cards: int | Sequence[int] = 0,
    failed: Sequence[str] = (), conditions: Conditions = WELL, slowed: Mapping[str, float] = {},
) -> Permuted:  # fmt: skip
    """How long flows take where each card sends so many bytes to one other, by several draws of the others.

    Each of `draws` is a permutation of 0 … cards - 1: the rank that each sends to, but for itself.
    With a draw's number flows also take other paths (ECMP). Cards, `failed` and `slowed` are as for a
    collective. Raises BadInput for what is unknown or cut off.
    """
    bounded(1, 1e15, bytes=bytes_)
    ranks = ranks_of(topology, cards)
    conditions = as_named(topology.network, conditions, failed, slowed)
    took, ways_ns = [], [0.0]
    for salt, order in enumerate(draws):
        target = ranks[order]
        moves = target != ranks
        ends = ranks[moves], target[moves]
        if not moves.any():
            continue
        ways_ns.append(float(topology.route(*ends).latency_ns(topology.network).max()))
        took.append(arrivals_s(topology, *ends, bytes_, conditions._replace(salt=salt)))
    if not took:
        raise BadInput("In no draw does a card send to another.", "Give more cards, or another --seed.")
    way_s = (max(ways_ns) + conditions.ends_ns) * 1e-9
    equation, source = PAUSED if conditions.head_of_line else FAIR
    return Permuted(
        flows=sum(each.size for each in took),
        draws=len(draws),
        mean_s=float(np.mean([each.mean() for each in took])),
        p99_s=float(np.mean([np.percentile(each, 99) for each in took])),
        most_s=float(max(each.max() for each in took)),
        alone_s=bytes_ / wire_bytes_per_s(topology, ranks) + way_s,
        equation=equation,
        source=source,
    )
