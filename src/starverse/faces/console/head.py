"""The head line of every page: places to go, what is in the wallet, language, look, and the banner."""

from typing import TYPE_CHECKING

from nicegui import ui

from starverse.faces import schemas as sc
from starverse.faces.console.markup import Markup, joined, shown, tag
from starverse.faces.console.voice import Voice
from starverse.faces.console.words import Language

if TYPE_CHECKING:
    from starverse.faces.console.frame import Frame

LOGO = Markup(
    '<svg class="sv-logo" viewBox="0 0 32 32" aria-hidden="true">'
    '<path d="M14 3c.9 8 3.1 10.2 11 11-7.9.8-10.1 3-11 11-.9-8-3.1-10.2-11-11 7.9-.8 10.1-3 11-11z"/>'
    '<path d="M25 20c.4 3 1.2 3.8 4 4.1-2.8.3-3.6 1.1-4 4.1-.4-3-1.2-3.8-4-4.1 2.8-.3 3.6-1.1 4-4.1z"/>'
    '<circle cx="25.5" cy="6.5" r="1.5"/><circle cx="7" cy="27" r="1.1"/></svg>'
)
FAVICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">'
    '<rect width="32" height="32" rx="7" fill="#151b30"/><path fill="#f0c05a" '
    'd="M16 4c1 8.8 3.4 11.2 12 12-8.6.8-11 3.2-12 12-1-8.8-3.4-11.2-12-12 8.6-.8 11-3.2 12-12z"/></svg>'
)
BROWSER_S = 10.0
"""A browser on a busy machine may take so long to answer."""

PLACES = (
    ("/", "overview"), ("/submit", "submit"), ("/jobs", "jobs"), ("/reservations", "bookings"),
    ("/wallet", "wallet"), ("/nodes", "nodes"),
)  # fmt: skip


class Head:
    """Mutable owner of the head line of one page."""

    def __init__(self, frame: "Frame") -> None:
        self._frame = frame
        voice = frame.voice
        path = frame.tab.request.url.path
        shown(tag("a", voice.say("head.skip"), href="#main", cls="sv-skip"))
        with ui.element("header").classes("sv-head"):
            shown(_brand_and_places(voice, path), "sv-head-left")
            with ui.element("div").classes("sv-head-right"):
                self._purse = shown(Markup(""), "sv-purse")
                other: Language = "en" if voice.language == "zh" else "zh"
                turn = ui.button(
                    voice.say("head.other_language"), color=None, on_click=lambda: frame.speak(other)
                )
                turn.props(f'flat no-caps dense lang="{other}"').classes("sv-head-button")
                dark = ui.dark_mode(frame.dark)
                button = ui.button(icon="contrast", color=None, on_click=lambda: self._turn(dark))
                button.props("flat round dense size=sm").classes("sv-head-button")
                button.props(f'aria-label="{voice.say("head.look")}"')
                email = frame.session.row.email
                account = tag(
                    "a",
                    email[:1],
                    href="/account",
                    cls="sv-me",
                    aria_label=voice.say("head.account"),
                    title=email,
                )
                shown(account)
        self._banner = shown(Markup(""), "sv-banner").props("role=status aria-live=polite")
        self._banner.set_visibility(False)
        shown(tag("span", id="main", tabindex="-1"))  # where the first link of the page skips to

    def purse(self, wallet: sc.Wallet) -> None:
        """Show what the wallet has."""
        voice = self._frame.voice
        money = tag("span", voice.money(wallet.available, 2), cls="num")
        self._purse.set_content(tag("a", money, href="/wallet", title=voice.say("head.available")))

    def away(self) -> None:
        """Say that the API does not answer."""
        say = self._frame.say
        spin = tag("span", cls="sv-spin", aria_hidden="true")
        self._banner.set_content(joined([spin, tag("span", f"{say('head.lost')} {say('head.again')}")]))
        self._banner.set_visibility(True)

    def back(self) -> None:
        """Take the banner away."""
        self._banner.set_visibility(False)

    async def _turn(self, dark: ui.dark_mode) -> None:
        was_dark = await is_dark()
        dark.value = not was_dark
        self._frame.look("light" if was_dark else "dark")


async def is_dark() -> bool:
    """Whether the page is dark now, which the browser knows when it follows the system."""
    try:
        look = await ui.run_javascript("document.body.classList.contains('body--dark')", timeout=BROWSER_S)
    except TimeoutError:
        return False
    return bool(look)


def _brand_and_places(voice: Voice, path: str) -> Markup:
    brand = tag("a", LOGO, tag("span", "Starverse"), href="/", cls="sv-brand")
    places = [
        tag("a", voice.say(f"{name}.place"), href=href, aria_current="page" if _is_here(path, href) else None)
        for href, name in PLACES
    ]
    return joined([brand, tag("nav", *places, cls="sv-places", aria_label=voice.say("head.places"))])


def _is_here(path: str, href: str) -> bool:
    return path == href or (href != "/" and path.startswith(href + "/"))
