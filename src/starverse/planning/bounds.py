"""What numbers a question may have: anything else is refused by its name."""

from math import isfinite

from starverse.model.errors import BadInput


def bounded(low: float, high: float, **values: float | None) -> None:
    """Raises BadInput with the name of a value that is no number from low to high; None is not given."""
    for name, value in values.items():
        if value is not None and not (isfinite(value) and low <= value <= high):
            raise BadInput(f"`{name}` = {value:g} makes no sense.", f"Give {low:g} to {high:g}.")
