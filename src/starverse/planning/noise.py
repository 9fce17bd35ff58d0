"""How loud a hall's fans are when they run slower or are fewer, and what a level takes."""

from math import ceil, floor

from msgspec import Struct

from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.physics.cooling.noise import SOURCE, fans_db, number_share_for, speed_share_for

EQUATION = "L = L0 + 50 log10(n / n0) + 10 log10(N / N0)"
FULL_DB = 82.0
"""All fans of an air-cooled hall at full speed: as the reference cluster's article says."""
SLOWEST, FASTEST = 0.05, 2.0
"""Shares of full speed: beyond them a fan is not the same fan, and no answer is given."""
NOTES = (
    "only fans are modelled: pumps and transformers, and the sound of the room, are not",
    "the law is of the air's noise: motors and bearings, which it leaves out, are louder at low speed",
)


class NoiseAnswer(Struct, frozen=True):
    """What `plan noise` says.

    The last two shares are what `target_db` takes: by speed alone, all fans running, and by number alone, at
    full speed.
    """

    full_db: float
    speed_share: float
    number_share: float
    level_db: float
    less_db: float
    target_db: float | None
    met: bool | None
    speed_alone_share: float | None
    number_alone_share: float | None
    equation: str
    source: str
    notes: tuple[str, ...]


def plan_noise(
    full_db: float = FULL_DB,
    speed_share: float = 1.0,
    number_share: float = 1.0,
    target_db: float | None = None,
) -> NoiseAnswer:
    """The level in dB of fans at a share of their speed and of their number.

    `full_db` is the level of all of them at full speed. Raises BadInput for a share outside the law's range,
    and for a target that takes such a speed.
    """
    bounded(0, 200, full_db=full_db, target_db=target_db)
    bounded(SLOWEST, FASTEST, speed_share=speed_share)
    bounded(1e-6, 1_000, number_share=number_share)
    level = float(fans_db(full_db, speed_share, number_share))
    speed = number = None
    if target_db is not None:
        speed = float(speed_share_for(target_db - full_db))
        number = float(number_share_for(target_db - full_db))
        if not SLOWEST <= speed <= FASTEST:
            low, high = max(0, ceil(fans_db(full_db, SLOWEST))), min(200, floor(fans_db(full_db, FASTEST)))
            raise BadInput(
                f"`target_db` = {target_db:g} takes fans at {speed:.3g} times their full speed: no fan law "
                "reaches there.",
                f"Give {low} to {high}, or another `full_db`.",
            )
    return NoiseAnswer(
        full_db=full_db,
        speed_share=speed_share,
        number_share=number_share,
        level_db=level,
        less_db=full_db - level,
        target_db=target_db,
        met=None if target_db is None else level <= target_db,
        speed_alone_share=speed,
        number_alone_share=number,
        equation=EQUATION,
        source=SOURCE,
        notes=NOTES,
    )
