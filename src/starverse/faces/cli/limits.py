"""The operator's levers: quotas of the tree of tenants, licences, budgets of power and heat."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from starverse.faces.cli import session
from starverse.faces.cli.options import AsJson
from starverse.faces.cli.root import App
from starverse.faces.cli.show import Column, document, line, table
from starverse.faces.cli.words import clock
from starverse.faces.typed import ANY, bound
from starverse.model.errors import BadInput

if TYPE_CHECKING:
    from starverse.faces.schemas import Limits, Quota

Bound = Annotated[str | None, typer.Option(metavar="N|any", help="In cards, or any.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    one = App(name="limits", help="For operators: quotas, licences, power budgets, resting nodes.")
    for command in (show, quota, licence, budget):
        one.command()(command)
    app.add_typer(one, rich_help_panel="Cluster")


def show(ctx: typer.Context, as_json: AsJson = False) -> None:
    """All that is set, and what is used of it."""
    with session.signed_in(ctx) as client:
        found = client.limits()
    if as_json:
        document(found)
        return
    _show_quotas(found)
    line()
    rows = [(each.licence, f"{each.count:,}", f"{each.used:,}") for each in found.licences]
    table(
        [Column("LICENCE"), Column("THERE ARE", right=True), Column("USED", right=True)], rows, "No licences."
    )
    line()
    feeds = [(each.feed, _any(each.watts), f"{each.drawn_watts:,}") for each in found.budgets]
    columns = [Column("FEED"), Column("BUDGET W", right=True), Column("DRAWN W", right=True)]
    table(columns, feeds, "No node names its feeds.")
    if found.resting:
        line()
        resting = [(each.node, clock(each.rests_until_ms), str(each.losses)) for each in found.resting]
        table([Column("NODE"), Column("RESTS UNTIL"), Column("LOST", right=True)], resting)
        line("`starverse node uncordon NODE` ends a rest.")


def quota(
    ctx: typer.Context,
    tenant: Annotated[
        str, typer.Argument(metavar="TENANT", show_default=False, help="A tenant's id, or a group's name.")
    ],
    guaranteed: Annotated[float | None, typer.Option(min=0, metavar="N", help="Cards it surely has.")] = None,
    borrow_max: Bound = None,
    lend_max: Bound = None,
    weight: Annotated[int | None, typer.Option(min=0, metavar="N", help="Its share of idle cards.")] = None,
    parent: Annotated[
        str | None, typer.Option(metavar="GROUP", help="Under whom it lies; '' is none.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Let it have no quota any more.")] = False,
    as_json: AsJson = False,
) -> None:
    """Give a tenant, or a group of them, a quota; what is left out stays as it is."""
    from starverse.faces.schemas import Quota

    if remove:
        if any(value is not None for value in (guaranteed, borrow_max, lend_max, weight, parent)):
            raise BadInput("A quota is removed or set, not both.", "Leave the other options out.")
        with session.signed_in(ctx) as client:
            client.remove_quota(tenant)
        if as_json:
            document({"tenant": tenant, "removed": True})
        else:
            line(f"{tenant} has no quota any more.")
        return
    with session.signed_in(ctx) as client:
        known = {each.tenant: each for each in client.limits().quotas}
        wanted = known.get(tenant) or Quota(tenant, "", 1, 0, None, None)
        if guaranteed is not None:
            wanted = replace(wanted, guaranteed=guaranteed)
        if borrow_max is not None:
            wanted = replace(wanted, borrow_max=bound(borrow_max))
        if lend_max is not None:
            wanted = replace(wanted, lend_max=bound(lend_max))
        if weight is not None:
            wanted = replace(wanted, weight=weight)
        if parent is not None:
            wanted = replace(wanted, parent=parent)
        made = client.set_quota(wanted)
    if as_json:
        document(made)
    else:
        line(f"{made.tenant} is guaranteed {made.guaranteed:g} cards; {made.left:g} are left to it now.")


def licence(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="LICENCE", show_default=False, help="Its name.")],
    count: Annotated[int, typer.Argument(min=0, metavar="N", show_default=False, help="How many there are.")],
    as_json: AsJson = False,
) -> None:
    """Say how many of a licence there are for the whole cluster."""
    with session.signed_in(ctx) as client:
        made = client.set_licence(name, count)
    if as_json:
        document(made)
    else:
        line(f"There are {made.count:,} of {made.licence}; {made.used:,} are used.")


def budget(
    ctx: typer.Context,
    feed: Annotated[
        str, typer.Argument(metavar="FEED", show_default=False, help="A busbar, rack, row or coolant loop.")
    ],
    watts: Annotated[str, typer.Argument(metavar="W|any", show_default=False, help="Watts, or any.")],
    as_json: AsJson = False,
) -> None:
    """Bound what hangs on a feed, in watts."""
    with session.signed_in(ctx) as client:
        made = client.set_budget(feed, bound(watts))
    if as_json:
        document(made)
    else:
        gives = "any power" if made.watts is None else f"{made.watts:,} W at most"
        line(f"{made.feed} gives {gives}; {made.drawn_watts:,} W are drawn.")


def _show_quotas(found: "Limits") -> None:
    columns = [
        Column("TENANT"),
        Column("GUARANTEED", right=True),
        Column("BORROWS", right=True),
        Column("LENDS", right=True),
        Column("WEIGHT", right=True, spare=True),
        Column("USED", right=True),
        Column("LEFT", right=True),
    ]
    depth: dict[str, int] = {}
    rows = []
    for each in found.quotas:
        depth[each.tenant] = depth.get(each.parent, -1) + 1
        rows.append(_quota_row(each, depth[each.tenant]))
    table(columns, rows, "No quotas: everybody may use what is free.")


def _quota_row(each: "Quota", depth: int) -> tuple[str, ...]:
    numbers = f"{each.guaranteed:g}", _any(each.borrow_max), _any(each.lend_max), str(each.weight)
    return ("· " * depth + each.tenant, *numbers, f"{each.used:g}", f"{each.left:g}")


def _any(number: float | None) -> str:
    return ANY if number is None else f"{number:,}"
