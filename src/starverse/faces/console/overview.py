"""The first page: what is free, what runs, what is left, and where to begin."""

import asyncio
import secrets
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from nicegui import ui

import starverse
from starverse.faces import schemas as sc
from starverse.faces.client import Client
from starverse.faces.console import cluster_picture
from starverse.faces.console.controls import button
from starverse.faces.console.frame import Frame
from starverse.faces.console.markup import Markup, joined, shown, tag
from starverse.faces.console.panels import copyable, page_title, panel, tile
from starverse.faces.console.rows import jobs_table

RECENT = 8
MINE_SHOWN = 12
TICK_S = 1.0
REFRESH_EVERY_S = 5.0
EXAMPLE = Path(starverse.__file__).parent / "train/examples/characters.py"


async def build(frame: Frame) -> None:
    """Fill the page."""
    page = _Overview(frame)
    await page.refresh()
    frame.follow(None, page.hear, page.refresh)


class _Overview:
    """Mutable owner of one open overview."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        say = frame.say
        self._jobs: dict[str, sc.Job] = {}
        self._more = False
        self._cluster: sc.Cluster | None = None
        self._wallet: sc.Wallet | None = None
        self._stale_s = 0.0
        actions = page_title(say("overview.title"))
        with actions:
            shown(tag("a", say("overview.new_job"), href="/submit", cls="sv-button"))
        self._tiles = shown(Markup(""), "sv-tiles")
        self._begin = ui.element("div").classes("sv-wide")
        with panel(say("cluster.title")):
            self._picture = shown(Markup(""))
        with panel(say("overview.recent")) as corner:
            with corner:
                shown(tag("a", say("overview.all_jobs"), href="/jobs"))
            self._recent = shown(Markup(""))
        ui.timer(TICK_S, self._tick, immediate=False)

    async def refresh(self) -> None:
        """Read everything anew."""
        self._stale_s = time.monotonic() + REFRESH_EVERY_S
        api, ask = self._frame.api, self._frame.ask
        self._cluster, nodes, self._wallet = await asyncio.gather(
            ask(api.cluster), ask(api.nodes), ask(api.wallet)
        )
        recent, running, waiting = await asyncio.gather(
            ask(api.jobs, limit=50),
            ask(api.jobs, phase="running", limit=100),
            ask(api.jobs, phase="waiting", limit=100),
        )
        self._jobs = {job.job: job for page in (recent, running, waiting) for job in page.items}
        self._more = bool(recent.cursor)
        mine = await self._mine(running.items[:MINE_SHOWN])
        self._picture.set_content(cluster_picture.picture(self._frame.voice, nodes, mine))
        self._show()

    async def hear(self, events: Sequence[sc.StreamEvent]) -> None:
        """Take up what is told; where jobs began or ended, cards changed hands, and all is read anew soon."""
        for event in events:
            match event:
                case sc.JobChanged(job):
                    known = self._jobs.get(job.job)
                    if known is None or known.phase != job.phase:
                        self._stale_s = min(self._stale_s, time.monotonic() + TICK_S)
                    self._jobs[job.job] = job
                case sc.WalletChanged(wallet):
                    self._wallet = wallet
                case _:
                    pass
        self._show()

    async def _tick(self) -> None:
        """Other people's jobs take and free cards too, and no stream of one's own tells of them."""
        if time.monotonic() > self._stale_s and not self._frame.is_away:
            await self._frame.quietly(self.refresh)

    async def _mine(self, jobs: Sequence[sc.Job]) -> dict[str, frozenset[int]]:
        runs = await asyncio.gather(*(self._frame.ask(self._frame.api.runs, job.job) for job in jobs))
        cards: dict[str, set[int]] = {}
        for each in runs:
            for place in each[-1].places if each and each[-1].ended_ms is None else ():
                cards.setdefault(place.node, set()).update(place.cards)
        return {node: frozenset(here) for node, here in cards.items()}

    def _show(self) -> None:
        if self._cluster is None or self._wallet is None:
            return
        cluster, wallet = self._cluster, self._wallet
        voice, now_ms = self._frame.voice, int(time.time() * 1000)
        self._frame.head.purse(wallet)
        jobs = sorted(self._jobs.values(), key=lambda job: job.submitted_ms, reverse=True)
        kinds = [_kind(self._frame, kind) for kind in cluster.kinds]
        money, counts = _money(self._frame, wallet, now_ms), _counts(self._frame, jobs, self._more)
        self._tiles.set_content(joined([money, counts, *kinds]))
        self._recent.set_content(
            jobs_table(voice, jobs[:RECENT], now_ms)
            if jobs
            else tag("p", voice.say("jobs.none"), cls="sv-dim")
        )
        if jobs:
            self._begin.clear()
        elif not self._begin.default_slot.children:
            with self._begin:
                _first_steps(self._frame)


def _money(frame: Frame, wallet: sc.Wallet, now_ms: int) -> Markup:
    voice = frame.voice
    if wallet.empty_ms is not None and wallet.spent_per_hour:
        under = voice.say("overview.lasts", rate=voice.rate(wallet.spent_per_hour),
                          time=voice.lasts(wallet.empty_ms - now_ms))  # fmt: skip
    else:
        under = voice.say("overview.spends_nothing")
    return tile(voice.say("wallet.available"), voice.money(wallet.available), under)


def _counts(frame: Frame, jobs: Sequence[sc.Job], more: bool) -> Markup:
    say = frame.say
    running = sum(job.phase in ("starting", "running", "stopping", "settling") for job in jobs)
    waiting = sum(job.phase in ("waiting", "paused") for job in jobs)
    ended = f"{sum(job.phase == 'ended' for job in jobs)}{'+' if more else ''}"
    parts = [
        tag("span", tag("b", count, cls="num"), tag("span", say(f"overview.{name}")), cls=f"is-{name}")
        for name, count in (("running", running), ("waiting", waiting), ("ended", ended))
    ]
    return tile(say("overview.your_jobs"), tag("span", *parts, cls="sv-counts"))


def _kind(frame: Frame, kind: sc.Kind) -> Markup:
    voice = frame.voice
    free = voice.say("overview.free", free=voice.number(kind.free), cards=voice.number(kind.cards))
    return tile(voice.say("overview.cards_of", kind=kind.kind), free,
                voice.say("unit.per_card_hour", money=voice.money(kind.price)))  # fmt: skip


def _first_steps(frame: Frame) -> None:
    say = frame.say
    key = secrets.token_hex(16)  # one page, one example, however often the button is pressed

    async def go() -> None:
        run.disable()
        job = await frame.act(_submit_example, frame.api, key)
        if job is not None:
            frame.go(f"/jobs/{job.job}")
        else:
            run.enable()

    with panel(say("overview.begin"), "sv-begin"):
        shown(tag("p", say("overview.begin_text")))
        copyable(frame.voice, "starverse submit --cards 1:2 -- train.py")
        with ui.element("div").classes("sv-row"):
            run = button(say("overview.example"), go)
            shown(tag("a", say("overview.own_script"), href="/submit"))
        shown(tag("p", say("overview.example_text"), cls="sv-dim"))


def _submit_example(api: Client, key: str) -> sc.Job:
    """Train the small model that ships with Starverse, as an elastic job on up to two cards."""
    most = max((kind.cards for kind in api.cluster().kinds), default=1)
    with tempfile.TemporaryDirectory(prefix="starverse-console-") as folder:
        (Path(folder) / EXAMPLE.name).write_bytes(EXAMPLE.read_bytes())
        snapshot = api.upload(folder)
    ask = sc.JobAsk((EXAMPLE.name, "--steps", "400"), "1:2" if most > 1 else 1, name="example",
                    snapshot=snapshot.snapshot)  # fmt: skip
    return api.submit(ask, key)
