"""From card-milliseconds to micro-yuan, so that parts always add up to the whole."""

from starverse.model.units import CARD, HOUR_MS

_PER_CARD_HOUR = CARD * HOUR_MS


def cost(price: int, milli_cards: int, ms: int) -> int:
    """Micro-yuan for `milli_cards` used for `ms` at `price` micro-yuan per card-hour, rounded down.

    A run is always charged cost(all its time) less what was charged before, so that no residue is lost or
    counted twice, however often it is posted.
    """
    return price * milli_cards * ms // _PER_CARD_HOUR


def hold_for(price: int, milli_cards: int, ms: int) -> int:
    """Micro-yuan that surely cover `ms`: the cost, rounded up."""
    return -(-price * milli_cards * ms // _PER_CARD_HOUR)


def affordable_ms(money: int, price: int, milli_cards: int) -> int:
    """The longest time that `money` micro-yuan surely pay for; price must not be zero."""
    return money * _PER_CARD_HOUR // (price * milli_cards)
