"""Days in the twin for the store to remember: what people ask and what befalls their jobs, as data."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from starverse.control.controller import Controller
from starverse.control.ports import Asked, Journal, Taken
from starverse.control.state import State
from starverse.model import commands as cmd
from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.job import How, JobSpec, Work
from starverse.model.units import CARD, DAY_MS, HOUR_MS, MINUTE_MS, YUAN
from starverse.money.lease import LeaseTerms
from starverse.twin.world import Fate, World

START_MS = 19_700 * DAY_MS - 2 * HOUR_MS
"""Two hours before a midnight, so that days are charged apart."""

TENANTS = ("ada", "bo")
PRICE = 185_000


class Wish(NamedTuple):
    """A job: when it is asked for, what it needs, and how each of its runs ends."""

    after_ms: int
    tenant: str
    cards: tuple[int, int]
    fates: tuple[tuple[int, How, int], ...]  # work_ms, how, code
    retries: int = 1
    time_limit_ms: int = DAY_MS
    price: int = PRICE


TWO_NODES = (ev.NodeJoined("n1", "cpu", 4), ev.NodeJoined("n2", "cpu", 4))


class Day(NamedTuple):
    """Jobs, what else happens: (after_ms, request or event), and what the cluster is made of."""

    wishes: tuple[Wish, ...]
    happenings: tuple[tuple[int, Any], ...] = ()
    terms: LeaseTerms = LeaseTerms()
    cluster: tuple[ev.Event, ...] = TWO_NODES


class Both:
    """Journals that are told the same."""

    def __init__(self, *journals: Journal) -> None:
        self.journals = journals

    def append(self, heard_ms: int, events: Sequence[ev.Event], taken: Sequence[Taken]) -> None:
        for journal in self.journals:
            journal.append(heard_ms, events, taken)


def job_name(number: int) -> str:
    return f"j-{number:04d}"


def live(day: Day, journal: Journal, state: State, epoch: int) -> Controller:
    """Let a day go by, with the real controller."""
    fates = {job_name(number): wish.fates for number, wish in enumerate(day.wishes)}

    def fate(start: cmd.StartRun, now_ms: int) -> Fate:
        work_ms, how, code = fates[start.job][min(start.attempt, len(fates[start.job]) - 1)]
        return Fate(work_ms, start_ms=1500, how=how, code=code)

    world = World(START_MS, fate)
    world.ask(START_MS, rq.SetPrice("cpu", PRICE, START_MS))
    for part in day.cluster:
        world.at(START_MS, part)
    for tenant in TENANTS:
        world.ask(START_MS, rq.OpenTenant(tenant, 10 * YUAN))
    for number, wish in enumerate(day.wishes):
        low, high = wish.cards
        spec = JobSpec(
            job_name(number), wish.tenant, low * CARD, high * CARD, price=wish.price, retries=wish.retries,
            time_limit_ms=wish.time_limit_ms, name=f"job {number}", project="p", owner="u",
            work=Work(("python", "train.py")),
        )  # fmt: skip
        world.ask(START_MS + wish.after_ms, rq.SubmitJob(spec))
    for after_ms, what in day.happenings:
        item = Asked(0, what) if isinstance(what, rq.Request) else what
        world.at(START_MS + after_ms, item)
    controller = Controller(world, journal, state, day.terms)
    controller.take_over(START_MS, epoch)
    for _ in range(100_000):
        if world.over():
            return controller
        controller.turn()
    raise AssertionError("the day does not end")


# -- drawn by hypothesis ----------------------------------------------------------------------------------

_some_time = st.integers(0, 5 * HOUR_MS)
_fates = st.tuples(
    st.integers(0, 3 * HOUR_MS), st.sampled_from(["exit", "signal", "lost", "unstarted"]),
    st.sampled_from([0, 0, 1, 9, 85, 86]),
)  # fmt: skip
_cards = st.tuples(st.integers(1, 5), st.integers(0, 4)).map(lambda pair: (pair[0], sum(pair)))
_wishes = st.builds(
    Wish, _some_time, st.sampled_from(TENANTS), _cards, st.lists(_fates, min_size=1, max_size=4).map(tuple),
    st.integers(0, 2), st.sampled_from([HOUR_MS, DAY_MS]), st.sampled_from([0, 1, PRICE, 400 * PRICE]),
)  # fmt: skip
_jobs = st.integers(0, 7).map(job_name)
_runs = st.tuples(_jobs, st.integers(0, 2)).map(lambda pair: f"{pair[0]}.{pair[1]}")
_nodes = st.sampled_from(["n1", "n2"])


@st.composite
def _happening(draw: st.DrawFn) -> tuple[int, Any]:
    after_ms = draw(_some_time)
    now_ms = START_MS + after_ms
    what = draw(
        st.one_of(
            st.builds(rq.StopJob, _jobs, st.just("ada")),
            st.builds(rq.ResumeJob, _jobs, st.just("ada")),
            st.builds(rq.TopUp, st.sampled_from(TENANTS), st.integers(-1, 50 * YUAN), st.just("cash")),
            st.builds(rq.CordonNode, _nodes, st.just("op"), st.booleans()),
            st.builds(rq.UncordonNode, _nodes, st.just("op")),
            st.builds(rq.InjectFault, _runs, st.just(0), st.just("op")),
            st.builds(ev.NodeLost, _nodes, st.just(now_ms), st.just("power")),
            st.builds(ev.NodeJoined, _nodes, st.just("cpu"), st.just(4)),
            st.builds(ev.CardHealthChanged, _nodes, st.integers(0, 3), st.booleans(), st.just("ecc")),
            st.builds(ev.RunResumed, _runs, st.integers(0, 9), st.just(now_ms)),
            st.builds(ev.CheckpointSaved, _runs, st.integers(1, 99), st.just(now_ms)),
        )
    )
    return after_ms, what


days = st.builds(
    Day, st.lists(_wishes, min_size=1, max_size=8).map(tuple), st.lists(_happening(), max_size=12).map(tuple),
    st.sampled_from([LeaseTerms(), LeaseTerms(3 * HOUR_MS, MINUTE_MS)]), st.just(TWO_NODES),
)  # fmt: skip
