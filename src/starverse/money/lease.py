"""How long a run may live on the money held for it."""

from msgspec import Struct

from starverse.model.units import MINUTE_MS, SECOND_MS
from starverse.money.meter import affordable_ms, hold_for

LAST_LOOK_MS = 2 * SECOND_MS
"""A lease is looked at for the last time so long before its run would save and leave of itself, because a
renewal must still reach the run."""


class LeaseTerms(Struct, frozen=True):
    """`window_ms` is held ahead, `least_ms` must be affordable to start, `grace_ms` is left for saving.

    A long window lets runs outlive a long absence of the server; it costs nothing but a larger hold.
    """

    window_ms: int = 10 * MINUTE_MS
    least_ms: int = 30 * SECOND_MS
    grace_ms: int = 10 * SECOND_MS

    def __post_init__(self) -> None:
        if self.grace_ms < 0 or not self.leaving_ms < self.least_ms <= self.window_ms >= 2 * self.leaving_ms:
            raise ValueError(
                f"a run could not live by these terms: `grace_ms` and {LAST_LOOK_MS} more must be less than "
                "`least_ms` and at most half of `window_ms`, and `least_ms` at most `window_ms`"
            )

    @property
    def leaving_ms(self) -> int:
        """So long before its end a lease is renewed, or its run told to save and leave."""
        return self.grace_ms + LAST_LOOK_MS


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
