"""What a job asks for, and the lives of jobs and runs as tables."""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from starverse.model.units import CARD, DAY_MS

Priority = Literal["reserved", "on-demand", "preemptible"]
"""The priority class of a job, from the one that waits least to the one that yields first."""

Launch = Literal["per-card", "once"]
"""Whether the command is started on every card of the run (as torchrun does) or once for all of them."""

TIME_LIMIT_DEFAULT_MS: dict[Priority, int] = {
    "reserved": 30 * DAY_MS,
    "on-demand": 7 * DAY_MS,
    "preemptible": 30 * DAY_MS,
}
"""The running time a job may use, over all its runs, when it does not say."""

RETRIES_DEFAULT = 2


class Work(Struct, frozen=True, gc=False, omit_defaults=True):
    """What a job runs: the command, where it finds its files, and what it sees around it.

    `snapshot` names the manifest of the submitted directory; `secrets` are names, never values.
    """

    command: tuple[str, ...] = ()
    launch: Launch = "once"
    snapshot: str = ""
    image: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    secrets: tuple[str, ...] = ()


class Role(Struct, frozen=True, gc=False, omit_defaults=True):
    """One of several kinds of member in a gang: so many whole cards running this work.

    The files and secrets are those of the job, whose own command is not run.
    """

    name: str
    cards: int
    work: Work = Work()


class After(Struct, frozen=True, gc=False, omit_defaults=True):
    """A job, or all of an array, that must have ended before this one starts; with `ok`, ended well."""

    job: str
    ok: bool = True


class Slice(Struct, frozen=True, gc=False, array_like=True):
    """So many milli-cards in one domain of this level."""

    level: str
    milli_cards: int


class Shape(Struct, frozen=True, gc=False, omit_defaults=True):
    """How the cards of a job must lie, and what they need beside them.

    A gang is made of members: `member` milli-cards on one node each, with so much of the node's CPU, memory
    and named resources (`needs`). All of it lies in one domain of the level `require`, and of `prefer` where
    that can be had. `slices`, outermost first, ask for whole multiples of so many cards in each domain of
    their level; `spread` allows at most so many cards in one domain; `balanced` fills the domains evenly.
    `licences` are counted for the whole cluster. Jobs with the same `apart` share no domain of `apart_level`.
    """

    member: int = CARD
    milli_cpu: int = 0
    memory_mb: int = 0
    needs: tuple[tuple[str, int], ...] = ()
    require: str = ""
    prefer: str = ""
    slices: tuple[Slice, ...] = ()
    spread: tuple[Slice, ...] = ()
    balanced: bool = False
    licences: tuple[tuple[str, int], ...] = ()
    apart: str = ""
    apart_level: str = "node"


class JobSpec(Struct, frozen=True, gc=False, omit_defaults=True):
    """What was asked for; lives across faults and never changes.

    With `reservation` it runs inside that booking only, and leaves when its time is over. It may be one of an
    array, of whose jobs at most `array_limit` run at once (0: any number). Its `roles` share its cards, and
    start together or not at all.
    With `stays` its runs are never moved to make room for others.
    `cards_min` and `cards_max` are milli-cards; `price` is micro-yuan per card-hour, the one shown at submit.
    """

    job: str
    tenant: str
    cards_min: int = CARD
    cards_max: int = CARD
    kind: str = "cpu"
    price: int = 0
    time_limit_ms: int = TIME_LIMIT_DEFAULT_MS["on-demand"]
    retries: int = RETRIES_DEFAULT
    priority: Priority = "on-demand"
    project: str = ""
    owner: str = ""
    name: str = ""
    work: Work = Work()
    roles: tuple[Role, ...] = ()
    array: str = ""
    array_index: int = 0
    after: tuple[After, ...] = ()
    earliest_start_ms: int = 0
    shape: Shape = Shape()
    reservation: str = ""
    stays: bool = False
    array_limit: int = 0


def member_of(spec: JobSpec, index: int) -> JobSpec:
    """The job of an array with this index; `spec.job` is the name of the array."""
    return replace(spec, job=f"{spec.job}_{index}", array=spec.job, array_index=index)


def ranks_of_role(role: Role) -> int:
    """How many processes a role has."""
    return role.cards if role.work.launch == "per-card" else 1


def rank_count(spec: JobSpec, cards: int) -> int:
    """How many processes a run of the job has on so many whole cards."""
    if spec.roles:
        return sum(map(ranks_of_role, spec.roles))
    return cards if spec.work.launch == "per-card" else 1


Phase = Literal["waiting", "starting", "running", "stopping", "settling", "paused", "ended"]

JOB_LIFE: dict[tuple[Phase, str], Phase] = {
    ("waiting", "RunPlaced"): "starting",
    ("waiting", "JobPaused"): "paused",
    ("waiting", "JobEnded"): "ended",
    ("paused", "JobRequeued"): "waiting",
    ("paused", "JobEnded"): "ended",
    ("starting", "RunStarted"): "running",
    ("starting", "RunStopAsked"): "stopping",
    ("starting", "RunEnded"): "settling",
    ("running", "RunStopAsked"): "stopping",
    ("running", "RunEnded"): "settling",
    ("stopping", "RunStarted"): "stopping",
    ("stopping", "RunEnded"): "settling",
    ("settling", "JobRequeued"): "waiting",
    ("settling", "JobPaused"): "paused",
    ("settling", "JobEnded"): "ended",
}
"""The life of a job: what may happen in each phase, and the phase it leads to.

`settling` lasts for an instant only: what becomes of the job is in the same transaction as the run's end.
"""

PHASE_AFTER: dict[str, dict[Phase, Phase]] = {
    event: {phase: after for (phase, other), after in JOB_LIFE.items() if other == event}
    for _, event in JOB_LIFE
}
"""JOB_LIFE by event: the loop looks here several times a life, and a word is found faster than a pair."""

Outcome = Literal["done", "failed", "stopped", "expired"]
"""How a job ended: by itself and well, by itself and badly, by a person, at its time limit."""

StopWhy = Literal[
    "person", "wallet", "time-limit", "drain", "preempt", "reservation", "resize", "migrate", "power"
]  # fmt: skip
"""Why a run was asked to stop."""

How = Literal["exit", "signal", "lease", "lost", "unstarted"]
"""How a run ended: by an exit code, by a signal, because its lease ran out, because it vanished
(node, server or shim died), or because it could not be started at all."""
