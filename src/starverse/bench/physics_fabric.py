"""How quickly the fabric's models answer, at the size of the reference cluster."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np

from starverse.bench.figure import Figure
from starverse.model.spec import preset
from starverse.physics.fabric.bucket import torus_bucket_s
from starverse.physics.fabric.closed import allreduce_in_box_ns
from starverse.physics.fabric.collectives import Wire
from starverse.physics.fabric.grid import Grid
from starverse.physics.fabric.lossless import finish_s
from starverse.physics.fabric.maxmin import fair_rates
from starverse.physics.fabric.topology import Topology
from starverse.physics.fabric.traffic import Conditions, collective
from starverse.physics.fabric.tree import FatTree, clos
from starverse.planning.network import link_of

GIB = 1 << 30
DIMS = (32, 32, 30)
TIMES = 5
SEED = 7


def _median_ms(work: Callable[[], object], times: int = TIMES) -> float:
    """Milliseconds of one of some calls in the middle, after one to warm up."""
    work()
    taken = []
    for _ in range(times):
        before = time.perf_counter()
        work()
        taken.append((time.perf_counter() - before) * 1e3)
    return median(taken)


def measure_closed() -> Sequence[Figure]:
    """Closed forms: a whole torus with its chunks, and a placement as the scheduler asks."""
    wire = Wire(100 * GIB, 510, 1600e9)
    found_ms = torus_bucket_s("all-reduce", DIMS, GIB, wire, 4) * 1e3
    torus_ms = _median_ms(lambda: torus_bucket_s("all-reduce", DIMS, GIB, wire, 4), 200)
    calls, whole, link = 1_000, (10, 15, 5), link_of(preset("xiamen-30k"))
    box_us = _median_ms(lambda: [allreduce_in_box_ns((5, 5, 1), whole, GIB, *link) for _ in range(calls)])
    return (
        Figure(
            "fabric_torus", f"closed form of an all-reduce, 1 GiB, 32 × 32 × 30: {found_ms:.4f} ms", torus_ms,
            "ms", 1, peer="ASTRA-sim 217.5 s, 1.78 GB: 21.4516 ms",
        ),
        Figure("fabric_box", "cost of a placement of 1,000 cards, as the scheduler asks", box_us, "us", 50),
    )  # fmt: skip


def measure_fair() -> Sequence[Figure]:
    """Max-min fair rates of a random permutation on the whole torus."""
    torus = Grid(DIMS)
    target = np.random.default_rng(SEED).permutation(torus.cards)
    routes = torus.route(np.arange(torus.cards), target)
    speeds = torus.network.bytes_per_s
    what = (
        f"max-min fair rates of {routes.flows:,} flows over {speeds.size:,} links, {routes.link.size:,} hops"
    )
    fair_ms = _median_ms(lambda: fair_rates(routes, speeds), 9)
    return (Figure("fabric_fair", what, fair_ms, "ms", 30, peer="textbook filling 5.9 s"),)


def measure_lossless() -> Sequence[Figure]:
    """A permutation packet by packet, as htsim does it."""
    tree = FatTree((8, 8, 16), (1, 8, 8), (12.5e9,) * 3)
    target = np.random.default_rng(SEED).permutation(tree.cards)
    routes = tree.route(np.arange(tree.cards), target)
    sizes = np.full(tree.cards, 2e6)
    taken_ms = _median_ms(lambda: finish_s(tree.network, routes, sizes))
    what = "2 MB from each of 1,024 cards of a fat tree, lossless, packet by packet"
    return (Figure("fabric_lossless", what, taken_ms, "ms", peer="htsim 4.5 s"),)


def measure_what_if() -> Sequence[Figure]:
    """Two jobs on 30,720 cards, a failed switch, lost packets: in a process of its own, for its memory."""
    figures: list[Figure] = []
    for name in ("torus", "clos"):
        code = f"import json; from {__name__} import what_if; print(json.dumps(what_if('{name}')))"
        answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        taken_s, memory_gb, slower = json.loads(answer.stdout)
        what = (
            f"what if a switch fails under two jobs on 30,720 cards, with congestion and loss, {name}: "
            f"the all-reduce takes {slower:.2f} times as long"
        )
        figures += (
            Figure(f"fabric_what_if_{name}", what, taken_s, "s", 1, peer="none can"),
            Figure(f"fabric_what_if_{name}_memory", "the same: memory of the process", memory_gb, "GB", 1),
        )
    return figures


def what_if(name: str) -> tuple[float, float, float]:
    """Seconds and GB to answer, from nothing but compiled code, and how much longer the all-reduce takes.

    Two of every three cards reduce 1 GiB in a ring; the others send in a random permutation all the while.
    What fails is the switch of one of those (torus) or a core (Clos).
    """
    _ill_over_well(Grid((4, 4, 2)) if name == "torus" else clos(128, 8, 100e9), name)  # compiles
    before = time.perf_counter()
    slower = _ill_over_well(Grid(DIMS) if name == "torus" else clos(30_720, 64, 100e9), name)
    taken_s = time.perf_counter() - before
    return taken_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, slower


def _ill_over_well(topology: Topology, name: str) -> float:
    net = topology.network
    card = np.arange(topology.cards)
    job, others = card[card % 3 > 0], card[card % 3 == 0]
    lost = 0 if name == "torus" else net.vertices - 1
    others = others[others != lost]
    beside = (others, np.random.default_rng(SEED).permutation(others))
    well = collective(topology, "all-reduce", "ring", job, GIB)
    ill = Conditions(failed=net.links_at(lost), others=beside, loss_share=1e-4, recovery="go-back-n")
    return collective(topology, "all-reduce", "ring", job, GIB, ill).time_s / well.time_s


PARTS = (
    ("closed forms of collectives", measure_closed),
    ("max-min fair rates", measure_fair),
    ("lossless Ethernet", measure_lossless),
    ("what-if on 30,720 cards", measure_what_if),
)
