"""Money: what the wallet holds, every movement of it, and the prices."""

from typing import TYPE_CHECKING, Annotated

import typer

from starverse.faces.cli import session
from starverse.faces.cli.options import AsJson, Project
from starverse.faces.cli.show import Column, document, facts, line, note, now_ms, table
from starverse.faces.cli.words import ago, gain
from starverse.model.errors import Refused
from starverse.model.units import format_duration, format_yuan

if TYPE_CHECKING:
    from starverse.faces.client import Client
    from starverse.faces.schemas import Page, Posting, Wallet

PAGE = 200
POSTINGS_MAX = 1_000_000

SAID: dict[str, str] = {
    "trial": "trial credit",
    "top-up": "top-up",
    "hold": "held",
    "charge": "charged",
    "release": "released",
    "credit": "credit",
}
"""The kinds of posting, as people say them."""


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(rich_help_panel="Money")(wallet)
    app.command(rich_help_panel="Money")(prices)


def wallet(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=POSTINGS_MAX, metavar="N", help="So many movements.")] = 20,
    everything: Annotated[bool, typer.Option("--all", help="All movements there ever were.")] = False,
    project: Project = "",
    as_json: AsJson = False,
) -> None:
    """What you have to spend, what is held for running jobs, and every movement."""
    with session.signed_in(ctx) as client:
        holds = client.wallet(project)
        try:
            statement = _statement(client, project, POSTINGS_MAX if everything else limit)
        except Refused as error:  # who may not see the movements may still see what there is
            statement = None
            note(f"{error.what} {error.remedy}")
    if as_json:
        document({"wallet": holds, "statement": statement})
        return
    now = now_ms()
    facts(_holdings(holds, now))
    if statement is None:
        return
    line()
    columns = [
        Column("WHEN"),
        Column("WHAT"),
        Column("AMOUNT", right=True),
        Column("AVAILABLE", right=True),
        Column("HELD", right=True, spare=True),
        Column("CARD TIME", right=True, spare=True),
        Column("RUN"),
        Column("NOTE", loose=True, spare=True),
    ]
    table(columns, [_row(each, now) for each in statement.items], "No movements yet.")
    if statement.cursor:
        line("There are older ones: --limit N, or --all.")


def prices(ctx: typer.Context, as_json: AsJson = False) -> None:
    """What a card costs an hour, and from when on."""
    with session.signed_in(ctx) as client:
        found = client.prices()
    if as_json:
        document(found)
        return
    now = now_ms()
    rows = [(each.kind, format_yuan(each.price), _since(each.from_ms, now)) for each in found]
    table([Column("KIND"), Column("A CARD-HOUR", right=True), Column("SINCE")], rows, "No prices yet.")


def _since(from_ms: int, now: int) -> str:
    return ago(from_ms, now) if from_ms else "always"


def _statement(client: "Client", project: str, count: int) -> "Page[Posting]":
    """The newest so many movements, as one page; its cursor says whether there are more."""
    page = client.statement(project, limit=min(count, PAGE))
    items = list(page.items)
    while page.cursor and len(items) < count:
        page = client.statement(project, page.cursor, min(count - len(items), PAGE))
        items += page.items
    from starverse.faces.schemas import Page

    return Page(tuple(items), page.cursor)


def _holdings(holds: "Wallet", now: int) -> list[tuple[str, str]]:
    spending = f"{format_yuan(holds.spent_per_hour)} an hour" if holds.spent_per_hour else ""
    if spending and holds.empty_ms is not None:
        spending += f"; at this rate it is empty in {format_duration(max(holds.empty_ms - now, 0))}"
    held = f"{format_yuan(holds.held)}, of which {format_yuan(holds.used)} are used" if holds.held else ""
    return [("available", format_yuan(holds.available)), ("held", held), ("spending", spending)]


def _row(each: "Posting", now: int) -> tuple[str, ...]:
    return (
        ago(each.at_ms, now),
        SAID.get(each.kind, each.kind),
        gain(each.amount),
        _moved(each.wallet),
        _moved(each.held),
        format_duration(each.card_ms) if each.card_ms else "",
        each.run or each.job,
        each.note,
    )


def _moved(micro_yuan: int) -> str:
    """Money that only changes places: what is gained or lost by it stands beside it."""
    return gain(micro_yuan).replace("+", "")
