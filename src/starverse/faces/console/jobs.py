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
        self._asked_s = 0.0
        say = frame.say
        with page_title(say("jobs.title")):
            shown(tag("a", say("overview.new_job"), href="/submit", cls="sv-button"))
        shown(self._filters(), "sv-filters")
        with panel():
            self._table = shown(Markup(""))
            self._pager = Pager(frame.voice, lambda: frame.quietly(self.refresh))

    async def refresh(self) -> None:
        """Read the page anew that is shown."""
        self._asked_s = time.monotonic()
        api = self._frame.api
        page = await self._frame.ask(
            api.jobs, phase=self._phase, cursor=self._pager.cursor, limit=PAGE, everyone=self._everyone
        )
        self._pager.show(page.cursor)
        voice = self._frame.voice
        if page.items:
            now_ms = int(time.time() * 1000)
            self._table.set_content(jobs_table(voice, page.items, now_ms, with_owner=self._everyone))
        else:
            action = (voice.say("overview.new_job"), "/submit")
            key = f"jobs.none_{self._phase}" if self._phase else "jobs.none"
            self._table.set_content(empty(voice.say(key), "", None if self._phase else action))

    async def hear(self, events: Sequence[sc.StreamEvent]) -> None:
        """A job changed: read the page again, at most once a second."""
        for event in events:
            if isinstance(event, sc.WalletChanged):
                self._frame.head.purse(event.wallet)
        if any(isinstance(event, sc.JobChanged) for event in events):
            wait_s = self._asked_s + SOON_S - time.monotonic()
            if wait_s <= 0:
                await self._frame.quietly(self.refresh)
            else:
                self._asked_s = time.monotonic()
                ui.timer(wait_s, lambda: self._frame.quietly(self.refresh), once=True)

    def _filters(self) -> Markup:
        say = self._frame.say
        more = "everyone=1" if self._everyone else ""
        links = []
        for phase in PHASES:
            query = "&".join(filter(None, (f"phase={phase}" if phase else "", more)))
            here = "page" if phase == self._phase else None
            links.append(tag("a", say(f"jobs.filter_{phase or 'all'}"), href=f"/jobs?{query}" if query else "/jobs",
                             aria_current=here))  # fmt: skip
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
