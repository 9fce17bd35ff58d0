"""What the use cases answer, and what a job is asked for with: plain shapes that travel as JSON unchanged.

Money is micro-yuan, times are UTC milliseconds, cards are whole cards, or 0.25 for a part of one;
None means "not (yet)". Only the standard library, `model` and what is like it are imported here, because
the client reads answers into these same shapes.
"""

from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from starverse.model.job import Launch, Outcome, Phase, Priority
from starverse.service.shapes import ANYHOW, ShapeAsk

Item = TypeVar("Item")


# -- jobs -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RoleAsk:
    """One of several kinds of member in a gang: so many cards running this command, as a job would."""

    name: str
    command: tuple[str, ...]
    cards: int = 1
    launch: Launch | Literal[""] = ""
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobAsk:
    """What a job is asked for with. `cards` is a count, `MIN:MAX` for an elastic job, or 0.25 for a part of
    one card.

    A `.py` file as first word is started on every card as torchrun would, anything else once; `launch` says
    otherwise. `time_limit_ms` 0 is the default of the priority class; an empty `project` is the first of
    one's own, an empty `kind` the kind of card there is most of. It starts once the jobs and arrays in
    `after` have ended well, and those in `after_any` have ended. An `array` such as `0-99%10` is a hundred
    such jobs, ten of them running at once. With `roles` it has no command of its own, and their cards.
    It does not start before `earliest_start_ms`, runs only inside the `reservation` named there, and with
    `stays` its runs are never moved to make room for others.
    """

    command: tuple[str, ...]
    cards: int | float | str = 1
    kind: str = ""
    name: str = ""
    time_limit_ms: int = 0
    launch: Launch | Literal[""] = ""
    snapshot: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    project: str = ""
    priority: Priority = "on-demand"
    retries: int = 2
    image: str = ""
    after: tuple[str, ...] = ()
    after_any: tuple[str, ...] = ()
    array: str = ""
    roles: tuple[RoleAsk, ...] = ()
    shape: ShapeAsk = ANYHOW
    earliest_start_ms: int = 0
    reservation: str = ""
    stays: bool = False


@dataclass(frozen=True, slots=True)
class Preview:
    """What a job would cost, before it is submitted.

    `lasts_ms` is how long the wallet pays for the job on its most cards (None: for ever, it costs nothing).
    """

    kind: str
    cards_min: int | float
    cards_max: int | float
    price: int
    per_hour_min: int
    per_hour_max: int
    time_limit_ms: int
    for_time_limit_min: int
    for_time_limit_max: int
    available: int
    lasts_ms: int | None
    cards_free: int
    cards_total: int
    starts_now: bool


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the training has come, by its last report."""

    step: int
    steps: int | None
    loss: float | None
    tokens_per_s: float | None
    at_ms: int


@dataclass(frozen=True, slots=True)
class Job:
    """A job; `run` is its present or last one.

    `cost` = charged + what its run has used since the last charge - credited. `progress` is told of one
    job, not in lists. `after` and `after_any` are those that had not ended when it was submitted. In a folded
    list `array_jobs` says how many jobs of its `array` stand how, by outcome or phase; at most `array_limit`
    of them run at once (0: any number).
    """

    job: str
    project: str
    tenant: str
    owner: str
    name: str
    phase: Phase
    outcome: Outcome | Literal[""]
    why: str
    kind: str
    cards_min: int | float
    cards_max: int | float
    price: int
    priority: Priority
    time_limit_ms: int
    submitted_ms: int
    started_ms: int | None
    ended_ms: int | None
    run: str
    runs: int
    command: tuple[str, ...]
    launch: Launch
    snapshot: str
    environment: dict[str, str]
    secrets: tuple[str, ...]
    cost: int
    charged: int
    credited: int
    card_ms: int
    progress: Progress | None = None
    array: str = ""
    array_index: int | None = None
    array_jobs: dict[str, int] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    after_any: tuple[str, ...] = ()
    roles: tuple[RoleAsk, ...] = ()
    array_limit: int = 0
    shape: ShapeAsk = ANYHOW
    earliest_start_ms: int | None = None
    reservation: str = ""
    stays: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Cards of one node, by index."""

    node: str
    cards: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt of a job: `resumed_ms` is its first optimizer step; the platform answers for a `fault`."""

    run: str
    attempt: int
    cards: int | float
    places: tuple[Place, ...]
    placed_ms: int
    started_ms: int | None
    resumed_ms: int | None
    resumed_step: int | None
    checkpoint_ms: int | None
    checkpoint_step: int | None
    ended_ms: int | None
    how: str
    code: int
    rank: int
    text: str
    fault: bool
    injected: bool


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened to a job: `what` is the event's name, `text` a sentence for people."""

    seq: int
    at_ms: int
    what: str
    run: str
    text: str


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause: a code for programs, a sentence for people."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Why:
    """Why a job is where it is: one sentence, each cause, the smallest change that would start it, and when
    it starts at the latest (nothing where no start is promised)."""

    job: str
    phase: Phase
    text: str
    causes: tuple[Cause, ...] = ()
    change: str = ""
    promised_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """One report of a training step."""

    run: str
    at_ms: int
    step: int
    steps: int | None
    loss: float | None
    tokens_per_s: float | None


@dataclass(frozen=True, slots=True)
class LogPart:
    """A piece of a run's output. Read on at `next_offset`; `more` says that there is more already.

    What was written before `offset` may have been dropped: the logs kept are bounded.
    """

    run: str
    stream: Literal["stdout", "stderr"]
    text: str
    offset: int
    next_offset: int
    more: bool


@dataclass(frozen=True, slots=True)
class JobChanged:
    """Live: the job as it is now, with the timeline of its runs (in the stream of one job)."""

    job: Job
    runs: tuple[Run, ...] = ()


@dataclass(frozen=True, slots=True)
class LogText:
    """Live: more output of a run; pieces may end in the middle of a line."""

    run: str
    stream: Literal["stdout", "stderr"]
    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """Live: the job is over, and all of it was sent."""

    job: Job


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file a job wrote into its output folder."""

    path: str
    bytes: int
    modified_ms: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A submitted directory."""

    snapshot: str
    files: int
    bytes: int


# -- money ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wallet:
    """What a tenant has: to spend, held for running runs, of that already used; and how long that will do.

    `spent_per_hour` is what runs now; at that rate the money is used up at `empty_ms` (None: nothing runs).
    """

    tenant: str
    available: int
    held: int
    used: int
    spent_per_hour: int
    empty_ms: int | None


@dataclass(frozen=True, slots=True)
class WalletChanged:
    """Live: what the caller's wallet holds now."""

    wallet: Wallet


@dataclass(frozen=True, slots=True)
class Posting:
    """A movement of money: what the wallet and the hold gained or lost by it, and what was metered for it."""

    seq: int
    at_ms: int
    kind: str
    job: str
    run: str
    wallet: int
    held: int
    amount: int
    card_ms: int
    from_ms: int | None
    to_ms: int | None
    note: str


@dataclass(frozen=True, slots=True)
class Price:
    """What a card-hour of a kind costs from `from_ms` on."""

    kind: str
    from_ms: int
    price: int


# -- the cluster ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of card: how many there are, how many are free, and the price of one for an hour."""

    kind: str
    cards: int
    free: int
    price: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """What there is to rent and within which limits: the `levels` that cards may lie together in, outermost
    first, the node last; what jobs may ask for beside cards; and how many of each licence there are."""

    version: str
    kinds: tuple[Kind, ...]
    isolation: str
    accepts_foreign: bool
    snapshot_bytes_max: int
    snapshot_files_max: int
    waiting: int
    running: int
    levels: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    licences: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Node:
    """A node: `used` cards belong to runs, `broken` ones (by index) are out of service. One that was lost
    again and again takes no new runs before `rests_until_ms`."""

    node: str
    kind: str
    cards: int
    used: int
    broken: tuple[int, ...]
    cordoned: bool
    lost: bool
    rests_until_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """A part of a list: ask on with `cursor` until it is empty."""

    items: tuple[Item, ...]
    cursor: str
