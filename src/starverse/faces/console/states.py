"""What stands where there is nothing to show: an empty list, a page that is not there, an error."""

from nicegui import ui

from starverse.faces.console.markup import Markup, joined, shown, tag
from starverse.faces.console.voice import Voice
from starverse.model.errors import StarverseError

STAR = Markup(
    '<svg viewBox="0 0 48 48" class="sv-state-star" aria-hidden="true">'
    '<path d="M24 5c1.5 14 5 17.5 19 19-14 1.5-17.5 5-19 19-1.5-14-5-17.5-19-19 14-1.5 17.5-5 19-19z"/></svg>'
)


def empty(title: str, text: str = "", action: tuple[str, str] | None = None) -> Markup:
    """An empty list: what it would hold, and where to begin (words, path)."""
    link = tag("a", action[0], href=action[1], cls="sv-button") if action else None
    return tag("div", STAR, tag("h2", title), tag("p", text) if text else None, link, cls="sv-state")


def not_found(voice: Voice, error: StarverseError | None = None) -> ui.html:
    """There is no such page, or it is not the reader's to see."""
    text = voice.server(error.what) if error else voice.say("page.not_found_text")
    home = (voice.say("page.home"), "/")
    return shown(empty(voice.say("page.not_found"), text, home), "sv-wide")


def failed(voice: Voice, error: StarverseError) -> ui.html:
    """What went wrong and what to do."""
    remedy = tag("p", voice.server(error.remedy)) if error.remedy else None
    title = tag("h2", voice.say("page.failed"))
    return shown(tag("div", title, tag("p", voice.server(error.what)), remedy, cls="sv-state bad"), "sv-wide")


def page_not_found(voice: Voice) -> str:
    """A whole page for an address where there is nothing."""
    style = Markup('<link rel="stylesheet" href="/look/console.css">')
    body = empty(voice.say("page.not_found"), voice.say("page.not_found_text"), (voice.say("page.home"), "/"))
    title = tag("title", f"{voice.say('page.not_found')} · Starverse")
    meta = Markup(
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    )
    lang = "zh-CN" if voice.language == "zh" else "en"
    page = tag("html", tag("head", meta, title, style), tag("body", body, cls="sv-plain"), lang=lang)
    return str(joined([Markup("<!doctype html>"), page]))
