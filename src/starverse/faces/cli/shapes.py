"""How the cards of a job or a booking are to lie: options, what may stand in a file, and the words back."""

from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starverse.faces.cli.show import now_ms
from starverse.faces.cli.words import clock, many
from starverse.model.errors import BadInput
from starverse.model.names import shown
from starverse.model.units import SECOND_MS, parse_duration_ms

if TYPE_CHECKING:
    from starverse.faces.schemas import Job, ShapeAsk


def _option(*names: str, metavar: str, help: str, **more: Any) -> Any:  # noqa: A002 - as typer calls it
    return typer.Option(*names, metavar=metavar, help=help, **more)


Require = Annotated[
    str | None, _option(metavar="LEVEL", help="All cards in one domain of this level: rack, node, …")
]
Prefer = Annotated[str | None, _option(metavar="LEVEL", help="The same where it can be had.")]
Slices = Annotated[
    list[str] | None,
    _option("--slice", metavar="LEVEL=N", help="Multiples of N cards in each of these; repeatable."),
]
Spread = Annotated[
    list[str] | None, _option(metavar="LEVEL=N", help="At most N cards in each of these; repeatable.")
]
Balanced = Annotated[bool, typer.Option("--balanced", help="Fill the domains evenly.")]
Member = Annotated[
    int | None, _option(min=1, metavar="N", help="So many cards at a time on one node; else 1.")
]
Cpu = Annotated[float | None, _option(min=0, metavar="N", help="Processors beside the cards of a member.")]
Memory = Annotated[int | None, _option(min=0, metavar="MB", help="Memory beside the cards of a member.")]
Resources = Annotated[
    list[str] | None,
    _option("--resource", metavar="NAME=N", help="What else a member needs of its node; repeatable."),
]
Licences = Annotated[
    list[str] | None,
    _option("--licence", metavar="NAME=N", help="Licences it uses while it runs; repeatable."),
]
Apart = Annotated[
    str | None, _option(metavar="NAME", help="Share no node with your other jobs apart as NAME.")
]
ApartLevel = Annotated[str | None, _option(metavar="LEVEL", help="No domain of this level, with --apart.")]
EarliestStart = Annotated[
    str | None, _option(metavar="TIME", help="Not before: 2h from now, or '2026-12-24 18:00' here.")
]
Inside = Annotated[str | None, _option(metavar="NAME", help="Run inside this reservation only.")]
Stays = Annotated[bool, typer.Option("--stays", help="Never move its runs to make room for others.")]


def shape_of(**said: Any) -> dict[str, Any]:
    """What the options say of a shape, by its keys; NAME=N pairs become counts."""
    return {
        key: _pairs(value) if isinstance(value, list) else value
        for key, value in said.items()
        if value is not None
    }


def _pairs(texts: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for text in texts:
        name, sign, number = text.rpartition("=")
        if not sign or not name or not (number.isascii() and number.isdecimal() and len(number) < 16):
            raise BadInput(f"{shown(text)} names nothing and how many of it.", "Write it like rack=8.")
        found[name] = int(number)
    return found


def moment_of(value: Any, now: int | None = None, zone: tzinfo | None = None) -> int:
    """UTC milliseconds of a moment: `2h` from now, or a date and time by the clocks of `zone` (None: here)
    unless it names an offset.

    Raises BadInput for what is neither.
    """
    if isinstance(value, str):
        try:
            return (now_ms() if now is None else now) + parse_duration_ms(value)
        except BadInput:
            pass
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            value = None
    if not isinstance(value, datetime):
        raise BadInput("That is no moment.", "Write it like 2h (from now) or 2026-12-24 18:00.")
    if value.tzinfo is None:
        value = value.replace(tzinfo=zone)
    try:
        return int(value.timestamp()) * SECOND_MS
    except (OverflowError, OSError, ValueError):
        raise BadInput("That moment lies too far away.", "Write it like 2026-12-24 18:00.") from None


# -- values in a file -----------------------------------------------------------------------------------


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise BadInput(f"{shown(value)} is neither true nor false.", "Write true.")
    return value


def count(value: Any) -> int:
    """A whole number, 0 or more."""
    if type(value) is not int or value < 0:
        raise BadInput(f"{shown(value)} is no whole number from 0 on.", "Write it like 2.")
    return value


def number(value: Any) -> int | float:
    """A number, 0 or more."""
    if type(value) not in (int, float) or not 0 <= value < 1 << 30:
        raise BadInput(f"{shown(value)} is no number from 0 on.", "Write it like 1.5.")
    return value  # type: ignore[no-any-return]  # checked above


def counts(value: Any) -> dict[str, int]:
    """A table of counts by name."""
    if not isinstance(value, dict):
        raise BadInput(f"{shown(value)} is no table.", "Write it like {rack = 8}.")
    return {name: count(each) for name, each in value.items()}


# -- words ----------------------------------------------------------------------------------------------


def facts_of(job: "Job") -> list[tuple[str, str]]:
    """What a job asked for beside a number of cards, each by name; nothing for what it did not."""
    after = ", ".join([*job.after, *(f"{name} (well or not)" for name in job.after_any)])
    limit = f", at most {job.array_limit:,} at once" if job.array_limit else ""
    return [
        ("lie", lies(job.shape)),
        ("beside", beside(job.shape)),
        ("array", f"{job.array}, index {job.array_index}{limit}" if job.array else ""),
        ("after", after),
        ("not before", clock(job.earliest_start_ms) if job.earliest_start_ms is not None else ""),
        ("inside", f"reservation {job.reservation}" if job.reservation else ""),
        ("stays", "its runs are never moved to make room for others" if job.stays else ""),
    ]


def lies(shape: "ShapeAsk") -> str:
    """How cards are to lie, as a part of a sentence; nothing where it does not matter."""
    parts = [
        f"all in one {shape.require}" if shape.require else "",
        f"in one {shape.prefer} where possible" if shape.prefer else "",
        *(f"{cards:,} or a multiple in each {level}" for level, cards in shape.slices.items()),
        *(f"at most {cards:,} in one {level}" for level, cards in shape.spread.items()),
        "evenly" if shape.balanced else "",
        f"{shape.member:,} at a time on one node" if shape.member > 1 else "",
        f"no {shape.apart_level} shared with others apart as {shape.apart}" if shape.apart else "",
    ]
    return "; ".join(filter(None, parts))


def beside(shape: "ShapeAsk") -> str:
    """What is needed beside the cards, as a part of a sentence."""
    needs = [
        many(shape.cpu, "processor") if shape.cpu else "",
        f"{shape.memory_mb:,} MB" if shape.memory_mb else "",
        *(f"{amount:,} {name}" for name, amount in shape.resources.items()),
    ]
    member = ", ".join(filter(None, needs))
    licences = ", ".join(f"{amount:,} of licence {name}" for name, amount in shape.licences.items())
    return "; ".join(filter(None, (f"{member} for each member" if member else "", licences)))
