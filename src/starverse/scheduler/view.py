"""What the scheduler sees of the state, and may not change."""

from collections.abc import Collection, Mapping
from typing import Protocol

from msgspec import Struct

from starverse.model.job import JobSpec
from starverse.money.lease import LeaseTerms
from starverse.scheduler.bookings import Booking
from starverse.scheduler.kept import Kept
from starverse.scheduler.limits import Limits
from starverse.scheduler.line import Line
from starverse.scheduler.lot import Lot
from starverse.scheduler.placement.mix import NOTHING_KNOWN, Asked, Mix
from starverse.scheduler.preempt import Running
from starverse.scheduler.shares import Shares
from starverse.scheduler.space import Space
from starverse.scheduler.whole import Node, Whole

PROMISES = 1_000
"""So many waiting jobs in order are promised a start."""


class Waiting(Protocol):
    """A job as the scheduler sees it."""

    @property
    def spec(self) -> JobSpec:
        """What was asked for."""
        ...

    @property
    def order(self) -> int:
        """Its place in the order of submission."""
        ...

    @property
    def why(self) -> str:
        """Why it waits again, "" if it never ran."""
        ...

    @property
    def ran_ms(self) -> int:
        """What its runs that are over have used of its time limit."""
        ...


class Promise(Struct, frozen=True, gc=False):
    """A job will start at `at_ms` at the latest, for all the scheduler does: cards are kept for it from then
    until `to_ms`. `whose` names it in the space. With `at_ms` 0 no start can be promised as things are."""

    job: str
    kind: str
    whose: int
    at_ms: int
    to_ms: int
    lot: Lot | None


class View:
    """The read-only face of the state; its parts are the state's own and always up to date.

    `lines` holds the waiting jobs of each card kind, `accounts` the money (`wallet/T`), `promises` the starts
    that were promised and `promised` their jobs by number. What changed is told by the spaces; while nothing
    at all has `stirred` since the last decision, there is nothing to decide.
    """

    def __init__(self, jobs: Mapping[str, Waiting], accounts: Mapping[str, int], terms: LeaseTerms) -> None:
        self.jobs = jobs
        self.accounts = accounts
        self.terms = terms
        self.spaces: dict[str, Space] = {}
        self.lines: dict[str, Line] = {}
        self.shares = Shares()
        self.limits = Limits()
        self.promises: dict[str, Promise] = {}
        self.promised: dict[int, str] = {}
        self.unable: dict[str, None] = {}
        """The jobs that no start can be promised to, in order of being told so."""
        self.order: dict[str, list[int]] = {}
        """The numbers of those who have one, by kind of card, in order."""
        self.yielding: dict[str, dict[str, tuple[Running, Lot]]] = {}
        """The runs that give way to better classes, with their cards, by kind of card and name."""
        self.elastic: dict[str, dict[str, tuple[Running, Lot]]] = {}
        """The runs whose jobs may have other numbers of cards, likewise."""
        self.small: dict[str, dict[str, tuple[Running, Lot]]] = {}
        """The runs on few nodes that may be moved to others, likewise."""
        self.kept: dict[str, Kept] = {}
        """What is kept for the next runs of jobs whose runs were asked to leave for it, by job."""
        self.bookings: dict[str, Booking] = {}
        self.asked: dict[str, Asked] = {}
        """What was asked for so far, by kind of card."""
        self.depth = PROMISES
        self.stirred = True
        self.nodes: Mapping[str, Node] = {}
        self.lacks: Mapping[str, Collection[str]] = {}
        """Of the jobs that come after others and do not stand in line for it, those that have not ended."""
        self.full: Mapping[str, None] = {}
        """The jobs that do not stand in line because of the limit of their array."""
        self.wholes: dict[str, Whole] = {}
        """What all nodes of a kind could hold, as far as anybody has asked; forgotten when a node changes."""

    def mix(self, kind: str) -> Mix:
        """The requests to expect for cards of a kind."""
        asked = self.asked.get(kind)
        return asked.mix if asked else NOTHING_KNOWN

    def waiting(self, kind: str) -> int:
        """How many jobs wait for cards of a kind."""
        line = self.lines.get(kind)
        return len(line.stands) if line else 0

    def whole(self, kind: str) -> Whole | None:
        """What all nodes of a kind could hold together; None where there never was one."""
        whole = self.wholes.get(kind)
        if whole is None and kind in self.spaces:
            whole = self.wholes[kind] = Whole(self.spaces[kind], self.nodes, kind)
        return whole
