"""Faults for drills: which rank of a running job, and the button that kills it."""

from collections.abc import Awaitable, Callable

from nicegui import ui

from starverse.faces import schemas as sc
from starverse.faces.console.controls import button
from starverse.faces.console.frame import Frame
from starverse.faces.console.panels import sure
from starverse.faces.console.rows import name_of


def controls(
    frame: Frame, ranks: int, job: Callable[[], sc.Job], refresh: Callable[[], Awaitable[None]]
) -> None:
    """Both, here; for the job as it is when the button is pressed, with a question before."""
    say = frame.say

    async def kill() -> None:
        rank, present = int(field.value or 0), job()
        title = say("nodes.kill_title", rank=rank, job=name_of(present))
        if await sure(frame.voice, title, say("nodes.kill_text"), say("nodes.kill")):
            if await frame.did(frame.api.inject_fault, present.run, rank):
                frame.tell(say("nodes.kill_done", rank=rank))
            await frame.quietly(refresh)

    field = ui.number(say("nodes.rank"), value=0, min=0, max=ranks - 1, precision=0)
    field.props("outlined dense").classes("sv-rank")
    button(say("nodes.kill"), kill, "grave-line", "dense")
