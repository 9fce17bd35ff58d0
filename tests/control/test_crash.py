"""A server that dies at any instant: no job is lost, none started twice, no money lost or doubled."""

import pytest
from tests.cluster import NOON, Cluster
from tests.control.laws import Auditor
from tests.control.stories import Story, begin, each, play
from tests.hall import Fate

from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.units import HOUR_MS, SECOND_MS

S = SECOND_MS


def total(cluster: Cluster) -> dict[str, object]:
    """What a history comes to."""
    postings = [event for event in cluster.events(ev.Posted) if event.kind in {"charge", "credit"}]
    return {
        "accounts": {account: amount for account, amount in cluster.state.accounts.items() if amount},
        "outcomes": {job: end.outcome for job, end in cluster.ended.items()},
        "waiting": {name: job.phase for name, job in cluster.state.jobs.items()},
        "card_ms": {
            job: sum(p.card_ms for p in postings if p.job == job) for job in {p.job for p in postings}
        },
        "starts": cluster.hall.starts,
    }


def moments(story: Story) -> int:
    """At how many instants the server can die in a story: before and after writing, before each order."""
    return play(story).fuse.count


@pytest.mark.timeout(300)
def test_a_server_that_dies_and_comes_back_at_once_changes_nothing_in_the_end(seeds: range) -> None:
    def the_same(story: Story) -> None:
        undisturbed = total(play(story))
        for moment in range(1, moments(story) + 1, 3):
            assert total(play(story, dies_at=[moment])) == undisturbed, f"it died at moment {moment}"

    each(seeds[::8], the_same, people=False)


def test_the_laws_hold_for_a_server_that_dies_often(seeds: range) -> None:
    each(seeds[::4], lambda story: play(story, dies_at=range(2, 2_000, 5)))


def test_the_laws_hold_for_a_server_that_is_long_away(seeds: range) -> None:
    def stay_away(story: Story) -> None:
        cluster = begin(story)
        for away_s in (0, 1, 7, 45, 70, 200, 3):
            for _ in range(9):
                cluster.is_quiet()
            cluster.restart(down_ms=away_s * SECOND_MS)
        cluster.settle()

    each(seeds, stay_away)


@pytest.mark.deep
@pytest.mark.timeout(300)
def test_the_server_may_die_at_every_single_instant(seeds: range) -> None:
    def the_same(story: Story) -> None:
        undisturbed = total(play(story))
        for moment in range(1, moments(story) + 1):
            assert total(play(story, dies_at=[moment])) == undisturbed, f"it died at moment {moment}"

    each(seeds[::30], the_same, people=False)


# -- small stories ----------------------------------------------------------------------------------------


def begin_small(**jobs: list[Fate]) -> Cluster:
    """One card, and the jobs that want it."""
    cluster = Cluster(jobs=jobs, watch=Auditor())
    cluster.node("a", cards=1)
    cluster.tenant("ann", yuan=10)
    for job in jobs:
        cluster.submit(job)
    return cluster


# Was once so: what is heard on taking over is decided on only when more happens.
def test_a_job_whose_run_was_lost_while_no_server_was_there_is_started_by_the_next() -> None:
    cluster = begin_small(job=[Fate(20 * S, how="lost"), Fate(20 * S)])
    cluster.after(10 * S)
    cluster.restart(down_ms=30 * S)
    cluster.settle()
    assert [e.happened_ms for e in cluster.events(ev.RunStarted)] == [NOON, NOON + 40 * S]


# Was once so: a repeated start renews nothing, so a renewal that was lost stays lost.
def test_a_renewal_that_was_lost_with_the_server_is_sent_again_to_a_run_that_has_not_started() -> None:
    cluster = begin_small(job=[Fate(60 * S, start_ms=50 * S)])
    cluster.after(29 * S)
    before_the_order = 3  # it writes, has written, orders
    cluster.fuse.at = {cluster.fuse.count + before_the_order}
    cluster.settle()
    assert [e.how for e in cluster.events(ev.RunEnded)] == ["exit"]


# Was once so: the state forgets which rank was to be shot.
def test_a_shot_that_was_lost_with_the_server_is_fired_by_the_next() -> None:
    cluster = begin_small(job=[Fate(60 * S), Fate(60 * S)])
    cluster.after(9 * S)
    cluster.ask(rq.InjectFault("job.0", 0, "op"))
    before_the_order = 3  # it writes, has written, orders
    cluster.fuse.at = {cluster.fuse.count + before_the_order}
    cluster.settle()
    assert [(e.how, e.rank) for e in cluster.events(ev.RunEnded)] == [("signal", 0), ("exit", -1)]


# Was once so: a fold never puts a job whose waiting time is over into its queue.
def test_a_job_that_had_waited_long_enough_before_the_server_died_starts_when_it_can() -> None:
    cluster = begin_small(fails=[Fate(2 * S, code=1), Fate(2 * S)], other=[Fate(18 * S)])
    cluster.ask(rq.TopUp("ann", 1), NOON + 5 * S)
    cluster.until(NOON + 6 * S)
    cluster.restart()
    cluster.until(NOON + 25 * S)
    assert cluster.ended["fails"].outcome == "done"


# Was once so: with nothing running, who waits for a time after midnight is forgotten.
def test_a_job_asked_for_tomorrow_is_not_forgotten_by_the_next_server() -> None:
    cluster = begin_small()
    cluster.submit("job", earliest_start_ms=NOON + 30 * HOUR_MS)
    cluster.after(S)
    cluster.restart()
    cluster.settle()
    assert [e.happened_ms for e in cluster.events(ev.RunStarted)] == [NOON + 30 * HOUR_MS]


def test_a_run_that_goes_on_under_the_next_server_is_started_once_and_ends_once() -> None:
    cluster = begin_small(job=[Fate(50 * S, step_ms=S, save_ms=10 * S)])
    for _ in range(6):
        cluster.after(7 * S)
        cluster.restart()
    cluster.settle()
    assert cluster.hall.starts == {"job.0": 1}
    assert cluster.money("charge", "job") == [50 * S]


def test_a_run_that_started_and_ended_while_no_server_was_there_is_charged_for_its_time() -> None:
    cluster = begin_small(job=[Fate(20 * S, start_ms=5 * S)])
    cluster.after(S)
    cluster.restart(down_ms=40 * S)
    cluster.settle()
    assert cluster.ended["job"].outcome == "done"
    assert cluster.money("charge", "job") == [20 * S]


def test_a_start_that_was_written_but_never_ordered_is_ordered_by_the_next() -> None:
    cluster = begin_small(job=[Fate(20 * S)])
    cluster.fuse.at = {3}  # it writes, has written, orders
    cluster.settle()
    assert cluster.hall.starts == {"job.0": 1}
    assert cluster.ended["job"].outcome == "done"


def test_a_start_that_was_never_written_was_never_ordered() -> None:
    cluster = begin_small(job=[Fate(20 * S)])
    cluster.fuse.at = {1}
    while not cluster.fuse.count:
        cluster.is_quiet()
    assert cluster.book.rows[0][1] == ev.LeaderChanged(1)
    assert not cluster.hall.starts
    cluster.settle()
    assert cluster.hall.starts == {"job.0": 1}
