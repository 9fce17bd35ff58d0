"""Cards that several jobs share: which they get, what is left, and what never happens."""

from typing import Any

import numpy as np
import pytest
from tests.scheduler.pictures import START_MS, Scene

from starverse.control.state import State
from starverse.model import events as ev
from starverse.model.allocation import Share, milli_cards
from starverse.model.errors import BadInput
from starverse.model.job import JobSpec, Priority, Shape, Slice
from starverse.model.reservation import Reservation
from starverse.model.units import HOUR_MS, MINUTE_MS
from starverse.money.lease import LeaseTerms
from starverse.scheduler import kernels as k
from starverse.scheduler.asked import check
from starverse.scheduler.decide import decide
from starverse.scheduler.lot import Lot
from starverse.scheduler.packed import look
from starverse.scheduler.space import Space


def asks(scene: Scene, text: str, minutes: float = 60, **how: Any) -> str:
    """Jobs in short: `a=250 b=2000@bob c=500/30`: milli-cards, tenant, minutes; then which cards all have."""
    for word in text.split():
        job, _, wants = word.partition("=")
        wants, _, own = wants.partition("/")
        wants, _, tenant = wants.partition("@")
        scene.ask(job, 0, 0, float(own or minutes), tenant or "ann", milli=int(wants), **how)
        scene.decide()
    return has(scene)


def has(scene: Scene) -> str:
    """Who has which cards, in order of start: `a:n0.0 b:n0.1,2`."""
    return " ".join(
        f"{run.job}:{share.node}.{','.join(map(str, share.cards))}"
        for run in scene.state.runs.values()
        for share in run.shares
    )


def left(scene: Scene) -> dict[tuple[str, int], int]:
    """What is left of each shared card."""
    space = scene.state.spaces["cpu"]
    rows, cards = np.nonzero(space.card[k.LEFT])
    return {
        (space.names[row], card): int(space.card[k.LEFT, row, card])
        for row, card in zip(rows.tolist(), cards.tolist(), strict=True)
    }


# -- which card -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("picture", "jobs", "cards"),
    [
        ("..", "a=250 b=250 c=500", "a:n0.0 b:n0.0 c:n0.0"),
        ("..", "a=600 b=500 c=400", "a:n0.0 b:n0.1 c:n0.0"),  # the one with least left
        ("..", "a=600 b=700 c=300 d=400", "a:n0.0 b:n0.1 c:n0.1 d:n0.0"),
        (".. .", "a=250 b=2000 c=750", "a:n1.0 b:n0.0,1 c:n1.0"),  # what is whole stays whole
        (".", "a=999 b=1", "a:n0.0 b:n0.0"),
        ("..", "a=250 b=1000", "a:n0.0 b:n0.1"),  # never beside a whole one
        (".", "a=1000 b=250", "a:n0.0"),
        ("#. -", "a=500 b=500 c=1", "a:n0.1 b:n0.1"),
    ],
)
def test_shared_cards_are_filled_before_another_is_broken(picture: str, jobs: str, cards: str) -> None:
    assert asks(Scene(picture), jobs) == cards


def test_a_card_is_whole_again_when_the_last_of_its_jobs_is_over() -> None:
    scene = Scene(".")
    asks(scene, "a=250 b=500 c=1000")
    assert left(scene) == {("n0", 0): 250}
    scene.end("a").decide()
    assert left(scene) == {("n0", 0): 500}
    assert has(scene) == "b:n0.0"
    scene.end("b").decide()
    assert left(scene) == {}
    assert has(scene) == "c:n0.0"


def test_nobody_comes_to_what_is_left_of_a_broken_card_or_on_a_closed_node() -> None:
    scene = Scene(". .")
    asks(scene, "a=250")
    scene.tell(ev.CardHealthChanged("n0", 0, False))
    asks(scene, "b=250")
    scene.close("n1")
    assert asks(scene, "c=250") == "a:n0.0 b:n1.0"
    scene.reopen("n1").decide()
    assert has(scene) == "a:n0.0 b:n1.0 c:n1.0"


def test_where_nodes_have_processors_a_part_lies_where_least_becomes_unusable() -> None:
    scene = Scene(". .", milli_cpu=8_000)
    asks(scene, "whole=1000", milli_cpu=6_000)  # expected again: 6 processors and a card
    assert asks(scene, "part=500", milli_cpu=2_500) == "whole:n0.0 part:n1.0"
    assert asks(scene, "other=500", milli_cpu=2_500) == "whole:n0.0 part:n1.0 other:n1.0"
    assert asks(scene, "third=1", milli_cpu=3_500) == "whole:n0.0 part:n1.0 other:n1.0"


def test_a_node_is_chosen_by_what_was_asked_for_so_far() -> None:
    def of(*before: tuple[int, int]) -> str:
        scene = Scene(".... ....")
        scene.tell(ev.NodeJoined("big", "cpu", 4, ("r0",), milli_cpu=64_000))
        scene.tell(ev.NodeJoined("small", "cpu", 4, ("r0",), milli_cpu=8_000))
        for n, (cards, cpu) in enumerate(before):
            scene.ask(f"b{n}", cards, member=cards, milli_cpu=cpu).decide().end(f"b{n}")
        scene.ask("job", 1, milli_cpu=4_000).decide()
        return has(scene)

    assert of() == "job:big.0"
    assert of((4, 64_000), (4, 64_000)) == "job:small.0"


# -- waiting ----------------------------------------------------------------------------------------------


def test_a_part_that_has_to_wait_is_told_why_and_promised_a_whole_card() -> None:
    scene = Scene("..")
    asks(scene, "a=600/30 b=700/20 c=500/5")
    reason = scene.why("c")
    assert [cause.text for cause in reason.causes] == [
        "It needs 0.5 of one cpu card; at most 0.4 of one is free."
    ]
    assert reason.change == "It would start now with 0.4 of a card."
    assert scene.promised("c") == 20


def test_a_part_starts_before_its_promise_when_enough_of_a_card_is_left() -> None:
    scene = Scene(".")
    asks(scene, "a=600/30 b=400/60 c=500/20 d=600/20")
    assert scene.promised("c") == 60
    scene.at(30)
    assert scene.starts["c"] == 30
    assert "d" not in scene.starts


def test_nobody_joins_a_card_for_longer_than_it_is_kept_for_another() -> None:
    scene = Scene(".")
    asks(scene, "a=500/30 whole=1000/60 late=250/31 early=250/30")
    assert scene.promised("whole") == 30
    assert has(scene) == "a:n0.0 early:n0.0"
    scene.at(30)
    assert scene.starts["whole"] == 30


@pytest.mark.parametrize(
    ("jobs", "wants", "stays"),
    [
        ("a=500 b=250 c=250", "job=250", "a:n0.0 b:n0.0 job:n0.0"),  # of those that lose as little, the first
        ("a=500 b=250 c=250", "job=500", "a:n0.0 job:n0.0"),
        ("a=500 b=250 c=250", "job=1000", "job:n0.0"),
        ("a=1000", "job=250", "job:n0.0"),
    ],
)
def test_of_runs_that_share_a_card_no_more_yield_than_must(jobs: str, wants: str, stays: str) -> None:
    scene = Scene(".")
    asks(scene, jobs, 600, priority="preemptible")
    scene.at(10)
    asks(scene, wants)
    ran = {run.partition(":")[0] for run in has(scene).split()}
    assert "job" in ran
    assert len(ran) == len(stays.split())
    assert sum(run.milli_cards for run in scene.state.runs.values()) <= 1000


def test_a_part_yields_beside_one_that_does_not_and_no_whole_card_is_expected_of_it() -> None:
    scene = Scene(".")
    asks(scene, "stays=500/600")
    asks(scene, "yields=500/600", priority="preemptible")
    scene.at(10)
    assert asks(scene, "whole=1000", 5) == "stays:n0.0 yields:n0.0"
    assert asks(scene, "part=500", 5) == "stays:n0.0 part:n0.0"


def test_a_part_that_only_a_limit_keeps_waiting_starts_when_the_limit_is_gone() -> None:
    scene = Scene(".")
    scene.tell(ev.QuotaSet("ann", guaranteed=1_000))
    asks(scene, "a=500@bob/30")
    scene.tell(ev.LicencesSet("cad", 0))
    asks(scene, "b=700 c=500/600", licences=(("cad", 1),))
    assert has(scene) == "a:n0.0"
    scene.tell(ev.LicencesSet("cad", 1))
    scene.decide()
    assert has(scene) == "a:n0.0 c:n0.0"


# -- limits -----------------------------------------------------------------------------------------------


def test_quotas_and_power_count_parts() -> None:
    scene = Scene("....", feeds=("busbar",), card_mw=1_000_000)
    scene.tell(ev.QuotaSet("ann", guaranteed=1_500))
    asks(scene, "a=750 b=500 c=500")
    assert [job for job in "abc" if job in scene.starts] == ["a", "b"]
    assert "It needs 0.5 of its quota; ann uses 1.25 cards and is guaranteed 1.5: 0.25 are left" in str(
        scene.why("c")
    )
    scene.tell(ev.BudgetSet("busbar", 3_000_000))
    asks(scene, "d=1000@bob e=1000@bob")
    assert scene.state.view.limits.power.drawn == {"busbar": 2_250_000}
    scene.end("a").decide()
    assert has(scene) == "b:n0.1 d:n0.2 c:n0.1 e:n0.0"
    assert scene.state.view.limits.power.drawn == {"busbar": 3_000_000}


def test_parts_share_the_cards_of_a_reservation() -> None:
    scene = Scene("..")
    shares = (Share.of("n0", [1]),)
    booked = Reservation("mine", "ann", "cpu", 1_000, START_MS, START_MS + HOUR_MS)
    scene.tell(ev.ReservationMade(booked, 1, shares, ((START_MS, START_MS + HOUR_MS),)))
    for job, milli in (("a", 600), ("b", 400), ("c", 100)):
        scene.tell(ev.JobSubmitted(JobSpec(job, "ann", milli, milli, reservation="mine")))
        scene.decide()
    assert has(scene) == "a:n0.1 b:n0.1"


@pytest.mark.parametrize(
    ("low", "high", "shape", "says"),
    [
        (1_500, 1_500, Shape(), "asks for 1.5 cards, which are no whole ones. Ask for whole cards, or for a"),
        (250, 500, Shape(), "asks for 0.25 to 0.5 cards"),
        (250, 1_000, Shape(), "asks for 0.25 to 1 cards"),
        (250, 250, Shape(member=500), "for members of 500 milli-cards. Leave out the member."),
        (250, 250, Shape(slices=(Slice("rack", 250),)), "asks for slices of a part of one card."),
        (
            500,
            500,
            Shape(spread=(Slice("rack", 250),)),
            "A member of 0.5 does not fit into 0.25 in one rack.",
        ),
    ],
)
def test_what_is_no_part_of_one_card_is_refused(low: int, high: int, shape: Shape, says: str) -> None:
    with pytest.raises(BadInput) as refusal:
        check(JobSpec("j", "ann", low, high, shape=shape), Scene("..").state.view)
    assert says in str(refusal.value)


@pytest.mark.parametrize("shape", [Shape(), Shape(member=250), Shape(require="rack", milli_cpu=0)])
def test_a_part_of_one_card_may_be_asked_for(shape: Shape) -> None:
    check(JobSpec("j", "ann", 250, 250, shape=shape), Scene("..").state.view)


# -- the books --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("priority", ["on-demand", "preemptible"])
def test_a_state_from_a_snapshot_knows_the_same_parts(priority: Priority) -> None:
    scene = Scene(".. ..")
    asks(scene, "a=250 b=500/20 c=600 d=1000 e=1000 f=1000", priority=priority)
    scene.at(5)
    again = State.load(scene.state.snapshot(), scene.state.view.terms)
    assert again.truth == scene.state.truth
    mine, other = scene.state.spaces["cpu"], again.spaces["cpu"]
    used = mine.node[k.USED, : mine.size, None] >> np.arange(mine.card.shape[2]) & 1
    assert (mine.card[:, : mine.size] * used == other.card[:, : other.size] * used).all()
    assert again.view.mix("cpu").asks.tolist() == scene.state.view.mix("cpu").asks.tolist()
    assert decide(again.view, {}, scene.now_ms)[0] == decide(scene.state.view, {}, scene.now_ms)[0]


def test_a_card_that_is_shared_ends_with_the_last_of_its_parts() -> None:
    space = Space()
    space.join("n", 0b1, True)
    lots = [Lot(np.array([0]), np.array([1]), milli) for milli in (250, 500)]
    space.take(lots[0], 9)
    space.take(lots[1], 5)
    assert space.card[k.ENDS, 0, 0] == 9
    space.until(lots[1], 11)
    assert space.card[k.ENDS, 0, 0] == 11
    space.give(lots[1])
    assert (space.card[k.ENDS, 0, 0], space.card[k.LEFT, 0, 0], space.free) == (9, 750, 0)
    with pytest.raises(AssertionError, match="more than all of card 0"):
        space.take(Lot(np.array([0]), np.array([1]), 751), 5)


def test_a_share_has_its_milli_cards_and_no_more() -> None:
    assert milli_cards([Share("n", 0b11), Share("m", 0b1, 250)]) == 2_250


def test_a_picture_of_a_space_counts_what_differs() -> None:
    space = Space()
    for name in "nm":
        space.join(name, 0b11, True, stock=(("cpu", 8),))
    free, version = np.full(2, -1, np.int64), np.zeros(2, np.int64)
    picture = np.zeros((2, 2), np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64)

    def seen() -> list[int]:
        look(space.node, space.card, space.stock, free, *picture, version)
        return [*picture[0].ravel().tolist(), *version.tolist()]

    assert seen() == [1000, 1000, 1000, 1000, 1, 1]
    space.take(Lot(np.array([1]), np.array([2]), 300), MINUTE_MS)
    assert seen() == [1000, 1000, 1000, 700, 1, 2]
    space.join("m", 0b11, False)
    assert seen() == [1000, 1000, 0, 0, 1, 3]


# -- beside CPU, power and reservations -------------------------------------------------------------------

GRACE = LeaseTerms(window_ms=60_000, least_ms=10_000, grace_ms=5_000)


def asked_to_leave(scene: Scene) -> set[str]:
    return {run.job for run in scene.state.runs.values() if run.stop_why}


def test_whose_cpu_is_needed_leaves_and_not_who_shares_its_card() -> None:
    scene = Scene("..", milli_cpu=8_000, terms=GRACE)
    asks(scene, "stays=500/600", milli_cpu=1_000)
    asks(scene, "yields=500/600", priority="preemptible", milli_cpu=5_000)
    scene.at(10)
    asks(scene, "whole=1000", 5, milli_cpu=6_000)
    assert asked_to_leave(scene) == {"yields"}


def test_of_those_who_share_a_card_only_whose_cpu_is_needed_leave() -> None:
    scene = Scene("..", milli_cpu=8_000, terms=GRACE)
    asks(scene, "little=500/600", priority="preemptible", milli_cpu=1_000)
    asks(scene, "much=500/600", priority="preemptible", milli_cpu=5_000)
    scene.at(10)
    asks(scene, "whole=1000", 5, milli_cpu=6_000)
    assert asked_to_leave(scene) == {"much"}


def test_for_a_part_whoever_has_the_cpu_beside_it_leaves() -> None:
    scene = Scene(".", milli_cpu=8_000, terms=GRACE)
    asks(scene, "stays=500/600", milli_cpu=1_000)
    asks(scene, "yields=100/600", priority="preemptible", milli_cpu=6_000)
    scene.at(10)
    asks(scene, "part=300/5", milli_cpu=3_000)
    assert asked_to_leave(scene) == {"yields"}


def test_a_rest_that_comes_back_is_looked_at_though_power_was_short_before() -> None:
    scene = Scene("")
    scene.tell(ev.NodeJoined("n0", "cpu", 2, ("r0",), feeds=("A",), card_mw=1000))
    scene.tell(ev.NodeJoined("n1", "cpu", 1, ("r1",)))
    scene.tell(ev.BudgetSet("A", 0))
    asks(scene, "x=500/600")
    scene.close("n1")
    asks(scene, "y=500/500")
    scene.reopen("n1").decide()
    assert has(scene) == "x:n1.0 y:n1.0"


def test_parts_of_booked_cards_start_where_all_is_booked() -> None:
    scene = Scene(". .")
    hour = START_MS, START_MS + HOUR_MS
    booked = Reservation("mine", "ann", "cpu", 2_000, *hour)
    scene.tell(ev.ReservationMade(booked, 1, (Share.of("n0", [0]), Share.of("n1", [0])), (hour,)))
    for job, milli in (("w", 1000), ("a", 600), ("b", 400)):
        scene.tell(ev.JobSubmitted(JobSpec(job, "ann", milli, milli, reservation="mine")))
        scene.decide()
    assert has(scene) == "w:n0.0 a:n1.0 b:n1.0"
