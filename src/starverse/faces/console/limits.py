"""The operator's limits, and forms to set them: quotas of the tree of tenants, licences, budgets, rests."""

import asyncio
from collections.abc import Callable

from nicegui import ui

from starverse.faces import schemas as sc
from starverse.faces.console.frame import Frame
from starverse.faces.console.levers import Levers
from starverse.faces.console.markup import Markup, shown, tag
from starverse.faces.console.panels import page_title, panel
from starverse.faces.console.rows import Column, table
from starverse.faces.console.voice import Voice


async def build(frame: Frame) -> None:
    """Fill the page."""
    page = _Limits(frame)
    await page.refresh()


class _Limits:
    """Mutable owner of one open page of limits."""

    def __init__(self, frame: Frame) -> None:
        say = frame.say
        self._frame = frame
        self._levers = Levers(frame, self.refresh)
        self._tables: list[tuple[ui.html, Callable[[Voice, sc.Limits], Markup]]] = []
        page_title(say("limits.title"), say("limits.under"))
        for title, draw, form in (
            (say("limits.quotas"), quotas, self._levers.quota),
            (say("limits.licences"), licences, self._levers.licence),
            (say("limits.budgets"), budgets, self._levers.budget),
            (say("limits.resting"), resting, None),
        ):
            with panel(title):
                with ui.element("div").classes("sv-wide"):
                    self._tables.append((shown(Markup("")), draw))
                if form:
                    form()

    async def refresh(self) -> None:
        """Read all that is set anew."""
        frame = self._frame
        found, wallet = await asyncio.gather(frame.ask(frame.api.limits), frame.ask(frame.api.wallet))
        frame.head.purse(wallet)
        self._levers.known = {each.tenant: each for each in found.quotas}
        for place, draw in self._tables:
            place.set_content(draw(frame.voice, found))


def quotas(voice: Voice, found: sc.Limits) -> Markup:
    """The tree of tenants, those under a parent set in."""
    say = voice.say
    columns = [
        Column(say("limits.tenant")),
        Column(say("limits.guaranteed"), figures=True),
        Column(say("limits.borrows"), figures=True),
        Column(say("limits.lends"), figures=True),
        Column(say("limits.weight"), figures=True),
        Column(say("limits.used"), figures=True),
        Column(say("limits.left"), figures=True),
    ]
    depth: dict[str, int] = {}
    rows = []
    for each in found.quotas:
        depth[each.tenant] = depth.get(each.parent, -1) + 1
        numbers = f"{each.guaranteed:g}", _bound(voice, each.borrow_max), _bound(voice, each.lend_max)
        name = "· " * depth[each.tenant] + each.tenant
        rows.append((name, *numbers, str(each.weight), f"{each.used:g}", f"{each.left:g}"))
    return table(columns, rows, say("limits.quotas")) if rows else _nothing(voice)


def licences(voice: Voice, found: sc.Limits) -> Markup:
    """How many of each there are, and how many runs have."""
    say = voice.say
    columns = [
        Column(say("limits.licence")),
        Column(say("limits.count"), figures=True),
        Column(say("limits.used"), figures=True),
    ]
    rows = [(each.licence, voice.number(each.count), voice.number(each.used)) for each in found.licences]
    return table(columns, rows, say("limits.licences")) if rows else _nothing(voice)


def budgets(voice: Voice, found: sc.Limits) -> Markup:
    """What each feed may give, and what is drawn from those with a budget."""
    say = voice.say
    columns = [
        Column(say("limits.feed")),
        Column(say("limits.watts"), figures=True),
        Column(say("limits.drawn"), figures=True),
    ]
    rows = [(each.feed, _bound(voice, each.watts), voice.number(each.drawn_watts)) for each in found.budgets]
    return table(columns, rows, say("limits.budgets")) if rows else _nothing(voice)


def resting(voice: Voice, found: sc.Limits) -> Markup:
    """The nodes that were lost again and again, and until when they rest."""
    say = voice.say
    columns = [
        Column(say("limits.node")),
        Column(say("limits.until"), figures=True),
        Column(say("limits.losses"), figures=True),
    ]
    rows = [(each.node, voice.when(each.rests_until_ms), str(each.losses)) for each in found.resting]
    return table(columns, rows, say("limits.resting")) if rows else _nothing(voice)


def _bound(voice: Voice, number: float | None) -> str:
    return voice.say("limits.any") if number is None else f"{number:,g}"


def _nothing(voice: Voice) -> Markup:
    return tag("p", voice.say("limits.nothing"), cls="sv-dim")
