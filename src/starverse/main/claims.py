"""What `starverse claims` prints: the table, or all rows as one JSON list."""

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from starverse.planning.claim import ROUND_SHARE, Claim, percent
from starverse.planning.claims import claims

_STYLES = {
    "holds": "green",
    "holds under this definition": "yellow",
    "doesn't hold": "red",
    "shown": "green",
    "not yet": "dim",
}


def show(*, json: bool) -> None:
    """Compute every row now and print it."""
    rows = claims()
    if json:
        print(msgspec.json.format(msgspec.json.encode(rows)).decode())
        return
    met = (
        f"The article's figures are round: one is met within {percent(ROUND_SHARE)} unless a row is stricter."
    )
    table = Table(pad_edge=False, show_lines=True, caption=met)
    table.add_column("id", style="bold", no_wrap=True)
    table.add_column("what, as defined here · why · source · command", ratio=1)
    table.add_column("claimed", max_width=9)
    table.add_column("computed", max_width=9)
    table.add_column("verdict", max_width=12)
    for row in rows:
        verdict = Text(row.verdict, style=_STYLES[row.verdict])
        table.add_row(row.id, _about(row), _figure(row, row.claimed), _figure(row, row.computed), verdict)
    Console(highlight=False).print(table)


def _about(row: Claim) -> Text:
    said = Text(row.definition, style="bold")
    for part, style in ((row.why, ""), (row.source, "dim"), (row.command and f"$ {row.command}", "cyan")):
        if part:
            said.append(f"\n{part}", style=style or "not bold")
    return said


def _figure(row: Claim, value: float | None) -> Text:
    return Text("" if value is None else f"{value:,.4g} {row.unit}".rstrip())
