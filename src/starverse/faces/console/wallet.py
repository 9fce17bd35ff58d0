"""The wallet: what is there, what is held, how long it lasts, and every movement of it."""

import asyncio
import time
from collections.abc import Sequence

from starverse.faces import schemas as sc
from starverse.faces.console.controls import Pager
from starverse.faces.console.frame import Frame
from starverse.faces.console.markup import Markup, joined, shown
from starverse.faces.console.panels import page_title, panel, tile
from starverse.faces.console.rows import name_of
from starverse.faces.console.statement import statement
from starverse.faces.console.states import empty
from starverse.model.errors import Refused

PAGE = 25
NAMES = 200
"""So many jobs, the newest, are known by name on the statement; older ones are shown by their ids."""


async def build(frame: Frame) -> None:
    """Fill the page."""
    page = _Wallet(frame)
    await page.refresh()
    frame.follow(None, page.hear, page.refresh)


class _Wallet:
    """Mutable owner of one open wallet page."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._names: dict[str, str] = {}
        self._moved = (0, 0)
        say = frame.say
        page_title(say("wallet.title"), say("wallet.under"))
        self._tiles = shown(Markup(""), "sv-tiles")
        with panel(say("wallet.statement")):
            self._table = shown(Markup(""))
            self._pager = Pager(frame.voice, lambda: frame.quietly(self._statement))

    async def refresh(self) -> None:
        """Read wallet and statement anew."""
        api = self._frame.api
        wallet, _ = await asyncio.gather(self._frame.ask(api.wallet), self._statement())
        self._show(wallet)

    async def hear(self, events: Sequence[sc.StreamEvent]) -> None:
        """Money moved, or only its use went on: then no line was added to the statement."""
        changed = [event.wallet for event in events if isinstance(event, sc.WalletChanged)]
        if changed:
            moved = self._moved != (changed[-1].available, changed[-1].held)
            self._show(changed[-1])
            if moved:
                await self._frame.quietly(self._statement)

    def _show(self, wallet: sc.Wallet) -> None:
        voice = self._frame.voice
        self._moved = (wallet.available, wallet.held)
        self._frame.head.purse(wallet)
        left_ms = wallet.empty_ms - int(time.time() * 1000) if wallet.empty_ms is not None else None
        lasts = voice.say("wallet.lasts", time=voice.lasts(left_ms)) if left_ms is not None else None
        self._tiles.set_content(
            joined(
                [
                    tile(voice.say("wallet.available"), voice.money(wallet.available), lasts),
                    tile(voice.say("wallet.held"), voice.money(wallet.held), voice.say("wallet.held_text")),
                    tile(voice.say("wallet.used"), voice.money(wallet.used), voice.say("wallet.used_text")),
                    tile(
                        voice.say("wallet.rate"),
                        voice.rate(wallet.spent_per_hour),
                        voice.say("wallet.rate_text"),
                    ),
                ]
            )
        )

    async def _statement(self) -> None:
        voice = self._frame.voice
        try:
            page = await self._frame.ask(self._frame.api.statement, cursor=self._pager.cursor, limit=PAGE)
        except Refused as error:  # a member who is no owner sees the wallet but not its movements
            self._table.set_content(empty(voice.error(error.what, error.remedy)))
            return
        self._pager.show(page.cursor)
        if not {line.job for line in page.items if line.job} <= self._names.keys():
            jobs = await self._frame.ask(self._frame.api.jobs, limit=NAMES)
            self._names = {line.job: line.job for line in page.items} | {
                job.job: name_of(job) for job in jobs.items
            }
        self._table.set_content(
            statement(voice, page.items, self._names) if page.items else empty(voice.say("wallet.nothing"))
        )
