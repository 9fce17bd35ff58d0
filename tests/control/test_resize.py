"""Elastic runs: they grow into what is idle, and give it up before anybody of equal right is turned away."""

from functools import partial
from random import Random
from typing import Any

import pytest
from tests.cluster import Cluster, Fate
from tests.control.laws import Auditor
from tests.control.test_memory import decides_no_otherwise

from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.job import Shape
from starverse.model.units import CARD, MINUTE_MS, SECOND_MS

S = SECOND_MS
M = MINUTE_MS
SAVES = Fate(600 * M, save_ms=2 * M)


def hall(*nodes: int, fate: Fate = SAVES, jobs: Any = None, **how: Any) -> Cluster:
    cluster = Cluster(fate, jobs=jobs, **{"watch": Auditor(), **how})
    for number, cards in enumerate(nodes):
        cluster.hear(ev.NodeJoined(f"n{number}", "cpu", cards, feeds=(f"row-{number % 2}",), card_mw=1_000))
    cluster.tenant("ann", yuan=100_000)
    cluster.tenant("bob", yuan=100_000)
    return cluster


def sizes(cluster: Cluster, job: str) -> list[int]:
    """The cards that the runs of a job had, in turn."""
    return [sum(share.count for share in shares) for shares in cluster.placed(job)]


def asked(cluster: Cluster) -> list[tuple[str, str]]:
    """The runs that were asked to leave, and why."""
    return [(event.run, event.why) for event in cluster.events(ev.RunStopAsked)]


# -- growing ----------------------------------------------------------------------------------------------


def test_a_run_grows_when_cards_have_come_free_and_it_has_rested() -> None:
    cluster = hall(8, jobs={"first": [Fate(5 * M)]})
    cluster.submit("first", 5)
    cluster.submit("elastic", (2, 8))
    cluster.after(9 * M)
    assert sizes(cluster, "elastic") == [3]
    cluster.after(60 * M)
    assert sizes(cluster, "elastic") == [3, 8]
    assert cluster.state.jobs["elastic"].retries_used == 0
    assert cluster.state.jobs["elastic"].order == 2


def test_what_it_grows_into_is_kept_while_it_saves() -> None:
    cluster = hall(8, fate=Fate(600 * M, save_ms=2 * M, leave_ms=3 * S), jobs={"first": [Fate(5 * M)]})
    cluster.submit("first", 5)
    cluster.submit("elastic", (2, 8))
    while not asked(cluster):
        cluster.after(1 * S)
    cluster.submit("late", 5)
    cluster.after(10 * S)
    assert sizes(cluster, "elastic") == [3, 8]


def test_it_is_not_worth_all_work_of_a_run_that_never_saved() -> None:
    cluster = hall(8, fate=Fate(600 * M), jobs={"first": [Fate(5 * M)]})
    cluster.submit("first", 1)
    cluster.submit("elastic", (2, 8))
    cluster.after(120 * M)
    assert sizes(cluster, "elastic") == [7], "one card more for as long as it ran, against seven"


def test_no_card_that_is_promised_before_the_end_is_taken() -> None:
    cluster = hall(4, 4, jobs={"first": [Fate(5 * M)], "second": [Fate(30 * M)]})
    cluster.submit("first", 4, time_limit_ms=30 * M)
    cluster.submit("elastic", (2, 6), shape=Shape(), time_limit_ms=300 * M)
    cluster.submit("second", 2, time_limit_ms=30 * M, at_ms=cluster.now_ms + 1 * M)
    cluster.submit("large", 4, time_limit_ms=30 * M, at_ms=cluster.now_ms + 2 * M)
    cluster.after(60 * M)
    assert cluster.placed("large")


def test_it_grows_within_the_quota_of_its_tenant() -> None:
    cluster = hall(8, jobs={"first": [Fate(5 * M)]})
    cluster.ask(rq.SetQuota("ann", guaranteed=5 * CARD))
    cluster.submit("first", 5, tenant="bob")
    cluster.submit("elastic", (2, 8))
    cluster.after(60 * M)
    assert sizes(cluster, "elastic") == [3, 5]


# -- shrinking --------------------------------------------------------------------------------------------


def test_a_run_shrinks_for_a_job_of_equal_right_and_grows_again() -> None:
    cluster = hall(8, jobs={"late": [Fate(20 * M)]})
    cluster.submit("elastic", (1, 8))
    cluster.after(20 * M)
    cluster.submit("late", 5)
    cluster.after(1 * M)
    assert sizes(cluster, "elastic") == [8, 3]
    assert sizes(cluster, "late") == [5]
    cluster.after(40 * M)
    assert sizes(cluster, "elastic") == [8, 3, 8]
    assert cluster.state.jobs["elastic"].retries_used == 0


def test_a_run_gives_up_the_memory_that_another_job_lacks() -> None:
    cluster = Cluster(SAVES, jobs={"late": [Fate(20 * M)]}, watch=Auditor())
    for name in ("n0", "n1"):
        cluster.hear(ev.NodeJoined(name, "cpu", 4, memory_mb=12))
    cluster.tenant("ann", yuan=100_000)
    cluster.submit("elastic", (1, 8), shape=Shape(memory_mb=10))
    cluster.after(20 * M)
    cluster.submit("late", 1, shape=Shape(memory_mb=5))
    cluster.after(1 * M)
    assert sizes(cluster, "elastic") == [2, 1]
    assert cluster.placed("late"), "there were cards, but the memory beside them was not given up"


def test_one_to_eight_to_a_thousand_and_back() -> None:
    cluster = hall(*[8] * 125, jobs={"all": [Fate(20 * M)], "most": [Fate(300 * M)]})
    cluster.submit("all", 999)
    cluster.submit("elastic", (1, 1000))
    cluster.after(60 * M)
    cluster.submit("most", 992)
    cluster.after(5 * M)
    assert sizes(cluster, "elastic") == [1, 1000, 8]
    assert [event.retried for event in cluster.events(ev.JobRequeued)] == [False, False]


def test_a_run_does_not_shrink_for_a_job_of_a_worse_class() -> None:
    cluster = hall(8)
    cluster.submit("elastic", (1, 8))
    cluster.after(20 * M)
    cluster.submit("cheap", 5, priority="preemptible")
    cluster.after(60 * M)
    assert not asked(cluster)


def test_runs_shrink_before_any_leaves() -> None:
    cluster = hall(8)
    cluster.submit("cheap", 4, priority="preemptible")
    cluster.submit("elastic", (1, 4))
    cluster.after(20 * M)
    cluster.submit("dear", 3)
    cluster.after(1 * M)
    assert asked(cluster) == [("elastic.0", "resize")]
    assert sizes(cluster, "dear") == [3]


def test_a_preemptible_run_shrinks_where_that_is_enough_and_leaves_where_it_is_not() -> None:
    cluster = hall(8)
    cluster.submit("cheap", (2, 8), priority="preemptible")
    cluster.after(20 * M)
    cluster.submit("dear", 4)
    cluster.after(20 * M)
    cluster.submit("more", 4)
    cluster.after(1 * M)
    assert asked(cluster) == [("cheap.0", "resize"), ("cheap.1", "preempt")]


def test_members_stay_whole() -> None:
    cluster = hall(8, 8)
    cluster.submit("elastic", (4, 16), shape=Shape(member=4 * CARD))
    cluster.after(20 * M)
    cluster.submit("late", 3)
    cluster.after(1 * M)
    assert sizes(cluster, "elastic") == [16, 12]


def test_a_run_is_not_asked_for_what_its_tenant_may_not_use() -> None:
    cluster = hall(8)
    cluster.ask(rq.SetQuota("bob", guaranteed=2 * CARD))
    cluster.submit("elastic", (1, 8))
    cluster.after(20 * M)
    cluster.submit("late", 4, tenant="bob")
    cluster.after(10 * M)
    assert not asked(cluster)


def test_a_job_that_would_start_soon_anyway_is_not_worth_the_work_of_others() -> None:
    cluster = hall(8, fate=Fate(600 * M))
    cluster.submit("short", 4, time_limit_ms=61 * M)
    cluster.submit("elastic", (1, 4))
    cluster.after(60 * M)
    cluster.submit("late", 2)
    cluster.after(30 * S)
    assert not asked(cluster)


def test_a_node_lost_on_the_way_leaves_it_what_remains() -> None:
    cluster = hall(4, 4, fate=Fate(600 * M, save_ms=2 * M, leave_ms=3 * S), jobs={"first": [Fate(5 * M)]})
    cluster.submit("first", 4)
    cluster.submit("elastic", (2, 8))
    while not asked(cluster):
        cluster.after(1 * S)
    cluster.hear(ev.NodeLost("n0", cluster.now_ms))
    cluster.after(20 * S)
    assert sizes(cluster, "elastic") == [4, 4]
    assert not cluster.state.view.kept


# -- weak cooling and power -------------------------------------------------------------------------------


def test_preemptible_runs_wait_where_a_feed_is_short_and_nothing_else_is_idle() -> None:
    cluster = hall(4, 4)
    cluster.submit("dear", 4, shape=Shape(member=4 * CARD))
    cluster.submit("cheap", 4, priority="preemptible", shape=Shape(member=4 * CARD))
    cluster.after(1 * M)
    rows = {job: f"row-{cluster.placed(job)[0][0].node[1]}" for job in ("dear", "cheap")}
    cluster.ask(rq.SetBudget(rows["dear"], 3_000))
    cluster.after(1 * M)
    assert not asked(cluster), "who is not preemptible stays"
    cluster.ask(rq.SetBudget(rows["cheap"], 3_000))
    cluster.after(1 * M)
    assert asked(cluster) == [("cheap.0", "power")]
    cluster.after(10 * M)
    assert cluster.state.jobs["cheap"].phase == "waiting"
    cluster.ask(rq.SetBudget(rows["cheap"], 4_000))
    cluster.after(1 * M)
    assert sizes(cluster, "cheap") == [4, 4]


def test_a_run_on_a_feed_that_is_short_goes_on_elsewhere_or_with_fewer_cards() -> None:
    cluster = hall(4, 4)
    cluster.submit("elastic", (1, 2), priority="preemptible")
    cluster.after(1 * M)
    row = int(cluster.placed("elastic")[0][0].node[1])
    cluster.submit("fixed", 2, priority="preemptible")
    cluster.after(1 * M + 1 * S)
    cluster.ask(rq.SetBudget(f"row-{row}", 3_000))
    cluster.after(1 * M)
    assert [why for _, why in asked(cluster)] == ["resize"]
    cluster.ask(rq.SetBudget(f"row-{row}", 0))
    cluster.after(1 * M)
    assert [why for _, why in asked(cluster)][1:] == ["migrate", "migrate"]
    assert {share.node for run in cluster.state.runs.values() for share in run.shares} == {f"n{1 - row}"}


# -- whole days -------------------------------------------------------------------------------------------


def day(seed: int, **how: Any) -> Cluster:
    """Elastic jobs of all classes come and go on a few nodes, for hours."""
    chance = Random(seed)
    jobs = {
        f"j{n}": [Fate(chance.choice([7, 20, 45, 90]) * M, save_ms=chance.choice([0, 3]) * M, leave_ms=S)]
        for n in range(chance.randint(3, 9))
    }
    cluster = hall(*[chance.randint(1, 4) for _ in range(chance.randint(1, 4))], jobs=jobs, **how)
    cards = sum(node.cards for _, node in cluster_nodes(cluster))
    for job in jobs:
        low = min(chance.choice([1, 1, 2, 3]), cards)
        cluster.submit(
            job, (low, min(low + chance.choice([0, 1, 3, 8]), cards)),
            at_ms=cluster.now_ms + chance.randint(0, 60) * M, tenant=chance.choice(["ann", "bob"]),
            priority=chance.choice(["on-demand", "on-demand", "preemptible", "reserved"]),
            time_limit_ms=chance.choice([100, 300]) * M, price=chance.choice([0, 3_600_000]),
        )  # fmt: skip
    if chance.random() < 0.5:
        lost = "n0", cluster.now_ms + chance.randint(10, 90) * M
        cluster.hear(ev.NodeLost(*lost), lost[1])
        cluster.hear(next(node for _, node in cluster_nodes(cluster) if node.node == "n0"), lost[1] + 15 * M)
    for _ in range(chance.choice([0, 0, 1, 3])):
        budget = rq.SetBudget(f"row-{chance.randint(0, 1)}", chance.choice([1, 2, 4]) * 1_000)
        cluster.ask(budget, cluster.now_ms + chance.randint(1, 90) * M)
    cluster.ask(rq.SetBudget("row-0", 99_000), cluster.now_ms + 100 * M)
    cluster.ask(rq.SetBudget("row-1", 99_000), cluster.now_ms + 100 * M)
    return cluster


def cluster_nodes(cluster: Cluster) -> list[tuple[int, ev.NodeJoined]]:
    items = [*((cluster.now_ms, item) for item in cluster.hall._now)]
    return [(at_ms, item) for at_ms, item in items if isinstance(item, ev.NodeJoined)]


@pytest.mark.parametrize("seed", range(60))
def test_the_laws_hold_and_all_settles(seed: int) -> None:
    cluster = day(seed)
    cluster.settle()
    assert not cluster.state.jobs
    assert all(end.outcome in {"done", "expired"} for end in cluster.ended.values())


@pytest.mark.parametrize("seed", range(0, 60, 2))
def test_neither_a_loop_that_forgets_nor_one_that_dies_decides_otherwise(seed: int) -> None:
    decides_no_otherwise(partial(day, seed))
