"""What becomes of a job when its run ends: the table, and the stories behind it."""

import pytest
from tests.cluster import NOON, Cluster
from tests.control.laws import Auditor
from tests.hall import Fate

from starverse.control.rules import BACKOFF_MS, PLATFORM_FAULTS_FREE, PLATFORM_FAULTS_MAX
from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.job import How, Outcome, StopWhy
from starverse.model.units import HOUR_MS, SECOND_MS

S = SECOND_MS


def begin(*fates: Fate, cards: int | tuple[int, int] = 1, **spec: object) -> Cluster:
    cluster = Cluster(*fates, watch=Auditor())
    cluster.node("a", cards=4)
    cluster.tenant("ann", yuan=10)
    cluster.submit("job", cards, **spec)
    return cluster


ENDS: list[tuple[str, How, int, type[ev.Event], str]] = [
    # a run ends           how    code  what becomes of the job, and the words for it
    ("well", "exit", 0, ev.JobEnded, ""),
    ("by its own fault", "exit", 1, ev.JobRequeued, "exit code 1, tried again"),
    ("by the shell's word that it is not there", "exit", 127, ev.JobRequeued, "exit code 127, tried again"),
    ("by a signal of its own", "signal", 11, ev.JobRequeued, "killed by signal 11, tried again"),
    ("with no room to save", "exit", 86, ev.JobPaused, "Free space, then resume it."),
    ("saying that it saved, which it did not", "exit", 85, ev.JobRequeued, "exit code 85, tried again"),
    ("because it vanished", "lost", 0, ev.JobRequeued, "platform fault: the run vanished"),
    ("before it began", "unstarted", 0, ev.JobRequeued, "the run could not be started, tried again"),
]


@pytest.mark.parametrize(("how", "code", "becomes", "why"), [e[1:] for e in ENDS], ids=[e[0] for e in ENDS])
def test_a_run_ends(how: How, code: int, becomes: type[ev.Event], why: str) -> None:
    cluster = begin(Fate(5 * S, how=how, code=code), Fate(HOUR_MS))
    cluster.until(NOON + 5 * S)
    said = [
        event for _, event in cluster.book.rows if type(event) in {ev.JobEnded, ev.JobRequeued, ev.JobPaused}
    ]
    assert [type(event) for event in said] == [becomes]
    assert said[0].why.endswith(why)


def test_a_run_that_saved_and_asks_to_go_on_goes_on_at_once() -> None:
    cluster = begin(Fate(5 * S, save_ms=3 * S, code=85), Fate(5 * S))
    cluster.settle()
    assert [e.why for e in cluster.events(ev.JobRequeued)] == ["it saved and asked to go on"]
    assert [e.happened_ms for e in cluster.events(ev.RunStarted)] == [NOON, NOON + 5 * S]


def test_a_run_that_saves_the_same_step_again_and_asks_to_go_on_waits_a_moment() -> None:
    cluster = begin(*[Fate(5 * S, code=85)] * 3, Fate(5 * S))
    for run, at_s, step in ((0, 3, 7), (1, 8, 7), (2, 14, 8)):
        cluster.hear(ev.CheckpointSaved(f"job.{run}", step, NOON + at_s * S), NOON + at_s * S)
    cluster.settle()
    assert [e.why for e in cluster.events(ev.JobRequeued)] == ["it saved and asked to go on"] * 3
    assert starts(cluster) == [0, 1, 0]


ASKED: list[tuple[str, StopWhy, How, int, type[ev.Event]]] = [
    # asked by          and then it        what becomes of the job
    ("a person, saves", "person", "exit", 85, ev.JobEnded),
    ("a person, crashes", "person", "exit", 1, ev.JobEnded),
    ("a person, is killed", "person", "signal", 9, ev.JobEnded),
    ("its time limit, saves", "time-limit", "exit", 85, ev.JobEnded),
    ("its time limit, is killed", "time-limit", "signal", 9, ev.JobEnded),
    ("its wallet, saves", "wallet", "exit", 85, ev.JobPaused),
    ("its wallet, vanishes", "wallet", "lost", 0, ev.JobPaused),
    ("its wallet, comes to the end of its lease", "wallet", "lease", 0, ev.JobPaused),
    ("a drain, saves", "drain", "exit", 85, ev.JobRequeued),
    ("a drain, crashes", "drain", "exit", 1, ev.JobRequeued),
    ("a drain, has no room to save", "drain", "exit", 86, ev.JobRequeued),
    ("a person, ends well", "person", "exit", 0, ev.JobEnded),
    ("its time limit, ends well", "time-limit", "exit", 0, ev.JobEnded),
    ("its wallet, ends well", "wallet", "exit", 0, ev.JobEnded),
    ("a drain, ends well", "drain", "exit", 0, ev.JobEnded),
]  # fmt: skip


@pytest.mark.parametrize(("why", "how", "code", "becomes"), [a[1:] for a in ASKED], ids=[a[0] for a in ASKED])
def test_a_run_that_was_asked_to_leave_by(why: StopWhy, how: How, code: int, becomes: type[ev.Event]) -> None:
    cluster = begin(Fate(HOUR_MS))
    cluster.after(5 * S)
    run = cluster.state.runs["job.0"]
    cluster.loop._record(ev.RunStopAsked("job.0", why, cluster.now_ms + 4 * S))
    cluster.loop._run_ended(ev.RunEnded("job.0", cluster.now_ms, how, code))
    events = cluster.loop._events
    last = events[[type(event) for event in events].index(ev.RunEnded) + 1]
    assert type(last) is becomes
    if isinstance(last, ev.JobEnded):
        outcomes: dict[str, Outcome] = {"person": "stopped", "time-limit": "expired"}
        assert last.outcome == ("done" if (how, code) == ("exit", 0) else outcomes[why])
    if isinstance(last, ev.JobRequeued):
        assert not last.retried
    assert run.held == 0


def starts(cluster: Cluster) -> list[float]:
    """Seconds from each end to the next start."""
    begun = [e.happened_ms for e in cluster.events(ev.RunStarted)]
    ended = [e.happened_ms for e in cluster.events(ev.RunEnded)]
    return [(start - end) / S for start, end in zip(begun[1:], ended, strict=False)]


def test_a_job_that_crashes_is_tried_again_later_and_later_and_then_fails() -> None:
    cluster = begin(Fate(2 * S, code=3), retries=6)
    cluster.settle()
    assert starts(cluster) == [1, 4, 16, 60, 60, 60]
    assert cluster.ended["job"] == ev.JobEnded("job", "failed", "exit code 3, 7 runs tried")


def test_a_job_without_retries_fails_at_once() -> None:
    cluster = begin(Fate(2 * S, code=3), retries=0)
    cluster.settle()
    assert cluster.ended["job"].outcome == "failed"
    assert len(cluster.placed("job")) == 1


def test_a_job_that_gets_on_has_all_its_retries_again() -> None:
    cluster = begin(*[Fate(5 * S, save_ms=2 * S, code=1)] * 5, Fate(5 * S), retries=1)
    cluster.settle()
    assert cluster.ended["job"].outcome == "done"
    assert starts(cluster) == [1, 1, 1, 1, 1]


def test_platform_faults_cost_no_retry_and_the_first_few_no_wait() -> None:
    cluster = begin(*[Fate(2 * S, how="lost")] * 6, Fate(2 * S), retries=0)
    cluster.settle()
    assert cluster.ended["job"].outcome == "done"
    assert starts(cluster) == [0] * PLATFORM_FAULTS_FREE + [ms / S for ms in BACKOFF_MS[:3]]


def test_platform_faults_between_which_the_job_gets_on_are_no_row_of_faults() -> None:
    faults = PLATFORM_FAULTS_MAX + 5
    cluster = begin(*[Fate(5 * S, save_ms=2 * S, how="lost")] * faults, Fate(2 * S))
    cluster.settle()
    assert cluster.ended["job"].outcome == "done"
    assert starts(cluster) == [0] * faults


def test_a_job_that_only_ever_meets_platform_faults_ends_and_says_so() -> None:
    cluster = begin(Fate(2 * S, how="lost"))
    cluster.settle()
    end = cluster.ended["job"]
    assert end.outcome == "failed"
    assert end.why == f"{PLATFORM_FAULTS_MAX} platform faults in a row: the run vanished"
    assert cluster.wallet() == 10_000_000, "and it cost nothing"


def test_a_job_that_says_it_saved_over_and_over_does_not_run_for_ever() -> None:
    cluster = begin(Fate(0, code=85))
    cluster.settle(turns_max=100)
    assert cluster.ended["job"].outcome == "failed"


def test_the_reason_of_a_failure_carries_the_last_line_of_what_the_job_said() -> None:
    cluster = begin(Fate(HOUR_MS))
    cluster.after(S)
    cluster.hear(ev.RunEnded("job.0", cluster.now_ms, "lost", text="one\n  two  \n\n"))
    cluster.after(0)
    assert cluster.events(ev.JobRequeued)[0].why == "platform fault: the run vanished: two"


# -- the queue --------------------------------------------------------------------------------------------


def test_a_job_that_comes_back_has_its_old_place_in_the_queue() -> None:
    cluster = Cluster(jobs={"first": [Fate(10 * S, how="lost"), Fate(10 * S)]}, watch=Auditor())
    cluster.node("a", cards=1)
    cluster.tenant("ann", yuan=10)
    for job in ("first", "second", "third"):
        cluster.submit(job)
    cluster.settle()
    assert [e.run for e in cluster.events(ev.RunPlaced)] == ["first.0", "first.1", "second.0", "third.0"]


def test_a_gang_is_placed_whole_and_comes_back_whole() -> None:
    cluster = Cluster(Fate(100 * S), watch=Auditor())
    cluster.node("a", cards=2)
    cluster.node("b", cards=2)
    cluster.tenant("ann", yuan=10)
    cluster.submit("gang", cards=4)
    cluster.submit("single", cards=1)
    cluster.hear(ev.NodeLost("a", NOON + 50 * S), NOON + 50 * S)
    cluster.until(NOON + 60 * S)
    assert list(cluster.state.runs) == ["single.0"], "half a gang is no gang, and holds up nobody meanwhile"
    cluster.hear(ev.NodeJoined("a", "cpu", 2), NOON + 80 * S)
    cluster.settle()
    assert [sum(share.count for share in shares) for shares in cluster.placed("gang")] == [4, 4]
    assert {job: end.outcome for job, end in cluster.ended.items()} == {"gang": "done", "single": "done"}


def test_an_elastic_job_comes_back_on_what_is_left() -> None:
    cluster = begin(Fate(100 * S), cards=(1, 8))
    cluster.node("b", cards=2)
    cluster.hear(ev.NodeLost("a", NOON + 50 * S), NOON + 50 * S)
    cluster.settle()
    assert [sum(share.count for share in shares) for shares in cluster.placed("job")] == [6, 2]


def test_a_node_that_is_drained_is_emptied_and_takes_nothing_new() -> None:
    cluster = begin(Fate(100 * S, leave_ms=2 * S), Fate(30 * S))
    cluster.node("b", cards=1)
    cluster.after(10 * S)
    on = cluster.placed("job")[0][0].node
    cluster.ask(rq.CordonNode(on, drain=True))
    cluster.submit("other", cards=2)
    cluster.after(3 * S)
    assert all(share.node != on for shares in cluster.placed("job")[1:] for share in shares)
    cluster.ask(rq.UncordonNode(on))
    cluster.settle()
    assert {job: end.outcome for job, end in cluster.ended.items()} == {"job": "done", "other": "done"}


def test_a_node_that_is_cordoned_keeps_what_runs_and_takes_nothing_new() -> None:
    cluster = begin(Fate(20 * S))
    cluster.after(S)
    cluster.ask(rq.CordonNode("a"))
    cluster.submit("other")
    cluster.settle()
    assert cluster.ended["job"].outcome == "done"
    assert "other" in cluster.state.jobs
    assert cluster.placed("other") == []


def test_a_job_asked_for_later_starts_then_even_the_day_after() -> None:
    cluster = begin(Fate(5 * S), earliest_start_ms=NOON + 30 * HOUR_MS)
    cluster.settle()
    assert [e.happened_ms for e in cluster.events(ev.RunStarted)] == [NOON + 30 * HOUR_MS]


def test_money_for_one_more_job_wakes_one_not_all() -> None:
    cluster = Cluster(Fate(20 * S), watch=Auditor())
    cluster.node("a", cards=200)
    cluster.tenant("ann", micro_yuan=60 * S)
    for n in range(100):
        cluster.submit(f"job{n}")
    cluster.settle()
    assert len(cluster.placed("job0")) == 1
    assert len(cluster.events(ev.JobRequeued)) < 4, "each that ends leaves money for one"


def test_money_wakes_the_job_that_was_submitted_first() -> None:
    cluster = Cluster(Fate(20 * S), watch=Auditor())
    cluster.node("a", cards=2)
    cluster.tenant("ann")
    cluster.submit("zoe")
    cluster.submit("abe")
    cluster.after(S)
    cluster.ask(rq.TopUp("ann", 60 * S))
    cluster.after(0)
    assert [bool(cluster.placed(job)) for job in ("zoe", "abe")] == [True, False]


def test_a_job_that_waits_for_cards_keeps_no_money_from_jobs_of_another_kind() -> None:
    cluster = Cluster(Fate(20 * S), watch=Auditor())
    cluster.node("a", cards=1)
    cluster.node("b", cards=1, kind="h200")
    cluster.tenant("ann")
    cluster.tenant("bob", yuan=10)
    cluster.submit("poor")
    cluster.submit("other", kind="h200")
    cluster.submit("busy", tenant="bob")
    cluster.after(S)
    cluster.ask(rq.TopUp("ann", 60 * S))
    cluster.after(0)
    assert not cluster.placed("poor")
    assert cluster.placed("other")


def test_a_job_that_is_stopped_leaves_the_money_it_waited_with_to_the_next() -> None:
    cluster = Cluster(Fate(20 * S), watch=Auditor())
    cluster.node("a", cards=2)
    cluster.tenant("ann")
    cluster.tenant("bob", yuan=10)
    cluster.submit("pair", cards=2)
    cluster.submit("single")
    cluster.submit("busy", tenant="bob")
    cluster.after(S)
    cluster.ask(rq.TopUp("ann", 60 * S))
    cluster.after(0)
    cluster.ask(rq.StopJob("pair"))
    cluster.after(0)
    assert cluster.placed("single")


# Bug in control/controller.py: `_run_resumed` posts a credit and does not tell the jobs that wait for money.
def test_a_credit_that_fills_a_wallet_lets_its_other_jobs_go_on() -> None:
    cluster = Cluster(
        jobs={"lost": [Fate(50 * S, how="lost"), Fate(HOUR_MS, step_ms=55 * S)]}, watch=Auditor()
    )
    cluster.node("a", cards=2)
    cluster.tenant("ann", micro_yuan=130 * S)
    cluster.submit("lost")
    cluster.until(NOON + 50 * S)
    cluster.submit("poor", price=9 * 3_600_000)
    cluster.until(NOON + 104 * S)
    assert cluster.state.jobs["poor"].pause == "wallet"
    cluster.until(NOON + 106 * S)
    assert cluster.money("credit", "lost") == [50 * S, 55 * S]
    assert cluster.placed("poor"), "it waits for money that is there"
