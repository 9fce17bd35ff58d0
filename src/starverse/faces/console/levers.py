"""What an operator types to set a limit or to remove one, and the forms it is typed into."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from nicegui import ui

from starverse.faces import schemas as sc
from starverse.faces.console.controls import button
from starverse.faces.console.frame import Frame
from starverse.faces.console.panels import sure
from starverse.faces.typed import amount, bound, whole
from starverse.model.errors import BadInput, StarverseError

NONE = "-"
"""The parent of a quota at the root of the tree."""

Refresh = Callable[[], Awaitable[None]]


@dataclass
class QuotaWishes:
    """The fields of a quota as they stand. Mutable: the form writes here."""

    tenant: str = ""
    parent: str = ""
    guaranteed: str = ""
    borrow_max: str = ""
    lend_max: str = ""
    weight: str = ""

    def ask(self, known: Mapping[str, sc.Quota]) -> sc.Quota:
        """The quota; what is empty stays as it is. Raises BadInput for what cannot be read."""
        name = named(self.tenant)
        wanted = known.get(name) or sc.Quota(name, "", 1, 0, None, None)
        if self.parent.strip():
            parent = self.parent.strip()
            wanted = replace(wanted, parent="" if parent == NONE else parent)
        if self.guaranteed.strip():
            wanted = replace(wanted, guaranteed=amount(self.guaranteed))
        if self.borrow_max.strip():
            wanted = replace(wanted, borrow_max=bound(self.borrow_max))
        if self.lend_max.strip():
            wanted = replace(wanted, lend_max=bound(self.lend_max))
        if self.weight.strip():
            wanted = replace(wanted, weight=whole(self.weight))
        return wanted


@dataclass
class LicenceWishes:
    """A licence and how many there are. Mutable: the form writes here."""

    licence: str = ""
    count: str = ""


@dataclass
class BudgetWishes:
    """A feed and what it gives. Mutable: the form writes here."""

    feed: str = ""
    watts: str = ""


def named(text: str) -> str:
    """A name. Raises BadInput for none."""
    if not text.strip():
        raise BadInput("There is no name.", "Write whose limit it is.")
    return text.strip()


class Levers:
    """Mutable owner of the forms of one open page; `known` are the quotas that are set, by tenant."""

    def __init__(self, frame: Frame, refresh: Refresh) -> None:
        self.known: Mapping[str, sc.Quota] = {}
        self._frame = frame
        self._refresh = refresh

    def quota(self) -> None:
        """Draw the form of a quota."""
        say, wishes = self._frame.say, QuotaWishes()
        with ui.element("div").classes("sv-form-grid"):
            _text(wishes, "tenant", say("limits.tenant"), say("limits.tenant_hint"))
            _text(wishes, "parent", say("limits.parent"), say("limits.parent_hint"))
            _text(wishes, "guaranteed", say("limits.guaranteed"), say("limits.cards"))
            _text(wishes, "borrow_max", say("limits.borrows"), say("limits.cards_or_any"))
            _text(wishes, "lend_max", say("limits.lends"), say("limits.cards_or_any"))
            _text(wishes, "weight", say("limits.weight"))
        api = self._frame.api

        async def remove() -> None:
            tenant = named(wishes.tenant)
            title, yes = say("limits.remove_title", name=tenant), say("limits.remove")
            if await sure(self._frame.voice, title, say("limits.remove_text"), yes):
                await self._frame.ask(api.remove_quota, tenant)
                self._frame.tell(say("limits.removed", name=tenant))

        async def put() -> None:
            made = await self._frame.ask(api.set_quota, wishes.ask(self.known))
            self._frame.tell(say("limits.done", name=made.tenant))

        with ui.element("div").classes("sv-row"):
            button(say("limits.set_quota"), partial(self._do, put))
            button(say("limits.remove"), partial(self._do, remove), "grave-line")

    def licence(self) -> None:
        """Draw the form of a licence."""
        say, wishes = self._frame.say, LicenceWishes()

        async def put() -> None:
            ask = self._frame.api.set_licence
            made = await self._frame.ask(ask, named(wishes.licence), whole(wishes.count))
            self._frame.tell(say("limits.done", name=made.licence))

        with ui.element("div").classes("sv-form-grid"):
            _text(wishes, "licence", say("limits.licence"))
            _text(wishes, "count", say("limits.count"))
        with ui.element("div").classes("sv-row"):
            button(say("limits.set_licence"), partial(self._do, put))

    def budget(self) -> None:
        """Draw the form of a feed's budget."""
        say, wishes = self._frame.say, BudgetWishes()

        async def put() -> None:
            made = await self._frame.ask(self._frame.api.set_budget, named(wishes.feed), bound(wishes.watts))
            self._frame.tell(say("limits.done", name=made.feed))

        with ui.element("div").classes("sv-form-grid"):
            _text(wishes, "feed", say("limits.feed"))
            _text(wishes, "watts", say("limits.watts"), say("limits.watts_or_any"))
        with ui.element("div").classes("sv-row"):
            button(say("limits.set_budget"), partial(self._do, put))

    async def _do(self, act: Refresh) -> None:
        """Do what a button says, or say why that cannot be."""
        try:
            await act()
        except StarverseError as error:
            await self._frame.fail(error)
            return
        await self._frame.quietly(self._refresh)


def _text(wishes: object, name: str, label: str, hint: str = "") -> None:
    field = ui.input(label).classes("sv-field")
    field.props("outlined dense" + (f' hint="{hint}"' if hint else ""))
    field.on_value_change(lambda event: setattr(wishes, name, event.value or ""))
