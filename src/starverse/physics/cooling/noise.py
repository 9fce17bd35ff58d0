"""How loud fans are: by their speed and their number, from the level that all of them have at full speed."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starverse.model.errors import BadInput

Floats = NDArray[np.floating[Any]]

SPEED_DB_PER_DECADE = 50.0
"""A fan's sound power grows with the fifth power of its speed: fan laws, ASHRAE Handbook, HVAC Systems and
Equipment, ch. 21."""
NUMBER_DB_PER_DECADE = 10.0
"""Sound powers of sources that know nothing of each other add up."""
SOURCE = (
    "fan laws: ASHRAE Handbook, HVAC Systems and Equipment, ch. 21 (50 log10 of speed, 10 log10 of number)"
)


def fans_db(full_db: ArrayLike, speed_share: ArrayLike, number_share: ArrayLike = 1.0) -> Floats:
    """L = L0 + 50 log10(n / n0) + 10 log10(N / N0), in dB, shapes broadcast.

    `full_db` is the level of all fans at full speed; the shares are above zero. The law is for the same fans
    on the same ducts, so that flow goes with speed. Source: `SOURCE`.
    """
    speed, number = np.asarray(speed_share, dtype=float), np.asarray(number_share, dtype=float)
    if not ((speed > 0).all() and (number > 0).all()):
        raise BadInput("Fans that stand still have no level.", "Give shares above zero.")
    level: Floats = (
        np.asarray(full_db, dtype=float)
        + SPEED_DB_PER_DECADE * np.log10(speed)
        + NUMBER_DB_PER_DECADE * np.log10(number)
    )
    return level


def speed_share_for(change_db: ArrayLike) -> Floats:
    """The share of full speed at which the same fans are louder by `change_db` (quieter below zero)."""
    share: Floats = 10 ** (np.asarray(change_db, dtype=float) / SPEED_DB_PER_DECADE)
    return share


def number_share_for(change_db: ArrayLike) -> Floats:
    """The share of the fans, all at full speed, that is louder by `change_db` (quieter below zero)."""
    share: Floats = 10 ** (np.asarray(change_db, dtype=float) / NUMBER_DB_PER_DECADE)
    return share
