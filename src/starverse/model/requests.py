"""All that people can ask the loop for; it answers with events, or with one sentence of refusal."""

from msgspec import Struct

from starverse.model.job import JobSpec
from starverse.model.reservation import Reservation


class _Request(Struct, frozen=True, gc=False, omit_defaults=True):
    pass


class OpenTenant(_Request, frozen=True, tag=True):
    """Give a new tenant a wallet with `trial_credit` micro-yuan in it."""

    tenant: str
    trial_credit: int = 0


class TopUp(_Request, frozen=True, tag=True):
    """Add money to a wallet; `note` says where it came from."""

    tenant: str
    amount: int
    note: str = ""


class SetPrice(_Request, frozen=True, tag=True):
    """From `from_ms` on, a card of this kind costs `price` micro-yuan an hour."""

    kind: str
    price: int
    from_ms: int


class SubmitJob(_Request, frozen=True, tag=True):
    """Run this."""

    spec: JobSpec


class SubmitArray(_Request, frozen=True, tag=True):
    """Run this once for each index: all jobs are taken up or none. The spec's `job` names the array."""

    spec: JobSpec
    indices: tuple[int, ...]


class StopJob(_Request, frozen=True, tag=True):
    """End the job, or all of an array, with its grace."""

    job: str
    by: str = ""


class ResumeJob(_Request, frozen=True, tag=True):
    """Let a paused job wait for cards again."""

    job: str
    by: str = ""


class CordonNode(_Request, frozen=True, tag=True):
    """Let no new runs come to the node; with `drain`, ask those there to leave."""

    node: str
    by: str = ""
    drain: bool = False


class UncordonNode(_Request, frozen=True, tag=True):
    """Let runs come to the node again."""

    node: str
    by: str = ""


class SetQuota(_Request, frozen=True, tag=True):
    """Guarantee a tenant (or a group of them, the `parent` of others) so many milli-cards, lend it at most
    `borrow_max` more, and lend others at most `lend_max` of its own (-1: any)."""

    tenant: str
    parent: str = ""
    weight: int = 1
    guaranteed: int = 0
    borrow_max: int = -1
    lend_max: int = -1
    by: str = ""


class RemoveQuota(_Request, frozen=True, tag=True):
    """Let a tenant, or a group with nobody under it, have no quota any more."""

    tenant: str
    by: str = ""


class SetLicences(_Request, frozen=True, tag=True):
    """There are so many of this licence for the whole cluster."""

    name: str
    count: int
    by: str = ""


class SetBudget(_Request, frozen=True, tag=True):
    """Let what hangs on a feed (busbar, rack, row, coolant loop) draw so much together (-1: any)."""

    feed: str
    milliwatts: int
    by: str = ""


class Reserve(_Request, frozen=True, tag=True):
    """Book cards in advance."""

    reservation: Reservation


class CancelReservation(_Request, frozen=True, tag=True):
    """Give the booked cards back; jobs inside are asked to leave."""

    reservation: str
    by: str = ""


class InjectFault(_Request, frozen=True, tag=True):
    """Kill one rank of a run, to see what happens."""

    run: str
    rank: int
    by: str = ""


Request = (
    OpenTenant | TopUp | SetPrice | SubmitJob | SubmitArray | StopJob | ResumeJob
    | CordonNode | UncordonNode | InjectFault
    | SetQuota | RemoveQuota | SetLicences | SetBudget | Reserve | CancelReservation
)  # fmt: skip
