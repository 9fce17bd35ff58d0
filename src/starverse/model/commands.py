"""All we can ask the world for: orders, idempotent by run; what comes of them is heard as events."""

from msgspec import Struct

from starverse.model.allocation import Share
from starverse.model.job import Role, Work


class _Command(Struct, frozen=True, gc=False, omit_defaults=True):
    pass


class StartRun(_Command, frozen=True, tag=True):
    """Start the work on these cards; it may live until the lease ends, `grace_ms` of it for saving.

    The same order again, or an order for a run that was stopped, starts nothing.
    """

    run: str
    job: str
    tenant: str
    attempt: int
    kind: str
    shares: tuple[Share, ...]
    lease_until_ms: int
    grace_ms: int
    work: Work
    array: str = ""
    array_index: int = 0
    roles: tuple[Role, ...] = ()


class RenewLease(_Command, frozen=True, tag=True):
    """The run may live until then."""

    run: str
    until_ms: int


class StopRun(_Command, frozen=True, tag=True):
    """Ask the run to save and leave; kill all of it at `kill_at_ms`.

    Stopping a run that is not known leaves a tombstone, so that a late start never revives it.
    """

    run: str
    why: str
    kill_at_ms: int


class KillRank(_Command, frozen=True, tag=True):
    """Kill one rank of the run with SIGKILL (fault injection)."""

    run: str
    rank: int


Command = StartRun | RenewLease | StopRun | KillRank
