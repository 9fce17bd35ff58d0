"""Tokens for scripts and machines, and secrets for jobs."""

import sys
from typing import Annotated

import typer

from starverse.faces.cli import secretly, session
from starverse.faces.cli.options import AsJson, Project
from starverse.faces.cli.root import App
from starverse.faces.cli.show import Column, document, line, note, now_ms, table
from starverse.faces.cli.words import ago

SecretName = Annotated[
    str, typer.Argument(metavar="NAME", show_default=False, help="The variable that jobs find it in.")
]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    tokens = App(name="token", help="Tokens, for scripts and other machines.")
    tokens.command("list")(list_tokens)
    tokens.command("create")(create_token)
    tokens.command("revoke")(revoke_token)
    app.add_typer(tokens, rich_help_panel="Account")
    secrets = App(name="secret", help="Secrets that jobs may use by name.")
    secrets.command("list")(list_secrets)
    secrets.command("set")(set_secret)
    secrets.command("delete")(delete_secret)
    app.add_typer(secrets, rich_help_panel="Account")


def list_tokens(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Your tokens that still work, without their secret part."""
    with session.signed_in(ctx) as client:
        tokens = client.tokens()
    if as_json:
        document(tokens)
        return
    now = now_ms()
    columns = [
        Column("TOKEN"),
        Column("NAME", loose=True),
        Column("CREATED", spare=True),
        Column("EXPIRES"),
        Column(""),
    ]
    rows = [
        (
            each.token_id,
            each.name,
            ago(each.created_ms, now),
            ago(each.expires_ms, now),
            "this one" * each.current,
        )
        for each in tokens
    ]
    table(columns, rows, "No tokens.")


def create_token(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="What it is for.")],
    days: Annotated[int, typer.Option(min=1, max=3650, metavar="DAYS", help="How long it works.")] = 90,
    as_json: AsJson = False,
) -> None:
    """Make a token and print it, this once."""
    with session.signed_in(ctx) as client:
        made = client.create_token(name, days)
    if as_json:
        document(made)
    else:
        line(made.token)
        note(f"Keep it safe: it is not shown again. Use it as STARVERSE_TOKEN; revoke it as {made.token_id}.")


def revoke_token(
    ctx: typer.Context,
    token: Annotated[str, typer.Argument(metavar="TOKEN", show_default=False, help="Its id, as listed.")],
    as_json: AsJson = False,
) -> None:
    """Make a token worthless."""
    with session.signed_in(ctx) as client:
        client.revoke_token(token)
    if as_json:
        document({"token_id": token, "revoked": True})
    else:
        line(f"Revoked {token}.")


def list_secrets(ctx: typer.Context, project: Project = "", as_json: AsJson = False) -> None:
    """The names of the secrets; values are never shown."""
    with session.signed_in(ctx) as client:
        secrets = client.secrets(project)
    if as_json:
        document(secrets)
        return
    now = now_ms()
    rows = [(each.name, ago(each.created_ms, now)) for each in secrets]
    table([Column("SECRET"), Column("SET")], rows, "No secrets.")


def set_secret(ctx: typer.Context, name: SecretName, project: Project = "", as_json: AsJson = False) -> None:
    """Set a secret; its value comes from stdin, or is asked for unseen."""
    with session.signed_in(ctx) as client:
        if sys.stdin.isatty():
            value = secretly.prompted("value", "Pipe it in.")
        else:
            value = secretly.from_stdin("value")
        secret = client.put_secret(name, value, project)
    if as_json:
        document(secret)
    else:
        line(f"Set {secret.name}. Jobs use it with --secret {secret.name}.")


def delete_secret(
    ctx: typer.Context, name: SecretName, project: Project = "", as_json: AsJson = False
) -> None:
    """Forget a secret."""
    with session.signed_in(ctx) as client:
        client.delete_secret(name, project)
    if as_json:
        document({"name": name, "deleted": True})
    else:
        line(f"Deleted {name}.")
