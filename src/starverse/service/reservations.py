"""Booking cards in advance: what could be had, booking, what is booked, and giving it back."""

from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256
from typing import Literal
from zoneinfo import available_timezones

import msgspec

from starverse.control.state import State
from starverse.control.truth import Truth
from starverse.model import reservation as booking
from starverse.model.allocation import Share
from starverse.model.errors import BadInput, NotFound, Refused, StarverseError
from starverse.model.names import nearest, shown
from starverse.model.requests import CancelReservation, Reserve
from starverse.model.units import CARD, CARDS_MAX, format_yuan
from starverse.money.ledger import HELD, WALLET
from starverse.money.meter import cost
from starverse.money.prices import price_at
from starverse.scheduler.asked import check_booking
from starverse.scheduler.reservations import Booked, book
from starverse.service import asking, reserved, shaping
from starverse.service.access import Actor, must_be, must_operate, project_of
from starverse.service.agreements import Offer, Reservation, ReservationAsk, Window
from starverse.service.loop import heard, tell
from starverse.service.platform import Platform
from starverse.store import idempotency
from starverse.store.database import reading
from starverse.store.reading import EndedReservation, ended_reservations

WINDOWS_SHOWN = 20
ENDED_SHOWN = 100
PER_TENANT_MAX = 100
"""So many bookings a tenant may have that are not over."""


def preview(platform: Platform, actor: Actor, ask: ReservationAsk) -> Offer:
    """Whether a booking can be had, or what could be instead. Raises BadInput for what makes no sense."""
    tenant = project_of(actor, ask.project, "member").tenant
    now_ms = platform.now_ms()

    def look(state: State) -> Offer:
        wish = _wish(state, ask, "v-preview", tenant, now_ms)
        windows = booking.windows_of(wish, now_ms)
        costs, has = _cost(state, wish, windows, now_ms), _has(state, tenant)
        found = book(state.view, wish, now_ms)
        if isinstance(found, Booked):
            return Offer(True, wish.kind, len(windows), wish.from_ms, ask.cards, costs, has)
        cards = found.milli_cards // CARD
        return Offer(False, wish.kind, len(windows), found.at_ms or None, cards, costs, has)

    return platform.ask(look)


def reserve(platform: Platform, actor: Actor, ask: ReservationAsk, key: str) -> Reservation:
    """Book cards: checked, written with its key in one transaction, and answered by the loop.

    The same key with the same ask is the same booking. Raises Refused, with what could be had instead, for
    one that cannot be had, and where the wallet does not hold what all booked cards cost for their time.
    """
    tenant = project_of(actor, ask.project, "member").tenant
    name = platform.new_id("v")
    now_ms = platform.now_ms()
    wish: booking.Reservation | None = None
    refusal: StarverseError | None = None
    try:
        wish = platform.ask(lambda state: _checked(state, ask, name, tenant, now_ms))
    except StarverseError as error:
        if not key:
            raise
        refusal = error  # unless this very ask was granted before
    with platform.database.begin() as connection:
        earlier = None
        if key:
            body_hash = sha256(b"reserve" + msgspec.json.encode(ask)).digest()
            earlier = idempotency.earlier_answer(connection, actor.user, key, body_hash, now_ms)
        if earlier is not None:
            name, _, written = earlier.partition(" ")
            number = int(written)
        elif wish is None:
            assert refusal is not None
            raise refusal
        else:
            number = platform.requests.put(connection, Reserve(wish))
            if key:
                idempotency.remember(connection, actor.user, key, f"{name} {number}")
    if not heard(platform, number):
        raise Refused(f"Reservation {name} is noted, but the scheduler is busy.", "Look for it in a moment.")
    try:
        return _alive(platform, actor, name)
    except NotFound:
        raise Refused(
            f"Reservation {name} was made under this key, and is over.", "Take a new key."
        ) from None


def list_reservations(
    platform: Platform, actor: Actor, project: str, everyone: bool, ended: bool = False
) -> tuple[Reservation, ...]:
    """What is booked by the tenant of a project, of all one's projects, or (operator) by everyone; that which
    begins next first. With `ended` those that are no more instead, the last ENDED_SHOWN, the latest first."""
    if everyone:
        must_operate(actor)
    mine = [project_of(actor, project, "viewer")] if project else actor.projects
    tenants = {membership.tenant for membership in mine}
    if ended:
        with reading(platform.database) as connection:
            gone = ended_reservations(connection, None if everyone else tenants, ENDED_SHOWN)
        return tuple(map(_ended_answer, gone))
    now_ms = platform.now_ms()
    found = platform.ask(
        lambda state: [
            _answer(state, name, now_ms)
            for name, made in state.truth.reservations.items()
            if everyone or made.reservation.tenant in tenants
        ]
    )
    return tuple(sorted(found, key=lambda each: (each.windows[:1] and each.windows[0].from_ms, each.from_ms)))


def show(platform: Platform, actor: Actor, name: str) -> Reservation:
    """A booking by its id or what it is called, one that is no more by its id.

    Raises NotFound for others' as for one that never was.
    """
    try:
        return _alive(platform, actor, name)
    except NotFound:
        tenants = None if actor.operator else {membership.tenant for membership in actor.projects}
        with reading(platform.database) as connection:
            gone = ended_reservations(connection, tenants, 1, name)
        if not name or not gone:
            raise
        return _ended_answer(gone[0])


def _alive(platform: Platform, actor: Actor, name: str) -> Reservation:
    now_ms = platform.now_ms()
    return platform.ask(lambda state: _answer(state, _find(state, actor, name), now_ms))


def cancel(platform: Platform, actor: Actor, name: str) -> None:
    """Give the cards back; jobs inside are asked to leave."""
    found = _alive(platform, actor, name)
    if not actor.operator:
        roles = [membership for membership in actor.projects if membership.tenant == found.tenant]
        if all(membership.role == "viewer" for membership in roles):
            must_be(roles[0], "member")
    tell(platform, CancelReservation(found.reservation, actor.user))


# -- what is asked for ------------------------------------------------------------------------------------


def _wish(state: State, ask: ReservationAsk, name: str, tenant: str, now_ms: int) -> booking.Reservation:
    """As the loop takes it. Raises BadInput for what makes no sense, whatever is booked already."""
    now = asking.now_of(state, tenant, now_ms)
    if not 1 <= ask.cards <= CARDS_MAX:
        raise BadInput(f"{ask.cards} cards cannot be booked.", f"Ask for 1 to {CARDS_MAX:,} cards.")
    kind = asking.kind_of(ask.kind, now, ask.cards * CARD)
    asking.one_line("label", ask.label)
    if ask.zone not in available_timezones():
        near = nearest(ask.zone, available_timezones())
        remedy = near if near.startswith("Did") else "Write it like Asia/Shanghai."
        raise BadInput(f"There is no time zone {shown(ask.zone)}.", remedy)
    if ask.repeat and ask.until_ms <= ask.from_ms:
        raise BadInput("A booking that recurs needs an end.", "Say with `until_ms` when it begins no more.")
    shape = shaping.shape_of(ask.shape, now.levels, now.kinds[kind].resources, now.licences)
    times = ask.from_ms, ask.to_ms, shape, ask.repeat, ask.zone, ask.until_ms
    wish = booking.Reservation(name, tenant, kind, ask.cards * CARD, *times, ask.label.strip())
    check_booking(wish, now.levels)
    return wish


def _checked(state: State, ask: ReservationAsk, name: str, tenant: str, now_ms: int) -> booking.Reservation:
    """The same, for a tenant who can pay for it beside all that is booked already."""
    wish = _wish(state, ask, name, tenant, now_ms)
    booked = [made for made in state.truth.reservations.values() if made.reservation.tenant == tenant]
    if len(booked) >= PER_TENANT_MAX:
        raise Refused(f"There are {len(booked)} reservations of yours already.", "Cancel one.")
    costs = _cost(state, wish, booking.windows_of(wish, now_ms), now_ms)
    costs += sum(_cost(state, made.reservation, made.windows, now_ms) for made in booked)
    has = _has(state, tenant)
    if costs > has:
        raise Refused(
            f"The wallet holds {format_yuan(has)}; all that is booked costs {format_yuan(costs)}.",
            f"Top up {format_yuan(costs - has)} or more, or book fewer cards for less time.",
        )
    return wish


def _cost(state: State, wish: booking.Reservation, windows: Iterable[booking.Window], now_ms: int) -> int:
    """What booked cards cost for the time that is left of their windows, at the price of now."""
    left_ms = sum(max(0, to_ms - max(from_ms, now_ms)) for from_ms, to_ms in windows)
    return cost(price_at(state.truth.prices.get(wish.kind, []), now_ms), wish.milli_cards, left_ms)


def _has(state: State, tenant: str) -> int:
    """The money of a tenant, with what is held for its runs: they may be inside a booking."""
    return state.accounts.get(WALLET + tenant, 0) + state.accounts.get(HELD + tenant, 0)


# -- what is booked ---------------------------------------------------------------------------------------


def _find(state: State, actor: Actor, name: str) -> str:
    tenants = {membership.tenant for membership in actor.projects}
    mine = [each for tenant in sorted(tenants) for each in reserved.booked_by(state, tenant)]
    if actor.operator and name in state.truth.reservations:
        return name
    return reserved.find(mine, name).reservation


def _answer(state: State, name: str, now_ms: int) -> Reservation:
    truth: Truth = state.truth
    made = truth.reservations[name]
    left = [window for window in made.windows if window[1] > now_ms]
    is_open = bool(left) and left[0][0] <= now_ms
    return replace(
        _plain(made.reservation, made.shares),
        windows=tuple(Window(*window) for window in left[:WINDOWS_SHOWN]),
        windows_left=len(left),
        open=is_open,
        missing=-(-truth.missing.get(name, 0) // CARD),
        state="open" if is_open else "booked",
    )


def _ended_answer(gone: EndedReservation) -> Reservation:
    state: Literal["ended", "cancelled"] = "cancelled" if gone.why == "cancelled" else "ended"
    return replace(_plain(gone.spec, gone.shares), state=state, ended_ms=gone.ended_ms)


def _plain(made: booking.Reservation, shares: Iterable[Share]) -> Reservation:
    """What is true of a booking whatever time it is."""
    return Reservation(
        reservation=made.name,
        label=made.label,
        tenant=made.tenant,
        kind=made.kind,
        cards=made.milli_cards // CARD,
        from_ms=made.from_ms,
        to_ms=made.to_ms,
        repeat=made.repeat,
        zone=made.zone,
        until_ms=made.until_ms,
        shape=shaping.shape_answer(made.shape),
        windows=(),
        windows_left=0,
        open=False,
        nodes=tuple(share.node for share in shares),
        missing=0,
    )
