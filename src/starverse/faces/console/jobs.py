"""The list of jobs, by phase, page by page."""

import time
from collections.abc import Sequence

from nicegui import ui

from starverse.faces import schemas as sc
from starverse.faces.console.controls import Pager
from starverse.faces.console.frame import Frame
from starverse.faces.console.markup import Markup, shown, tag
from starverse.faces.console.panels import page_title, panel
from starverse.faces.console.rows import jobs_table
from starverse.faces.console.states import empty

PAGE = 25
PHASES = ("", "running", "waiting", "paused", "ended")
SOON_S = 1.0


async def build(frame: Frame, phase: str = "", everyone: str = "") -> None:
    """Fill the page."""
    page = _Jobs(frame, phase if phase in PHASES else "", bool(everyone) and frame.session.row.operator)
    await page.refresh()
    frame.follow(None, page.hear, page.refresh)


class _Jobs:
    """Mutable owner of one open list: the cursors of the pages before, and what is shown."""

    def __init__(self, frame: Frame, phase: str, everyone: bool) -> None:
        self._frame = frame
        self._phase = phase
        self._everyone = everyone
        self._jobs: dict[str, sc.Job] = {}
        self._heard: dict[str, str] = {}
        self._stale = False
        say = frame.say
        with page_title(say("jobs.title")):
            shown(tag("a", say("overview.new_job"), href="/submit", cls="sv-button"))
        shown(self._filters(), "sv-filters")
        with panel():
            self._table = shown(Markup(""))
            self._pager = Pager(frame.voice, lambda: frame.quietly(self.refresh))
        ui.timer(SOON_S, self._tick, immediate=False)

    async def refresh(self) -> None:
        """Read the page anew that is shown."""
        self._stale = False
        page = await self._frame.ask(
            self._frame.api.jobs,
            phase=self._phase,
            cursor=self._pager.cursor,
            limit=PAGE,
            everyone=self._everyone,
        )
        self._jobs = {job.job: job for job in page.items}
        self._heard |= {job.job: job.phase for job in page.items}
        self._pager.show(page.cursor)
        self._show()

    async def hear(self, events: Sequence[sc.StreamEvent]) -> None:
        """Take up what is told; a job that is new or in another phase has the page read anew soon."""
        for event in events:
            match event:
                case sc.JobChanged(job):
                    self._stale = self._stale or self._heard.get(job.job) != job.phase
                    self._heard[job.job] = job.phase
                    if job.job in self._jobs:
                        self._jobs[job.job] = job
                case sc.WalletChanged(wallet):
                    self._frame.head.purse(wallet)
                case _:
                    pass
        self._show()

    async def _tick(self) -> None:
        if self._stale and not self._frame.is_away:
            await self._frame.quietly(self.refresh)

    def _show(self) -> None:
        voice = self._frame.voice
        if self._jobs:
            now_ms = int(time.time() * 1000)
            jobs = tuple(self._jobs.values())
            self._table.set_content(jobs_table(voice, jobs, now_ms, with_owner=self._everyone))
        else:
            action = (voice.say("overview.new_job"), "/submit")
            key = f"jobs.none_{self._phase}" if self._phase else "jobs.none"
            self._table.set_content(empty(voice.say(key), "", None if self._phase else action))

    def _filters(self) -> Markup:
        say = self._frame.say
        more = "everyone=1" if self._everyone else ""
        links = []
        for phase in PHASES:
            query = "&".join(filter(None, (f"phase={phase}" if phase else "", more)))
            here = "page" if phase == self._phase else None
            href = f"/jobs?{query}" if query else "/jobs"
            links.append(tag("a", say(f"jobs.filter_{phase or 'all'}"), href=href, aria_current=here))
        nav = tag("nav", *links, aria_label=say("jobs.filter"), cls="sv-chips")
        if not self._frame.session.row.operator:
            return nav
        query = "&".join(
            filter(None, (f"phase={self._phase}" if self._phase else "", "" if more else "everyone=1"))
        )
        link = tag(
            "a", say("jobs.mine" if self._everyone else "jobs.everyone"), href=f"/jobs?{query}", cls="sv-chip"
        )
        return tag("div", nav, link, cls="sv-filter-row")
