"""Reads the tables of a file a person wrote: each error names the key and the remedy."""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from starverse.model.errors import BadInput, StarverseError
from starverse.model.names import Pattern, nearest, shown
from starverse.model.units import DURATION_MAX_MS, SECOND_MS, parse_duration_ms

TEXT_MAX = 500

_GROUP = re.compile(r"\{(\d)\}")


class NotYet(BadInput):
    """A key that stands for a part of the product that isn't there yet."""


class Table:
    """One table; what is read of it is struck off, and `done` objects to the rest."""

    def __init__(self, value: Any, where: str, not_yet: dict[str, str] | None = None) -> None:
        if not isinstance(value, dict):
            raise BadInput(f"{where}: {shown(value)} is no table.", "Write it like {key = value}.")
        self.where = where
        self.keys = list(value)
        self._value = value
        self._known: list[str] = []
        self._not_yet = not_yet or {}

    def has(self, key: str) -> bool:
        """Whether the key is there."""
        self._known.append(key)
        return key in self._value

    def raw(self, key: str, default: Any = None) -> Any:
        """The value as it stands."""
        return self._value[key] if self.has(key) else default

    def raw_items(self) -> list[tuple[str, Any]]:
        """All keys with their values."""
        return [(key, self.raw(key)) for key in self.keys]

    def of(self, key: str) -> str:
        """The key with all that is around it, as errors name it."""
        return f"{self.where}.{key}" if self.where else key

    def bad(self, key: str, what: str, remedy: str) -> BadInput:
        """An error about one key."""
        return BadInput(f"{self.of(key)}: {what}", remedy)

    def text(self, key: str, default: str = "") -> str:
        """Text on one line."""
        value = self.raw(key, default)
        if not isinstance(value, str) or len(value) > TEXT_MAX:
            raise self.bad(key, f"{shown(value)} is not a short text.", 'Put it in "quotes".')
        return value

    def name(self, key: str, default: str = "") -> str:
        """Text that is not empty."""
        value = self.text(key, default)
        if not value:
            raise self.bad(key, "this must be said.", f'Write {key} = "something".')
        return value

    def flag(self, key: str) -> bool:
        """True or false; false where nothing is said."""
        value = self.raw(key, False)
        if type(value) is not bool:
            raise self.bad(key, f"{shown(value)} is neither true nor false.", "Write true or false.")
        return value

    def whole(self, key: str, default: int, low: int = 0, high: int = 10**12) -> int:
        """A whole number within bounds."""
        return whole(self.raw(key, default), self.of(key), low, high)

    def decimal(self, key: str, default: int, scale: int) -> int:
        """A number of zero or more with a fraction, as an integer of `scale` to one."""
        return decimal(self.raw(key, default), self.of(key), scale)

    def duration_ms(self, key: str, default: int) -> int:
        """A duration such as 90s, 1h30m, or seconds."""
        value = self.raw(key)
        return default if value is None else duration_ms(value, self.of(key))

    def moment_ms(self, key: str, start_ms: int, default: int) -> int:
        """A time: so long after the start, or a date with its zone."""
        value = self.raw(key)
        return default if value is None else moment_ms(value, self.of(key), start_ms)

    def one_of(self, key: str, words: Sequence[str], default: str) -> str:
        """One of a few words."""
        return one_of(self.text(key, default), self.of(key), words)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; one alone needs no brackets."""
        return texts(self.raw(key, []), self.of(key))

    def table(self, key: str) -> "Table":
        """A table inside, empty where there is none."""
        return Table(self.raw(key, {}), self.of(key))

    def tables(self, key: str, most: int, not_yet: dict[str, str] | None = None) -> list["Table"]:
        """A list of tables."""
        value = self.raw(key, [])
        if not isinstance(value, list) or len(value) > most:
            raise self.bad(key, f"this is no list of at most {most:,} tables.", f"Write [[{self.of(key)}]].")
        return [Table(each, f"{self.of(key)}[{n}]", not_yet) for n, each in enumerate(value, 1)]

    def done(self) -> None:
        """Object to a key that nobody asked for: refused as a part to come, or with the nearest known one."""
        for key in self.keys:
            if key not in self._known:
                if key in self._not_yet:
                    raise NotYet(f"{self.of(key)}: not yet: {self._not_yet[key]}", "Leave the key out.")
                raise BadInput(f"{self.of(key)}: this key is not known.", nearest(key, self._known))


def whole(value: Any, where: str, low: int = 0, high: int = 10**12) -> int:
    """A whole number within bounds."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise BadInput(f"{where}: {shown(value)} is no whole number from {low:,} to {high:,}.", "Write one.")
    return value


def decimal(value: Any, where: str, scale: int) -> int:
    """A number of zero or more with a fraction, as an integer of `scale` to one."""
    if type(value) not in (int, float) or not 0 <= value <= 10**12:
        raise BadInput(f"{where}: {shown(value)} is no number of 0 or more.", "Write it like 2 or 0.5.")
    number: float = value
    return round(number * scale)


def duration_ms(value: Any, where: str) -> int:
    """A duration such as 90s, 1h30m, or seconds."""
    if type(value) is int and 0 <= value * SECOND_MS <= DURATION_MAX_MS:
        return value * SECOND_MS
    try:
        return parse_duration_ms(value if isinstance(value, str) else shown(value))
    except StarverseError as error:
        raise BadInput(f"{where}: {error.what}", error.remedy) from None


def moment_ms(value: Any, where: str, start_ms: int) -> int:
    """A time: so long after the start, or a date with its zone."""
    if not isinstance(value, datetime):
        return start_ms + duration_ms(value, where)
    if value.tzinfo is None:
        raise BadInput(
            f"{where}: {value} names no time zone.", "Write it like 2027-03-14T02:30:00-05:00 or with Z."
        )
    at_ms = round(value.timestamp() * 1000)
    if not start_ms <= at_ms <= start_ms + DURATION_MAX_MS:
        raise BadInput(f"{where}: {value} is before the start of the case, or far away.", "Move one of them.")
    return at_ms


def one_of(value: str, where: str, words: Sequence[str]) -> str:
    """One of a few words."""
    if value not in words:
        raise BadInput(f"{where}: {shown(value)} is not known here.", nearest(value, words))
    return value


def texts(value: Any, where: str) -> tuple[str, ...]:
    """A list of texts; one alone needs no brackets."""
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise BadInput(f"{where}: {shown(value)} is no list of texts.", 'Write it like ["one", "two"].')
    return tuple(found)


def counted(text: str, count: int) -> str:
    """The pattern of so many names counted up from this one: `n1`, 3 is `n[1-3]`."""
    stem = text.rstrip("0123456789")
    first = text[len(stem) :] or "1"
    return f"{stem}[{first}-{str(int(first) + count - 1).zfill(len(first))}]"


def names_in(values: Sequence[str], where: str, known: Iterable[str], what: str) -> tuple[str, ...]:
    """All names of some patterns. Raises BadInput, with the nearest, for one that is not known."""
    known = known if isinstance(known, set | dict) else set(known)
    found = [name for value in values for name in Pattern(value, where).names]
    for name in found:
        if name not in known:
            raise BadInput(f"{where}: there is no {what} {shown(name)}.", nearest(name, known))
    return tuple(found)


def filled(text: Any, groups: tuple[str, ...], where: str) -> str:
    """Text with `{1}` replaced by the first number of the name, and so on."""

    def number(found: re.Match[str]) -> str:
        n = int(found[1])
        if not 1 <= n <= len(groups):
            remedy = "{1} is the number of the first [low-high] in the name."
            raise BadInput(f"{where}: the name has no range number {n}.", remedy)
        return groups[n - 1]

    return _GROUP.sub(number, str(text))


def each_of(table: Table, read: Callable[[Any, str], Any]) -> dict[str, Any]:
    """The values of all keys of a table, read one by one."""
    return {key: read(value, table.of(key)) for key, value in table.raw_items()}
