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
