"""What a case is: a cluster, jobs, what happens to them when, and what is expected to come of it."""

from msgspec import Struct

from starverse.model import events as ev
from starverse.model.job import JobSpec
from starverse.model.requests import Request
from starverse.twin.world import Fate


class CaseJob(Struct, frozen=True):
    """A job: what it asks for and when, and what becomes of its runs in turn, the last for the rest.

    With `saves`, a run that ends before its time leaves its work to the next.
    """

    spec: JobSpec
    submit_ms: int
    fates: tuple[Fate, ...]
    saves: bool = False


class Lies(Struct, frozen=True):
    """Where a job, or several together, should lie; what is empty is not asked for.

    `nodes` are exactly these, `on` some of these, `off` none of these; `at_most` and `split` say, by level,
    in how many domains, and the cards of each, most first.
    """

    nodes: tuple[str, ...] = ()
    cards: int = 0
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    at_most: tuple[tuple[str, int], ...] = ()
    split: tuple[tuple[str, tuple[int, ...]], ...] = ()


class Together(Struct, frozen=True):
    """Several jobs that should lie so, taken as one."""

    jobs: tuple[str, ...]
    lies: Lies


class Expect(Struct, frozen=True):
    """What should be true at a time. Times are UTC milliseconds; 0 is never."""

    running: dict[str, Lies] = {}
    together: tuple[Together, ...] = ()
    waiting: dict[str, tuple[str, ...]] = {}
    ended: dict[str, str] = {}
    refused: dict[str, str] = {}
    starts: dict[str, int] = {}
    starts_by: dict[str, int] = {}
    promised: dict[str, int] = {}
    promised_by: dict[str, int] = {}
    never_later: tuple[str, ...] = ()
    in_order: tuple[str, ...] = ()
    runs: dict[str, int] = {}
    free: int | None = None
    largest_free: dict[str, int] = {}
    card_seconds: dict[str, int] = {}
    wallet: dict[str, int] = {}


class Moment(Struct, frozen=True):
    """What happens at a time, in this order, and what should be true after it."""

    at_ms: int
    restart: bool = False
    events: tuple[ev.Event, ...] = ()
    kill: tuple[str, ...] = ()
    requests: tuple[Request, ...] = ()
    expect: Expect | None = None


class Case(Struct, frozen=True):
    """A situation: `needs` names the part of the product that is missing for it, `bug` what goes wrong.

    `asks` are limits and reservations, and when they are asked for.
    """

    title: str
    start_ms: int
    until_ms: int
    layout: ev.LayoutSet
    nodes: tuple[ev.NodeJoined, ...]
    tenants: dict[str, int]
    jobs: dict[str, CaseJob]
    asks: tuple[tuple[int, Request], ...] = ()
    moments: tuple[Moment, ...] = ()
    expect: Expect = Expect()
    about: str = ""
    needs: str = ""
    bug: str = ""
