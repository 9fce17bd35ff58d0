"""How full the scheduler packs Alibaba's cluster of shared cards, beside FGD on the same arrivals.

The protocol is that of FGD's artifact: 1,213 nodes with 6,212 cards; the workload's pods, shuffled, and more
of them drawn at random (or some taken away) until they ask for 1.3 times the cards there are; placed one by
one; none leaves, one that does not fit is dropped. Measured is the part of the cards given in the end. Pods
without cards take CPU and memory and count as 0 cards asked. Draws differ from the artifact's (another
generator), so its published means are shown beside, and FGD itself runs here on the very same draws.
Ours is the scheduler that customers depend on: each pod is a job, and what is timed is `decide`.
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
from starverse.control.state import State
from starverse.model import events as ev
from starverse.model.errors import NotFound
from starverse.model.job import JobSpec, Shape
from starverse.model.units import CARD, DAY_MS
from starverse.scheduler.decide import decide
from starverse.scheduler.placement.mix import Ints, Request
from starverse.scheduler.plan import Memo

PUBLISHED = {"default": 95.39, "multigpu20": 95.65, "multigpu50": 97.18, "gpushare100": 86.90}
"""Cards given by FGD, %, the mean of 10 seeds of its artifact, by workload."""
LOAD = 1.3
SEEDS = range(10)
KIND = "card"
START_MS = 20_000 * DAY_MS
LEASE_MS = START_MS + DAY_MS
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


def fill(nodes: Cluster, drawn: Sequence[Request]) -> tuple[State, float]:
    """What the scheduler makes of the pods, one decision each, and the seconds of these decisions.

    All nodes are of one kind, since no pod of these workloads names a model. What to expect it learns from
    the pods that have come; the pod that does not fit leaves, so that none is promised a start.
    """
    state, memo, seconds = State(), Memo(), 0.0
    state.view.depth = 0
    there = (nodes.card_free > 0).sum(axis=1).tolist()
    for n, (cards, cpu, memory) in enumerate(
        zip(there, nodes.cpu_free.tolist(), nodes.memory_free.tolist(), strict=True)
    ):
        state.apply(ev.NodeJoined(f"n{n:04}", KIND, cards, milli_cpu=cpu, memory_mb=memory), START_MS)
    for n, pod in enumerate(drawn):
        spec = _spec(f"p{n}", pod)
        state.apply(ev.JobSubmitted(spec), START_MS)
        began = time.perf_counter()
        plan, memo = decide(state.view, memo, START_MS)
        seconds += time.perf_counter() - began
        for place in plan.places:
            state.apply(ev.RunPlaced(f"{spec.job}.0", spec.job, 0, place.shares, LEASE_MS), START_MS)
        if not plan.places:
            state.apply(ev.JobEnded(spec.job, "stopped"), START_MS)
    return state, seconds


def _spec(job: str, pod: Request) -> JobSpec:
    """A pod in the words of jobs: one member, on one node."""
    milli = pod.cards * pod.share
    shape = Shape(milli, pod.milli_cpu, pod.memory_mb)
    return JobSpec(job, "anybody", milli, milli, KIND, shape=shape)


def pack_fgd(nodes: Cluster, drawn: Sequence[Request], known: Sequence[Request]) -> int:
    """Place the pods by FGD, which is told what to expect; returns the milli-cards given. The arrays of
    `nodes` change."""
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
    """The cards given by ours and by FGD, paired by seed, for each workload; the time of a decision."""
    folder = folder or traces()
    nodes = cluster(folder)
    figures: list[Figure] = []
    spent, decisions = 0.0, 0
    capacity = int(nodes.card_free.sum())
    for name in workloads:
        workload = pods(folder, name)
        draws = [arrivals(workload, capacity, seed) for seed in seeds]
        fill(nodes, draws[0][:100])  # compiled before it is timed
        ours, theirs = [], []
        for drawn in draws:
            state, seconds = fill(nodes, drawn)
            spent += seconds
            decisions += len(drawn)
            ours.append(100 * sum(run.milli_cards for run in state.runs.values()) / capacity)
            theirs.append(100 * pack_fgd(nodes.copy(), drawn, workload) / capacity)
        figures += _compare(name, ours, theirs)
    figures.append(_decision(spent / decisions, nodes))
    return figures


def _decision(seconds: float, nodes: Cluster) -> Figure:
    what = f"one decision at {nodes.cpu_free.size:,} nodes"
    return Figure("openb_decision", what, seconds * 1e6, "µs", 1_000)


def _compare(name: str, ours: Sequence[float], theirs: Sequence[float]) -> Sequence[Figure]:
    seeds = len(ours)
    mean, mean_fgd = (sum(values) / seeds for values in (ours, theirs))
    ahead = sum(one > other for one, other in zip(ours, theirs, strict=True))
    published = f"FGD published {PUBLISHED[name]} %"
    return (
        Figure(f"openb_{name}", f"{name}: cards given", mean, "%", mean_fgd, "more", published),
        Figure(f"openb_{name}_fgd", f"{name}: by FGD, same draws", mean_fgd, "%", peer=published),
        Figure(f"openb_{name}_ahead", f"{name}: ahead of FGD by", mean - mean_fgd, "points", 0, "more"),
        Figure(f"openb_{name}_seeds", f"{name}: seeds of {seeds} ahead", ahead, "seeds", better="more"),
    )
