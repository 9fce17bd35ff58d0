"""What people ask for: what is refused changes nothing and says why in a sentence; what is taken up shows."""

from typing import Any

import pytest
from tests.cluster import NOON, Cluster, fold
from tests.control.laws import Auditor
from tests.hall import Fate

from starverse.control.requests import PRICE_MAX, TOP_UP_MAX
from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.job import After, JobSpec, Role, Shape, Work
from starverse.model.reservation import Reservation
from starverse.model.units import CARD, CARDS_MAX, DAY_MS, HOUR_MS, SECOND_MS, YUAN


def spec(job: str = "new", **given: Any) -> JobSpec:
    return JobSpec(**({"job": job, "tenant": "ann"} | given))


def reserve(**given: Any) -> rq.Reserve:
    """Ask for all of node a in twenty days."""
    times = {"from_ms": NOON + 20 * DAY_MS, "to_ms": NOON + 21 * DAY_MS}
    return rq.Reserve(
        Reservation(
            **({"name": "new", "tenant": "ann", "kind": "cpu", "milli_cards": 4 * CARD} | times | given)
        )
    )


@pytest.fixture
def cluster() -> Cluster:
    """Ann's `runs` runs, `starts` starts, `waits` waits for cards, `over` is over; bob's `poor` is paused."""
    fates = {"over": [Fate(SECOND_MS)], "starts": [Fate(HOUR_MS, start_ms=HOUR_MS)]}
    cluster = Cluster(Fate(HOUR_MS), jobs=fates, watch=Auditor())
    cluster.node("a", cards=4)
    cluster.tenant("ann", yuan=10)
    cluster.submit("over")
    cluster.after(2 * SECOND_MS)
    cluster.submit("runs", cards=2, work=Work(launch="per-card"))
    cluster.submit("starts")
    cluster.submit("waits", cards=4)
    cluster.node("b", cards=1, kind="h200")
    cluster.tenant("bob")
    cluster.submit("poor", tenant="bob", kind="h200")
    cluster.ask(reserve(name="mine", from_ms=NOON + 99 * DAY_MS, to_ms=NOON + 100 * DAY_MS))
    cluster.ask(rq.SetQuota("team"))
    cluster.ask(rq.SetQuota("mate", "team"))
    cluster.after(SECOND_MS)
    return cluster


REFUSED: list[tuple[str, rq.Request, str]] = [
    ("a second wallet", rq.OpenTenant("ann", 5), "has a wallet already"),
    ("money for nobody", rq.TopUp("eve", 5), "no wallet of tenant eve"),
    ("no money", rq.TopUp("ann", 0), "more than nothing"),
    ("less than no money", rq.TopUp("ann", -5), "more than nothing"),
    ("more money than there is", rq.TopUp("ann", TOP_UP_MAX + 1), "at most ¥1,000,000,000"),
    ("a price below nothing", rq.SetPrice("cpu", -1, 0), "from nothing to"),
    ("a price beyond reason", rq.SetPrice("cpu", PRICE_MAX + 1, 0), "from nothing to"),
    ("a job that is there already", rq.SubmitJob(spec("runs")), "submitted already"),
    ("a job of nobody", rq.SubmitJob(spec(tenant="eve")), "no wallet of tenant eve"),
    ("no cards", rq.SubmitJob(spec(cards_min=0, cards_max=0)), "0 to 0 milli-cards"),
    ("cards below nothing", rq.SubmitJob(spec(cards_min=-CARD)), "-1000 to 1000"),
    ("half a card", rq.SubmitJob(spec(cards_min=CARD, cards_max=CARD + 500)), "no whole ones"),
    ("a range upside down", rq.SubmitJob(spec(cards_min=2 * CARD, cards_max=CARD)), "2000 to 1000"),
    ("more cards than any cluster has", rq.SubmitJob(spec(cards_max=CARDS_MAX * CARD + CARD)), "milli-cards"),
    ("a job that is paid for running", rq.SubmitJob(spec(price=-1)), "negative price"),
    ("a job with no time", rq.SubmitJob(spec(time_limit_ms=0)), "no time"),
    ("fewer than no retries", rq.SubmitJob(spec(retries=-1)), "retries"),
    ("an array of nothing", rq.SubmitArray(spec(), ()), "has 0 jobs"),
    ("an array that names an index twice", rq.SubmitArray(spec(), (3, 3)), "each once"),
    ("an array that counts from below", rq.SubmitArray(spec(), (-1,)), "out of bounds"),
    ("an array of which fewer than none may run", rq.SubmitArray(spec(array_limit=-1), (0,)), "fewer than"),
    ("an array that never fits", rq.SubmitArray(spec(cards_min=9_000, cards_max=9_000), (0,)), "never fits"),
    ("an array with the name of a job", rq.SubmitArray(spec("runs"), (0,)), "submitted already"),
    ("a job after one of others", rq.SubmitJob(spec(after=(After("poor"),))), "no job 'poor'"),
    ("roles that have fewer cards than asked for",
     rq.SubmitJob(spec(cards_min=3_000, cards_max=3_000, roles=(Role("a", 2),))), "have 2 cards"),
    ("two roles of one name", rq.SubmitJob(spec(roles=(Role("a", 1), Role("a", 1)))), "name of their own"),
    ("a role without cards", rq.SubmitJob(spec(roles=(Role("a", 0), Role("b", 1)))), "without whole cards"),
    ("to stop what is over", rq.StopJob("over"), "ended already"),
    ("to stop what never was", rq.StopJob("never"), "ended already"),
    ("B7: a job for cards of a kind that never was", rq.SubmitJob(spec(kind="none")), "no 'none' cards"),
    ("B7: a gang larger than all nodes together",
     rq.SubmitJob(spec(cards_min=900 * CARD, cards_max=900 * CARD)), "never fits"),
    ("D3: so many cards that they would overflow", rq.SubmitJob(spec(cards_min=1 << 62, cards_max=1 << 62)),
     "asks for"),
    ("J4: a share that is no number", rq.SubmitJob(spec(price=float("nan"))), "not whole"),
    ("J4: cards that are no number", rq.SubmitJob(spec(cards_min=float("nan"))), "not whole"),
    ("to resume what runs", rq.ResumeJob("runs"), "not paused"),
    ("to resume what waits", rq.ResumeJob("waits"), "not paused"),
    ("to resume what never was", rq.ResumeJob("never"), "not paused"),
    ("to cordon what is not there", rq.CordonNode("z"), "no node z"),
    ("to drain what is not there", rq.CordonNode("z", drain=True), "no node z"),
    ("to uncordon what is not there", rq.UncordonNode("z"), "no node z"),
    ("to shoot at a run that is over", rq.InjectFault("over.0", 0), "not running"),
    ("to shoot at a run that starts", rq.InjectFault("starts.0", 0), "not running"),
    ("to shoot at a rank that is not there", rq.InjectFault("runs.0", 2), "no rank 2"),
    ("to shoot at a rank below all", rq.InjectFault("runs.0", -1), "no rank -1"),
    ("a quota under nobody", rq.SetQuota("ann", "nobody"), "no quota of nobody"),
    ("a quota under itself", rq.SetQuota("team", "team"), "cannot be its parent"),
    ("a quota under one of its own", rq.SetQuota("team", "mate"), "cannot be its parent"),
    ("a quota of less than nothing", rq.SetQuota("ann", guaranteed=-1), "must guarantee"),
    ("a quota of more than there is", rq.SetQuota("ann", guaranteed=1 << 62), "must guarantee"),
    ("a weight below nothing", rq.SetQuota("ann", weight=-1), "weight must be"),
    ("to borrow less than nothing", rq.SetQuota("ann", borrow_max=-2), "or -1 for none"),
    ("to remove a quota that is not there", rq.RemoveQuota("ann"), "no quota of ann"),
    ("to remove a quota with others under it", rq.RemoveQuota("team"), "mate would hang in the air"),
    ("licences below nothing", rq.SetLicences("cad", -1), "cannot be -1"),
    ("power below nothing", rq.SetBudget("r1", -2), "from 0 to"),
    ("a need below nothing", rq.SubmitJob(spec(shape=Shape(milli_cpu=-1))), "out of bounds"),
    ("fewer licences than none", rq.SubmitJob(spec(shape=Shape(licences=(("a", -1),)))), "out of bounds"),
    ("a reservation of nobody", reserve(tenant="eve"), "no wallet of tenant eve"),
    ("a reservation that is there", reserve(name="mine"), "is a reservation mine already"),
    ("more than is free", reserve(milli_cards=5 * CARD), "To be had: 4 cards at the time asked."),
    ("a reservation of no cards there are", reserve(kind="none"), "There are not so many cards"),
    ("a reservation that has been", reserve(from_ms=1, to_ms=2), "would be over already"),
    ("a reservation of CPU", reserve(shape=Shape(milli_cpu=4_000)), "A booking is of cards, not of `cpu`."),
    ("a reservation of memory", reserve(shape=Shape(memory_mb=1)), "not of `memory_mb`."),
    ("a reservation of network cards", reserve(shape=Shape(needs=(("nic", 1),))), "not of `resources`."),
    ("a reservation of licences", reserve(shape=Shape(licences=(("cad", 1),))), "not of `licences`."),
    ("a reservation apart", reserve(shape=Shape(apart="db")), "not of `apart`."),
    ("a reservation apart by racks", reserve(shape=Shape(apart_level="rack")), "not of `apart_level`."),
    ("a reservation in a row", reserve(shape=Shape(require="row")), "no level 'row'"),
    ("to cancel what is not booked", rq.CancelReservation("yours"), "no reservation yours"),
    ("a job inside of nothing", rq.SubmitJob(spec(reservation="yours")), "no reservation yours"),
    ("a job inside what others booked", rq.SubmitJob(spec(tenant="bob", reservation="mine")), "tenant bob"),
    ("a job too large", rq.SubmitJob(spec(cards_min=9_000, cards_max=9_000, reservation="mine")), "never"),
    ("a level that is none", rq.SubmitJob(spec(shape=Shape(apart="x", apart_level="row"))), "no level 'row'"),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "says"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_refused_is(cluster: Cluster, request_: rq.Request, says: str) -> None:
    before, rows = cluster.state.snapshot(), len(cluster.book.rows)
    asked = cluster.ask(request_)
    cluster.after(0)
    refusal = cluster.refusal(asked)
    assert says in refusal
    assert refusal.endswith(".")
    assert refusal.isprintable()
    assert cluster.book.rows[rows:] == []
    assert cluster.state.snapshot() == before


TAKEN: list[tuple[str, rq.Request, list[type[ev.Event]]]] = [
    ("a new tenant", rq.OpenTenant("eve"), [ev.TenantOpened]),
    ("a new tenant with credit", rq.OpenTenant("eve", 5), [ev.TenantOpened, ev.Posted]),
    ("money", rq.TopUp("ann", TOP_UP_MAX, "bank"), [ev.Posted]),
    ("a price", rq.SetPrice("cpu", PRICE_MAX, 0), [ev.PriceSet]),
    ("a price of nothing", rq.SetPrice("cpu", 0, 0), [ev.PriceSet]),
    ("a job", rq.SubmitJob(spec(cards_min=4 * CARD, cards_max=4 * CARD)), [ev.JobSubmitted]),
    ("an array", rq.SubmitArray(spec(array_limit=1), (0, 5)), [ev.JobSubmitted, ev.JobSubmitted]),
    ("to stop what waits", rq.StopJob("waits"), [ev.JobStopAsked, ev.JobEnded]),
    ("to stop what runs", rq.StopJob("runs"), [ev.JobStopAsked, ev.RunStopAsked]),
    ("to stop what starts", rq.StopJob("starts"), [ev.JobStopAsked, ev.RunStopAsked]),
    ("to resume what is paused", rq.ResumeJob("poor"), [ev.JobRequeued]),
    ("to stop what is paused", rq.StopJob("poor"), [ev.JobStopAsked, ev.JobEnded]),
    ("to cordon", rq.CordonNode("a"), [ev.NodeCordoned]),
    ("to drain", rq.CordonNode("a", drain=True), [ev.NodeCordoned, ev.RunStopAsked, ev.RunStopAsked]),
    ("to uncordon", rq.UncordonNode("a"), [ev.NodeUncordoned]),
    (
        "a gang with roles",
        rq.SubmitJob(spec(cards_min=3_000, cards_max=3_000, roles=(Role("a", 2), Role("b", 1)))),
        [ev.JobSubmitted],
    ),
    ("to shoot at a rank", rq.InjectFault("runs.0", 1, "op"), [ev.FaultInjected]),
    ("a quota", rq.SetQuota("ann", "team", 2, 5 * CARD, 0, 3 * CARD, "op"), [ev.QuotaSet]),
    ("no quota any more", rq.RemoveQuota("mate", "op"), [ev.QuotaRemoved]),
    ("licences", rq.SetLicences("cad", 0), [ev.LicencesSet]),
    ("a reservation", reserve(), [ev.ReservationMade]),
    ("to cancel a reservation", rq.CancelReservation("mine", "op"), [ev.ReservationEnded]),
    ("a job inside", rq.SubmitJob(spec(reservation="mine")), [ev.JobSubmitted]),
    ("a budget", rq.SetBudget("r1", 0), [ev.BudgetSet]),
    ("no budget any more", rq.SetBudget("r1", -1), [ev.BudgetSet]),
]


@pytest.mark.parametrize(("request_", "leads_to"), [t[1:] for t in TAKEN], ids=[t[0] for t in TAKEN])
def test_taken_up_is(cluster: Cluster, request_: rq.Request, leads_to: list[type[ev.Event]]) -> None:
    rows = len(cluster.book.rows)
    asked = cluster.ask(request_)
    cluster.is_quiet()
    assert cluster.refusal(asked) == ""
    assert [type(event) for _, event in cluster.book.rows[rows:]][: len(leads_to)] == leads_to


def test_every_request_there_is_is_refused_and_taken_up_somewhere_here() -> None:
    requests = set(rq.Request.__args__)
    assert {type(request) for _, request, _ in TAKEN} == requests
    assert {type(request) for _, request, _ in REFUSED} == requests


def test_what_is_asked_while_the_server_is_away_is_answered_once_by_the_next(cluster: Cluster) -> None:
    asked = cluster.ask(rq.TopUp("ann", YUAN), cluster.now_ms + 5 * SECOND_MS)
    cluster.restart(down_ms=10 * SECOND_MS)
    cluster.after(0)
    cluster.restart()
    cluster.after(0)
    assert [taken.id for taken in cluster.book.taken].count(asked) == 1
    assert [e.kind for e in cluster.events(ev.Posted)].count("top-up") == 1


def test_a_job_that_is_stopped_twice_is_stopped_once(cluster: Cluster) -> None:
    cluster.ask(rq.StopJob("runs"))
    cluster.ask(rq.StopJob("runs"))
    cluster.after(SECOND_MS)
    assert [e.outcome for e in cluster.events(ev.JobEnded, "runs")] == ["stopped"]
    assert len(cluster.events(ev.RunStopAsked, "runs")) == 1


def test_a_run_that_leaves_already_is_not_asked_again_by_a_drain(cluster: Cluster) -> None:
    cluster.ask(rq.StopJob("runs"))
    cluster.ask(rq.CordonNode("a", drain=True))
    cluster.ask(rq.CordonNode("a", drain=True))
    cluster.is_quiet()
    assert [asked.why for asked in cluster.events(ev.RunStopAsked, "runs")] == ["person"]
    assert [asked.why for asked in cluster.events(ev.RunStopAsked, "starts")] == ["drain"]


def test_a_stop_wins_over_a_fault_on_the_way(cluster: Cluster) -> None:
    cluster.ask(rq.CordonNode("a", drain=True))
    cluster.is_quiet()
    cluster.ask(rq.StopJob("starts"))
    cluster.hear(ev.NodeLost("a", cluster.now_ms))
    cluster.is_quiet()
    assert cluster.ended["starts"].outcome == "stopped"


# Was once so: a job that leaves the head of its queue stirs nothing.
def test_the_head_of_the_queue_that_is_stopped_lets_the_next_one_start(cluster: Cluster) -> None:
    cluster.submit("next", cards=1)
    cluster.after(0)
    assert not cluster.placed("next")
    cluster.ask(rq.StopJob("waits"))
    cluster.after(0)
    assert cluster.placed("next"), "nothing stands before it any more"


def test_a_folded_refusal_is_nothing(cluster: Cluster) -> None:
    cluster.ask(rq.StopJob("never"))
    cluster.after(0)
    assert fold(cluster.book.rows).snapshot() == cluster.state.snapshot()
