"""What can be pressed: buttons by how much they weigh, choices, and the way through a list of pages."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from nicegui import ui

from starverse.faces.console.voice import Voice

Weight = Literal["main", "line", "quiet", "grave", "grave-line", "grave-quiet"]

PROPS: dict[Weight, str] = {
    "main": "unelevated text-color=onbrand",
    "line": "outline",
    "quiet": "flat dense",
    "grave": "unelevated color=negative text-color=onbad",
    "grave-line": "outline color=negative",
    "grave-quiet": "flat dense color=negative",
}


def button(
    text: str, on_click: Callable[..., Any] | None = None, weight: Weight = "main", props: str = ""
) -> ui.button:
    """A button; a grave one does what cannot be undone."""
    return ui.button(text, on_click=on_click).props(f"no-caps {PROPS[weight]} {props}")


def choice(options: Mapping[str, str], value: str, on_change: Callable[[str], Any], label: str) -> ui.toggle:
    """One of a few, all in sight."""
    toggle = ui.toggle(dict(options), value=value, on_change=lambda event: on_change(event.value))
    return toggle.props(f'no-caps unelevated toggle-text-color=onbrand aria-label="{label}"')


class Pager:
    """Newer and older pages of a list. Mutable owner of the cursors that lead back."""

    def __init__(self, voice: Voice, read: Callable[[], Awaitable[None]]) -> None:
        self._read = read
        self._cursors = [""]
        self._next = ""
        with ui.element("div").classes("sv-pager"):
            self._newer = button(voice.say("jobs.newer"), self._back, "quiet")
            self._older = button(voice.say("jobs.older"), self._on, "quiet")
        self.show("")

    @property
    def cursor(self) -> str:
        """The cursor of the page that is shown."""
        return self._cursors[-1]

    def show(self, cursor: str) -> None:
        """Offer what there is: `cursor` leads to the page after this one."""
        self._next = cursor
        self._newer.set_enabled(len(self._cursors) > 1)
        self._older.set_enabled(bool(cursor))
        for each in (self._newer, self._older):
            each.set_visibility(len(self._cursors) > 1 or bool(cursor))

    async def _on(self) -> None:
        if self._next:
            self._cursors.append(self._next)
            await self._read()

    async def _back(self) -> None:
        if len(self._cursors) > 1:
            self._cursors.pop()
            await self._read()
