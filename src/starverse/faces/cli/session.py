"""Which server a command talks to, and as whom."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from starverse.faces.cli import settings
from starverse.faces.cli.settings import Login
from starverse.model.errors import NotSignedIn

if TYPE_CHECKING:
    from starverse.faces.client import Client

SERVER_DEFAULT = "http://127.0.0.1:8701"  # the same as the client's, which is not loaded to print it
LOCAL = ("http://127.0.0.1", "http://localhost", "http://[::1]")


@dataclass(frozen=True, slots=True)
class Asked:
    """What stood before the command's own words; the context's `obj`."""

    server: str = ""


@dataclass(frozen=True, slots=True)
class Where:
    """The server meant and the login there, each with where it was said; no login: ("", "nowhere")."""

    server: str
    server_from: str
    login: Login
    token_from: str


def where(ctx: typer.Context) -> Where:
    """Server: --server, STARVERSE_URL, the last login's, the default; token: STARVERSE_TOKEN, the file."""
    saved = settings.load()
    asked = ctx.obj.server if isinstance(ctx.obj, Asked) else ""
    choices = (
        (asked, "--server"),
        (os.environ.get("STARVERSE_URL", ""), "STARVERSE_URL"),
        (saved.server, str(settings.path())),
        (SERVER_DEFAULT, "the default"),
    )
    server, server_from = next((url.rstrip("/"), said) for url, said in choices if url)
    token = os.environ.get("STARVERSE_TOKEN", "")
    if token:
        return Where(server, server_from, Login(token), "STARVERSE_TOKEN")
    login = saved.logins.get(server)
    return Where(server, server_from, login or Login(""), str(settings.path()) if login else "nowhere")


def stranger(ctx: typer.Context) -> "Client":
    """A client of the server without a token, to register or sign in with."""
    from starverse.faces.client import Client

    return Client(where(ctx).server)


def signed_in(ctx: typer.Context) -> "Client":
    """A client of the server as the one signed in there. Raises NotSignedIn when nobody is."""
    here = where(ctx)
    if not here.login.token:
        raise NotSignedIn(
            f"You are not signed in to {here.server}.",
            "`starverse login EMAIL`, or `starverse register EMAIL`.",
        )
    from starverse.faces.client import Client

    return Client(here.server, here.login.token)


def is_open(server: str) -> bool:
    """Whether what is sent there can be read on the way."""
    return server.startswith("http://") and not server.startswith(LOCAL)
