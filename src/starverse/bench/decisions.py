"""How long decisions take on the reference cluster, 3,750 nodes of 8 cards: one core, only `decide` timed.

A part-full cluster was reached by mixed jobs coming and going, not by filling it from one end. Each figure is
the median of five after one to warm up, with the best of them in a row of its own, unless it says otherwise.
"""

import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import NamedTuple

from starverse.bench.crowd import PRIORITIES, XIAMEN, XIAMEN_TORUS, Crowd, Site
from starverse.bench.figure import Figure
from starverse.model.job import JobSpec, Priority
from starverse.model.units import CARD, DAY_MS, HOUR_MS
from starverse.scheduler.plan import Place, Plan
from starverse.scheduler.reasons import why_waiting

TIMES = 5
QUEUE, REQUESTS, TENANTS = 100_000, 6_000, 2_000
SCATTERED = 2_000
LIVES = 5_000
PATIENCE_MS = 20_000
"""What takes longer is tried less often."""


@contextmanager
def undisturbed() -> Iterator[None]:
    """Without the collector: no struct of the loop is part of a cycle, so it has nothing to find."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def measure_gang() -> Sequence[Figure]:
    """A thousand cards in a cluster 70 % full, as a tree and as a torus."""
    figures: list[Figure] = []
    for name, site in (("tree", XIAMEN), ("torus", XIAMEN_TORUS)):
        what = f"place a gang of 1,000 cards, {name}, 70 % full"
        peer = "KAI 48.7 s: 512 pods, 500 nodes, through its API"
        figures += _row(f"gang_{name}", what, gang_ms(site, 1_000), "ms", 5, peer)
    return figures


def gang_ms(site: Site, cards: int, times: int = TIMES) -> list[float]:
    """Milliseconds to place a gang of whole nodes; each is gone, and all is settled, before the next."""
    crowd = Crowd(site, 200)
    crowd.churn(site.size * 7 // 10)
    taken = []
    with undisturbed():
        for _ in range(times + 1):
            crowd.submit(crowd.spec(cards, site.cards, DAY_MS))
            plan = crowd.step()
            taken.append(crowd.spent_ns[-1] / 1e6)
            assert len(plan.places) == 1, "the gang did not fit"
            crowd.end(crowd.runs.pop())
            crowd.settle()
    return taken[1:]


def measure_swap() -> Sequence[Figure]:
    """A switch dies under a large job: only what it lost is replaced."""
    what = "swap 8 nodes under a job of 1,000 cards, 70 % full"
    return _row("swap", what, swap_ms(XIAMEN, 1_000, 8), "ms", 10, "FlashRecovery 150 s: all of a recovery")


def swap_ms(site: Site, cards: int, nodes: int, times: int = TIMES) -> list[float]:
    """Milliseconds to place a gang of whole nodes anew of which so many died; the others must stay."""
    crowd = Crowd(site, 200)
    crowd.churn(site.size * 7 // 10)
    taken = []
    with undisturbed():
        for _ in range(times + 1):
            crowd.submit(crowd.spec(cards, site.cards, DAY_MS))
            (had,) = (nodes_of(place) for place in crowd.step().places)
            dead = sorted(had)[:nodes]
            crowd.lose(dead, crowd.runs[-1])
            (has,) = (nodes_of(place) for place in crowd.step().places)
            taken.append(crowd.spent_ns[-1] / 1e6)
            assert had - has == set(dead), "more than what died was replaced"
            crowd.end(crowd.runs.pop())
            crowd.mend(dead)
            crowd.settle()
    return taken[1:]


def nodes_of(place: Place) -> set[str]:
    """The nodes a job starts on."""
    return {share.node for share in place.shares}


def measure_queue() -> Sequence[Figure]:
    """A very long queue: decided from scratch, after each end of a run, and asked why one of it waits."""
    crowd = crowded(XIAMEN, QUEUE, REQUESTS, TENANTS, SCATTERED)
    scratch_ms, plan = from_scratch_ms(crowd)
    crowd.commit(plan)
    what = (
        f"a cycle from scratch: {QUEUE:,} wait in {REQUESTS:,} kinds of request, {TENANTS:,} tenants, "
        f"{SCATTERED:,} cards free; {len(plan.places)} start, {len(plan.promises):,} promised"
    )
    peer = "Armada 1.3 s: 1,000 nodes, 320,000 jobs, a warm cycle"
    ends_ms = after_end_ms(crowd, 1_000)
    why_ms = reason_ms(crowd, 80)
    queue = len(crowd.waits)
    ends = f"a cycle after a run ended, {queue:,} wait"
    return (
        *_row("scratch", what, scratch_ms, "ms", 200, peer),
        Figure("after_end", f"{ends}: median of {len(ends_ms):,}", median(ends_ms), "ms", 1),
        Figure("after_end_mean", "the same: mean", sum(ends_ms) / len(ends_ms), "ms"),
        Figure("after_end_most", "the same: the longest", max(ends_ms), "ms"),
        *_row("why", f"say why an 80-card job waits, {queue:,} wait", why_ms, "ms", 10, "KAI 249 s"),
    )


def crowded(site: Site, queue: int, requests: int, tenants: int, scattered: int) -> Crowd:
    """A cluster where so many single cards are free, and nothing is decided yet for those who wait."""
    crowd = Crowd(site, tenants)
    crowd.churn(site.size - site.size // 200, 0.5)
    crowd.scatter(scattered)
    crowd.queue(queue, requests)
    return crowd


def from_scratch_ms(crowd: Crowd, times: int = TIMES) -> tuple[list[float], Plan]:
    """Milliseconds to decide with nothing proven, and the plan, the same each time; it is not carried out."""
    taken, plans = [], []
    with undisturbed():
        for _ in range(times + 1):
            crowd.memo = {}
            plans.append(crowd.decide())
            taken.append(crowd.spent_ns[-1] / 1e6)
            assert plans[-1] == plans[0], "the same view gave two plans"
            if sum(taken) > PATIENCE_MS:
                break
    return taken[1:] or taken, plans[0]


def after_end_ms(crowd: Crowd, ends: int) -> list[float]:
    """Milliseconds of the first decision after each of so many ends of runs; what it starts is started."""
    taken = []
    with undisturbed():
        for _ in range(ends):
            crowd.end_one()
            crowd.step()
            taken.append(crowd.spent_ns[-1] / 1e6)
            crowd.settle()
            if sum(taken) > PATIENCE_MS:
                break
    return taken


def reason_ms(crowd: Crowd, cards: int, times: int = TIMES) -> list[float]:
    """Milliseconds to say why a new job with so many cards waits, behind all others."""
    spec = crowd.spec(cards, crowd.site.cards, DAY_MS)
    crowd.submit(spec)
    crowd.settle()
    assert spec.job in crowd.waits, "it fits"
    taken = []
    with undisturbed():
        for _ in range(times + 1):
            began_ns = time.process_time_ns()
            reason = why_waiting(crowd.state.view, spec.job, crowd.now_ms)
            taken.append((time.process_time_ns() - began_ns) / 1e6)
            assert reason.causes, "it waits without a cause"
    return taken[1:]


def measure_churn() -> Sequence[Figure]:
    """Jobs come and go in a cluster nearly full, with many large ones waiting: of one class, and of three."""
    figures = []
    for name, text, priorities in (
        ("life", "one class", ("on-demand",)),
        ("life_classes", "three classes of priority", PRIORITIES),
    ):
        lives = life_in_decide(XIAMEN, 2_000, LIVES, priorities)
        what = (
            f"a job's life in `decide`, {text}: mean of {lives.number:,}; "
            f"{lives.waiting:,} wait, {lives.least:.0f}–{lives.most:.0f} % full"
        )
        figures.append(Figure(name, what, lives.mean_us, "µs", 30))
    return figures


class Lives(NamedTuple):
    """What so many lives cost, how many waited in the end, and how full the cluster was, %."""

    mean_us: float
    number: int
    waiting: int
    least: float
    most: float


def life_in_decide(site: Site, waiting: int, lives: int, priorities: Sequence[Priority]) -> Lives:
    """Microseconds in `decide` for the arrival and the end of a job, after a fifth of them to warm up.

    Sizes are those of the traces; when a large job starts, another one comes to wait. What waits, gangs of
    the last class, does not fit among what is free here and there. At 93 % a run ends, below it a job comes.
    """
    crowd = _busy(site, waiting, priorities)
    ended, marks, used = 0, [0], [crowd.used]
    with undisturbed():
        while ended < lives + lives // 5 and sum(crowd.spent_ns[marks[0] :]) < PATIENCE_MS * 1e6:
            if crowd.used > site.size * 93 // 100:
                crowd.end_one()
                ended += 1
            elif len(crowd.waits) < waiting:
                crowd.submit(_large(crowd))
            else:
                crowd.submit(crowd.mixed())
            crowd.settle()
            used.append(crowd.used)
            if ended == lives // 5 and len(marks) == 1:
                marks, used = [len(crowd.spent_ns), ended], used[-1:]
    count = max(1, ended - (marks[1] if len(marks) > 1 else 0))
    spent_us = sum(crowd.spent_ns[marks[0] :]) / 1e3
    least, most = (100 * cards / site.size for cards in (min(used), max(used)))
    return Lives(spent_us / count, count, len(crowd.waits), least, most)


def _busy(site: Site, waiting: int, priorities: Sequence[Priority]) -> Crowd:
    """A cluster 93 % full with so many large jobs waiting."""
    crowd = Crowd(site, 200, priorities)
    crowd.churn(site.size * 93 // 100)
    while len(crowd.waits) < waiting:
        crowd.submit(_large(crowd))
    crowd.settle()
    while crowd.used > site.size * 93 // 100:  # the large ones took what lay free in whole nodes
        crowd.end_one()
        crowd.settle()
    crowd.spent_ns.clear()
    return crowd


def _large(crowd: Crowd) -> JobSpec:
    cards = crowd.chance.choice((64, 128, 256, 512))
    hours = crowd.chance.choice((1, 2, 4, 8, 24, 72, 168))
    return crowd.spec(cards, crowd.site.cards, hours * HOUR_MS, crowd.priorities[-1])


def measure_preempt() -> Sequence[Figure]:
    """A reserved gang in a cluster full of preemptible runs."""
    taken = reclaim_ms(XIAMEN, 2_000)
    what = "choose who leaves for 2,000 reserved cards, of 4,000 preemptible runs"
    return _row("reclaim", what, taken, "ms", 100, "KAI 102 s: 2,000 of 4,000 cards, through its API")


def reclaim_ms(site: Site, cards: int, times: int = TIMES) -> list[float]:
    """Milliseconds to choose the runs that leave for a gang of whole nodes; two in fifteen of the nodes are
    shared by two runs, the others have one each."""
    crowd = Crowd(site, 200)
    nodes = site.size // site.cards
    for number in range(nodes + nodes // 15):
        size = site.cards if number < nodes - nodes // 15 else site.cards // 2
        crowd.submit(crowd.spec(size, size, DAY_MS, "preemptible"))
    crowd.settle()
    assert crowd.used == site.size, "the cluster is not full"
    crowd.now_ms += HOUR_MS
    crowd.submit(crowd.spec(cards, site.cards, DAY_MS, "reserved"))
    taken, plan = from_scratch_ms(crowd, times)
    leave = {evict.run for evict in plan.evictions}
    assert sum(crowd.state.runs[run].milli_cards for run in leave) == cards * CARD, "more leave than must"
    return taken


def measure_fill() -> Sequence[Figure]:
    """Thirty thousand jobs of a card each start in an empty cluster, in one decision."""
    taken = fill_s(XIAMEN)
    peer = "Slurm 22.05, this size, measured: 12/s, tuned 57–126/s; Nomad 3,750/s, kube-scheduler 810/s"
    return _row("fill", f"start {XIAMEN.size:,} one-card jobs in the empty cluster", taken, "s", 1, peer)


def fill_s(site: Site, times: int = TIMES) -> list[float]:
    """Seconds to place as many one-card jobs as there are cards, of a hundred tenants."""
    crowd = Crowd(site, 100)
    for _ in range(site.size):
        crowd.submit(crowd.spec(1, 1, DAY_MS))
    taken, plan = from_scratch_ms(crowd, times)
    assert len(plan.places) == site.size, "not all of them fit"
    return [ms / 1e3 for ms in taken]


def measure_core() -> Sequence[Figure]:
    """Memory at this size, and the start of a process, both in fresh ones."""
    began = time.perf_counter()
    _fresh("decide_once")
    starts = []
    for _ in range(TIMES):
        began = time.perf_counter()
        _fresh("decide_once")
        starts.append(time.perf_counter() - began)
    what = f"memory of the core (peak RSS): {QUEUE:,} wait, {XIAMEN.size:,} cards"
    return (
        Figure("memory", what, _fresh("grow"), "MB", 500),
        *_row("cold_start", "from a cold process to its first decision", starts, "s", 1.5),
    )


def decide_once() -> float:
    """One gang on a small tree, to the end."""
    crowd = Crowd(Site(2, 2, 2), 1)
    crowd.submit(crowd.spec(16, 8, HOUR_MS))
    assert crowd.step().places, "a gang fits in an empty cluster"
    return 0.0


def grow() -> float:
    """The peak of this process's memory in MB, after a cycle at full size."""
    crowded(XIAMEN, QUEUE, REQUESTS, TENANTS, SCATTERED).step()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _fresh(name: str) -> float:
    """What a function here says in a process of its own."""
    code = f"from starverse.bench import decisions; print(decisions.{name}())"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(json.loads(said.stdout))


def _row(
    name: str, what: str, taken: Sequence[float], unit: str, target: float, peer: str = ""
) -> Sequence[Figure]:
    return (
        Figure(name, what, median(taken), unit, target, peer=peer),
        Figure(f"{name}_best", f"the same: best of {len(taken)}", min(taken), unit),
    )


PARTS: Sequence[tuple[str, Callable[[], Sequence[Figure]]]] = (
    ("a large gang", measure_gang),
    ("dead nodes under a gang", measure_swap),
    ("a long queue", measure_queue),
    ("jobs that come and go", measure_churn),
    ("preemption", measure_preempt),
    ("filling an empty cluster", measure_fill),
    ("memory, and a cold start", measure_core),
)
