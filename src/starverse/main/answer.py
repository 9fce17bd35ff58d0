"""An answer of a model as a person reads it: figures in their units, then equation and source; or JSON."""

from dataclasses import asdict, is_dataclass
from typing import Any

import msgspec
from rich.console import Console, RenderableType
from rich.table import Table

from starverse.model.units import YUAN
from starverse.money.tco import CardHour
from starverse.physics.cooling.weather import MONTHS

_ABOUT = ("equation", "source", "boundary", "notes", "assumed")
"""Printed below the figures, as sentences."""

_MICRO_YUAN = "_micro_yuan"

_UNITS = {
    "_l_per_kwh": "L/kWh",
    "_l_per_min": "L/min",
    "_k_per_w": "K/W",
    "k_per_w": "K/W",
    "_m3_per_year": "m³ a year",
    "_mwh_per_year": "MWh a year",
    "_per_day": "a day",
    "_per_s": "a second",
    "_w_per_card": "W a card",
    "_mwh": "MWh",
    "_kwh": "kWh",
    "_mw": "MW",
    "_kw": "kW",
    "_w": "W",
    "_db": "dB",
    "_pa": "Pa",
    "_ev": "eV",
    "_ns": "ns",
    "_us": "µs",
    "_ms": "ms",
    "_years": "years",
    "_h": "h",
    "_c": "°C",
    "_k": "K",
}
"""The unit that a name ends in, longer endings first; shares, seconds, bytes and yuan see below."""

_BYTES = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_SECONDS = (
    (86_400, 86_400, "days"),
    (7_200, 3_600, "h"),
    (1, 1, "s"),
    (1e-3, 1e-3, "ms"),
    (1e-6, 1e-6, "µs"),
)
"""From so many seconds on, in units of so many."""
_IN_BYTES = ("memory",)
"""Groups of figures that are bytes."""


def show_answer(answer: msgspec.Struct | dict[str, Any], *, json: bool) -> None:
    """Print an answer for people, or as JSON."""
    if json:
        print(msgspec.json.format(msgspec.json.encode(answer)).decode())
        return
    console = Console(highlight=False)
    fields = _fields(answer)
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    _add_rows(table, {name: value for name, value in fields.items() if name not in _ABOUT})
    console.print(table)
    for name in _ABOUT:
        said = fields.get(name, "")
        for text in said if isinstance(said, tuple) else (said,):
            if text:
                console.print(f"{name}: {text}", style="dim", markup=False)


def _fields(value: Any) -> dict[str, Any]:
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.asdict(value)
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _add_rows(table: Table, fields: dict[str, Any]) -> None:
    for label, (name, value) in zip(_labels(fields), fields.items(), strict=True):
        table.add_row(label, _said(name, value))


def _labels(fields: dict[str, Any]) -> list[str]:
    """What each figure is called: without its unit, unless two would be called the same."""
    short = [_parted(name)[0] for name in fields]
    names = (name if short.count(said) > 1 else said for name, said in zip(fields, short, strict=True))
    return [name.removesuffix(_MICRO_YUAN).replace("_", " ") for name in names]


def _parted(name: str) -> tuple[str, str]:
    """What a name says, and the ending that is its unit; `_most`, `_mean` and `_least` stand behind it."""
    for rank in ("_most", "_mean", "_least"):
        if name.endswith(rank):
            said, unit = _parted(name.removesuffix(rank))
            return said + rank, unit
    for unit in (_MICRO_YUAN, "_yuan", "_share", "_bytes_per_s", "_bytes", *_UNITS, "_s"):
        if name.endswith(unit):
            return name.removesuffix(unit) or name, unit
    return name, ""


def _said(name: str, value: Any) -> RenderableType:
    """A value as a person reads it; parts of an answer stand one below the other, rows in a table."""
    if value is None:
        return "-"
    if isinstance(value, CardHour):
        money = (each for each in _fields(value).items() if each[0] != "definition")
        return _parts({part + _MICRO_YUAN: each for part, each in money})
    if isinstance(value, msgspec.Struct | dict) or (is_dataclass(value) and not isinstance(value, type)):
        unit = "_bytes" if name in _IN_BYTES else ""
        return _parts({part + unit: each for part, each in _fields(value).items()})
    if isinstance(value, tuple):
        if value and isinstance(value[0], msgspec.Struct):
            return _rows(value)
        if name.endswith("_by_month"):
            return _months(name, value)
        split = ", " if all(isinstance(each, float | int) for each in value) else "\n"
        return split.join(str(_said(name, each)) for each in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _number(name, value) if isinstance(value, float | int) else str(value)


def _months(name: str, values: tuple[float, ...]) -> Table:
    """Twelve values, each behind its month."""
    table = Table(box=None, show_header=False, pad_edge=False)
    named = [f"{month} {_number(name, value)}" for month, value in zip(MONTHS, values, strict=True)]
    for first in range(0, len(MONTHS), 4):
        table.add_row(*named[first : first + 4])
    return table


def _parts(fields: dict[str, Any]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    _add_rows(table, fields)
    return table


def _rows(rows: tuple[msgspec.Struct, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for place, label in enumerate(_labels(_fields(rows[0]))):
        table.add_column(label, no_wrap=not place)  # a name stays whole where headers can fold
    for row in rows:
        table.add_row(*(_said(*part) for part in _fields(row).items()))
    return table


def _number(name: str, value: float) -> str:
    """A number in its unit, by the ending of its name."""
    unit = _parted(name)[1]
    if unit == _MICRO_YUAN:
        return f"¥{value / YUAN:,.4f}"
    if unit == "_yuan":
        return f"¥{value:,.0f}"
    if unit == "_share" or name == "share":
        return f"{_plain(100.0 * value)} %"
    if unit in ("_bytes", "_bytes_per_s") or name == "bytes":
        per_s = "/s" if unit == "_bytes_per_s" else ""
        scale, word = next((each for each in _BYTES if value >= each[0]), (1, "B"))
        return f"{_plain(value / scale)} {word}{per_s}"
    if unit == "_s":
        return _time(value)
    return f"{_plain(value)} {_UNITS[unit]}" if unit else _plain(value)


def _time(seconds: float) -> str:
    _, scale, word = next((each for each in _SECONDS if seconds >= each[0]), (0, 1e-9, "ns"))
    return f"{_plain(seconds / scale)} {word}" if seconds > 0 else f"{_plain(seconds)} s"


def _plain(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if 1e4 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:,.4g}" if abs(value) < 1e9 else f"{value:.4g}"
