"""All that can happen: facts in the past tense, as the journal keeps them.

When a fact was *heard* stands in its journal row; an event carries `happened_ms` only where that can differ.
An event's meaning never changes: a new shape is a new tag (see `store/raising.py`).
"""

from msgspec import Struct

from starverse.model.allocation import Share
from starverse.model.job import How, JobSpec, Outcome, StopWhy
from starverse.model.reservation import Reservation


class _Event(Struct, frozen=True, gc=False, omit_defaults=True):
    pass


# -- people ---------------------------------------------------------------------------------------------


class TenantOpened(_Event, frozen=True, tag=True):
    """A tenant exists and has a wallet."""

    tenant: str


class PriceSet(_Event, frozen=True, tag=True):
    """From `from_ms` on, a card of this kind costs `price` micro-yuan an hour."""

    kind: str
    price: int
    from_ms: int


class JobSubmitted(_Event, frozen=True, tag=True):
    """A job was asked for and taken up."""

    spec: JobSpec


class JobStopAsked(_Event, frozen=True, tag=True):
    """A person wants the job to end."""

    job: str
    by: str = ""


class NodeCordoned(_Event, frozen=True, tag=True):
    """No new runs may come to the node; with `drain` those there are asked to leave."""

    node: str
    by: str = ""
    drain: bool = False


class NodeUncordoned(_Event, frozen=True, tag=True):
    """The node takes new runs again."""

    node: str
    by: str = ""


class QuotaSet(_Event, frozen=True, tag=True):
    """The tenant, under `parent` in the tree ("" at its root), is guaranteed so many milli-cards and has this
    weight; it may borrow, and must lend, so many at most (-1: any)."""

    tenant: str
    parent: str = ""
    weight: int = 1
    guaranteed: int = 0
    borrow_max: int = -1
    lend_max: int = -1
    by: str = ""


class QuotaRemoved(_Event, frozen=True, tag=True):
    """The tenant has no quota any more, so none limits it and none is guaranteed to it."""

    tenant: str
    by: str = ""


class LicencesSet(_Event, frozen=True, tag=True):
    """There are so many of this licence for the whole cluster."""

    name: str
    count: int
    by: str = ""


class BudgetSet(_Event, frozen=True, tag=True):
    """All that hangs on this feed (busbar, rack, row, coolant loop) may draw so much together (-1: any)."""

    feed: str
    milliwatts: int
    by: str = ""


class ReservationMade(_Event, frozen=True, tag=True):
    """These cards are booked at all these times (from, to), under a number that is never used again."""

    reservation: Reservation
    number: int
    shares: tuple[Share, ...]
    windows: tuple[tuple[int, int], ...]


class ReservationMoved(_Event, frozen=True, tag=True):
    """Cards of the reservation were lost: it has these now, and `missing` milli-cards too few."""

    reservation: str
    shares: tuple[Share, ...]
    missing: int = 0
    why: str = ""


class ReservationEnded(_Event, frozen=True, tag=True):
    """The reservation is over, or was cancelled."""

    reservation: str
    why: str = ""
    by: str = ""


class FaultInjected(_Event, frozen=True, tag=True):
    """An operator killed a rank of a run on purpose: the platform answers for what is lost."""

    run: str
    rank: int
    by: str = ""


# -- the world ------------------------------------------------------------------------------------------


class LayoutSet(_Event, frozen=True, tag=True):
    """The names of the cluster's levels, outermost first and without the node; where the domains of one level
    form a torus, that level and its size along each axis."""

    levels: tuple[str, ...]
    torus_level: str = ""
    torus: tuple[int, ...] = ()


class NodeJoined(_Event, frozen=True, tag=True):
    """A node with so many cards of a kind is there (again).

    `place` names the domains it lies in, outermost first, one for each level of the layout; `at` is the
    position of its domain on the torus. `resources` are counted things beside CPU and memory. `feeds` are the
    busbar, rack, row and coolant loop it hangs on; a card of it in use draws `card_mw` milliwatts from each.
    """

    node: str
    kind: str
    cards: int
    place: tuple[str, ...] = ()
    at: tuple[int, ...] = ()
    milli_cpu: int = 0
    memory_mb: int = 0
    resources: tuple[tuple[str, int], ...] = ()
    feeds: tuple[str, ...] = ()
    card_mw: int = 0


class NodeLost(_Event, frozen=True, tag=True):
    """The node is surely dead, and with it all that ran there."""

    node: str
    happened_ms: int
    why: str = ""


class CardHealthChanged(_Event, frozen=True, tag=True):
    """One card of a node failed or was repaired."""

    node: str
    card: int
    healthy: bool
    why: str = ""


class RunStarted(_Event, frozen=True, tag=True):
    """The processes of the run are there: metering begins."""

    run: str
    happened_ms: int


class RunResumed(_Event, frozen=True, tag=True):
    """The run took its first optimizer step: the work goes on."""

    run: str
    step: int
    happened_ms: int


class CheckpointSaved(_Event, frozen=True, tag=True):
    """The run has a valid checkpoint of this step."""

    run: str
    step: int
    happened_ms: int


class RunEnded(_Event, frozen=True, tag=True):
    """The run is surely dead. `happened_ms` is its last proof of life."""

    run: str
    happened_ms: int
    how: How = "exit"
    code: int = 0
    rank: int = -1
    text: str = ""


# -- decisions ------------------------------------------------------------------------------------------


class Promised(Struct, frozen=True, gc=False, array_like=True):
    """The job starts at `at_ms` at the latest, and these cards are kept for it from then on. With `at_ms` 0
    no start can be promised as things are."""

    job: str
    at_ms: int = 0
    shares: tuple[Share, ...] = ()


class StartsPromised(_Event, frozen=True, tag=True):
    """These waiting jobs were promised a start; what they were promised before no longer holds."""

    promises: tuple[Promised, ...]


class RunPlaced(_Event, frozen=True, tag=True):
    """The job has cards: run number `attempt` of it may live until the lease ends."""

    run: str
    job: str
    attempt: int
    shares: tuple[Share, ...]
    lease_until_ms: int


class LeaseRenewed(_Event, frozen=True, tag=True):
    """More money is held for the run: it may live until then."""

    run: str
    until_ms: int


class RunStopAsked(_Event, frozen=True, tag=True):
    """The run must save and leave before `kill_at_ms`; its job's next run has the cards `keeps`, if any."""

    run: str
    why: StopWhy
    kill_at_ms: int
    keeps: tuple[Share, ...] = ()


PLATFORM_FAULT = "platform fault"
"""How a job that the platform failed says `why` it waits again begins,"""
ASKED_TO_GO_ON = "it saved and asked to go on"
"""and what one says that left by itself."""


class JobRequeued(_Event, frozen=True, tag=True):
    """The job waits again, in its old place, and not before then; `retried` if it cost a retry."""

    job: str
    why: str
    not_before_ms: int = 0
    retried: bool = False
    platform: bool = False


class JobPaused(_Event, frozen=True, tag=True):
    """The job waits for a person (money, disk space), not for cards."""

    job: str
    why: str
    code: str = ""


class JobEnded(_Event, frozen=True, tag=True):
    """The job is over."""

    job: str
    outcome: Outcome
    why: str = ""


class Posted(_Event, frozen=True, tag=True):
    """Money moved: `lines` are (account, micro-yuan) and sum to zero.

    `kind` is one of trial, top-up, hold, charge, release, credit; `card_ms` is what
    was metered for it, in the half-open interval from `from_ms` to `to_ms`.
    """

    kind: str
    tenant: str
    lines: tuple[tuple[str, int], ...]
    job: str = ""
    run: str = ""
    card_ms: int = 0
    from_ms: int = 0
    to_ms: int = 0
    note: str = ""


class LeaderChanged(_Event, frozen=True, tag=True):
    """A server became the journal's only writer."""

    epoch: int


Event = (
    TenantOpened | PriceSet | JobSubmitted | JobStopAsked | NodeCordoned | NodeUncordoned | FaultInjected
    | QuotaSet | QuotaRemoved | LicencesSet | BudgetSet
    | ReservationMade | ReservationMoved | ReservationEnded
    | LayoutSet | NodeJoined | NodeLost | CardHealthChanged
    | RunStarted | RunResumed | CheckpointSaved | RunEnded
    | StartsPromised | RunPlaced | LeaseRenewed | RunStopAsked | JobRequeued | JobPaused | JobEnded
    | Posted | LeaderChanged
)  # fmt: skip
