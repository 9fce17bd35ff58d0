"""The one card before everything else: sign in, or register and get the trial credit."""

import json
from collections.abc import Callable

from nicegui import app, ui
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
    """Mutable owner of one sign-in card."""

    def __init__(self, sessions: Sessions, voice: Voice, then: str, ended: bool) -> None:
        self._sessions = sessions
        self._voice = voice
        self._then = then
        self._new = False
        self._busy = False
        say = voice.say
        ui.context.client.title = f"{say('sign_in.title')} · Starverse"
        other = "en" if voice.language == "zh" else "zh"
        with ui.element("main").classes("sv-gate"), ui.element("div").classes("sv-gate-card"):
            with ui.element("div").classes("sv-gate-top"):
                shown(joined([LOGO, tag("span", "Starverse")]), "sv-gate-brand")
                script = f"svCookie('language','{other}'); location.reload()"
                button(
                    say("head.other_language"), lambda: ui.run_javascript(script), "quiet", f"lang={other}"
                )
            self._title = shown(tag("h1", say("sign_in.title")))
            self._hint = shown(tag("p", say("sign_in.ended" if ended else "sign_in.hint")))
            self._email = _field(
                say("sign_in.email"), "type=email autocomplete=username autofocus name=email"
            )
            self._password = _field(
                say("sign_in.password"), "type=password autocomplete=current-password name=password"
            )
            self._error = shown(tag("p", "")).classes("sv-error").props("role=alert")
            self._go = button(say("sign_in.title"), self._enter).classes("sv-main-button")
            with ui.element("div").classes("sv-gate-turn"):
                self._turn_text = ui.label(say("sign_in.no_account"))
                self._turn = button(say("sign_in.register"), self._swap, "quiet")
        for field in (self._email, self._password):
            field.on("keydown.enter", self._enter)

    def _swap(self) -> None:
        self._new = not self._new
        say, now, other = self._voice.say, "register", "title"
        if not self._new:
            now, other = other, now
        self._title.set_content(tag("h1", say(f"sign_in.{now}")))
        self._hint.set_content(tag("p", say("sign_in.trial" if self._new else "sign_in.hint")))
        self._go.set_text(say(f"sign_in.{now}"))
        self._turn_text.set_text(say("sign_in.have_account" if self._new else "sign_in.no_account"))
        self._turn.set_text(say(f"sign_in.{other}"))
        self._password.props(f"autocomplete={'new' if self._new else 'current'}-password")
        self._complain("")

    def _complain(self, text: str) -> None:
        self._error.set_content(tag("p", text))

    async def _enter(self) -> None:
        email, password = str(self._email.value).strip(), str(self._password.value)
        problem = self._problem(email, password)
        self._complain(self._voice.say(problem, n=PASSWORD_LEAST) if problem else "")
        if problem or self._busy:
            return
        self._busy = True
        self._go.props("loading")
        try:
            signed_in = await on_thread(_ask, self._sessions.api, self._new, email, password)
        except StarverseError as error:
            self._complain(self._voice.error(error.what, error.remedy))
        else:
            ticket = json.dumps(self._sessions.ticket(signed_in))
            ui.run_javascript(
                f"fetch('/session', {{method: 'POST', body: {ticket}}}).then(() => location.replace({json.dumps(self._then)}))"
            )
        finally:
            self._busy = False
            self._go.props(remove="loading")

    def _problem(self, email: str, password: str) -> str:
        if "@" not in email:
            return "sign_in.email_needed"
        if not password:
            return "sign_in.password_needed"
        if self._new and len(password) < PASSWORD_LEAST:
            return "sign_in.password_short"
        return ""


def _field(label: str, props: str) -> ui.input:
    return ui.input(label).props(f"outlined dense {props}").classes("sv-field")


def _ask(api: str, new: bool, email: str, password: str) -> SignedIn:
    with Client(api, timeout_s=API_TIMEOUT_S) as client:
        enter: Callable[[], SignedIn] = (
            (lambda: client.register(email, password))
            if new
            else (lambda: client.login(email, password, "console"))
        )
        return enter()


def _local(path: str) -> str:
    """A path of this console's, whatever was asked for: nobody is led elsewhere after signing in."""
    safe = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if safe else "/"
