"""Cards booked for a tenant in advance, once or again and again at a time of day of its own time zone."""

from datetime import UTC, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Struct

from starverse.model.errors import BadInput
from starverse.model.job import Shape
from starverse.model.units import CARD, CARDS_MAX, DAY_MS, HOUR_MS, SECOND_MS

Repeat = Literal["", "daily", "weekly"]

AHEAD_MAX_MS = 3 * 366 * DAY_MS
"""No booking reaches further into the future."""

LENGTH_MAX_MS = 366 * DAY_MS
"""A booking is at most a year long, a leap year included."""

Window = tuple[int, int]
"""From when to when, in UTC milliseconds, the second not included."""

_DAYS: dict[Repeat, int] = {"": 0, "daily": 1, "weekly": 7}


class Reservation(Struct, frozen=True, gc=False, omit_defaults=True):
    """What a tenant books: so many milli-cards of a kind, lying as `shape` says, from one moment to another.

    With `repeat` the same again each day or week, at the same time by the clocks of `zone`, as long as it
    begins before `until_ms`. A time that the clocks skip when they are put forward is read as if they had not
    been: 02:30 is then 03:30. Of a time that comes twice when they are put back, the first is meant. So it
    happens exactly once on each of its days. `name` is one of a kind, `label` what people call it.
    """

    name: str
    tenant: str
    kind: str
    milli_cards: int
    from_ms: int
    to_ms: int
    shape: Shape = Shape()
    repeat: Repeat = ""
    zone: str = "UTC"
    until_ms: int = 0
    label: str = ""


def called(ask: Reservation) -> str:
    """What people know it by."""
    return ask.label or ask.name


def windows_of(ask: Reservation, now_ms: int) -> tuple[Window, ...]:
    """All the times that are booked, in order.

    Raises BadInput for what makes no sense: upside down, over, too long, too far ahead, no such zone.
    """
    length_ms = ask.to_ms - ask.from_ms
    days = _DAYS[ask.repeat]
    if not 0 < length_ms <= LENGTH_MAX_MS:
        raise BadInput(f"Reservation {called(ask)} must end after it begins, and within a year.")
    if ask.to_ms <= now_ms:
        raise BadInput(f"Reservation {called(ask)} would be over already.")
    if max(ask.to_ms, ask.until_ms) > now_ms + AHEAD_MAX_MS:
        raise BadInput(f"Reservation {called(ask)} reaches more than three years ahead.")
    if not CARD <= ask.milli_cards <= CARDS_MAX * CARD or ask.milli_cards % max(CARD, ask.shape.member):
        raise BadInput(
            f"Reservation {called(ask)} must be of whole cards, and of whole members of its shape."
        )
    if not days:
        return ((ask.from_ms, ask.to_ms),)
    if length_ms > days * DAY_MS - HOUR_MS:
        raise BadInput(f"Reservation {called(ask)} would not be over when it begins again.")
    try:
        zone = ZoneInfo(ask.zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise BadInput(f"There is no time zone {ask.zone}.", "Write it like America/New_York.") from error
    first = (
        datetime.fromtimestamp(ask.from_ms // SECOND_MS, UTC).astimezone(zone).replace(tzinfo=None, fold=0)
    )
    rest_ms = ask.from_ms % SECOND_MS
    starts = [ask.from_ms]
    while True:
        local = first + len(starts) * timedelta(days)
        at_ms = int(local.replace(tzinfo=zone).timestamp()) * SECOND_MS + rest_ms
        if at_ms >= ask.until_ms:
            break
        starts.append(at_ms)
    return tuple((at_ms, at_ms + length_ms) for at_ms in starts if at_ms + length_ms > now_ms)


def say_time(at_ms: int) -> str:
    """A moment as people read it."""
    return datetime.fromtimestamp(at_ms // SECOND_MS, UTC).strftime("%Y-%m-%d %H:%M UTC")
