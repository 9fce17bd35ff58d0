"""Projects and the people in them."""

from typing import Annotated, Literal

import typer

from starverse.faces.cli import session
from starverse.faces.cli.options import AsJson
from starverse.faces.cli.root import App
from starverse.faces.cli.show import Column, document, line, table

Which = Annotated[str, typer.Argument(metavar="PROJECT", show_default=False, help="Its id or name.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    projects = App(name="project", help="Projects, and who is in them.")
    projects.command("list")(list_projects)
    projects.command("create")(create)
    projects.command("members")(members)
    projects.command("invite")(invite)
    app.add_typer(projects, rich_help_panel="Account")


def list_projects(ctx: typer.Context, as_json: AsJson = False) -> None:
    """The projects you belong to."""
    with session.signed_in(ctx) as client:
        projects = client.projects()
    if as_json:
        document(projects)
        return
    rows = [(each.project, each.name, each.role) for each in projects]
    table([Column("PROJECT"), Column("NAME", loose=True), Column("YOU ARE")], rows, "No projects.")


def create(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="What to call it.")],
    as_json: AsJson = False,
) -> None:
    """Make a project, paid from your own wallet."""
    with session.signed_in(ctx) as client:
        made = client.create_project(name)
    if as_json:
        document(made)
    else:
        line(f"Made project {made.name} ({made.project}).")


def members(ctx: typer.Context, project: Which, as_json: AsJson = False) -> None:
    """The people in a project."""
    with session.signed_in(ctx) as client:
        people = client.members(project)
    if as_json:
        document(people)
    else:
        table([Column("MEMBER", loose=True), Column("ROLE")], [(each.email, each.role) for each in people])


def invite(
    ctx: typer.Context,
    project: Which,
    email: Annotated[str, typer.Argument(metavar="EMAIL", show_default=False, help="An account's address.")],
    role: Annotated[
        Literal["viewer", "member", "owner"],
        typer.Option(help="A viewer sees; a member submits and stops; an owner also invites and pays."),
    ] = "member",
    as_json: AsJson = False,
) -> None:
    """Let somebody into a project, or change their role."""
    with session.signed_in(ctx) as client:
        member = client.invite(project, email, role)
    if as_json:
        document(member)
    else:
        line(f"{member.email} is now {member.role} of {project}.")
