"""What a job is charged, what is given back after a fault of the platform's, and what counts as its time.

A card-millisecond costs a micro-yuan here, so that every bill can be done in the head.
"""

from typing import Any

import pytest
from tests.cluster import MIDNIGHT, NOON, TERMS, Cluster
from tests.control.laws import Auditor
from tests.hall import Fate

from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.job import How, Work
from starverse.model.units import DAY_MS, SECOND_MS, YUAN
from starverse.money.lease import LeaseTerms

S = SECOND_MS


ENDS: dict[str, tuple[How, int]] = {
    "done": ("exit", 0),
    "crashes": ("exit", 1),
    "killed": ("signal", 9),
    "lost": ("lost", 0),
    "unstarted": ("unstarted", 0),
    "saved": ("exit", 85),
    "no space": ("exit", 86),
}


def life(seconds: float, end: str = "done", **how: float) -> Fate:
    """A run of so many seconds that ends so; the rest in seconds as in Fate."""
    times = {f"{what}_ms": int(each * S) for what, each in how.items()}
    return Fate(int(seconds * S), **times, how=ENDS[end][0], code=ENDS[end][1])


def begin(
    *fates: Fate, start_ms: int = NOON, yuan: float = 10, terms: LeaseTerms = TERMS, **spec: Any
) -> Cluster:
    """Ann's job on a node of four cards."""
    cluster = Cluster(*fates, start_ms=start_ms, terms=terms, watch=Auditor())
    cluster.node("a", cards=4)
    cluster.tenant("ann", micro_yuan=int(yuan * YUAN))
    cluster.submit("job", work=Work(launch="per-card"), **spec)
    return cluster


LOST = life(50, "lost", save=20)
AGAIN = life(30, step=2)

BILLS = [
    # sentence, the runs, what they are charged, what is given back: all in card-seconds
    ("a job that ends well pays for all its time", [life(50)], [50], []),
    ("the time to start is free", [life(50, start=20)], [50], []),
    ("a run that never started is free", [life(3, "unstarted"), life(10)], [10], []),
    ("a fault costs nothing from the last checkpoint", [LOST, life(30)], [50, 30], [10]),
    ("a fault without a checkpoint costs nothing at all", [life(50, "lost"), life(30)], [50, 30], [50]),
    ("nor does the way to the next first step", [LOST, life(30, start=3, step=2)], [50, 30], [10, 2]),
    ("a first step that is told late earns ten minutes at most",
     [LOST, life(900, step=800)], [50, 900], [10, 600]),
    ("who never tells of a first step pays for it", [LOST, life(30)], [50, 30], [10]),
    ("a crash of the job's own earns nothing", [life(50, "crashes", save=20), AGAIN], [50, 30], []),
    ("nor does a kill of the job's own", [life(50, "killed", save=20), AGAIN], [50, 30], []),
    ("nor does a run that saved and asked to go on", [life(50, "saved", save=20), AGAIN], [50, 30], []),
    ("two faults before the first step cost nothing between",
     [LOST, life(3, "lost", step=5), AGAIN], [50, 3, 30], [10, 3, 2]),
    ("two faults after it are two", [LOST, life(9, "lost", step=4), AGAIN], [50, 9, 30], [10, 4, 5, 2]),
    ("a checkpoint before the next fault counts",
     [life(50, "lost"), life(33, "lost", step=4, save=10), life(5, step=1)], [50, 33, 5], [50, 4, 3, 1]),
    ("a fault just after a checkpoint costs hardly more than the way to the first step",
     [life(40, "lost", save=39.999), life(5, step=1)], [40, 5], [0.001, 1]),
    ("a crash on the way after a fault is the job's own",
     [life(50, "lost"), life(3, "crashes", step=5), life(9, step=2)], [50, 3, 9], [50]),
    ("what is heard late is charged as it happened",
     [life(50, "lost", save=20, late=5), life(30, step=2, late=5)], [50, 30], [10, 2]),
]  # fmt: skip


@pytest.mark.parametrize(("runs", "charges", "given_back"), [b[1:] for b in BILLS], ids=[b[0] for b in BILLS])
@pytest.mark.parametrize("cards", [1, 3])
def test_bill(runs: list[Fate], charges: list[float], given_back: list[float], cards: int) -> None:
    cluster = begin(*runs, cards=cards)
    cluster.settle()
    assert cluster.ended["job"].outcome == "done"
    assert cluster.money("charge", "job") == [each * S * cards for each in charges if each]
    assert cluster.money("credit", "job") == [each * S * cards for each in given_back]
    assert cluster.wallet() == 10 * YUAN - (sum(charges) - sum(given_back)) * S * cards


def test_a_day_is_charged_at_midnight_and_the_rest_at_the_end() -> None:
    cluster = begin(life(50), start_ms=MIDNIGHT - 30 * S)
    cluster.until(MIDNIGHT)
    assert cluster.money("charge", "job") == [30 * S]
    cluster.settle()
    assert cluster.money("charge", "job") == [30 * S, 20 * S]


def test_a_run_that_ends_at_midnight_is_charged_once() -> None:
    cluster = begin(life(30), start_ms=MIDNIGHT - 30 * S)
    cluster.settle()
    assert cluster.money("charge", "job") == [30 * S]


def test_a_server_that_was_away_over_two_midnights_charges_each_day() -> None:
    long_leases = LeaseTerms(9 * DAY_MS, 30 * S, 10 * S)
    cluster = begin(life(3 * DAY_MS / S), start_ms=MIDNIGHT - 30 * S, terms=long_leases, yuan=2_000)
    cluster.after(S)
    cluster.restart(down_ms=DAY_MS + 60 * S)
    cluster.after(0)
    assert cluster.money("charge", "job") == [30 * S, DAY_MS]


def test_a_fault_gives_back_what_was_charged_on_both_sides_of_midnight() -> None:
    cluster = begin(life(50, "lost"), life(20, step=2), start_ms=MIDNIGHT - 30 * S)
    cluster.settle()
    assert cluster.money("charge", "job") == [30 * S, 20 * S, 20 * S]
    assert cluster.money("credit", "job") == [50 * S, 2 * S]


def test_a_first_step_after_midnight_is_paid_back_from_the_start_before_it() -> None:
    cluster = begin(life(29, "lost"), life(20, step=2), start_ms=MIDNIGHT - 30 * S)
    cluster.settle()
    assert cluster.money("charge", "job") == [29 * S, 1 * S, 19 * S]
    assert cluster.money("credit", "job") == [29 * S, 2 * S]


def test_a_first_step_told_only_after_midnight_is_paid_back_to_the_step() -> None:
    cluster = begin(life(20, "lost"), life(50), start_ms=MIDNIGHT - 30 * S)
    cluster.until(MIDNIGHT + 1 * S)
    cluster.hear(ev.RunResumed("job.1", 1, MIDNIGHT - 5 * S))
    cluster.settle()
    assert cluster.money("credit", "job") == [20 * S, 5 * S]


def test_the_end_of_a_lease_before_midnight_may_be_heard_after_it() -> None:
    cluster = begin(life(500, leave=99, late=9), start_ms=MIDNIGHT - 20 * S, yuan=0.017)
    cluster.settle()
    assert cluster.events(ev.RunEnded)[0].happened_ms < MIDNIGHT
    assert len(cluster.money("charge", "job")) == 1
    assert cluster.wallet() >= 0


# Was once so: what starts before a renewal and is heard after it is held for too little.
def test_a_start_that_is_heard_after_a_renewal_is_paid_for_too() -> None:
    cluster = begin(life(500, start=29, late=2, leave=99), yuan=0.085)
    cluster.settle()
    assert cluster.wallet() >= 0


def test_a_node_that_died_is_paid_until_it_died_not_until_somebody_noticed() -> None:
    cluster = begin(life(100), life(5))
    cluster.hear(ev.NodeLost("a", NOON + 50 * S), NOON + 58 * S)
    cluster.hear(ev.NodeJoined("a", "cpu", 4), NOON + 70 * S)
    cluster.settle()
    assert cluster.money("charge", "job") == [50 * S, 5 * S]
    assert cluster.money("credit", "job") == [50 * S]


@pytest.mark.parametrize(("said_s", "paid_s"), [(75, 60), (60, 60), (40, 40), (-5, 0)])
def test_whatever_is_said_of_an_end_it_is_charged_within_the_life_and_the_lease(
    said_s: int, paid_s: int
) -> None:
    cluster = begin(life(500))
    cluster.after(10 * S)
    cluster.state.now_ms = NOON + 90 * S
    cluster.loop._run_ended(ev.RunEnded("job.0", NOON + said_s * S))
    cluster.loop._write()
    assert cluster.money("charge", "job") == [paid_s * S]


def test_an_end_in_times_to_come_is_charged_until_now() -> None:
    cluster = begin(life(500))
    cluster.after(10 * S)
    cluster.hear(ev.RunEnded("job.0", NOON + 20 * S))
    cluster.after(0)
    assert cluster.money("charge", "job") == [10 * S]


def test_a_node_is_not_dead_before_the_last_checkpoint_from_it() -> None:
    cluster = begin(life(100, save=55), life(5))
    cluster.hear(ev.NodeLost("a", NOON + 50 * S), NOON + 58 * S)
    cluster.until(NOON + 60 * S)
    assert cluster.money("charge", "job") == [55 * S]
    assert cluster.money("credit", "job") == []


def test_an_injected_fault_is_the_platforms() -> None:
    cluster = begin(life(100, save=20), life(30, step=2))
    cluster.ask(rq.InjectFault("job.0", 0, by="op"), NOON + 50 * S)
    cluster.settle()
    assert cluster.money("charge", "job") == [50 * S, 30 * S]
    assert cluster.money("credit", "job") == [10 * S, 2 * S]
    assert cluster.events(ev.JobRequeued)[0].platform


def test_a_crash_after_an_injection_that_hit_nobody_is_the_jobs_own() -> None:
    cluster = begin(life(60, "crashes", save=20), life(30, step=2))
    cluster.after(10 * S)
    cluster.loop.state.runs["job.0"].injected = True
    cluster.settle()
    assert cluster.money("credit", "job") == []


@pytest.mark.parametrize(
    ("end", "given_back"),
    [("crashes", [10, 2]), ("killed", [10, 2]), ("saved", []), ("no space", [])],
)
def test_who_falls_on_a_broken_card_falls_by_the_platforms_fault(end: str, given_back: list[int]) -> None:
    cluster = begin(life(50, end, save=20), life(30, step=2))
    cluster.hear(ev.CardHealthChanged("a", 0, healthy=False), NOON + 49 * S)
    cluster.settle()
    cluster.ask(rq.ResumeJob("job"))
    cluster.settle()
    assert cluster.money("credit", "job") == [each * S for each in given_back]


def test_a_broken_card_of_somebody_elses_is_no_excuse() -> None:
    cluster = begin(life(50, "crashes", save=20), life(30, step=2))
    cluster.hear(ev.CardHealthChanged("a", 3, healthy=False), NOON + 49 * S)
    cluster.settle()
    assert cluster.money("credit", "job") == []


@pytest.mark.parametrize(
    "request_", [rq.StopJob("job"), rq.CordonNode("a", drain=True)], ids=["a person", "a drain"]
)
def test_who_was_asked_to_leave_and_is_lost_on_the_way_is_not_paid_back(request_: rq.Request) -> None:
    cluster = begin(life(100, leave=3), life(30, step=2))
    cluster.ask(request_, NOON + 50 * S)
    cluster.hear(ev.NodeLost("a", NOON + 51 * S), NOON + 51 * S)
    cluster.until(NOON + 60 * S)
    assert cluster.money("charge", "job") == [51 * S]
    assert cluster.money("credit", "job") == []


# -- the lease --------------------------------------------------------------------------------------------


def test_a_wallet_that_runs_out_pauses_the_job_with_its_work_saved_and_nothing_owed() -> None:
    cluster = begin(life(500, leave=2), yuan=0.1)
    cluster.settle()
    paid_s = 100 - TERMS.leaving_ms // S + 2  # asked in time to leave, it needs two seconds
    assert cluster.money("charge", "job") == [paid_s * S]
    assert cluster.wallet() == 100_000 - paid_s * S
    assert cluster.state.jobs["job"].pause == "wallet"
    assert "Top up" in cluster.state.jobs["job"].why


def test_who_does_not_leave_when_the_money_ends_is_killed_and_the_wallet_is_not_below_zero() -> None:
    cluster = begin(life(500, leave=99), yuan=0.1)
    cluster.settle()
    end = cluster.events(ev.RunEnded)[0]
    assert (end.how, end.code) == ("signal", 9)
    assert end.happened_ms <= NOON + 100 * S
    assert cluster.wallet() == 100_000 - (end.happened_ms - NOON) >= 0


def test_money_that_comes_before_the_last_look_keeps_the_run_going() -> None:
    cluster = begin(life(300), yuan=0.1)
    cluster.ask(rq.TopUp("ann", 10 * YUAN), NOON + 100 * S - TERMS.leaving_ms)
    cluster.settle()
    assert cluster.money("charge", "job") == [300 * S]
    assert len(cluster.placed("job")) == 1


def test_a_job_that_was_paused_for_money_goes_on_when_money_comes() -> None:
    cluster = begin(life(500), life(30), yuan=0.1)
    cluster.ask(rq.TopUp("ann", 10 * YUAN), NOON + 200 * S)
    cluster.settle()
    assert cluster.ended["job"].outcome == "done"
    assert len(cluster.placed("job")) == 2


def test_a_lease_that_ends_while_no_server_is_there_is_the_platforms_fault() -> None:
    cluster = begin(life(500, save=25), life(30, step=2))
    cluster.after(10 * S)
    cluster.restart(down_ms=90 * S)
    cluster.settle()
    assert [end.how for end in cluster.events(ev.RunEnded)] == ["lease", "exit"]
    assert cluster.money("charge", "job") == [60 * S, 30 * S]
    assert cluster.money("credit", "job") == [10 * S, 2 * S]


def test_a_lease_that_would_have_ended_anyway_is_not() -> None:
    cluster = begin(life(500, save=25), life(30, step=2), yuan=0.06)
    cluster.after(10 * S)
    cluster.restart(down_ms=90 * S)
    cluster.settle()
    assert cluster.money("charge", "job") == [60 * S]
    assert cluster.money("credit", "job") == []
    assert cluster.state.jobs["job"].pause == "wallet"


def test_the_grace_ends_with_the_lease_even_if_the_server_comes_late() -> None:
    cluster = begin(life(500, leave=99), yuan=0.06)
    cluster.after(10 * S)
    cluster.restart(down_ms=48 * S)
    cluster.settle()
    assert [asked.kill_at_ms for asked in cluster.events(ev.RunStopAsked)] == [NOON + 60 * S]


def test_a_run_outlives_an_absence_of_the_server_that_is_shorter_than_its_lease() -> None:
    cluster = begin(life(100))
    cluster.after(10 * S)
    cluster.restart(down_ms=35 * S)
    cluster.settle()
    assert cluster.money("charge", "job") == [100 * S]


# -- the time limit ---------------------------------------------------------------------------------------


def expires_after(cluster: Cluster) -> float:
    """Seconds of running time, over all runs, after which the job was asked to leave."""
    asked = next(heard_ms for heard_ms, e in cluster.book.rows if isinstance(e, ev.RunStopAsked))
    starts = [e.happened_ms for e in cluster.events(ev.RunStarted)]
    ends = [e.happened_ms for e in cluster.events(ev.RunEnded)][: len(starts) - 1]
    assert [e.why for e in cluster.events(ev.RunStopAsked)] == ["time-limit"]
    return (asked - starts[-1] + sum(end - start for start, end in zip(starts[:-1], ends, strict=True))) / S


LIMITS = [
    ("the time to start is none of it", [life(500, start=40)], 100),
    ("it counts over all runs", [life(70, "crashes"), life(500)], 100),
    ("time lost to a fault is none of it", [life(50, "lost", save=20), life(500, step=2)], 100 + 10 + 2),
    ("a fault without a checkpoint begins it anew", [life(50, "lost"), life(500, step=2)], 100 + 50 + 2),
    ("who drains loses none of it", [life(20, "saved", save=5), life(500)], 100),
]


@pytest.mark.parametrize(
    ("runs", "seconds"), [limit[1:] for limit in LIMITS], ids=[limit[0] for limit in LIMITS]
)
def test_time_limit(runs: list[Fate], seconds: float) -> None:
    cluster = begin(*runs, time_limit_ms=100 * S)
    cluster.settle()
    assert cluster.ended["job"].outcome == "expired"
    assert expires_after(cluster) == seconds


def test_a_job_that_ends_within_its_grace_has_ended_well() -> None:
    cluster = begin(life(101, leave=3), time_limit_ms=100 * S)
    cluster.settle()
    assert cluster.ended["job"].outcome == "done"
