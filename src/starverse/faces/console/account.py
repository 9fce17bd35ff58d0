"""The account: who one is, tokens for scripts and machines, language and look, and the way out."""

import asyncio
from functools import partial

from nicegui import ui

from starverse.faces import schemas as sc
from starverse.faces.console.controls import button, choice
from starverse.faces.console.frame import Frame
from starverse.faces.console.markup import shown, tag
from starverse.faces.console.panels import copyable, facts, page_title, panel, sure
from starverse.faces.console.words import LANGUAGES, Language
from starverse.model.errors import NotSignedIn, StarverseError

NAMES: dict[Language, str] = {"en": "English", "zh": "中文"}
DAYS = 90


async def build(frame: Frame) -> None:
    """Fill the page."""
    api, ask = frame.api, frame.ask
    account, tokens, wallet = await asyncio.gather(ask(api.whoami), ask(api.tokens), ask(api.wallet))
    frame.head.purse(wallet)
    page_title(frame.say("account.title"), account.email)
    with ui.element("div").classes("sv-columns"):
        with panel(frame.say("account.you")):
            _about(frame, account)
            button(frame.say("account.sign_out"), lambda: _sign_out(frame), "line")
        with panel(frame.say("account.preferences")):
            _preferences(frame)
    _Tokens(frame, tokens)


def _about(frame: Frame, account: sc.Account) -> None:
    say = frame.say
    projects = [
        tag("div", p.name, tag("span", f" · {say(f'role.{p.role}')}", cls="sv-dim")) for p in account.projects
    ]
    shown(
        facts(
            [
                (say("account.email"), account.email),
                (say("account.user"), tag("span", account.user, cls="sv-id")),
                (say("account.projects"), tag("div", *projects)),
                (say("account.role"), say("account.operator" if account.operator else "account.customer")),
            ]
        )
    )


def _preferences(frame: Frame) -> None:
    say = frame.say
    languages: dict[str, str] = {language: NAMES[language] for language in LANGUAGES}
    choice(
        languages,
        frame.voice.language,
        lambda it: frame.speak("zh" if it == "zh" else "en"),
        say("account.language"),
    )
    dark = ui.dark_mode(frame.dark)
    looks = {look: say(f"account.look_{look}") for look in ("auto", "light", "dark")}

    def turn(look: str) -> None:
        dark.value = {"auto": None, "light": False, "dark": True}[look]
        frame.look(look)  # type: ignore[arg-type]

    choice(looks, frame.session.person.look, turn, say("head.look"))
    shown(tag("p", say("account.zone"), cls="sv-dim"))


async def _sign_out(frame: Frame) -> None:
    try:
        await frame.ask(frame.api.logout)
    except StarverseError as error:
        if not isinstance(error, NotSignedIn):  # the token would go on working: say so and stay
            await frame.fail(error)
            return
    frame.sessions.forget(frame.session)
    frame.go("/sign-in")


class _Tokens:
    """Mutable owner of the list of tokens on one open page."""

    def __init__(self, frame: Frame, tokens: tuple[sc.Token, ...]) -> None:
        self._frame = frame
        say = frame.say
        with panel(say("tokens.title")):
            shown(tag("p", say("tokens.text"), cls="sv-dim"))
            with ui.element("div").classes("sv-row"):
                self._name = (
                    ui.input(say("tokens.name")).props("outlined dense maxlength=128").classes("sv-grow")
                )
                button(say("tokens.make"), self._make)
            self._new = ui.element("div")
            self._list = ui.element("div").classes("sv-wide")
        self._show(tokens)

    def _show(self, tokens: tuple[sc.Token, ...]) -> None:
        voice, say = self._frame.voice, self._frame.say
        self._list.clear()
        with self._list:
            for token in sorted(tokens, key=lambda token: token.created_ms, reverse=True):
                name = token.name or say("tokens.unnamed")
                here = tag("span", say("tokens.this"), cls="sv-badge is-running") if token.current else None
                made = tag("span", say("tokens.made", when=voice.when(token.created_ms)))
                until = tag("span", say("tokens.until", when=voice.when(token.expires_ms)))
                with ui.element("div").classes("sv-line"):
                    shown(
                        tag(
                            "div",
                            tag("b", name),
                            " ",
                            here,
                            tag("div", made, " ", until, cls="sv-dim sv-whole num"),
                        ),
                        "sv-grow",
                    )
                    if not token.current:
                        button(say("tokens.revoke"), partial(self._revoke, token), "grave-quiet")

    async def _make(self) -> None:
        name = str(self._name.value).strip()
        if not name:
            self._frame.tell(self._frame.say("tokens.name_needed"), bad=True)
            return
        made = await self._frame.act(self._frame.api.create_token, name, DAYS)
        if made is None:
            return
        self._name.set_value("")
        self._new.clear()
        with self._new:
            shown(tag("p", tag("b", self._frame.say("tokens.shown_once"))))
            copyable(self._frame.voice, made.token)
        await self._again()

    async def _revoke(self, token: sc.Token) -> None:
        say = self._frame.say
        name = token.name or say("tokens.unnamed")
        if await sure(
            self._frame.voice,
            say("tokens.revoke"),
            say("tokens.revoke_text", name=name),
            say("tokens.revoke"),
        ):
            await self._frame.did(self._frame.api.revoke_token, token.token_id)
            await self._again()

    async def _again(self) -> None:
        tokens = await self._frame.act(self._frame.api.tokens)
        if tokens is not None:
            self._show(tokens)
