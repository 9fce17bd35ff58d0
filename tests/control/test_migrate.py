"""Small runs that move out of the way of a job that needs a whole domain: when, which, and where to."""

from functools import partial
from random import Random
from typing import Any

import pytest
from tests.cluster import Cluster, Fate
from tests.control.laws import Auditor
from tests.control.test_memory import decides_no_otherwise

from starverse.model import events as ev
from starverse.model.job import Shape
from starverse.model.units import CARD, MINUTE_MS, SECOND_MS

S = SECOND_MS
M = MINUTE_MS
LONG = Fate(60 * 60 * M, save_ms=5 * M, leave_ms=1 * S)
RACK = Shape(member=4 * CARD, require="rack")


def racks(*sizes: int, jobs: Any = None, fate: Fate = LONG, **how: Any) -> Cluster:
    """Racks of so many nodes of four cards."""
    cluster = Cluster(fate, jobs=jobs, **{"watch": Auditor(), **how})
    cluster.hear(ev.LayoutSet(("rack",)))
    for rack, nodes in enumerate(sizes):
        for node in range(nodes):
            cluster.hear(ev.NodeJoined(f"r{rack}n{node}", "cpu", 4, (f"r{rack}",)))
    cluster.tenant("ann", yuan=100_000)
    return cluster


def scattered(fate: Fate = LONG, cards: int = 1, **spec: Any) -> Cluster:
    """A small run in each of two racks, whose other cards came free."""
    cluster = racks(2, 2, fate=fate, jobs={"fill0": [Fate(5 * M)], "fill1": [Fate(5 * M)]})
    for n in range(2):
        cluster.submit(f"fill{n}", 8 - cards, shape=Shape(require="rack"))
    cluster.after(1 * M)
    for n in range(2):
        cluster.submit(f"small{n}", cards, **spec)
    cluster.after(70 * M)
    return cluster


def moved(cluster: Cluster) -> list[str]:
    return [event.run for event in cluster.events(ev.RunStopAsked) if event.why == "migrate"]


def test_a_small_run_moves_once_and_the_rack_is_had() -> None:
    cluster = scattered()
    cluster.submit("rack", 8, shape=RACK)
    cluster.after(1 * M)
    assert len(moved(cluster)) == 1
    assert "rack.0" in cluster.state.runs
    assert len(cluster.state.runs) == 3, "who moved runs again at once"
    assert not any(event.retried for event in cluster.events(ev.JobRequeued))
    cluster.after(300 * M)
    assert len(moved(cluster)) == 1


@pytest.mark.parametrize("spec", [{"stays": True}, {"priority": "reserved"}])
def test_who_may_not_be_moved_is_not(spec: dict[str, Any]) -> None:
    cluster = scattered(**spec)
    cluster.submit("rack", 8, shape=RACK)
    cluster.after(30 * M)
    assert not moved(cluster)


@pytest.mark.parametrize(
    ("cards", "limit", "moves"),
    [
        (1, 75, 0),  # the rack would gain less than ten minutes
        (3, 85, 0),  # 8 cards 14 minutes earlier, against 3 cards that lose 70 minutes
        (1, 85, 1),  # 8 cards 14 minutes earlier, against 1 card that loses 70 minutes
    ],
)
def test_nobody_moves_for_less_than_it_costs(cards: int, limit: int, moves: int) -> None:
    cluster = scattered(fate=Fate(60 * 60 * M), cards=cards, time_limit_ms=limit * M)
    cluster.submit("rack", 8, shape=RACK)
    cluster.after(1 * M)
    assert len(moved(cluster)) == moves


def test_a_run_moves_only_after_it_has_been_there_for_long() -> None:
    cluster = racks(2, 2, jobs={"fill0": [Fate(5 * M)], "fill1": [Fate(5 * M)]})
    for n in range(2):
        cluster.submit(f"fill{n}", 7, shape=Shape(require="rack"))
    cluster.after(1 * M)
    for n in range(2):
        cluster.submit(f"small{n}", 1)
    cluster.after(10 * M)
    cluster.submit("rack", 8, shape=RACK)
    cluster.after(49 * M)
    assert not moved(cluster)
    cluster.after(2 * M)
    assert len(moved(cluster)) == 1
    assert "rack.0" in cluster.state.runs


def test_nobody_moves_where_the_cards_would_not_be_enough() -> None:
    cluster = scattered()
    cluster.submit("large", 16, shape=Shape(member=4 * CARD))
    cluster.submit("rack", 12, shape=RACK)
    cluster.after(30 * M)
    assert not moved(cluster)


def day(seed: int, **how: Any) -> Cluster:
    """Small jobs, and some that need a rack, for hours."""
    chance = Random(seed)
    jobs = {
        f"j{n}": [Fate(chance.choice([7, 45, 90, 300]) * M, save_ms=chance.choice([0, 3]) * M, leave_ms=S)]
        for n in range(chance.randint(4, 12))
    }
    sizes = [chance.randint(1, 3) for _ in range(chance.randint(2, 3))]
    cluster = racks(*sizes, jobs=jobs, **how)
    for job in jobs:
        nodes = chance.choice([0, 0, 0, 1, 2])
        nodes = min(nodes, max(sizes))
        low = 4 * nodes or chance.randint(1, 3)
        high = low + chance.choice([0, 0, 4]) if nodes else low + chance.choice([0, 0, 2])
        at_ms = cluster.now_ms + chance.randint(0, 150) * M
        cluster.submit(
            job, (low, high), shape=RACK if nodes else Shape(), at_ms=at_ms,
            priority=chance.choice(["on-demand", "on-demand", "preemptible"]), price=0,
            time_limit_ms=chance.choice([100, 400]) * M, stays=chance.random() < 0.1,
        )  # fmt: skip
    return cluster


@pytest.mark.parametrize("seed", range(60))
def test_the_laws_hold_and_all_settles(seed: int) -> None:
    cluster = day(seed)
    cluster.settle()
    assert not cluster.state.jobs


@pytest.mark.parametrize("seed", range(0, 60, 2))
def test_neither_a_loop_that_forgets_nor_one_that_dies_decides_otherwise(seed: int) -> None:
    decides_no_otherwise(partial(day, seed))
