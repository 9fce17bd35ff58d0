"""All of the state that is not derived: nodes, jobs, runs and money, as a snapshot holds them."""

from msgspec import UNSET, Struct, UnsetType

from starverse.model import events as ev
from starverse.model.allocation import Share
from starverse.model.job import JobSpec, Outcome, Phase
from starverse.scheduler.placement.mix import Seen


class Node(Struct, gc=False):
    """A node; `broken` is a bit set of failed cards. It was lost so often (`losses`), last at `lost_ms`, and
    takes no new runs before `rests_until_ms` (see `resting.py`)."""

    node: str
    kind: str
    cards: int
    broken: int = 0
    cordoned: bool = False
    lost: bool = False
    place: tuple[str, ...] = ()
    at: tuple[int, ...] = ()
    milli_cpu: int = 0
    memory_mb: int = 0
    resources: tuple[tuple[str, int], ...] = ()
    feeds: tuple[str, ...] = ()
    card_mw: int = 0
    losses: int = 0
    lost_ms: int = 0
    rests_until_ms: int = 0


class Job(Struct, gc=False):
    """A job that is not over: `order` is its place in the queue, `ran_ms` counts against its time limit,
    `before` are the cards of its last run while it waits again, `keeps` those that are kept for its next run
    from when it is asked to leave for them, `inside` says that its array lets it in."""

    spec: JobSpec
    order: int
    phase: Phase = "waiting"
    run: str = ""
    attempts: int = 0
    retries_used: int = 0
    platform_faults: int = 0
    not_before_ms: int = 0
    ran_ms: int = 0
    step: int = 0
    why: str = ""
    pause: str = ""
    stop_asked: bool = False
    repays: bool = False
    before: tuple[Share, ...] = ()
    inside: bool = False
    keeps: tuple[Share, ...] | UnsetType = UNSET


class Ended(Struct, frozen=True, gc=False, array_like=True):
    """How a job, or of an array the worst of its jobs, ended."""

    tenant: str
    outcome: Outcome


class Run(Struct, gc=False):
    """A run that is not over. `held` micro-yuan pay for it until the lease ends; `charged` of its cost is
    posted, up to `posted_ms`; time up to `credited_ms` was given back; `repays` if it makes up for one;
    `advanced` if it saved a later step than all before it; `kill_rank` is shot on purpose, -1 is none."""

    run: str
    job: str
    tenant: str
    price: int
    milli_cards: int
    shares: tuple[Share, ...]
    placed_ms: int
    lease_until_ms: int
    held: int = 0
    charged: int = 0
    started_ms: int = 0
    posted_ms: int = 0
    checkpoint_ms: int = 0
    credited_ms: int = 0
    resumed: bool = False
    repays: bool = False
    injected: bool = False
    stop_why: str = ""
    kill_at_ms: int = 0
    advanced: bool = False
    kill_rank: int = -1


class Truth(Struct):
    """All of the state that is not derived: what a snapshot holds."""

    seq: int = 0
    heard_ms: int = 0
    epoch: int = 0
    submitted: int = 0
    nodes: dict[str, Node] = {}
    jobs: dict[str, Job] = {}
    runs: dict[str, Run] = {}
    accounts: dict[str, int] = {}
    prices: dict[str, list[tuple[int, int]]] = {}
    layout: ev.LayoutSet = ev.LayoutSet(())
    promises: dict[str, ev.Promised] = {}
    quotas: dict[str, ev.QuotaSet] = {}
    licences: dict[str, int] = {}
    budgets: dict[str, int] = {}
    reservations: dict[str, ev.ReservationMade] = {}
    missing: dict[str, int] = {}
    """The milli-cards that reservations lack."""
    reserved: int = 0
    """How many reservations there ever were."""
    asked: dict[str, Seen] = {}
    used: dict[str, int] = {}
    used_step: int = 0
    ended: dict[str, Ended] = {}
    """The jobs that ended last."""
