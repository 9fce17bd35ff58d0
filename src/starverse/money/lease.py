"""How long a run may live on the money held for it."""

from msgspec import Struct

from starverse.model.units import MINUTE_MS, SECOND_MS
from starverse.money.meter import affordable_ms, hold_for


class LeaseTerms(Struct, frozen=True):
    """`window_ms` is held ahead, `least_ms` must be affordable to start, `grace_ms` is left for saving.

    A long window lets runs outlive a long absence of the server; it costs nothing but a larger hold.
    """

    window_ms: int = 10 * MINUTE_MS
    least_ms: int = 30 * SECOND_MS
    grace_ms: int = 10 * SECOND_MS


def lease_for(money: int, price: int, milli_cards: int, terms: LeaseTerms) -> tuple[int, int]:
    """(milliseconds, hold in micro-yuan) of a new lease; (0, 0) when `money` does not pay for the least."""
    if not price:
        return terms.window_ms, 0
    hold = hold_for(price, milli_cards, terms.window_ms)
    if hold <= money:
        return terms.window_ms, hold
    lease_ms = affordable_ms(money, price, milli_cards)
    if lease_ms < terms.least_ms:
        return 0, 0
    return lease_ms, hold_for(price, milli_cards, lease_ms)
