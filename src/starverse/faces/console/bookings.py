"""Reservations: what is booked and when it comes next, what was, a form to book more, and giving it back."""

import asyncio
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from nicegui import ui

from starverse.faces import schemas as sc
from starverse.faces.console.asked import lies
from starverse.faces.console.controls import button
from starverse.faces.console.frame import Frame
from starverse.faces.console.markup import Markup, shown, tag
from starverse.faces.console.panels import page_title, panel, sure
from starverse.faces.console.states import empty
from starverse.faces.console.voice import Voice
from starverse.model.errors import BadInput, StarverseError
from starverse.model.units import SECOND_MS, parse_duration_ms

TIMES_SHOWN = 5
REPEATS = ("", "daily", "weekly")


async def build(frame: Frame) -> None:
    """Fill the page."""
    page = _Bookings(frame)
    await page.refresh()
    frame.follow(None, page.hear, page.refresh)


@dataclass
class Booking:
    """The fields of the form as they stand. Mutable: the form writes here."""

    cards: str = "1"
    begin: str = ""
    length: str = "1h"
    label: str = ""
    repeat: Any = ""
    until: str = ""

    def ask(self, zone: tzinfo, now_ms: int) -> sc.ReservationAsk:
        """The ask, by the clocks of the reader. Raises BadInput for what cannot be read."""
        cards = self.cards.strip()
        if not (cards.isascii() and cards.isdecimal() and 0 < len(cards) < 8):
            raise BadInput(f"'{cards[:40]}' is not a number of cards.", "Write it like 2.")
        from_ms = moment(self.begin, zone, now_ms)
        return sc.ReservationAsk(
            cards=int(cards),
            from_ms=from_ms,
            to_ms=from_ms + parse_duration_ms(self.length),
            label=self.label.strip(),
            repeat=self.repeat,
            zone=zone.key if isinstance(zone, ZoneInfo) else "UTC",
            until_ms=moment(self.until, zone, now_ms) if self.repeat else 0,
        )


def moment(text: str, zone: tzinfo, now_ms: int) -> int:
    """UTC milliseconds of `2h` (from now) or of a date and time by these clocks. Raises BadInput."""
    text = text.strip()
    try:
        return now_ms + parse_duration_ms(text)
    except BadInput:
        pass
    try:
        at = datetime.fromisoformat(text)
        return int((at if at.tzinfo else at.replace(tzinfo=zone)).timestamp()) * SECOND_MS
    except (ValueError, OverflowError, OSError):
        raise BadInput("That is no moment.", "Write it like 2h (from now) or 2026-12-24 18:00.") from None


class _Bookings:
    """Mutable owner of one open page of reservations and its form."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._form = Booking()
        self._renew()
        say = frame.say
        page_title(say("bookings.title"), say("bookings.under"))
        with panel(say("bookings.list")):
            self._list = ui.element("div").classes("sv-wide")
        self._past = ui.element("div")
        with panel(say("bookings.new")):
            with ui.element("div").classes("sv-form-grid"):
                self._text("cards", say("bookings.cards"))
                self._text("label", say("bookings.label"))
                self._text("begin", say("bookings.begin"), say("bookings.begin_hint"))
                self._text("length", say("bookings.length"), say("bookings.length_hint"))
                words = ("bookings.once", "bookings.daily", "bookings.weekly")
                repeats = {name: say(word) for name, word in zip(REPEATS, words, strict=True)}
                repeat = ui.select(repeats, label=say("bookings.repeat"), value="")
                repeat.props("outlined dense options-dense").classes("sv-field")
                repeat.on_value_change(lambda event: self._set("repeat", event.value or ""))
                self._text("until", say("bookings.until"), say("bookings.until_hint"))
            button(say("bookings.go"), self._book)
            self._error = shown(Markup("")).classes("sv-error").props("role=alert")

    async def refresh(self) -> None:
        """Read what is booked anew."""
        api, ask = self._frame.api, self._frame.ask
        booked, ended, wallet = await asyncio.gather(
            ask(api.reservations), ask(api.reservations, ended=True), ask(api.wallet)
        )
        self._frame.head.purse(wallet)
        self._show(booked)
        self._show_ended(ended)

    async def hear(self, events: Sequence[sc.StreamEvent]) -> None:
        """Money moved: so may have a booking."""
        for event in events:
            if isinstance(event, sc.WalletChanged):
                self._frame.head.purse(event.wallet)

    def _show(self, booked: Sequence[sc.Reservation]) -> None:
        say = self._frame.say
        self._list.clear()
        with self._list:
            if not booked:
                shown(empty(say("bookings.none")))
            for each in booked:
                with ui.element("div").classes("sv-line"):
                    shown(told(self._frame.voice, each), "sv-grow")
                    button(say("bookings.cancel"), partial(self._cancel, each), "grave-line", "dense")

    def _show_ended(self, ended: Sequence[sc.Reservation]) -> None:
        self._past.clear()
        if ended:
            with self._past, panel(self._frame.say("bookings.past")), ui.element("div").classes("sv-wide"):
                for each in ended:
                    with ui.element("div").classes("sv-line"):
                        shown(told(self._frame.voice, each), "sv-grow")

    def _text(self, name: str, label: str, hint: str = "") -> None:
        field = ui.input(label, value=getattr(self._form, name)).classes("sv-field")
        field.props("outlined dense" + (f' hint="{hint}"' if hint else ""))
        field.on_value_change(lambda event: self._set(name, event.value or ""))

    def _set(self, name: str, value: str) -> None:
        if getattr(self._form, name) != value:
            setattr(self._form, name, value)
            self._renew()
            self._error.set_content(Markup(""))

    def _renew(self) -> None:
        """Let what is asked for from now on be another booking; pressed twice it is one."""
        self._nonce = secrets.token_hex(16)
        self._now_ms = time.time_ns() // 1_000_000

    async def _book(self) -> None:
        voice = self._frame.voice
        try:
            ask = self._form.ask(voice.zone, self._now_ms)
            await self._frame.ask(self._frame.api.reserve, ask, self._nonce)
        except StarverseError as error:
            self._error.set_content(tag("p", voice.error(error.what, error.remedy)))
            return
        self._renew()
        self._error.set_content(Markup(""))
        self._frame.tell(voice.say("bookings.done"))
        await self._frame.quietly(self.refresh)

    async def _cancel(self, each: sc.Reservation) -> None:
        say = self._frame.say
        title = say("bookings.cancel_title", name=each.label or each.reservation)
        if not await sure(self._frame.voice, title, say("bookings.cancel_text"), say("bookings.cancel")):
            return
        if await self._frame.did(self._frame.api.cancel_reservation, each.reservation):
            self._frame.tell(say("bookings.cancelled"))
        await self._frame.quietly(self.refresh)


def told(voice: Voice, each: sc.Reservation) -> Markup:
    """A booking with its next times, a line each; or what it was, and how it came to its end."""
    say = voice.say
    head = [tag("b", each.label or each.reservation), " ", tag("span", each.reservation, cls="sv-id sv-dim")]
    facts = [f"{voice.number(each.cards)} × {each.kind}", *lies(voice, each.shape)]
    if each.missing:
        facts.append(voice.count("bookings.missing", each.missing))
    times = [
        tag(
            "div",
            say("bookings.time", begin=voice.when(window.from_ms), end=voice.when(window.to_ms)),
            tag("b", f" {say('bookings.open')}") if each.open and not n else None,
        )
        for n, window in enumerate(each.windows[:TIMES_SHOWN])
    ]
    if each.ended_ms is not None:
        ended = "bookings.cancelled_at" if each.state == "cancelled" else "bookings.ended_at"
        was = voice.when(each.from_ms), voice.when(max(each.to_ms, each.until_ms))
        times = [
            tag("div", say("bookings.time", begin=was[0], end=was[1])),
            tag("div", say(ended, at=voice.when(each.ended_ms))),
        ]
        return tag("div", *head, tag("div", " · ".join(facts)), tag("div", *times, cls="sv-dim num"))
    rest = each.windows_left - len(times)
    more = tag("div", voice.count("bookings.more", rest)) if rest > 0 else None
    return tag("div", *head, tag("div", " · ".join(facts)), tag("div", *times, more, cls="sv-dim num"))
