"""Bookings: what is answered to who asks for one, what follows a loss of cards, and their end."""

from collections.abc import Iterator

from starverse.control import rules
from starverse.control.state import State
from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.errors import NotFound, Refused
from starverse.model.job import JobSpec
from starverse.model.reservation import called, say_time
from starverse.model.units import CARD
from starverse.money import ledger
from starverse.money.lease import LeaseTerms
from starverse.scheduler import asked
from starverse.scheduler.reservations import Offer, book, mend


def reserve(state: State, ask: rq.Reserve, now_ms: int, terms: LeaseTerms) -> Iterator[ev.Event]:
    """Book the cards, or say what could be had instead."""
    wish = ask.reservation
    if wish.name in state.truth.reservations:
        raise Refused(f"There is a reservation {wish.name} already.")
    if ledger.WALLET + wish.tenant not in state.accounts:
        raise NotFound(f"There is no wallet of tenant {wish.tenant}.")
    asked.check_booking(wish, state.truth.layout.levels)
    found = book(state.view, wish, now_ms)
    if isinstance(found, Offer):
        raise Refused(
            f"Reservation {called(wish)} cannot be had as asked.", _instead(wish.milli_cards, found)
        )
    shares = state.spaces[wish.kind].shares(found.lot)
    yield ev.ReservationMade(wish, state.truth.reserved + 1, shares, found.windows)


def _instead(milli_cards: int, offer: Offer) -> str:
    parts = []
    if offer.at_ms:
        parts.append(f"all {milli_cards // CARD} cards from {say_time(offer.at_ms)} on")
    if offer.milli_cards:
        parts.append(f"{offer.milli_cards // CARD} cards at the time asked")
    return f"To be had: {' or '.join(parts)}." if parts else "There are not so many cards of that kind."


def cancel(state: State, ask: rq.CancelReservation, now_ms: int, terms: LeaseTerms) -> Iterator[ev.Event]:
    """Give the cards back."""
    if ask.reservation not in state.truth.reservations:
        raise NotFound(f"There is no reservation {ask.reservation}.")
    yield ev.ReservationEnded(ask.reservation, "cancelled", ask.by)
    yield from _left_behind(state, ask.reservation, now_ms, terms)


def check_inside(state: State, spec: JobSpec) -> None:
    """Refuse a job that can never run in the reservation it names."""
    made = state.truth.reservations.get(spec.reservation)
    if made is None or made.reservation.tenant != spec.tenant:
        raise NotFound(f"There is no reservation {spec.reservation} of tenant {spec.tenant}.")
    if made.reservation.kind != spec.kind or made.reservation.milli_cards < spec.cards_min:
        cards = f"{made.reservation.milli_cards // CARD} {made.reservation.kind} cards"
        raise Refused(f"Job {spec.job} does not fit in reservation {spec.reservation}, which has {cards}.")


def due(state: State, now_ms: int, terms: LeaseTerms) -> Iterator[ev.Event]:
    """What is due by the calendar: others leave what is open now, and what is over ends."""
    opened, state.scheduling.opened[:] = dict.fromkeys(state.scheduling.opened), []
    for name in opened:
        booking = state.view.bookings.get(name)
        window = booking.window(now_ms) if booking else None
        if window and window[0] <= now_ms:
            yield from _cleared(state, name, now_ms, terms)
    for name, booking in tuple(state.view.bookings.items()):
        if booking.window(now_ms) is None:
            yield ev.ReservationEnded(name, "over")
            yield from _left_behind(state, name, now_ms, terms)


def _cleared(state: State, name: str, now_ms: int, terms: LeaseTerms) -> Iterator[ev.Event]:
    """Runs of others that took longer than was thought are asked to leave."""
    made = state.truth.reservations[name]
    booked = {share.node: share.mask for share in made.shares}
    for run in tuple(state.runs.values()):
        spec = state.jobs[run.job].spec
        is_there = any(share.mask & booked.get(share.node, 0) for share in run.shares)
        if is_there and spec.kind == made.reservation.kind and spec.reservation != name and not run.stop_why:
            yield rules.stop(run, "reservation", now_ms, terms)


def _left_behind(state: State, name: str, now_ms: int, terms: LeaseTerms) -> Iterator[ev.Event]:
    """What becomes of the jobs of a reservation that is no more."""
    for job, its in tuple(state.jobs.items()):
        if its.spec.reservation != name:
            continue
        if its.phase in ("waiting", "paused"):
            yield from rules.over(state, ev.JobEnded(job, "expired", f"its reservation {name} is no more"))
        elif its.phase in ("starting", "running"):
            yield rules.stop(state.runs[its.run], "reservation", now_ms, terms)


def mended(state: State, now_ms: int) -> Iterator[ev.Event]:
    """Equal nodes for those that reservations lost; where there are none, word of what is missing."""
    state.scheduling.doubtful = False
    for name, booking in tuple(state.view.bookings.items()):
        known = state.truth.missing.get(name, 0)
        if not known and not booking.space.is_broken(booking.lot):
            continue
        lot, missing = mend(state.view, booking, now_ms)
        shares = booking.space.shares(lot)
        if shares != state.truth.reservations[name].shares or missing * CARD != known:
            why = f"{missing} cards are missing" if missing else "it has other nodes, or its own again"
            yield ev.ReservationMoved(name, shares, missing * CARD, why)
