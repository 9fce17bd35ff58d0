"""The output of a job as it is written: bounded, following its end, stdout or stderr of any run."""

import json
import re
from typing import Literal

from nicegui import ui

from starverse.faces import schemas as sc
from starverse.faces.console.controls import choice
from starverse.faces.console.frame import Frame
from starverse.faces.console.markup import shown, tag
from starverse.model.errors import NotFound

TAIL_BYTES = 48 * 1024
PART_BYTES = 64 * 1024
PARTS_AT_ONCE = 4

Stream = Literal["stdout", "stderr"]

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_OVERWRITTEN = re.compile(r"[^\n\r]*\r(?!\n)(?=[^\n])")


class Output:
    """Mutable owner of one log view: which run and stream it shows, and how far it has read."""

    def __init__(self, frame: Frame, job: str) -> None:
        self._frame = frame
        self._job = job
        self._run = ""
        self._pinned = False
        self._stream: Stream = "stdout"
        self._offset = -1  # not read yet
        self._reading = False
        self._again = False
        say = frame.say
        with ui.element("div").classes("sv-log-bar"):
            streams = {"stdout": "stdout", "stderr": "stderr"}
            choice(streams, "stdout", self._turn, say("output.title")).props("dense")
            self._runs = ui.select({}, on_change=lambda e: self._pick(e.value)).props(
                f'outlined dense options-dense aria-label="{say("output.run")}"'
            ).classes("sv-log-runs")  # fmt: skip
            follow = ui.checkbox(say("output.follow"), value=True).props("dense")
        self._box = shown(
            tag(
                "pre",
                cls="sv-log",
                tabindex="0",
                aria_label=say("output.title"),
                data_empty=say("output.nothing"),
            ),
            "sv-log-box",
        )
        follow.on_value_change(
            lambda event: self._script(f"svLogFollow({self._id}, {json.dumps(bool(event.value))})")
        )

    def show_runs(self, runs: tuple[sc.Run, ...]) -> None:
        """Offer these runs; unless the reader picked one, the last one is shown."""
        names = {run.run: self._frame.say("lives.run", n=run.attempt) for run in runs}
        if set(self._runs.options) != set(names):
            self._runs.set_options(names, value=self._run if self._run in names else None)
        self._runs.set_visibility(len(names) > 1)
        if runs and not self._pinned and self._run != runs[-1].run:
            self._begin(runs[-1].run)

    async def read_on(self) -> None:
        """Fetch what is new. Called again while it is at it, it looks once more at the end."""
        if self._reading:
            self._again = True
            return
        self._reading = True
        try:
            for _ in range(PARTS_AT_ONCE):
                self._again = False
                more = await self._part()
                if not more and not self._again:
                    return
        finally:
            self._reading = False

    async def _part(self) -> bool:
        if not self._run:
            return False
        at = self._run, self._stream, self._offset
        offset = -TAIL_BYTES if self._offset < 0 else self._offset
        try:
            part = await self._frame.ask(
                self._frame.api.logs,
                self._job,
                run=self._run,
                stream=self._stream,
                offset=offset,
                limit=PART_BYTES,
            )
        except NotFound:
            return False
        if at != (self._run, self._stream, self._offset):  # the reader turned to another one meanwhile
            return True
        gap = 0 <= self._offset < part.offset  # what was in between is dropped by now
        self._offset = part.next_offset
        if part.text:
            text = ("\n[…]\n" if gap else "") + plain(part.text)
            self._script(f"svLog({self._id}, {json.dumps(text)})")
        return part.more

    @property
    def _id(self) -> str:
        return json.dumps(self._box.html_id)

    def _script(self, code: str) -> None:
        with self._frame.content:
            ui.run_javascript(code)

    def _begin(self, run: str) -> None:
        self._run = run
        self._offset = -1
        if run in self._runs.options and self._runs.value != run:
            self._runs.set_value(run)
        self._script(f"svLogClear({self._id})")

    async def _turn(self, stream: str) -> None:
        self._stream = "stderr" if stream == "stderr" else "stdout"
        self._begin(self._run)
        await self.read_on()

    async def _pick(self, run: str | None) -> None:
        if run and run != self._run:
            self._pinned = True
            self._begin(run)
            await self.read_on()


def plain(text: str) -> str:
    """Text without colour codes; of a line drawn over itself, as progress bars are, only the last state."""
    return _OVERWRITTEN.sub("", _ESCAPES.sub("", text)).replace("\0", "")
