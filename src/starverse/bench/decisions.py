"""How long decisions take on the reference cluster, 3,750 nodes of 8 cards; one core, and only `decide` timed.

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

from starverse.bench.crowd import KIND, XIAMEN, XIAMEN_TORUS, Crowd, Site
from starverse.bench.figure import Figure
from starverse.model.units import DAY_MS, HOUR_MS
from starverse.scheduler.reasons import why_waiting

TIMES = 5
QUEUE, REQUESTS, TENANTS = 100_000, 6_000, 2_000
SCATTERED = 2_000
LIVES = 5_000


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


def measure_queue() -> Sequence[Figure]:
    """A very long queue: decided from scratch, after each end of a run, and asked why one of it waits."""
    crowd = crowded(XIAMEN, QUEUE, REQUESTS, TENANTS, SCATTERED)
    scratch_ms = from_scratch_ms(crowd)
    plan = crowd.step()
    what = (
        f"a cycle from scratch: {QUEUE:,} wait in {REQUESTS:,} kinds of request, {TENANTS:,} tenants, "
        f"{SCATTERED:,} cards free; {len(plan.places)} start, {len(plan.promises):,} promised"
    )
    peer = "Armada 1.3 s: 1,000 nodes, 320,000 jobs, a warm cycle"
    ends_ms = after_end_ms(crowd, 1_000)
    why_ms = reason_ms(crowd, 80)
    queue = len(crowd.waits)
    return (
        *_row("scratch", what, scratch_ms, "ms", 200, peer),
        Figure("after_end", f"a cycle after a run ended, {queue:,} wait: median of 1,000", median(ends_ms), "ms", 1),
        Figure("after_end_mean", "the same: mean", sum(ends_ms) / len(ends_ms), "ms"),
        Figure("after_end_most", "the same: the longest", max(ends_ms), "ms"),
        *_row("why", f"say why an 80-card job waits, {queue:,} wait", why_ms, "ms", 10, "KAI 249 s to find that it must"),
    )  # fmt: skip


def crowded(site: Site, queue: int, requests: int, tenants: int, scattered: int) -> Crowd:
    """A cluster where so many single cards are free, and nothing is decided yet for those who wait."""
    crowd = Crowd(site, tenants)
    crowd.churn(site.size - site.size // 200, 0.5)
    crowd.scatter(scattered)
    crowd.queue(queue, requests)
    return crowd


def from_scratch_ms(crowd: Crowd, times: int = TIMES) -> list[float]:
    """Milliseconds to decide with nothing proven; the plans, all the same, are thrown away."""
    taken, plans = [], set()
    with undisturbed():
        for _ in range(times + 1):
            crowd.memo = {}
            plans.add(crowd.decide())
            taken.append(crowd.spent_ns[-1] / 1e6)
    assert len(plans) == 1, "the same view gave two plans"
    return taken[1:]


def after_end_ms(crowd: Crowd, ends: int) -> list[float]:
    """Milliseconds of the first decision after each of so many ends of runs; what it starts is started."""
    taken = []
    with undisturbed():
        for _ in range(ends):
            crowd.end_one()
            crowd.step()
            taken.append(crowd.spent_ns[-1] / 1e6)
            crowd.settle()
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
    """Jobs come and go in a cluster nearly full, with many large ones waiting."""
    life_us, fullest, emptiest = life_in_decide_us(XIAMEN, 2_000, LIVES)
    what = f"a job's life in `decide`: mean of {LIVES:,}, 2,000 wait, {emptiest:.0f}–{fullest:.0f} % full"
    return (Figure("life", what, life_us, "µs", 30),)


def life_in_decide_us(site: Site, waiting: int, lives: int) -> tuple[float, float, float]:
    """Microseconds in `decide` for the arrival and the end of a job, and how full the cluster was, most and
    least, %.

    Sizes are those of the traces; when a large job starts, another one comes to wait. What waits does not fit
    among what is free here and there; at 93 % a run ends, below it a job arrives.
    """
    crowd = Crowd(site, 200)
    crowd.churn(site.size * 93 // 100)
    while len(crowd.waits) < waiting:
        crowd.submit(_large(crowd))
    crowd.settle()
    ended, mark, used = 0, 0, [crowd.used]
    with undisturbed():
        while ended < lives + lives // 5:
            if crowd.used > site.size * 93 // 100:
                crowd.end_one()
                ended += 1
            elif len(crowd.waits) < waiting:
                crowd.submit(_large(crowd))
            else:
                crowd.submit(crowd.mixed())
            crowd.settle()
            if ended == lives // 5 and not mark:
                mark, used = len(crowd.spent_ns), []
            used.append(crowd.used)
    share = 100 / site.size
    return sum(crowd.spent_ns[mark:]) / 1e3 / lives, max(used) * share, min(used) * share


def _large(crowd: Crowd):
    cards = crowd.chance.choice((64, 128, 256, 512))
    hours = crowd.chance.choice((1, 2, 4, 8, 24, 72, 168))
    return crowd.spec(cards, crowd.site.cards, hours * HOUR_MS)


def measure_fill() -> Sequence[Figure]:
    """Thirty thousand jobs of a card each start in an empty cluster, in one decision."""
    taken = fill_s(XIAMEN)
    peer = "at 3,750 nodes Slurm 22.05 12/s, tuned 57–126/s (measured); Nomad 3,750/s, kube-scheduler 810/s (theirs)"
    return _row("fill", f"start {XIAMEN.size:,} one-card jobs in the empty cluster", taken, "s", 1, peer)


def fill_s(site: Site, times: int = TIMES) -> list[float]:
    """Seconds to place as many one-card jobs as there are cards, of a hundred tenants."""
    crowd = Crowd(site, 100)
    for _ in range(site.size):
        crowd.submit(crowd.spec(1, 1, DAY_MS))
    taken = [ms / 1e3 for ms in from_scratch_ms(crowd, times)]
    assert len(crowd.step().places) == site.size, "not all of them fit"
    return taken


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


def _row(id: str, what: str, taken: Sequence[float], unit: str, target: float, peer: str = "") -> Sequence[Figure]:
    return (
        Figure(id, what, median(taken), unit, target, peer=peer),
        Figure(f"{id}_best", f"the same: best of {len(taken)}", min(taken), unit),
    )


PARTS: Sequence[tuple[str, Callable[[], Sequence[Figure]]]] = (
    ("a large gang", measure_gang),
    ("a long queue", measure_queue),
    ("jobs that come and go", measure_churn),
    ("filling an empty cluster", measure_fill),
    ("memory, and a cold start", measure_core),
)
