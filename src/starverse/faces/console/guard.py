"""What every request to the console passes first: right host, right origin, bounded bodies, safe headers."""

import ipaddress
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import unquote

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from starverse.faces.console.sessions import Session, Sessions
from starverse.faces.console.voice import Voice, zone_of
from starverse.faces.console.words import Language

POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""Everything from here and nothing from elsewhere; NiceGUI's own pages need inline scripts and eval."""

HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)

BODY_BYTES_MAX = 1 << 20
UPLOAD_BYTES_MAX = 256 << 20
UPLOADS = "/_nicegui/client/"
SAFE = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True)
class Visit:
    """Whose request is being served, from where, and how that browser wants to be spoken to."""

    session: Session | None = None
    cookies: Mapping[str, str] = field(default_factory=dict)
    languages: str = ""
    address: str = ""

    @property
    def voice(self) -> Voice:
        """In the language the person chose, else that this browser chose, else that it prefers."""
        chosen = (self.session.person.language if self.session else "") or self.cookies.get("language", "")
        language: Language = "zh" if (chosen or self.languages).startswith("zh") else "en"
        return Voice(language, zone_of(unquote(self.cookies.get("zone", ""))))


visiting: ContextVar[Visit] = ContextVar("visiting", default=Visit())  # noqa: B039 - it is frozen
"""The request that this task serves."""


class Guard:
    """Turns away what no browser on this console's own pages would send.

    A page of a stranger could reach a console on this machine through a name of its own that leads here
    (so names are checked), or by posting or opening a socket across origins (so the origin is).
    """

    def __init__(self, app: ASGIApp, sessions: Sessions, cookie: str, names: Iterable[str]) -> None:
        self._app = app
        self._sessions = sessions
        self._cookie = cookie
        self._names = {"localhost", *names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request through, or not."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal:
            await _refuse(scope, receive, send, *refusal)
            return
        cookies = _cookies(headers.get(b"cookie", ""))
        session = self._sessions.of(cookies.get(self._cookie, ""))
        address = scope["client"][0] if scope.get("client") else ""
        visiting.set(Visit(session, cookies, headers.get(b"accept-language", "").lower(), address))
        bound = UPLOAD_BYTES_MAX if scope["path"].startswith(UPLOADS) else BODY_BYTES_MAX
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
        elif int(headers.get(b"content-length", "0") or 0) > bound:
            await _refuse(scope, receive, send, 413, "Too large.")
        else:
            await self._app(scope, _bounded(receive, bound), _careful(send))

    def _refusal(self, scope: Scope, headers: dict[bytes, str]) -> tuple[int, str] | None:
        host = headers.get(b"host", "")
        if not self._known(host):
            return 421, "This console has another name. Open it by its address, or start it with --name."
        origin = headers.get(b"origin", "")
        if origin and (scope["type"] == "websocket" or scope["method"] not in SAFE):
            if origin.partition("://")[2] != host:
                return 403, "This request comes from another site."
        elif scope["type"] == "http" and scope["method"] not in SAFE:
            return 403, "This request does not say where it comes from."
        if not headers.get(b"content-length", "0").isdigit():
            return 400, "Malformed content-length."
        return None

    def _known(self, host: str) -> bool:
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if name.lower() in self._names:
            return True
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True


def _cookies(header: str) -> dict[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(header).items()}
    except CookieError:
        return {}


def _bounded(receive: Receive, bound: int) -> Receive:
    got = 0

    async def bounded() -> Message:
        nonlocal got
        message = await receive()
        if message["type"] == "http.request":
            got += len(message.get("body", b""))
            if got > bound:
                return {"type": "http.disconnect"}
        return message

    return bounded


def _careful(send: Send) -> Send:
    async def careful(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(pair for pair in HEADERS if pair[0] not in present)]
        await send(message)

    return careful


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, text: str) -> None:
    if scope["type"] == "websocket":
        await receive()  # the server waits for the connect message to be taken before it lets us close
        await send({"type": "websocket.close", "code": 1008})
    else:
        response = PlainTextResponse(text, status, headers={"connection": "close"})
        await response(scope, receive, _careful(send))
