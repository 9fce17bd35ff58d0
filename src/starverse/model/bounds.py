"""What numbers a question or a file may have: anything else is refused by its name."""

from decimal import Decimal

from starverse.model.errors import BadInput


def bounded(low: float, high: float, file: str = "", /, **values: float | None) -> None:
    """Raises BadInput with the name of a value (and its file) that is no number from low to high; None is not
    given."""
    for name, value in values.items():
        if value is not None and not low <= value <= high:  # nan is neither
            # A whole number may be beyond all floats; a Decimal can be said all the same.
            said = f"{Decimal(value):.6g}" if isinstance(value, int) else f"{value:g}"
            where = f"{file}: " if file else ""
            raise BadInput(f"{where}`{name}` = {said} makes no sense.", f"Give {low:g} to {high:g}.")


def spanned(low: float, high: float) -> str:
    """A range as a person reads it: one figure where both ends are one, else as many digits as tell them
    apart."""
    for digits in (6, 12, 17):
        ends = f"{low:.{digits}g}", f"{high:.{digits}g}"
        if ends[0] != ends[1]:
            return f"{ends[0]} to {ends[1]}"
    return f"{low:g}"
