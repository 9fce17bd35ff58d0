"""What people agree on beside jobs, as it is asked for and answered: bookings, quotas, licences, budgets.

Cards are whole ones or 0.25 for a part, times UTC milliseconds, power is watts; only the standard library and
what is like it are imported here, because the client reads answers into these same shapes.
"""

from dataclasses import dataclass
from typing import Literal

from starverse.service.shapes import ANYHOW, ShapeAsk


@dataclass(frozen=True, slots=True)
class ReservationAsk:
    """Cards booked in advance, from one moment to another; an empty `kind` is the one there is most of.

    With `repeat` the same again each day or week, at the same time by the clocks of `zone`, as long as it
    begins before `until_ms`. `label` is what people call it. Of `shape` only how the cards lie is heard: what
    is needed beside them is asked for by the jobs inside.
    """

    cards: int
    from_ms: int
    to_ms: int
    kind: str = ""
    label: str = ""
    repeat: Literal["", "daily", "weekly"] = ""
    zone: str = "UTC"
    until_ms: int = 0
    project: str = ""
    shape: ShapeAsk = ANYHOW


@dataclass(frozen=True, slots=True)
class Window:
    """From when to when, the second not included."""

    from_ms: int
    to_ms: int


@dataclass(frozen=True, slots=True)
class Reservation:
    """A booking: `windows` are its next times, of `windows_left` in all; `open` while one of them goes on. It
    lies on `nodes`; `missing` of its cards are out of order, with none to replace them.

    One that has `ended_ms` is over, all its times gone, or was cancelled; its nodes are those it had last.
    """

    reservation: str
    label: str
    tenant: str
    kind: str
    cards: int
    from_ms: int
    to_ms: int
    repeat: Literal["", "daily", "weekly"]
    zone: str
    until_ms: int
    shape: ShapeAsk
    windows: tuple[Window, ...]
    windows_left: int
    open: bool
    nodes: tuple[str, ...]
    missing: int
    state: Literal["booked", "open", "ended", "cancelled"] = "booked"
    ended_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """Whether a booking can be had as asked (`fits`), for so many `windows`; else all of it from `nearest_ms`
    on (None: never), or `cards` at the time asked. `costs` is what its cards cost for all that time."""

    fits: bool
    kind: str
    windows: int
    nearest_ms: int | None
    cards: int
    costs: int
    available: int


@dataclass(frozen=True, slots=True)
class Quota:
    """What a tenant, or a group of them (the `parent` of others), is guaranteed; it may borrow `borrow_max`
    cards more, and lends others `lend_max` of its own (None: any). By `weight` idle cards are shared out.

    `used` is what it uses, those below it included as far as they borrow; `left` what it may use yet.
    """

    tenant: str
    parent: str
    weight: int
    guaranteed: int | float
    borrow_max: int | float | None
    lend_max: int | float | None
    used: int | float = 0
    left: int | float = 0


@dataclass(frozen=True, slots=True)
class Licence:
    """How many of a licence there are for the whole cluster, and how many of them runs have."""

    licence: str
    count: int
    used: int = 0


@dataclass(frozen=True, slots=True)
class Budget:
    """What hangs on a feed (busbar, rack, row, coolant loop) may draw so much together (None: any)."""

    feed: str
    watts: int | float | None
    drawn_watts: int | float = 0


@dataclass(frozen=True, slots=True)
class Resting:
    """A node that was lost again and again takes no new runs before then."""

    node: str
    rests_until_ms: int
    losses: int


@dataclass(frozen=True, slots=True)
class Limits:
    """All levers of an operator: quotas from the top of the tree down, licences, budgets by feed (those
    without one too), and the nodes that rest."""

    quotas: tuple[Quota, ...] = ()
    licences: tuple[Licence, ...] = ()
    budgets: tuple[Budget, ...] = ()
    resting: tuple[Resting, ...] = ()
