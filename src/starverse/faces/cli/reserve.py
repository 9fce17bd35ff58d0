"""Reservations: cards booked in advance, what is booked, and giving it back."""

from datetime import tzinfo
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from starverse.faces.cli import session, shapes
from starverse.faces.cli.options import AsJson, Project
from starverse.faces.cli.root import App
from starverse.faces.cli.show import Column, document, facts, line, now_ms, table
from starverse.faces.cli.words import ago, clock, many, one_line
from starverse.model.errors import BadInput
from starverse.model.names import shown
from starverse.model.units import format_yuan, parse_duration_ms

if TYPE_CHECKING:
    from starverse.faces.schemas import Offer, Reservation

WINDOWS_SHOWN = 10

Name = Annotated[
    str, typer.Argument(metavar="NAME", show_default=False, help="Its id, or what you called it.")
]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(rich_help_panel="Jobs")(reserve)
    app.command(rich_help_panel="Jobs")(reservations)
    one = App(name="reservation", help="One reservation: show, cancel.")
    one.command()(show)
    one.command()(cancel)
    app.add_typer(one, rich_help_panel="Jobs")


def reserve(
    ctx: typer.Context,
    count: Annotated[int, typer.Option("--cards", min=1, metavar="N", help="How many.")],
    begin: Annotated[str, typer.Option("--from", metavar="TIME", help="2h from now, or '2026-12-24 18:00'.")],
    length: Annotated[str, typer.Option("--for", metavar="TIME", help="How long: 90m, 12h, 30d.")],
    name: Annotated[str, typer.Option(metavar="NAME", help="What to call it.")] = "",
    kind: Annotated[str, typer.Option(metavar="KIND", help="The kind of card, as `prices` lists.")] = "",
    repeat: Annotated[str, typer.Option(metavar="daily|weekly", help="Again each day or week.")] = "",
    until: Annotated[str, typer.Option(metavar="TIME", help="With --repeat: it begins no more then.")] = "",
    zone: Annotated[
        str, typer.Option(metavar="ZONE", help="Whose clocks are meant, such as Asia/Shanghai.")
    ] = "",
    require: shapes.Require = None,
    prefer: shapes.Prefer = None,
    slices: shapes.Slices = None,
    spread: shapes.Spread = None,
    balanced: shapes.Balanced = False,
    member: shapes.Member = None,
    project: Project = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say whether it can be had.")] = False,
    as_json: AsJson = False,
) -> None:
    """Book cards in advance, once or recurring; says what could be had where that cannot."""
    from starverse.faces.schemas import ReservationAsk, ShapeAsk

    if repeat not in ("", "daily", "weekly"):
        raise BadInput(f"{shown(repeat)} is no way to recur.", "Write daily or weekly.")
    clocks = _clocks(zone)
    from_ms = shapes.moment_of(begin, zone=clocks)
    length_ms = parse_duration_ms(length)
    said = shapes.shape_of(
        require=require, prefer=prefer, slices=slices, spread=spread, balanced=balanced or None, member=member
    )
    ask = ReservationAsk(
        cards=count,
        from_ms=from_ms,
        to_ms=from_ms + length_ms,
        kind=kind,
        label=name,
        repeat=repeat,  # type: ignore[arg-type]  # checked above
        zone=zone or "UTC",
        until_ms=shapes.moment_of(until, zone=clocks) if until else 0,
        project=project,
        shape=ShapeAsk(**said),
    )
    with session.signed_in(ctx) as client:
        if dry_run:
            offer = client.offer(ask)
            if as_json:
                document(offer)
            else:
                _say_offer(offer, count)
            return
        made = client.reserve(ask)
    if as_json:
        document(made)
        return
    line(f"Reserved {made.reservation}: {_times(made)}")
    line(f"  starverse submit --reservation {made.reservation} -- …   run inside it")
    line(f"  starverse reservation cancel {made.reservation}         give it back")


def reservations(
    ctx: typer.Context,
    everyone: Annotated[bool, typer.Option("--all", help="Those of all tenants, for operators.")] = False,
    ended: Annotated[bool, typer.Option("--ended", help="Those that are over or were cancelled.")] = False,
    project: Project = "",
    as_json: AsJson = False,
) -> None:
    """What is booked, that which begins next first; or what was, that which ended last first."""
    with session.signed_in(ctx) as client:
        found = client.reservations(project, everyone, ended)
    if as_json:
        document(found)
        return
    columns = [
        Column("RESERVATION"),
        Column("NAME", loose=True),
        *([Column("TENANT")] if everyone else []),
        Column("CARDS", right=True),
        Column("KIND", spare=True),
        *(
            [Column("FROM", loose=True), Column("TO", loose=True), Column("STATE", loose=True)]
            if ended
            else [Column("NEXT", loose=True), Column("LEFT", right=True)]
        ),
    ]
    rows = [
        (
            each.reservation,
            one_line(each.label),
            *((each.tenant,) if everyone else ()),
            str(each.cards),
            each.kind,
            *(_gone(each) if ended else _next(each)),
        )
        for each in found
    ]
    table(columns, rows, "None has ended." if ended else "Nothing is booked.")


def _next(each: "Reservation") -> tuple[str, ...]:
    begins = clock(each.windows[0].from_ms) if each.windows else "over"
    return "open" if each.open else begins, str(each.windows_left)


def _gone(each: "Reservation") -> tuple[str, ...]:
    return clock(each.from_ms), clock(max(each.to_ms, each.until_ms)), _state(each)


def _state(each: "Reservation") -> str:
    """How it stands, and since when it is no more."""
    return each.state if each.ended_ms is None else f"{each.state} {clock(each.ended_ms)}"


def show(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """A reservation: its cards, where they lie, and its next times."""
    with session.signed_in(ctx) as client:
        found = client.reservation(name)
    if as_json:
        document(found)
        return
    now, is_gone = now_ms(), found.ended_ms is not None
    line(f"{one_line(found.label) or found.reservation}  {_state(found)}")
    missing = f", {found.missing} of them out of order" if found.missing else ""
    facts(
        [
            ("reservation", found.reservation),
            ("tenant", found.tenant),
            ("cards", f"{found.cards:,} × {found.kind}{missing}"),
            ("lie", shapes.lies(found.shape)),
            ("nodes", ", ".join(found.nodes)),
            ("recurs", f"{found.repeat}, by the clocks of {found.zone}" if found.repeat else ""),
            ("was booked", " to ".join(_gone(found)[:2]) if is_gone else ""),
        ]
    )
    if is_gone:
        return
    line()
    shown_first = found.windows[:WINDOWS_SHOWN]
    rows = [(clock(each.from_ms), clock(each.to_ms), ago(each.from_ms, now)) for each in shown_first]
    table([Column("FROM"), Column("TO"), Column("BEGINS")], rows)
    if found.windows_left > len(shown_first):
        line(f"and {found.windows_left - len(shown_first):,} more.")


def cancel(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Give the cards back; jobs inside are asked to save and leave."""
    with session.signed_in(ctx) as client:
        found = client.reservation(name)
        client.cancel_reservation(found.reservation)
    if as_json:
        document(found)
    else:
        line(f"{found.reservation} is cancelled.")


def _clocks(zone: str) -> tzinfo | None:
    """The clocks of a zone; None for those of this machine."""
    if not zone:
        return None
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadInput(f"There is no time zone {shown(zone)}.", "Write it like Asia/Shanghai.") from None


def _times(made: "Reservation") -> str:
    first = f"{clock(made.from_ms)} to {clock(made.to_ms)}"
    again = f", {made.repeat}, {many(made.windows_left, 'time')}" if made.repeat else ""
    return f"{made.cards:,} × {made.kind}, {first}{again}"


def _say_offer(offer: "Offer", count: int) -> None:
    costs = f"; its cards cost {format_yuan(offer.costs)}" if offer.costs else ""
    if offer.fits:
        line(f"It can be had, {many(offer.windows, 'time')}{costs}.")
        return
    parts = []
    if offer.nearest_ms is not None:
        parts.append(f"all {count:,} cards from {clock(offer.nearest_ms)} on")
    if offer.cards:
        parts.append(f"{many(offer.cards, 'card')} at the time asked")
    line(f"It cannot be had as asked. To be had: {' or '.join(parts) or 'nothing'}.")
