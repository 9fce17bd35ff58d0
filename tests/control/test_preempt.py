"""Runs that give way: who leaves, for whom, and that nobody leaves in vain."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace as changed
from tests.cluster import Cluster, Fate
from tests.control.laws import Auditor
from tests.control.stories import Story, each, play
from tests.control.test_memory import Forgetful

from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.job import Shape
from starverse.model.units import MINUTE_MS, SECOND_MS

S = SECOND_MS
M = MINUTE_MS


def hall(*nodes: int, **jobs: list[Fate]) -> Cluster:
    cluster = Cluster(Fate(60 * M), jobs=jobs, watch=Auditor())
    for number, cards in enumerate(nodes):
        cluster.node(f"n{number}", cards)
    cluster.tenant("ann", yuan=10_000)
    cluster.tenant("bob", yuan=10_000)
    return cluster


def submit(cluster: Cluster, job: str, cards: int, priority: str = "on-demand", **more: Any) -> None:
    cluster.submit(job, cards, priority=priority, time_limit_ms=120 * M, **more)


def evicted(cluster: Cluster) -> list[str]:
    return [event.run for event in cluster.events(ev.RunStopAsked) if event.why == "preempt"]


def test_a_preemptible_run_leaves_for_an_on_demand_job_and_comes_back() -> None:
    cluster = hall(4)
    submit(cluster, "cheap", 4, "preemptible")
    cluster.after(10 * M)
    submit(cluster, "dear", 4)
    cluster.after(1 * M)
    assert evicted(cluster) == ["cheap.0"]
    assert [run.job for run in cluster.state.runs.values()] == ["dear"]
    cluster.settle()
    assert {job: end.outcome for job, end in cluster.ended.items()} == {"cheap": "done", "dear": "done"}
    assert cluster.events(ev.JobRequeued)[0].retried is False, "its retries are untouched"


def test_nobody_leaves_for_a_job_of_the_same_class() -> None:
    cluster = hall(4)
    submit(cluster, "first", 4)
    cluster.after(10 * M)
    submit(cluster, "second", 4)
    cluster.after(10 * M)
    assert not evicted(cluster)


def test_a_run_is_left_alone_in_its_first_minutes_and_leaves_then() -> None:
    cluster = hall(4)
    submit(cluster, "cheap", 4, "preemptible")
    cluster.after(1 * M)
    submit(cluster, "dear", 4)
    cluster.after(1 * M)
    assert not evicted(cluster)
    cluster.after(4 * M)
    assert evicted(cluster) == ["cheap.0"]


def test_nobody_leaves_where_it_would_not_be_enough() -> None:
    cluster = hall(2, 2)
    submit(cluster, "cheap", 2, "preemptible")
    submit(cluster, "dear", 2)
    cluster.after(10 * M)
    submit(cluster, "large", 4)
    cluster.after(10 * M)
    assert not evicted(cluster)


@pytest.mark.parametrize("saves", [("a", "b"), ("b", "a")])
def test_c11_the_one_that_saved_last_leaves(saves: tuple[str, str]) -> None:
    fresh, stale = saves
    cluster = hall(2, 2)
    submit(cluster, "a", 2, "preemptible")
    submit(cluster, "b", 2, "preemptible")
    cluster.after(10 * M)
    cluster.hear(ev.CheckpointSaved(f"{stale}.0", 10, cluster.now_ms - 9 * M))
    cluster.hear(ev.CheckpointSaved(f"{fresh}.0", 10, cluster.now_ms - 1 * M))
    submit(cluster, "dear", 2)
    cluster.after(1 * M)
    assert evicted(cluster) == [f"{fresh}.0"]


def test_c1_the_same_claim_never_evicts_twice() -> None:
    cluster = hall(2, 2)
    submit(cluster, "a", 2, "preemptible")
    submit(cluster, "b", 2, "preemptible")
    cluster.after(10 * M)
    submit(cluster, "dear", 2)
    for _ in range(20):
        cluster.after(1 * S)
        submit(cluster, f"late{cluster.now_ms}", 4, "preemptible")
    assert len(evicted(cluster)) == 1


def test_c4_a_victim_that_ends_by_itself_lets_the_other_start_at_once() -> None:
    cluster = hall(2, cheap=[Fate(10 * M + 1 * S, leave_ms=8 * S)])
    submit(cluster, "cheap", 2, "preemptible")
    cluster.after(10 * M)
    submit(cluster, "dear", 2)
    cluster.after(2 * S)
    assert [run.job for run in cluster.state.runs.values()] == ["dear"]


def test_c10_a_job_that_was_evicted_often_has_all_its_retries() -> None:
    cluster = hall(2)
    submit(cluster, "cheap", 2, "preemptible")
    for number in range(3):
        cluster.after(10 * M)
        submit(cluster, f"dear{number}", 2)
        cluster.after(61 * M)
    assert len(evicted(cluster)) == 3
    assert cluster.state.jobs["cheap"].retries_used == 0


def with_memory(story: Story) -> Story:
    """The same story, in which cards are many and memory is scarce: runs are preempted for that."""

    def scarce(act: object) -> object:
        if not isinstance(act, rq.SubmitJob):
            return act
        memory_mb = Random(repr(act.spec)).choice([0, 3, 5, 10])
        return rq.SubmitJob(changed(act.spec, shape=Shape(memory_mb=memory_mb)))

    nodes = tuple(changed(node, cards=node.cards + 2, memory_mb=12) for node in story.nodes)
    acts = tuple((at_ms, scarce(act)) for at_ms, act in story.acts)
    fates = tuple(
        (job, tuple(changed(fate, work_ms=20 * fate.work_ms) for fate in its)) for job, its in story.fates
    )
    return replace(story, nodes=nodes, acts=acts, fates=fates)


def test_whoever_lacks_memory_preempts_by_the_same_laws(seeds: range) -> None:
    left: list[str] = []

    def the_same(story: Story) -> None:
        story = with_memory(story)
        cluster = play(story)
        assert play(story, loop=Forgetful).book.rows == cluster.book.rows
        left.extend(evicted(cluster))

    each(seeds[1::4], the_same)
    assert left
