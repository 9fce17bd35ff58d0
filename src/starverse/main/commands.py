"""The whole command line: the client's commands, and those that need the server's own rooms."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from starverse.faces.cli.app import build as build_client
from starverse.faces.cli.root import App
from starverse.main import plan_commands

Home = Annotated[
    Path | None,
    typer.Option(
        "--home", help="Where the server keeps all it has; else STARVERSE_HOME.", show_default=False
    ),
]
JsonFile = Annotated[
    Path | None, typer.Option("--json", help="Write the figures to this file.", show_default=False)
]
Port = Annotated[int | None, typer.Option(help="Port of the API.", show_default="8701", min=1, max=65535)]
ConsolePort = Annotated[
    int | None, typer.Option(help="Port of the console.", show_default="8700", min=1, max=65535)
]
CaseFile = Annotated[
    Path, typer.Argument(metavar="CASE.toml", show_default=False, help="The case; docs/cases.md says how.")
]
BackupFile = Annotated[Path, typer.Argument(help="The backup, one tar file.")]


def build() -> typer.Typer:
    """The application behind `starverse`."""
    app = build_client()
    journal = App(name="journal", help="The record of all that happened.")
    journal.command("verify")(_verify)
    operator = App(name="operator", help="Whoever has this machine.")
    operator.command("token")(_operator_token)
    for command in (up, demo, bench, solve, backup, restore):
        app.command(rich_help_panel="Server")(command)
    app.add_typer(journal, rich_help_panel="Server")
    app.add_typer(plan_commands.build(), rich_help_panel="Cluster")
    app.command(rich_help_panel="Cluster")(claims)
    app.add_typer(operator, rich_help_panel="Server")
    return app


def up(
    home: Home = None,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1, this machine only")
    ] = None,
    port: Port = None,
    console_port: ConsolePort = None,
    console: Annotated[bool, typer.Option(help="Start the console too.")] = True,
    cards: Annotated[
        int | None,
        typer.Option(help="Offer so many processor slots instead of the cards found.", min=1, max=4096),
    ] = None,
    take_over: Annotated[
        bool,
        typer.Option("--take-over", help="After `restore`: the server that was saved is stopped for good."),
    ] = False,
) -> None:
    """Start a server here and serve until Ctrl-C; running jobs go on without it while their lease lasts."""
    from starverse.main.up import serve

    serve(
        home,
        host=host,
        port=port,
        console_port=console_port,
        console=console,
        cards=cards,
        take_over=take_over,
    )


def demo(
    once: Annotated[bool, typer.Option("--once", help="Stop after the summary.")] = False,
    json: JsonFile = None,
    home: Home = None,
    port: Port = None,
    console_port: ConsolePort = None,
    steps: Annotated[int, typer.Option(help="Steps of the training job.", min=50, max=5000)] = 400,
) -> None:
    """Show the main job: train through the killing of a worker and of the server, and get the bill."""
    from starverse.main.show import show

    show(home, once=once, json=json, port=port, console_port=console_port, steps=steps)


def bench(
    name: Annotated[str, typer.Argument(help="What to measure; left out, says what there is.")] = "",
    json: JsonFile = None,
) -> None:
    """Measure on this machine, now, and show it beside the targets."""
    from starverse.main.measure import measure

    measure(name, json)


def solve(
    file: CaseFile,
    json: Annotated[
        Path | None, typer.Option("--json", help="Write all that was seen to this file.", show_default=False)
    ] = None,
    lang: Annotated[
        Literal["en", "zh"] | None, typer.Option(help="The language.", show_default="that of the terminal")
    ] = None,
) -> None:
    """Play a situation from a file through the scheduler: who runs where, who waits and why."""
    from starverse.main.solve import solve as play

    play(file, json, lang)


def claims(json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False) -> None:
    """Every figure claimed of the reference cluster, beside what the models compute, and why."""
    from starverse.main.claims import show

    show(json=json)


def backup(
    file: BackupFile,
    home: Home = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file, if it is there.")] = False,
) -> None:
    """Save a server's home into one file, while it runs or not."""
    from starverse.main import offline

    offline.backup_home(home, file, force=force)


def restore(
    file: BackupFile,
    home: Home = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Set aside what is in the home and restore there.")
    ] = False,
) -> None:
    """Bring a server's home back from a backup; no server may run on it."""
    from starverse.main import offline

    offline.restore_home(home, file, replace=replace)


def _verify(home: Home = None) -> None:
    """Check every row: the chain of checksums, the postings, the balances."""
    from starverse.main import offline

    offline.verify_journal(home)


def _operator_token(home: Home = None) -> None:
    """Make a new operator token, for whoever lost theirs and can read the server's home."""
    from starverse.main import offline

    offline.print_operator_token(home)
