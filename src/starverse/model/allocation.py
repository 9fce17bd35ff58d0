"""Which cards a run has."""

from collections.abc import Iterable

from msgspec import Struct

from starverse.model.units import CARD


class Share(Struct, frozen=True, gc=False, array_like=True):
    """Cards of one node: `mask` is a bit set of their indices on the node. With `milli`, so many milli-cards
    of each of them, the rest of which others may have."""

    node: str
    mask: int
    milli: int = 0

    @classmethod
    def of(cls, node: str, cards: Iterable[int]) -> "Share":
        """The share of these card indices."""
        return cls(node, sum(1 << card for card in set(cards)))

    @property
    def cards(self) -> tuple[int, ...]:
        """The card indices, lowest first."""
        return tuple(card for card in range(self.mask.bit_length()) if self.mask >> card & 1)

    @property
    def count(self) -> int:
        """How many cards these are."""
        return self.mask.bit_count()


def card_count(shares: Iterable[Share]) -> int:
    """Cards in an allocation, those it has a part of included."""
    return sum(share.mask.bit_count() for share in shares)


def milli_cards(shares: Iterable[Share]) -> int:
    """Milli-cards in an allocation: of a shared card only its own part."""
    return sum(share.mask.bit_count() * (share.milli or CARD) for share in shares)
