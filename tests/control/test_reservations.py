"""Bookings in the loop: nobody else has their cards in their time, jobs inside leave at their end."""

from dataclasses import replace
from random import Random
from typing import Any

import msgspec
from tests.cluster import NOON, Cluster, fold
from tests.control.laws import Auditor
from tests.control.stories import START_MS, TENANTS, Story, _ticks, each, play
from tests.control.test_memory import Forgetful
from tests.hall import Fate

from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.reservation import Reservation
from starverse.model.units import CARD, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS


def cluster_of(nodes: int, **fates: Fate) -> Cluster:
    cluster = Cluster(Fate(3 * DAY_MS), jobs={job: [fate] for job, fate in fates.items()}, watch=Auditor())
    for n in range(nodes):
        cluster.node(f"n{n}", cards=8)
    cluster.tenant("ann", yuan=1_000_000)
    cluster.tenant("bob", yuan=1_000_000)
    cluster.after(0)
    return cluster


def reserve(cluster: Cluster, in_ms: int, length_ms: int, cards: int = 8, **more: Any) -> str:
    from_ms = NOON + in_ms
    given = {"name": "r", "tenant": "ann", "kind": "cpu", "milli_cards": cards * CARD}
    asked = cluster.ask(
        rq.Reserve(Reservation(**(given | {"from_ms": from_ms, "to_ms": from_ms + length_ms} | more)))
    )
    cluster.after(0)
    return cluster.refusal(asked)


def running(cluster: Cluster) -> list[str]:
    return sorted(run.job for run in cluster.state.runs.values())


def test_f1_a_job_that_would_run_into_a_booking_does_not_start() -> None:
    cluster = cluster_of(1, short=Fate(30 * MINUTE_MS))
    assert not reserve(cluster, 100 * MINUTE_MS, HOUR_MS)
    cluster.submit("long", cards=8, time_limit_ms=HOUR_MS, at_ms=NOON + 50 * MINUTE_MS)
    cluster.submit("short", cards=8, time_limit_ms=40 * MINUTE_MS, at_ms=NOON + 55 * MINUTE_MS)
    cluster.until(NOON + 60 * MINUTE_MS)
    assert running(cluster) == ["short"]
    cluster.until(NOON + 159 * MINUTE_MS)
    assert running(cluster) == []
    cluster.until(NOON + 161 * MINUTE_MS)
    assert running(cluster) == ["long"]
    assert [event.why for event in cluster.events(ev.ReservationEnded)] == ["over"]


def test_f2_a_job_inside_starts_with_its_booking_leaves_with_it_and_survives_a_restart() -> None:
    cluster = cluster_of(2)
    assert not reserve(cluster, HOUR_MS, HOUR_MS)
    cluster.submit("inside", cards=4, reservation="r")
    cluster.submit("second", cards=4, reservation="r")
    cluster.submit("third", cards=4, reservation="r")
    cluster.submit("other", cards=8, tenant="bob")
    cluster.after(SECOND_MS)
    assert running(cluster) == ["other"]
    cluster.until(NOON + HOUR_MS + SECOND_MS)
    assert running(cluster) == ["inside", "other", "second"]
    before = cluster.state.snapshot()
    assert fold(cluster.book.rows).snapshot() == before
    cluster.restart(cut=len(cluster.book.rows))
    cluster.until(NOON + 2 * HOUR_MS - 5 * SECOND_MS)
    assert running(cluster) == ["inside", "other", "second"]
    cluster.until(NOON + 2 * HOUR_MS + SECOND_MS)
    assert running(cluster) == ["other"]
    outcomes = {job: cluster.ended[job].outcome for job in ("inside", "second", "third")}
    assert outcomes == dict.fromkeys(outcomes, "expired")
    assert all(event.happened_ms <= NOON + 2 * HOUR_MS for event in cluster.events(ev.RunEnded))


def test_a_job_in_a_booking_that_comes_again_goes_on_each_day() -> None:
    cluster = cluster_of(1)
    assert not reserve(cluster, HOUR_MS, HOUR_MS, repeat="daily", until_ms=NOON + 3 * DAY_MS)
    cluster.submit("daily", cards=8, reservation="r", price=0)
    cluster.submit("between", cards=8, tenant="bob", time_limit_ms=20 * HOUR_MS, price=0)
    cluster.until(NOON + 3 * DAY_MS)
    starts = [row for row, event in cluster.book.rows if isinstance(event, ev.RunPlaced)]
    assert starts == [NOON + n * DAY_MS + HOUR_MS for n in (0, 1, 2)][:1] + [NOON + 2 * HOUR_MS] + [
        NOON + n * DAY_MS + HOUR_MS for n in (1, 2)
    ]


def test_f3_the_owner_is_told_at_once_when_cards_are_lost_that_nothing_replaces() -> None:
    cluster = cluster_of(3)
    assert not reserve(cluster, DAY_MS, HOUR_MS, cards=16)
    lost = cluster.state.truth.reservations["r"].shares[0].node
    cluster.hear(ev.NodeLost(lost, NOON))
    cluster.after(SECOND_MS)
    (moved,) = cluster.events(ev.ReservationMoved)
    assert (moved.missing, len(moved.shares)) == (0, 2)
    assert lost not in {share.node for share in moved.shares}
    cluster.hear(ev.NodeLost(moved.shares[0].node, NOON))
    cluster.after(SECOND_MS)
    assert [event.missing for event in cluster.events(ev.ReservationMoved)] == [0, 8 * CARD]
    cluster.node(lost, cards=8)
    cluster.after(SECOND_MS)
    assert [event.missing for event in cluster.events(ev.ReservationMoved)] == [0, 8 * CARD, 0]


def test_f6_nodes_that_come_and_go_never_keep_the_loop_from_resting() -> None:
    cluster = cluster_of(4)
    assert not reserve(cluster, DAY_MS, HOUR_MS, cards=16)
    cluster.submit("wide", cards=32, tenant="bob")
    for n in range(20):
        cluster.hear(ev.NodeLost(f"n{n % 4}", NOON), NOON + n * MINUTE_MS)
        cluster.hear(ev.NodeJoined(f"n{n % 4}", "cpu", 8), NOON + n * MINUTE_MS + 30 * SECOND_MS)
    turns = 0
    cluster._watch = lambda _: None
    cluster.hall.horizon = NOON + 21 * MINUTE_MS
    while not cluster.is_quiet():
        turns += 1
    assert turns < 200


def test_f4_a_booking_that_cannot_be_had_is_answered_with_a_date_and_a_size() -> None:
    cluster = cluster_of(2)
    cluster.submit("busy", cards=8, time_limit_ms=2 * DAY_MS)
    cluster.after(SECOND_MS)
    refusal = reserve(cluster, DAY_MS, HOUR_MS, cards=16)
    assert refusal.startswith("Reservation r cannot be had as asked. To be had: all 16 cards from ")
    assert refusal.endswith(" on or 8 cards at the time asked.")


def test_cancelling_gives_the_cards_back() -> None:
    cluster = cluster_of(1)
    assert not reserve(cluster, HOUR_MS, DAY_MS)
    cluster.submit("inside", reservation="r")
    cluster.submit("long", cards=8, tenant="bob")
    cluster.after(SECOND_MS)
    assert running(cluster) == []
    cluster.ask(rq.CancelReservation("r"))
    cluster.after(SECOND_MS)
    assert running(cluster) == ["long"]
    assert cluster.ended["inside"].outcome == "expired"


# -- by chance --------------------------------------------------------------------------------------------


def booked(story: Story) -> Story:
    """The same story, with bookings, one of them cancelled, and jobs inside of them."""
    chance = Random(len(story.acts))
    wishes = [_wish(chance, name, chance.choice(story.nodes)) for name in ("r0", "r1", "r2")]
    acts = [(START_MS, rq.Reserve(wish)) for wish in wishes]
    acts += [(at_ms, _inside(chance, wishes, act)) for at_ms, act in story.acts]
    acts.append((START_MS + _ticks(chance, 900), rq.CancelReservation(chance.choice(wishes).name)))
    return replace(story, acts=tuple(sorted(acts, key=lambda act: act[0])))


def _wish(chance: Random, name: str, node: ev.NodeJoined) -> Reservation:
    from_ms = START_MS + _ticks(chance, 400)
    length_ms = chance.choice([5, 60, 300, 600]) * SECOND_MS
    until_ms = START_MS + 3 * DAY_MS
    return Reservation(
        name,
        chance.choice(TENANTS),
        node.kind,
        chance.randint(1, node.cards) * CARD,
        from_ms,
        from_ms + length_ms,
        repeat=chance.choice(["", "daily"]),
        until_ms=until_ms,
    )


def _inside(chance: Random, wishes: list[Reservation], act: Any) -> Any:
    if not isinstance(act, rq.SubmitJob) or chance.random() < 0.4:
        return act
    wish = chance.choice(wishes)
    least = min(act.spec.cards_min, wish.milli_cards)
    inside = {"tenant": wish.tenant, "kind": wish.kind, "cards_min": least, "reservation": wish.name}
    return rq.SubmitJob(msgspec.structs.replace(act.spec, **inside))


def nobody_else_is_there(cluster: Cluster) -> None:
    """No run of others has cards of a booking whose time it is, unless it was asked to leave."""
    state = cluster.state
    for name, booking in state.view.bookings.items():
        window = booking.window(cluster.now_ms)
        if window is None or cluster.now_ms < window[0]:
            continue
        mine = {share.node: share.mask for share in state.truth.reservations[name].shares}
        for run in state.runs.values():
            spec = state.jobs[run.job].spec
            if spec.kind == booking.reservation.kind and spec.reservation != name and not run.stop_why:
                assert not any(share.mask & mine.get(share.node, 0) for share in run.shares), (name, run)


def told(story: Story, **how: Any) -> Cluster:
    auditor = Auditor()

    def watch(cluster: Cluster) -> None:
        auditor(cluster)
        nobody_else_is_there(cluster)

    return play(story, watch=watch, **how)


def test_whatever_happens_bookings_are_kept_and_memory_makes_no_difference(seeds: range) -> None:
    def the_same(story: Story) -> None:
        story = booked(story)
        rows = told(story).book.rows
        assert play(story, loop=Forgetful).book.rows == rows
        assert fold(rows).snapshot()

    each(seeds, the_same)
