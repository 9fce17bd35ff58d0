"""Who you are: register, login, logout, whoami."""

import os
import platform
import time
from typing import TYPE_CHECKING, Annotated

import typer

from starverse.faces.cli import secretly, session, settings
from starverse.faces.cli.options import AsJson
from starverse.faces.cli.settings import Login
from starverse.faces.cli.show import document, facts, line, note
from starverse.model.errors import BadInput, NotSignedIn
from starverse.model.units import format_yuan

if TYPE_CHECKING:
    from starverse.faces.client import Client
    from starverse.faces.schemas import SignedIn, Wallet

CREDIT_LOOKS = 10
CREDIT_LOOK_EVERY_S = 0.2

PasswordStdin = Annotated[bool, typer.Option("--password-stdin", help="Read the password from stdin.")]
NewEmail = Annotated[str, typer.Argument(metavar="EMAIL", show_default=False, help="Your address.")]
Email = Annotated[str, typer.Argument(metavar="EMAIL", help="The address you registered.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (register, login, logout, whoami):
        app.command(rich_help_panel="Account")(command)


def register(
    ctx: typer.Context, email: NewEmail, password_stdin: PasswordStdin = False, as_json: AsJson = False
) -> None:
    """Open an account with trial credit, and sign in."""
    with session.stranger(ctx) as client:
        _warn_if_open(client.base_url)
        signed_in = client.register(email, _password(password_stdin, twice=True))
        _remember(client.base_url, signed_in)
        wallet = _credited(client)
    if as_json:
        document(_shown(signed_in) | {"wallet": wallet})
        return
    line(
        f"Welcome, {signed_in.account.email}. Your wallet holds {format_yuan(wallet.available)} to try with."
    )
    line("Next: starverse submit -- train.py")


def login(
    ctx: typer.Context,
    email: Email = "",
    password_stdin: PasswordStdin = False,
    token_stdin: Annotated[
        bool, typer.Option("--token-stdin", help="Read a token from stdin instead.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Sign in, and remember the token for this server."""
    if token_stdin == bool(email) or (token_stdin and password_stdin):
        raise BadInput("Sign in with an address or with a token.", "`login EMAIL` or `login --token-stdin`.")
    shown: dict[str, object]
    with session.stranger(ctx) as client:
        _warn_if_open(client.base_url)
        if token_stdin:
            client.token = secretly.from_stdin("token").strip()
            account = client.whoami()
            settings.save(settings.load().with_login(client.base_url, Login(client.token, account.email)))
            shown = {"account": account}
        else:
            signed_in = client.login(email, _password(password_stdin), f"cli on {platform.node()}"[:128])
            _remember(client.base_url, signed_in)
            account = signed_in.account
            shown = _shown(signed_in)
    if as_json:
        document(shown)
    else:
        line(f"Signed in to {client.base_url} as {account.email}.")


def logout(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Make the remembered token worthless, and forget it."""
    here = session.where(ctx)
    login = settings.load().logins.get(here.server)
    if login:
        from starverse.faces.client import Client

        with Client(here.server, login.token) as client:
            try:
                client.logout()
            except NotSignedIn:
                pass  # it was worthless already
            finally:
                settings.save(settings.load().without(here.server))
    if as_json:
        document({"server": here.server, "was_signed_in": bool(login)})
    else:
        line(f"Signed out of {here.server}." if login else f"You were not signed in to {here.server}.")


def whoami(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Who you are signed in as, and your projects."""
    with session.signed_in(ctx) as client:
        account = client.whoami()
    if as_json:
        document(account)
        return
    facts(
        [
            ("account", account.email + ", operator" * account.operator),
            ("projects", ", ".join(f"{each.name} ({each.role})" for each in account.projects)),
            ("server", client.base_url),
        ]
    )


def _password(from_stdin: bool, twice: bool = False) -> str:
    if from_stdin:
        return secretly.from_stdin("password")
    return secretly.prompted("password", "Pipe it in with --password-stdin.", twice)


def _remember(server: str, signed_in: "SignedIn") -> None:
    login = Login(signed_in.token, signed_in.account.email)
    settings.save(settings.load().with_login(server, login))
    if os.environ.get("STARVERSE_TOKEN"):
        note("STARVERSE_TOKEN is set and comes first: unset it to be who you just signed in as.")


def _shown(signed_in: "SignedIn") -> dict[str, object]:
    """All but the token itself: it is in the settings, and belongs in no log."""
    return {
        "account": signed_in.account,
        "token_id": signed_in.token_id,
        "expires_ms": signed_in.expires_ms,
    }


def _credited(client: "Client") -> "Wallet":
    """The new wallet, once the trial credit is in it; that takes the server a moment."""
    for _ in range(CREDIT_LOOKS):
        wallet = client.wallet()
        if wallet.available:
            break
        time.sleep(CREDIT_LOOK_EVERY_S)
    return wallet


def _warn_if_open(server: str) -> None:
    if session.is_open(server):
        note(f"Careful: what you send to {server} can be read on the way. Better use https.")
