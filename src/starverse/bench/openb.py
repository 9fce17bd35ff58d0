"""How full the scheduler packs Alibaba's cluster of shared cards, beside FGD on the same arrivals.

The protocol is that of FGD's artifact: 1,213 nodes with 6,212 cards; the workload's pods, shuffled, and more
of them drawn at random (or some taken away) until they ask for 1.3 times the cards there are; placed one by
one; none leaves, one that does not fit is dropped. Measured is the part of the cards given in the end. Pods
without cards take CPU and memory and count as 0 cards asked. Draws differ from the artifact's (another
generator), so its published means are shown beside, and FGD itself runs here on the very same draws.
"""

import csv
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

from starverse.bench import fgd
from starverse.bench.figure import Figure
from starverse.model.errors import NotFound
from starverse.model.units import CARD
from starverse.scheduler.placement.mix import Asked, Ints, Request, mix_of
from starverse.scheduler.placement.packing import Packer, Room

PUBLISHED = {"default": 95.39, "multigpu20": 95.65, "multigpu50": 97.18, "gpushare100": 86.90}
"""Cards given by FGD, %, the mean of 10 seeds of its artifact, by workload."""
LOAD = 1.3
SEEDS = range(10)
FOLDER = "alibaba-gpu-v2023-openb"


class Cluster(NamedTuple):
    """The nodes before anything is placed, by name."""

    card_free: Ints
    cpu_free: Ints
    memory_free: Ints

    def copy(self) -> "Cluster":
        """The same, to be filled."""
        return Cluster(self.card_free.copy(), self.cpu_free.copy(), self.memory_free.copy())


def traces() -> Path:
    """Where the traces lie: $STARVERSE_TRACES, else `shared/traces` beside the repository."""
    said = os.environ.get("STARVERSE_TRACES")
    return Path(said) if said else Path(__file__).parents[4] / "shared" / "traces"


def cluster(folder: Path) -> Cluster:
    """The nodes of the trace. Raises NotFound, naming the file, when it is not there."""
    rows = sorted(_rows(folder, "openb_node_list_gpu_node.csv"), key=lambda row: row["sn"])
    cards = np.array([int(row["gpu"]) for row in rows], np.int64)
    there = np.arange(cards.max()) < cards[:, None]
    cpu = np.array([int(row["cpu_milli"]) for row in rows], np.int64)
    return Cluster(there * CARD, cpu, np.array([int(row["memory_mib"]) for row in rows], np.int64))


def pods(folder: Path, workload: str) -> list[Request]:
    """The pods of a workload, in the order of the trace. Raises NotFound as `cluster` does."""
    return [
        Request(
            int(row["num_gpu"]),
            int(row["gpu_milli"]) if int(row["num_gpu"]) else 0,
            int(row["cpu_milli"]),
            int(row["memory_mib"]),
        )
        for row in _rows(folder, f"openb_pod_list_{workload}.csv")
    ]


def _rows(folder: Path, name: str) -> list[dict[str, str]]:
    file = folder / FOLDER / name
    if not file.exists():
        raise NotFound(
            f"The trace {FOLDER}/{name} is not in {folder}.",
            "Get it from github.com/alibaba/clusterdata, or say where it lies with STARVERSE_TRACES.",
        )
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def arrivals(workload: Sequence[Request], capacity: int, seed: int) -> list[Request]:
    """All pods in random order, more or fewer of them, so that `LOAD` × capacity (milli-cards) is asked."""
    chance = Random(seed)
    drawn = list(workload)
    chance.shuffle(drawn)
    goal, asked = LOAD * capacity, sum(pod.cards * pod.share for pod in drawn)
    while asked > goal:
        pod = drawn.pop(chance.randrange(len(drawn)))
        asked -= pod.cards * pod.share
    if len(drawn) < len(workload):
        return drawn
    while asked + (pod := chance.choice(workload)).share <= goal:  # one card's share: as the artifact does
        drawn.append(pod)
        asked += pod.cards * pod.share
    return drawn


def pack(nodes: Cluster, drawn: Sequence[Request], known: Sequence[Request]) -> int:
    """Place the pods by our rule; returns the milli-cards given. The arrays of `nodes` change.

    `known` is what may be expected, as FGD is told; without it, what has arrived so far.
    """
    asked = Asked()
    packer = Packer(Room(*nodes, np.arange(nodes.cpu_free.size)), mix_of(Counter(known)))
    given = 0
    for pod in drawn:
        if not known:
            asked.add(pod)
            packer.expect(asked.mix)
        choice = packer.choose(pod)
        if choice is None:
            continue
        node = choice.node
        for card in choice.cards:
            nodes.card_free[node, card] -= pod.share
        nodes.cpu_free[node] -= pod.milli_cpu
        nodes.memory_free[node] -= pod.memory_mb
        packer.changed(node)
        given += pod.cards * pod.share
    return given


def pack_fgd(nodes: Cluster, drawn: Sequence[Request], known: Sequence[Request]) -> int:
    """The same by FGD."""
    numbers: dict[tuple[int, ...], int] = {}
    kind = np.array([numbers.setdefault(pod[:3], len(numbers)) for pod in drawn], np.int64)
    return int(fgd.run(*nodes, np.array(drawn, np.int64), kind, *fgd.typical(Counter(known))))


def run(say: Callable[[str], None]) -> Sequence[Figure]:
    """The figures of this bench alone."""
    say("the packing of shared cards")
    return measure()


def measure(
    seeds: Sequence[int] = SEEDS, folder: Path | None = None, workloads: Sequence[str] = tuple(PUBLISHED)
) -> Sequence[Figure]:
    """The cards given by ours and by FGD, paired by seed, for each workload, and the time of a decision."""
    folder = folder or traces()
    nodes = cluster(folder)
    figures: list[Figure] = []
    spent, decisions = 0.0, 0
    for name in workloads:
        workload = pods(folder, name)
        capacity = int(nodes.card_free.sum())
        draws = [arrivals(workload, capacity, seed) for seed in seeds]
        pack(nodes.copy(), draws[0][:100], workload)  # compiled before it is timed
        began = time.process_time()
        ours = _given(pack, nodes, draws, workload)
        spent += time.process_time() - began
        decisions += sum(map(len, draws))
        learned = _given(pack, nodes, draws, ())
        theirs = _given(pack_fgd, nodes, draws, workload)
        figures += _compare(name, ours, learned, theirs)
    figures.append(_decision(spent / decisions, nodes))
    return figures


def _decision(seconds: float, nodes: Cluster) -> Figure:
    return Figure(
        "openb_decision", f"one decision at {nodes.cpu_free.size:,} nodes", seconds * 1e6, "µs", 100
    )


def _given(
    rule: Callable[[Cluster, Sequence[Request], Sequence[Request]], int],
    nodes: Cluster,
    draws: Sequence[Sequence[Request]],
    known: Sequence[Request],
) -> list[float]:
    """The part of the cards given in each draw, %."""
    return [100 * rule(nodes.copy(), drawn, known) / int(nodes.card_free.sum()) for drawn in draws]


def _compare(
    name: str, ours: Sequence[float], learned: Sequence[float], theirs: Sequence[float]
) -> Sequence[Figure]:
    seeds = len(ours)
    mean, mean_fgd, mean_learned = (sum(values) / seeds for values in (ours, theirs, learned))
    ahead = sum(one > other for one, other in zip(ours, theirs, strict=True))
    ahead_learned = sum(one > other for one, other in zip(learned, theirs, strict=True))
    published = f"FGD published {PUBLISHED[name]} %"
    return (
        Figure(f"openb_{name}", f"{name}: cards given", mean, "%", mean_fgd, "more", published),
        Figure(f"openb_{name}_fgd", f"{name}: by FGD, same draws", mean_fgd, "%", peer=published),
        Figure(f"openb_{name}_ahead", f"{name}: ahead of FGD by", mean - mean_fgd, "points", 0, "more"),
        Figure(f"openb_{name}_seeds", f"{name}: seeds of {seeds} ahead", ahead, "seeds", better="more"),
        Figure(
            f"openb_{name}_learned",
            f"{name}: ahead of FGD, the mix learned on the way",
            mean_learned - mean_fgd,
            "points",
            0,
            "more",
            f"ahead on {ahead_learned} of {seeds} seeds",
        ),
    )
