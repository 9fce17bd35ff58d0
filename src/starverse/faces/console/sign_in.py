"""The one card before everything else: sign in, register and get the trial credit, or bring a token."""

import json
from functools import partial
from typing import Literal

from nicegui import app, ui
from nicegui.events import GenericEventArguments
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from starverse.faces.client import Client
from starverse.faces.console.controls import button
from starverse.faces.console.frame import RESPONSE_TIMEOUT_S, ConsolePage, on_thread
from starverse.faces.console.guard import visiting
from starverse.faces.console.head import LOGO
from starverse.faces.console.markup import joined, shown, tag
from starverse.faces.console.sessions import API_TIMEOUT_S, Sessions
from starverse.faces.console.voice import Voice
from starverse.faces.schemas import SignedIn
from starverse.model.errors import StarverseError

PASSWORD_LEAST = 8
CALLED = "console"
COLLECT = """() => emit(...["email", "password", "token"].map(
    name => document.querySelector(`input[name=${name}]`)?.value ?? ""))"""
"""What stands in the fields goes along with the press of the button: what was typed, or filled in by the
browser, before the page was live may be told to the server only after it."""

CURRENT = "autocomplete=current-password"

Way = Literal["sign_in", "register", "token"]
WAYS: tuple[Way, ...] = ("sign_in", "register", "token")
HINTS: dict[Way, str] = {
    "sign_in": "sign_in.hint",
    "register": "sign_in.trial",
    "token": "sign_in.token_hint",
}


def install(sessions: Sessions, cookie: str) -> None:
    """Serve the card, and the address that exchanges a ticket for a cookie."""

    @ConsolePage("/sign-in", response_timeout=RESPONSE_TIMEOUT_S)
    def sign_in(next: str = "/", ended: str = "") -> Response | None:  # noqa: A002 - as it stands in the address
        if visiting.get().session:
            return RedirectResponse(_local(next), 303)
        _Card(sessions, visiting.get().voice, _local(next), bool(ended))
        return None

    @app.post("/session", include_in_schema=False)
    async def session(request: Request) -> Response:
        value = sessions.redeem((await request.body()).decode(errors="replace"))
        if not value:
            return Response(status_code=403)
        response = Response(status_code=204)
        secure = request.url.scheme == "https"
        response.set_cookie(cookie, value, max_age=90 * 86_400, httponly=True, samesite="lax", secure=secure)
        return response


class _Card:
    """Mutable owner of one sign-in card, which signs in, registers, or takes an access token."""

    def __init__(self, sessions: Sessions, voice: Voice, then: str, ended: bool) -> None:
        self._sessions = sessions
        self._voice = voice
        self._then = then
        self._address = visiting.get().address
        self._way: Way = "sign_in"
        self._busy = False
        say = voice.say
        ui.context.client.title = f"{say('sign_in.sign_in')} · Starverse"
        other = "en" if voice.language == "zh" else "zh"
        with ui.element("div").classes("sv-gate"), ui.element("div").classes("sv-gate-card"):
            with ui.element("div").classes("sv-gate-top"):
                shown(joined([LOGO, tag("span", "Starverse")]), "sv-gate-brand")
                script = f"svCookie('language','{other}'); location.reload()"
                button(
                    say("head.other_language"), lambda: ui.run_javascript(script), "quiet", f"lang={other}"
                )
            self._title = shown(tag("h1", say("sign_in.sign_in")))
            self._hint = shown(tag("p", say("sign_in.ended" if ended else "sign_in.hint")))
            self._email = _field(
                say("sign_in.email"), "type=email autocomplete=username autofocus name=email"
            )
            self._password = _field(say("sign_in.password"), f"{CURRENT} type=password name=password")
            self._token = _field(say("sign_in.token"), "type=password autocomplete=off name=token")
            self._token.set_visibility(False)
            self._error = shown(tag("p", "")).classes("sv-error").props("role=alert")
            self._go = button(say("sign_in.sign_in")).classes("sv-main-button")
            self._go.on("click", self._enter, js_handler=COLLECT)
            with ui.element("div").classes("sv-gate-turn"):
                self._turns = {
                    way: button(say(f"sign_in.to_{way}"), partial(self._turn, way), "quiet") for way in WAYS
                }
                self._turns["sign_in"].set_visibility(False)
        for field in (self._email, self._password, self._token):
            field.on("keydown.enter", self._enter, js_handler=COLLECT)

    def _turn(self, way: Way) -> None:
        self._way = way
        say = self._voice.say
        self._title.set_content(tag("h1", say(f"sign_in.{way}")))
        self._hint.set_content(tag("p", say(HINTS[way])))
        self._go.set_text(say("sign_in.register" if way == "register" else "sign_in.sign_in"))
        for field, here in (
            (self._email, way != "token"),
            (self._password, way != "token"),
            (self._token, way == "token"),
        ):
            field.set_visibility(here)
        for name, each in self._turns.items():
            each.set_visibility(name != way)
        self._password.props("autocomplete=new-password" if way == "register" else CURRENT)
        self._complain("")

    def _complain(self, text: str) -> None:
        self._error.set_content(tag("p", text))

    async def _enter(self, event: GenericEventArguments) -> None:
        email, password, token = (str(value) for value in event.args)
        email, token = email.strip(), token.strip()
        problem = self._problem(email, password, token)
        self._complain(self._voice.say(problem, n=PASSWORD_LEAST) if problem else "")
        if problem or self._busy:
            return
        self._busy = True
        self._go.props("loading")
        try:
            signed_in = await on_thread(
                _ask, self._sessions.api, self._address, self._way, email, password, token
            )
        except StarverseError as error:
            self._complain(self._voice.error(error.what, error.remedy))
        else:
            ticket, then = json.dumps(self._sessions.ticket(signed_in)), json.dumps(self._then)
            ui.run_javascript(f"svEnter({ticket}, {then})")
        finally:
            self._busy = False
            self._go.props(remove="loading")

    def _problem(self, email: str, password: str, token: str) -> str:
        if self._way == "token":
            return "" if token else "sign_in.token_needed"
        if "@" not in email:
            return "sign_in.email_needed"
        if not password:
            return "sign_in.password_needed"
        if self._way == "register" and len(password) < PASSWORD_LEAST:
            return "sign_in.password_short"
        return ""


def _field(label: str, props: str) -> ui.input:
    return ui.input(label).props(f"outlined dense {props}").classes("sv-field")


def _ask(api: str, address: str, way: Way, email: str, password: str, token: str) -> SignedIn:
    """Sign in, on a thread. For a token that was pasted a new one is made, which signing out revokes.

    How often somebody may try is counted by where their browser is, not by where the console is.
    """
    with Client(api, token if way == "token" else None, API_TIMEOUT_S, address) as client:
        if way == "token":
            return client.create_token(CALLED)
        return (
            client.register(email, password) if way == "register" else client.login(email, password, CALLED)
        )


def _local(path: str) -> str:
    """A path of this console's, whatever was asked for: nobody is led elsewhere after signing in."""
    safe = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if safe else "/"
