"""Cards that are kept for the next run of a job whose run was asked to leave for them."""

from typing import NamedTuple

from starverse.scheduler.kernels import ORDER_BITS
from starverse.scheduler.lot import Lot
from starverse.scheduler.space import Space

KEPT = 1 << ORDER_BITS
"""With the order of its job below these bits, and negative, this is the number of such a claim: everybody
minds it, as they do a reservation's."""


class Kept(NamedTuple):
    """The cards, until when the next run may have them, and the number of the claim."""

    space: Space
    lot: Lot
    until_ms: int
    number: int

    def claim(self) -> None:
        """Keep the cards: those that are free from now on, the others when their run has left."""
        self.space.claim(self.lot, 0, self.until_ms, self.number)

    def forget(self) -> None:
        """Take back a `claim` that was only tried, or lay it aside for a while."""
        self.space.forget(self.lot, self.number)
