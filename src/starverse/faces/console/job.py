"""The page of one job: where it stands and why, its lives, its loss, its output, its cost and its files."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from nicegui import ui

from starverse.faces import schemas as sc
from starverse.faces.console import drill, lives
from starverse.faces.console.controls import button
from starverse.faces.console.curve import Curve
from starverse.faces.console.frame import Frame
from starverse.faces.console.job_facts import (
    details,
    figures,
    files_table,
    history,
    progress,
    progress_of,
    reason,
    title,
)
from starverse.faces.console.live import PATIENCE_S
from starverse.faces.console.markup import Markup, shown, tag
from starverse.faces.console.output import Output
from starverse.faces.console.panels import panel, sure
from starverse.faces.console.rows import jobs_table

TICK_S = 1.0
MEMBERS_SHOWN = 100
POLL_EVERY = 3
"""Every third tick of a job that is alive, what no event tells is read: cost, checkpoints, the wallet."""


async def build(frame: Frame, job: str) -> None:
    """Fill the page."""
    api, ask = frame.api, frame.ask
    found = await ask(api.job, job)  # one that is not there is told before anything is drawn
    page = _JobPage(frame, found)
    await page.refresh()
    frame.on_look(page.restyle)
    frame.follow(
        lambda client: client.stream(job, from_now=True, patience_s=PATIENCE_S), page.hear, page.refresh
    )


class _JobPage:
    """Mutable owner of one open page: the job as last heard of, its runs, and what is drawn of them."""

    def __init__(self, frame: Frame, job: sc.Job) -> None:
        self._frame = frame
        self._id = job.job
        self._job = job
        self._runs: tuple[sc.Run, ...] = ()
        self._moments: tuple[sc.Moment, ...] = ()
        self._why: sc.Why | None = None
        self._ticks = 0
        self._logs_due = False
        self._curved = True
        say = frame.say
        with ui.element("div").classes("sv-title"):
            self._title = shown(Markup(""), "sv-job-title")
            with ui.element("div").classes("sv-actions"):
                self._resume = button(say("job.resume"), self._ask_resume)
                self._stop = button(say("job.stop"), self._ask_stop, "grave-line")
        self._reason = shown(Markup(""), "sv-wide")
        self._figures = shown(Markup(""), "sv-tiles")
        self._progress = shown(Markup(""), "sv-wide")
        with panel(say("lives.title")):
            self._lives = shown(Markup(""))
        with ui.element("div").classes("sv-columns wide-left") as self._columns:
            self._curve_place = ui.element("div")
            with self._curve_place, panel(say("curve.title")) as corner:
                with corner:
                    log = ui.checkbox(say("curve.log")).props("dense")
                self._curve = Curve(frame.voice)
                log.on_value_change(lambda event: self._set_log(bool(event.value)))
            with ui.element("div"), panel(say("output.title")):
                self._output = Output(frame, job.job)
                self._no_curve = shown(tag("p", say("curve.none"), cls="sv-dim"))
                self._no_curve.set_visibility(False)
        with ui.element("div").classes("sv-columns"):
            with panel(say("files.title")):
                self._files = shown(Markup(""))
            with panel(say("job.details")):
                self._details = shown(details(frame.voice, job))
        self._members = ui.element("div").classes("sv-wide")
        self._members.set_visibility(bool(job.array))
        with self._members, panel(say("asked.members")):
            self._array = shown(Markup(""))
        self._drill = ui.element("div").classes("sv-wide")
        with self._drill, panel(say("nodes.drill")):
            shown(tag("p", say("nodes.drill_text"), cls="sv-dim"))
            with ui.element("div").classes("sv-line"):
                drill.controls(frame, ceil(job.cards_max), lambda: self._job, self.refresh)
        with ui.expansion(say("job.history")).classes("sv-panel sv-history").props("dense"):
            self._history = shown(Markup(""))
        ui.timer(TICK_S, self._tick, immediate=False)

    # -- what is heard ------------------------------------------------------------------------------------

    async def refresh(self) -> None:
        """Read everything anew."""
        api, ask, job = self._frame.api, self._frame.ask, self._id
        self._job, self._runs, self._moments = await asyncio.gather(
            ask(api.job, job), ask(api.runs, job), ask(api.timeline, job)
        )
        if self._job.array:
            members = await ask(api.jobs, array=self._job.array, limit=MEMBERS_SHOWN)
            self._array.set_content(jobs_table(self._frame.voice, members.items, time.time_ns() // 1_000_000))
        metrics, wallet, files, _ = await asyncio.gather(
            ask(api.metrics, job, 500), ask(api.wallet), self._list_files(), self._explain()
        )
        self._frame.head.purse(wallet)
        self._curve.clear()
        self._curve.add(metrics)
        self._show_files(files)
        self._output.show_runs(self._runs)
        self._draw()
        await self._output.read_on()

    async def hear(self, events: Sequence[sc.StreamEvent]) -> None:
        """Take up what the stream tells."""
        changed = False
        for event in events:
            match event:
                case sc.JobChanged(job, runs) if job.job == self._id:
                    changed = changed or job.phase != self._job.phase or len(runs) != len(self._runs)
                    self._take(job)
                    self._runs = runs or self._runs
                case sc.Ended(job):
                    self._take(job)
                    changed = True
                case sc.Metric():
                    self._job = replace(self._job, progress=progress_of(event))
                case sc.WalletChanged(wallet):
                    self._frame.head.purse(wallet)
                case sc.LogText():
                    self._logs_due = True
                case _:
                    pass
        self._curve.add([event for event in events if isinstance(event, sc.Metric)])
        if changed:
            await self._frame.quietly(self.refresh)
        else:
            self._draw()
        if self._logs_due:
            self._logs_due = False
            await self._frame.quietly(self._output.read_on)

    def _take(self, job: sc.Job) -> None:
        """The job as it is now; one that is told without its progress keeps what is known of it."""
        self._job = job if job.progress else replace(job, progress=self._job.progress)

    async def _tick(self) -> None:
        """Time itself changes the page of a job that is alive: durations, cost, the length of its bar."""
        if self._job.phase == "ended" or self._frame.is_away:
            return
        self._ticks += 1
        if self._ticks % POLL_EVERY == 0:
            await self._frame.quietly(self._poll)
        self._draw()

    async def _poll(self) -> None:
        api, ask = self._frame.api, self._frame.ask
        job, self._moments, wallet, _ = await asyncio.gather(
            ask(api.job, self._id), ask(api.timeline, self._id), ask(api.wallet), self._explain()
        )
        self._frame.head.purse(wallet)
        if job.phase != self._job.phase:
            await self.refresh()
        self._take(job)

    async def _explain(self) -> None:
        """Why it waits, or is paused; one that runs needs no reason."""
        if self._job.phase in ("waiting", "paused"):
            self._why = await self._frame.ask(self._frame.api.why, self._id)
        else:
            self._why = None

    async def _list_files(self) -> tuple[sc.OutputFile, ...]:
        return await self._frame.ask(self._frame.api.files, self._id) if self._job.runs else ()

    # -- what is drawn ------------------------------------------------------------------------------------

    def _draw(self) -> None:
        voice, job, now_ms = self._frame.voice, self._job, int(time.time() * 1000)
        last = self._runs[-1] if self._runs else None
        self._title.set_content(title(voice, job))
        self._reason.set_content(reason(voice, job, self._why, last))
        self._figures.set_content(figures(voice, job, last, now_ms))
        self._progress.set_content(progress(voice, job, last, now_ms))
        self._lives.set_content(
            lives.picture(voice, job, self._runs, self._moments, now_ms)
            if self._runs
            else tag("p", voice.say("lives.none"), cls="sv-dim")
        )
        self._curve.draw(self._runs)
        if self._curved != self._curve.has_points:
            self._curved = self._curve.has_points
            self._curve_place.set_visibility(self._curved)
            self._no_curve.set_visibility(not self._curved)
            self._columns.classes(toggle="single")
        self._history.set_content(history(voice, self._moments))
        self._stop.set_visibility(job.phase not in ("ended", "stopping"))
        self._resume.set_visibility(job.phase == "paused")
        self._drill.set_visibility(job.phase == "running" and self._frame.session.row.operator)

    def _show_files(self, files: Sequence[sc.OutputFile]) -> None:
        self._files.set_content(files_table(self._frame.voice, self._id, files))

    def _set_log(self, log: bool) -> None:
        self._curve.set_log(log)
        self._curve.draw(self._runs)

    def restyle(self) -> None:
        """Draw the chart again: the page has turned dark, or light."""
        self._curve.restyle()
        self._curve.draw(self._runs)

    # -- what can be done ---------------------------------------------------------------------------------

    async def _ask_stop(self) -> None:
        say, voice = self._frame.say, self._frame.voice
        running = self._job.phase in ("starting", "running")
        text = say("job.stop_text_running" if running else "job.stop_text", cost=voice.money(self._job.cost))
        if await sure(voice, say("job.stop_title"), text, say("job.stop")):
            job = await self._frame.act(self._frame.api.stop, self._id)
            if job is not None:
                self._frame.tell(say("job.stop_done"))
                await self._frame.quietly(self.refresh)

    async def _ask_resume(self) -> None:
        say, voice = self._frame.say, self._frame.voice
        hour = voice.rate(round(self._job.price * self._job.cards_max))
        if await sure(
            voice, say("job.resume_title"), say("job.resume_text", rate=hour), say("job.resume"), grave=False
        ):
            job = await self._frame.act(self._frame.api.resume, self._id)
            if job is not None:
                await self._frame.quietly(self.refresh)
