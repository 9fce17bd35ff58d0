"""The world whose clock jumps: what happens in which order, when a lease ends, the same bytes each time."""

from collections.abc import Sequence
from typing import TypeVar

import pytest
from tests.cluster import NOON, TERMS

from starverse.control.controller import Controller
from starverse.control.ports import Asked, Taken
from starverse.control.state import State
from starverse.model import commands as cmd
from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.job import JobSpec, Work
from starverse.model.units import CARD, HOUR_MS, MINUTE_MS, SECOND_MS, YUAN
from starverse.money.lease import LeaseTerms
from starverse.twin.world import Fate, HashJournal, World

E = TypeVar("E")
S = SECOND_MS


def start(run: str, lease_ms: int = HOUR_MS) -> cmd.StartRun:
    return cmd.StartRun(run, run.partition(".")[0], "ann", 0, "cpu", (), NOON + lease_ms, 0, Work())


def heard(world: World) -> list[tuple[float, ev.Event]]:
    """All that happens until nothing does, with its seconds."""
    events = []
    while not world.over():
        now_ms, items = world.wait(None)
        events += [((now_ms - NOON) / S, item) for item in items]
    return events  # type: ignore[return-value]


def ends(world: World) -> list[tuple[float, str, str]]:
    return [(at_s, event.run, event.how) for at_s, event in heard(world) if isinstance(event, ev.RunEnded)]


def lasting(**seconds: float) -> World:
    return World(NOON, lambda order, now_ms: Fate(int(seconds[order.job] * S)))


def test_time_jumps_to_what_happens_next_and_no_further_than_asked() -> None:
    world = World(NOON, lambda order, now_ms: Fate(0))
    world.at(NOON + 5 * S, ev.LeaderChanged(1))
    assert world.wait(NOON + 3 * S) == (NOON + 3 * S, ())
    assert world.wait(NOON + 9 * S) == (NOON + 5 * S, [ev.LeaderChanged(1)])
    assert world.wait(NOON + 9 * S) == (NOON + 9 * S, ())
    assert world.wait(None) == (NOON + 9 * S, ())
    assert world.wait(NOON) == (NOON + 9 * S, ()), "time never goes back"


def test_what_happens_at_one_instant_is_heard_together_in_the_order_it_was_said() -> None:
    world = World(NOON, lambda order, now_ms: Fate(0))
    for n in (3, 1, 2):
        world.at(NOON + 1, ev.LeaderChanged(n))
    world.ask(NOON + 1, rq.StopJob("job"))
    assert world.wait(None)[1] == [*(ev.LeaderChanged(n) for n in (3, 1, 2)), Asked(0, rq.StopJob("job"))]


def test_what_is_said_of_this_very_instant_is_heard_before_time_goes_on() -> None:
    world = World(NOON, lambda order, now_ms: Fate(0))
    world.at(NOON + 1, ev.LeaderChanged(3))
    world.at(NOON, ev.LeaderChanged(1))
    world.act([start("a.0")])
    said = [ev.LeaderChanged(1), ev.RunStarted("a.0", NOON), ev.RunEnded("a.0", NOON)]
    assert world.wait(None) == (NOON, said)
    assert not world.over()
    world.wait(None)
    world.at(NOON + 1, ev.LeaderChanged(4))
    assert world.wait(None) == (NOON + 1, [ev.LeaderChanged(4)])
    assert world.over()


def test_nothing_can_be_said_of_the_past() -> None:
    world = World(NOON, lambda order, now_ms: Fate(0))
    with pytest.raises(AssertionError, match="before now"):
        world.at(NOON - 1, ev.LeaderChanged(1))


def test_the_world_does_not_begin_at_zero() -> None:
    with pytest.raises(AssertionError, match="0 is no time"):
        World(0, lambda order, now_ms: Fate(0))


def test_a_run_starts_and_ends_by_its_fate() -> None:
    world = World(NOON, lambda order, now_ms: Fate(30 * S, 2 * S, "signal", 9))
    world.act([start("a.0")])
    assert heard(world) == [
        (2, ev.RunStarted("a.0", NOON + 2 * S)),
        (32, ev.RunEnded("a.0", NOON + 32 * S, "signal", 9)),
    ]


def test_a_run_that_is_stopped_or_shot_ends_at_once() -> None:
    world = lasting(a=100, b=100)
    world.act([start("a.0"), start("b.0")])
    world.wait(None)
    world.wait(NOON + 10 * S)
    world.act([cmd.StopRun("a.0", "person", NOON + 20 * S), cmd.KillRank("b.0", 0)])
    assert [event for _, event in heard(world)][:2] == [
        ev.RunEnded("a.0", NOON + 10 * S, "exit", 85),
        ev.RunEnded("b.0", NOON + 10 * S, "signal", 9),
    ]


LEASES = [
    # sentence, seconds of work, seconds of lease, renewals (when, until), how it ends
    ("a lease longer than the work does nothing", 50, 60, [], [(50, "exit")]),
    ("a lease as long as the work does nothing", 50, 50, [], [(50, "exit")]),
    ("a lease that ends before ends the run", 50, 40, [], [(40, "lease"), (50, "exit")]),
    ("a renewed lease ends later", 90, 40, [(10, 70)], [(70, "lease"), (90, "exit")]),
    (
        "a lease renewed again and again",
        90,
        20,
        [(10, 40), (30, 60), (59, 80)],
        [(80, "lease"), (90, "exit")],
    ),
    ("a lease renewed beyond the work does nothing", 50, 40, [(10, 70)], [(50, "exit")]),
    ("a lease renewed to the end of the work does nothing", 50, 40, [(10, 50)], [(50, "exit")]),
    ("a renewal that comes too late is none", 90, 40, [(41, 70)], [(40, "lease"), (90, "exit")]),
]


@pytest.mark.parametrize(
    ("work_s", "lease_s", "renewals", "end"), [case[1:] for case in LEASES], ids=[case[0] for case in LEASES]
)
def test_lease(
    work_s: int, lease_s: int, renewals: list[tuple[int, int]], end: list[tuple[float, str]]
) -> None:
    world = lasting(a=work_s)
    world.act([start("a.0", lease_s * S)])
    ended = []
    for at_s, until_s in [*renewals, (1_000, 0)]:
        while world.now_ms < NOON + at_s * S:
            now_ms, items = world.wait(NOON + at_s * S)
            ended += [((now_ms - NOON) / S, e.how) for e in items if isinstance(e, ev.RunEnded)]
        world.act([cmd.RenewLease("a.0", NOON + until_s * S)] if until_s else [])
    assert ended == end


def test_leases_of_many_runs_are_kept_apart() -> None:
    world = lasting(a=50, b=50, c=50)
    world.act([start("a.0", 40 * S), start("b.0", 40 * S), start("c.0", 60 * S)])
    world.act([cmd.RenewLease("b.0", NOON + 45 * S), cmd.RenewLease("c.0", NOON + 70 * S)])
    assert ends(world)[:2] == [(40, "a.0", "lease"), (45, "b.0", "lease")]


# -- with the loop ----------------------------------------------------------------------------------------


class Day:
    """Jobs of all lengths through the loop on a small cluster; `appended` is what the journal was given."""

    def __init__(self, jobs: int, terms: LeaseTerms = TERMS) -> None:
        self.appended: list[tuple[int, list[ev.Event], list[Taken]]] = []
        world = World(NOON, lambda order, now_ms: Fate(int(order.job) % 50 * 7 * S, int(order.job) % 3 * S))
        world.ask(NOON, rq.OpenTenant("ann", 1_000 * YUAN))
        for node in "abc":
            world.at(NOON, ev.NodeJoined(node, "cpu", 4))
        for job in range(jobs):
            spec = JobSpec(str(job), "ann", CARD, (1 + job % 6) * CARD, price=1_850_000)
            world.ask(NOON + job * 20 * S, rq.SubmitJob(spec))
        loop = Controller(world, self, State(terms=terms), terms)
        while not world.over():
            loop.turn()
        self.state = loop.state

    def append(self, heard_ms: int, events: Sequence[ev.Event], taken: Sequence[Taken]) -> None:
        self.appended.append((heard_ms, list(events), list(taken)))

    def events(self, kind: type[E]) -> list[E]:
        return [event for _, events, _ in self.appended for event in events if isinstance(event, kind)]

    def digest(self, asked_every: int = 10**9) -> str:
        journal = HashJournal()
        for n, row in enumerate(self.appended, 1):
            journal.append(*row)
            if n % asked_every == 0:
                journal.digest()
        digest = journal.digest()
        assert journal.count == sum(len(events) for _, events, _ in self.appended)
        return digest


def test_the_loop_renews_every_lease_in_time() -> None:
    day = Day(jobs=200)
    assert not day.state.jobs
    assert {end.how for end in day.events(ev.RunEnded)} == {"exit"}
    assert len(day.events(ev.LeaseRenewed)) > 200


def test_the_same_day_twice_makes_the_same_bytes() -> None:
    assert Day(jobs=300).digest() == Day(jobs=300).digest() != Day(jobs=299).digest()


def test_the_digest_does_not_depend_on_when_it_is_asked_for() -> None:
    day = Day(jobs=200)
    assert day.digest() == day.digest(asked_every=1) == day.digest(asked_every=100)


def test_how_long_the_window_is_changes_no_bill() -> None:
    assert (
        Day(100, TERMS).state.accounts == Day(100, LeaseTerms(30 * MINUTE_MS, 10 * S, 4 * S)).state.accounts
    )
