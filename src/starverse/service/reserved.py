"""What a tenant has booked, as the loop's state knows it; nobody else's is ever found."""

from collections.abc import Iterable

from msgspec import Struct

from starverse.control.state import State
from starverse.model.errors import NotFound
from starverse.model.units import CARD


class Booked(Struct, frozen=True):
    """A booking that is not over: its id, what people call it, and its cards."""

    reservation: str
    label: str
    kind: str
    cards: int


def booked_by(state: State, tenant: str) -> tuple[Booked, ...]:
    """What the tenant has booked, the earliest booked first."""
    return tuple(
        Booked(name, made.reservation.label, made.reservation.kind, made.reservation.milli_cards // CARD)
        for name, made in state.truth.reservations.items()
        if made.reservation.tenant == tenant
    )


def find(booked: Iterable[Booked], name: str) -> Booked:
    """One by its id, or by what it is called, the latest booked first.

    Raises NotFound for another tenant's just as for one that never was.
    """
    known = list(booked)
    for each in [*(each for each in known if each.reservation == name), *reversed(known)]:
        if name in (each.reservation, each.label):
            return each
    raise NotFound(f"There is no reservation {name[:64]!r}.", "`starverse reservations` lists yours.")
