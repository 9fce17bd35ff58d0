"""Builds the command line: all commands that are a client of the API."""

import sys
from typing import Annotated

import typer

import starverse
from starverse.faces.cli import (
    cluster,
    job,
    jobs,
    keys,
    limits,
    outputs,
    people,
    projects,
    reserve,
    session,
    settings,
    submit,
    wallet,
)
from starverse.faces.cli.options import AsJson
from starverse.faces.cli.root import App, Root
from starverse.faces.cli.session import Asked
from starverse.faces.cli.show import document, facts, line

HELP = """Compute on tap from a training cluster.

    starverse submit --cards 2 -- train.py --steps 400
"""


def build() -> typer.Typer:
    """The app with every client command; more can be added, in a section named by `rich_help_panel`.

    Run it by calling it: it exits with a code of exits.MEANING, whatever the command raises.
    """
    app = App(name="starverse", cls=Root, help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
    app.callback()(_before)
    for room in (submit, jobs, reserve):
        room.add_to(app)
    job_commands = App(name="job", help="One job: what it does, wrote and costs.")
    for room in (job, outputs):
        room.add_to(job_commands)
    app.add_typer(job_commands, rich_help_panel="Jobs")
    for other in (wallet, people, projects, keys, cluster, limits):
        other.add_to(app)
    config = App(name="config", help="What the command line remembers.")
    config.command("show")(_config)
    app.add_typer(config, rich_help_panel="Setup")
    app.command("completion", rich_help_panel="Setup")(_completion)
    app.command("version", rich_help_panel="Setup")(_version)
    return app


def _before(
    ctx: typer.Context,
    server: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="The server to talk to; else STARVERSE_URL, else the last one you signed in to.",
            show_default=False,
        ),
    ] = "",
) -> None:
    ctx.obj = Asked(server)


def _config(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Which server is meant, who you are there, and where that is written."""
    here = session.where(ctx)
    known = {
        "server": here.server,
        "server_from": here.server_from,
        "email": here.login.email,
        "signed_in": bool(here.login.token),
        "token_from": here.token_from,
        "file": str(settings.path()),
    }
    if as_json:
        document(known)
        return
    who = here.login.email or "yes" if here.login.token else "no"
    facts(
        [
            ("server", f"{here.server} (from {here.server_from})"),
            ("signed in", f"{who} (token from {here.token_from})" if here.login.token else who),
            ("file", str(known["file"])),
        ]
    )


def _completion(
    ctx: typer.Context,
    shell: Annotated[str, typer.Argument(help="bash, zsh or fish; the present one unless named.")] = "",
    install: Annotated[bool, typer.Option("--install", help="Put it where the shell finds it.")] = False,
) -> None:
    """Print what lets a shell complete commands, or install it."""
    from typer import completion

    act = completion.install_callback if install else completion.show_callback
    act(ctx, None, shell or True)  # type: ignore[arg-type]


def _version(as_json: AsJson = False) -> None:
    """The version of Starverse."""
    if as_json:
        document({"version": starverse.__version__, "python": sys.version.split()[0]})
    else:
        line(f"starverse {starverse.__version__}")
