"""The nodes, for everybody to see and for the operator to close, empty and open; and faults for drills."""

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from math import ceil

from nicegui import ui

from starverse.faces import schemas as sc
from starverse.faces.console import cluster_picture, drill
from starverse.faces.console.controls import Weight, button
from starverse.faces.console.frame import Frame
from starverse.faces.console.markup import Markup, joined, shown, tag
from starverse.faces.console.panels import page_title, panel, sure
from starverse.faces.console.rows import badge, name_of
from starverse.faces.console.states import empty

REFRESH_EVERY_S = 4.0
LISTED = 200
RUNS_LISTED = 50


async def build(frame: Frame) -> None:
    """Fill the page."""
    page = _Nodes(frame)
    await page.refresh()
    frame.follow(None, page.hear, page.refresh)


class _Nodes:
    """Mutable owner of one open page of nodes."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._operator = frame.session.row.operator
        self._shown: tuple[object, ...] = ()
        self._runs_shown: tuple[object, ...] = ()
        self._asked_s = 0.0
        say = frame.say
        place = page_title(
            say("nodes.title"), say("nodes.under" if self._operator else "nodes.under_customer")
        )
        if self._operator:
            with place:
                button(say("limits.title"), lambda: frame.go("/limits"), "line")
        with panel(say("cluster.title")):
            self._picture = shown(Markup(""))
        with panel(say("nodes.list")):
            self._list = ui.element("div").classes("sv-wide")
        if self._operator:
            with panel(say("nodes.drill")):
                shown(tag("p", say("nodes.drill_text"), cls="sv-dim"))
                self._runs = ui.element("div").classes("sv-wide")
        ui.timer(REFRESH_EVERY_S, self._tick, immediate=False)

    async def refresh(self) -> None:
        """Read the nodes, and for the operator all running jobs, anew."""
        self._asked_s = time.monotonic()
        api, ask = self._frame.api, self._frame.ask
        nodes, wallet = await asyncio.gather(ask(api.nodes), ask(api.wallet))
        self._frame.head.purse(wallet)
        self._picture.set_content(cluster_picture.picture(self._frame.voice, nodes, {}))
        if self._shown != nodes:
            self._shown = nodes
            self._show(nodes)
        if self._operator:
            page = await ask(api.jobs, phase="running", limit=RUNS_LISTED, everyone=True)
            running = tuple((job.run, name_of(job)) for job in page.items)
            if self._runs_shown != running or not running:
                self._runs_shown = running
                self._show_runs(page.items)

    async def hear(self, events: Sequence[sc.StreamEvent]) -> None:
        """A job of one's own changed: so did the cards."""
        if (
            any(isinstance(event, sc.JobChanged) for event in events)
            and time.monotonic() > self._asked_s + 1.0
        ):
            await self._frame.quietly(self.refresh)

    async def _tick(self) -> None:
        if not self._frame.is_away and time.monotonic() > self._asked_s + REFRESH_EVERY_S - 0.5:
            await self._frame.quietly(self.refresh)

    def _show(self, nodes: Sequence[sc.Node]) -> None:
        say, voice = self._frame.say, self._frame.voice
        self._list.clear()
        with self._list:
            for node in nodes[:LISTED]:
                rests = node.rests_until_ms is not None
                state = (
                    "lost" if node.lost else "cordoned" if node.cordoned else "resting" if rests else "ready"
                )
                used = say("nodes.used", used=node.used, cards=node.cards, kind=node.kind)
                broken = (
                    [tag("span", voice.count("cluster.broken", len(node.broken)), cls="is-bad")]
                    if node.broken
                    else []
                )
                with ui.element("div").classes("sv-line"):
                    name = tag("b", node.node), " ", badge(voice, state)
                    shown(tag("div", *name, tag("div", used, " ", *broken, cls="sv-dim num")), "sv-grow")
                    if self._operator and not node.lost:
                        self._buttons(node)
            if len(nodes) > LISTED:
                shown(tag("p", voice.count("nodes.more", len(nodes) - LISTED), cls="sv-dim"))

    def _buttons(self, node: sc.Node) -> None:
        say = self._frame.say
        for what, on in (
            ("uncordon", node.cordoned or node.rests_until_ms is not None),
            ("cordon", not node.cordoned),
            ("drain", node.used > 0 or not node.cordoned),
        ):
            if on:
                weight: Weight = "grave-line" if what == "drain" else "line"
                button(say(f"nodes.{what}"), partial(self._do, what, node.node), weight, "dense")

    async def _do(self, what: str, node: str) -> None:
        say = self._frame.say
        title = say(f"nodes.{what}_title", node=node)
        if not await sure(
            self._frame.voice, title, say(f"nodes.{what}_text"), say(f"nodes.{what}"), what == "drain"
        ):
            return
        calls = {
            "cordon": self._frame.api.cordon,
            "drain": self._frame.api.drain,
            "uncordon": self._frame.api.uncordon,
        }
        if await self._frame.act(calls[what], node) is not None:
            self._frame.tell(say(f"nodes.{what}_done", node=node))
        await self._frame.quietly(self.refresh)

    def _show_runs(self, jobs: Sequence[sc.Job]) -> None:
        say = self._frame.say
        self._runs.clear()
        with self._runs:
            if not jobs:
                shown(empty(say("nodes.no_runs")))
            for job in jobs:
                self._show_run(job)

    def _show_run(self, job: sc.Job) -> None:
        with ui.element("div").classes("sv-line"):
            link = tag("a", name_of(job), href=f"/jobs/{job.job}", cls="sv-name")
            shown(tag("div", link, tag("div", joined([job.run]), cls="sv-dim sv-id")), "sv-grow")
            drill.controls(self._frame, ceil(job.cards_max), lambda: job, self.refresh)
