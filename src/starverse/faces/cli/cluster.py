"""The cluster: its nodes, and what an operator does with one."""

from typing import TYPE_CHECKING, Annotated

import typer

from starverse.faces.cli import session
from starverse.faces.cli.options import AsJson
from starverse.faces.cli.root import App
from starverse.faces.cli.show import Column, document, line, table
from starverse.faces.cli.words import clock

if TYPE_CHECKING:
    from starverse.faces.schemas import Node

NodeName = Annotated[
    str, typer.Argument(metavar="NODE", show_default=False, help="Its name, as `nodes` lists it.")
]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(rich_help_panel="Cluster")(nodes)
    node = App(name="node", help="One node, for operators: cordon, drain, uncordon.")
    node.command()(cordon)
    node.command()(drain)
    node.command()(uncordon)
    app.add_typer(node, rich_help_panel="Cluster")


def nodes(ctx: typer.Context, as_json: AsJson = False) -> None:
    """The nodes, their cards, and how they are."""
    with session.signed_in(ctx) as client:
        found = client.nodes()
    if as_json:
        document(found)
        return
    columns = [
        Column("NODE"),
        Column("KIND"),
        Column("CARDS", right=True),
        Column("USED", right=True),
        Column("STATE"),
        Column("BROKEN CARDS", loose=True),
    ]
    rows = [
        (
            each.node,
            each.kind,
            str(each.cards),
            str(each.used),
            _state(each),
            ", ".join(str(card) for card in each.broken),
        )
        for each in found
    ]
    table(columns, rows, "No nodes yet.")


def cordon(ctx: typer.Context, node: NodeName, as_json: AsJson = False) -> None:
    """Let no new runs come to a node."""
    with session.signed_in(ctx) as client:
        _tell(client.cordon(node), "takes no new runs", as_json)


def drain(ctx: typer.Context, node: NodeName, as_json: AsJson = False) -> None:
    """Cordon a node, and ask the runs there to save and leave."""
    with session.signed_in(ctx) as client:
        _tell(client.drain(node), "takes no new runs; those there were asked to save and leave", as_json)


def uncordon(ctx: typer.Context, node: NodeName, as_json: AsJson = False) -> None:
    """Let runs come to a node again."""
    with session.signed_in(ctx) as client:
        _tell(client.uncordon(node), "takes runs again", as_json)


def _tell(node: "Node", what: str, as_json: bool) -> None:
    if as_json:
        document(node)
    else:
        line(f"{node.node} {what}.")


def _state(node: "Node") -> str:
    if node.lost:
        return "lost"
    if node.cordoned:
        return "cordoned"
    if node.rests_until_ms is not None:
        return f"resting until {clock(node.rests_until_ms)}"
    return "in use" if node.used else "free"
