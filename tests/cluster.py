"""A small cluster to tell stories with: the real loop, over a world whose runs do what the story says.

cluster = Cluster(Fate(work_ms=90 * SECOND_MS))
cluster.node("a", cards=8)
cluster.tenant("ann", yuan=10)
cluster.submit("talk", cards=2)
cluster.settle()
assert cluster.ended["talk"].outcome == "done"
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from tests.hall import Book, Fate, Fuse, Hall, Killed, Quiet

from starverse.control.controller import Controller
from starverse.control.ports import Asked
from starverse.control.state import State
from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.allocation import Share
from starverse.model.job import JobSpec
from starverse.model.units import CARD, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, YUAN
from starverse.money.lease import LeaseTerms

E = TypeVar("E")

MIDNIGHT = 20_000 * DAY_MS
NOON = MIDNIGHT - 12 * HOUR_MS
TERMS = LeaseTerms(window_ms=MINUTE_MS, least_ms=10 * SECOND_MS, grace_ms=4 * SECOND_MS)
"""Short ones, so that a story of minutes renews many leases."""

PRICE = 3_600_000
"""Micro-yuan per card-hour: a micro-yuan for each card-millisecond, so that sums can be done in the head."""


class Cluster:
    """The loop, its journal and its hall; `fates` are those of a job's runs in turn, the last for the rest.

    What is asked for happens at once, or `at_ms`; time passes by `until` and `settle`. `watch` is called
    after every turn. A server that dies is followed by another at the same instant.
    """

    def __init__(
        self,
        *fates: Fate,
        jobs: Mapping[str, Sequence[Fate]] | None = None,
        start_ms: int = NOON,
        terms: LeaseTerms = TERMS,
        dies_at: Iterable[int] = (),
        echoes: Sequence[int] = (),
        loop: type[Controller] = Controller,
        watch: "Callable[[Cluster], None]" = lambda cluster: None,
    ) -> None:
        self._jobs = jobs or {}
        self._fates = fates or (Fate(),)
        self._loop = loop
        self._watch = watch
        self._asked = 0
        self.terms = terms
        self.fuse = Fuse(dies_at)
        self.hall = Hall(start_ms, self._fate_of, self.fuse, echoes)
        self.book = Book(self.fuse)
        self.loop = loop(self.hall, self.book, State(terms=terms), terms)

    def _fate_of(self, job: str, attempt: int) -> Fate:
        fates = self._jobs.get(job, self._fates)
        return fates[min(attempt, len(fates) - 1)]

    # -- what people and the world do ---------------------------------------------------------------------

    def ask(self, request: rq.Request, at_ms: int = 0) -> int:
        self._asked += 1
        self.hall.at(at_ms or self.now_ms, Asked(self._asked, request))
        return self._asked

    def hear(self, event: ev.Event, at_ms: int = 0) -> None:
        self.hall.at(at_ms or self.now_ms, event)

    def node(self, node: str, cards: int, kind: str = "cpu") -> None:
        self.hear(ev.NodeJoined(node, kind, cards))

    def tenant(self, tenant: str, yuan: int = 0, micro_yuan: int = 0) -> None:
        self.ask(rq.OpenTenant(tenant, yuan * YUAN + micro_yuan))

    def submit(
        self, job: str, cards: int | tuple[int, int] = 1, at_ms: int = 0, tenant: str = "ann", **spec: Any
    ) -> int:
        low, high = cards if isinstance(cards, tuple) else (cards, cards)
        spec = {"price": PRICE} | spec
        return self.ask(rq.SubmitJob(JobSpec(job, tenant, low * CARD, high * CARD, **spec)), at_ms)

    def ask_to_stop(self, job: str) -> int:
        return self.ask(rq.StopJob(job))

    def cordon(self, node: str, drain: bool = False) -> int:
        return self.ask(rq.CordonNode(node, drain=drain))

    # -- time ---------------------------------------------------------------------------------------------

    def turn(self) -> None:
        try:
            self.loop.turn()
            self.hall.was_heard()
        except Killed:
            self._come_back()
        else:
            self._watch(self)

    def _come_back(self) -> None:
        try:
            self.restart()
        except Killed:
            self._come_back()

    def until(self, at_ms: int) -> None:
        """Let time pass to then, and all that happens by then happen."""
        self.settle(at_ms)
        self.hall.now_ms = at_ms

    def after(self, ms: int) -> None:
        self.until(self.now_ms + ms)

    def settle(self, horizon_ms: float = float("inf"), turns_max: int = 20_000) -> None:
        """Let time pass until nothing is left to happen."""
        self.hall.horizon = horizon_ms
        for _ in range(turns_max):
            if self.is_quiet():
                return
        raise AssertionError(f"still no rest after {turns_max} turns")

    def is_quiet(self) -> bool:
        """Turn once; whether there was nothing left to turn for."""
        try:
            self.turn()
        except Quiet:
            return True
        return False

    def restart(self, cut: int | None = None, down_ms: int = 0) -> None:
        """Another server takes over: from the snapshot after row `cut`, and the rest of the journal."""
        rows = self.book.rows
        start = (
            State(terms=self.terms) if cut is None else State.load(fold(rows[:cut]).snapshot(), self.terms)
        )
        state = fold(rows[cut or 0 :], start)
        self.hall.go_on_alone(self.now_ms + down_ms, {taken.id for taken in self.book.taken})
        self.loop = self._loop(self.hall, self.book, state, self.terms)
        self.loop.take_over(self.now_ms, state.truth.epoch + 1)

    # -- what came of it ----------------------------------------------------------------------------------

    @property
    def now_ms(self) -> int:
        return self.hall.now_ms

    @property
    def state(self) -> State:
        return self.loop.state

    def events(self, kind: type[E], job: str = "") -> list[E]:
        """The events of a kind in the journal, those of a job or its runs only if it is named."""
        found = [event for _, event in self.book.rows if type(event) is kind]
        return [event for event in found if not job or job_of(event) == job]

    @property
    def ended(self) -> dict[str, ev.JobEnded]:
        return {event.job: event for event in self.events(ev.JobEnded)}

    def placed(self, job: str) -> list[tuple[Share, ...]]:
        return [event.shares for event in self.events(ev.RunPlaced, job)]

    def money(self, kind: str, job: str) -> list[int]:
        """The amounts that were posted as charges (what was earned) or credits (what was given back)."""
        line = {"charge": 1, "credit": 0, "hold": 1}[kind]
        return [event.lines[line][1] for event in self.events(ev.Posted, job) if event.kind == kind]

    def refusal(self, asked: int) -> str:
        return next(taken.refusal for taken in self.book.taken if taken.id == asked)

    def wallet(self, tenant: str = "ann") -> int:
        return self.state.accounts[f"wallet/{tenant}"]


def fold(rows: Iterable[tuple[int, ev.Event]], state: State | None = None) -> State:
    """The state that rows of a journal lead to."""
    state = state or State(terms=TERMS)
    for heard_ms, event in rows:
        state.apply(event, heard_ms)
    return state


def job_of(event: Any) -> str:
    spec = getattr(event, "spec", None)
    return spec.job if spec else getattr(event, "job", "") or getattr(event, "run", "").rpartition(".")[0]
