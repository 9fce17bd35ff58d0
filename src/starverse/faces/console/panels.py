"""Boxes that a page is laid out in: titled panels, tiles with one figure, a question before an act."""

from collections.abc import Iterator
from contextlib import contextmanager

from nicegui import ui

from starverse.faces.console.controls import button
from starverse.faces.console.markup import Markup, shown, tag
from starverse.faces.console.voice import Voice


@contextmanager
def panel(title: str = "", classes: str = "") -> Iterator[ui.element]:
    """A titled box; yields the place for buttons at its right upper corner, and is filled inside `with`."""
    with ui.element("section").classes(f"sv-panel {classes}"):
        with ui.element("div").classes("sv-panel-head") as head:
            if title:
                shown(tag("h2", title))
            corner = ui.element("div").classes("sv-corner")
        head.set_visibility(bool(title))
        yield corner


def page_title(title: str, under: str = "") -> ui.element:
    """The heading of a page; gives the place for what can be done on it."""
    with ui.element("div").classes("sv-title"):
        shown(tag("div", tag("h1", title), tag("p", under) if under else None))
        return ui.element("div").classes("sv-actions")


def tile(title: str, figure: object, under: object = None, cls: str = "") -> Markup:
    """One figure, what it is, and what it means."""
    return tag(
        "div",
        tag("span", title, cls="sv-tile-title"),
        tag("span", figure, cls="sv-tile-figure num"),
        tag("span", under, cls="sv-tile-under") if under is not None else None,
        cls=f"sv-tile {cls}".strip(),
    )


def facts(rows: list[tuple[str, object]]) -> Markup:
    """Names and values, one a line."""
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in rows), cls="sv-facts")


async def sure(voice: Voice, title: str, text: str, yes: str, grave: bool = True) -> bool:
    """Ask before something is done, saying what it leads to."""
    with ui.dialog() as dialog, ui.card().classes("sv-dialog"):
        shown(tag("div", tag("h2", title), tag("p", text)))
        with ui.element("div").classes("sv-dialog-buttons"):
            button(voice.say("ask.no"), lambda: dialog.submit(False), "quiet", "autofocus")
            button(yes, lambda: dialog.submit(True), "grave" if grave else "main")
    answer = bool(await dialog)
    dialog.delete()
    return answer


def copyable(voice: Voice, command: str) -> None:
    """A command line with a button that copies it."""
    with ui.element("div").classes("sv-copy"):
        shown(tag("code", command))
        copy = ui.button(icon="content_copy").props(
            f'flat dense round size=sm aria-label="{voice.say("ask.copy")}"'
        )
        copy.on("click", js_handler=f"() => navigator.clipboard?.writeText({_js(command)})")
        copy.on("click", lambda: ui.notify(voice.say("ask.copied"), position="top", timeout=1500))


def _js(text: str) -> str:
    import json

    return json.dumps(text).replace("<", "\\u003c")
