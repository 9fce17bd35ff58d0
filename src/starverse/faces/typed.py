"""Numbers that a person typed into a shell or a form."""

from starverse.model.errors import BadInput
from starverse.model.names import shown

ANY = "any"
"""How no bound is written."""
BOUND_MAX = 10**10
DIGITS_MAX = 15


def bound(text: str) -> int | float | None:
    """A number from 0 on, or None for `any`. Raises BadInput."""
    return None if text.strip() == ANY else amount(text)


def amount(text: str) -> int | float:
    """A number from 0 on. Raises BadInput."""
    try:
        number = float(text)
    except ValueError:
        number = -1
    if not 0 <= number < BOUND_MAX:
        raise BadInput(f"{shown(text.strip())} is no bound.", "Write a number from 0 on, or any.")
    return int(number) if number.is_integer() else number


def whole(text: str) -> int:
    """A whole number from 0 on. Raises BadInput."""
    text = text.strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= DIGITS_MAX):
        raise BadInput(f"{shown(text)} is not a whole number.", "Write it like 2.")
    return int(text)
