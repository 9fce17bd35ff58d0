"""A year of weather, hour by hour: read from an EPW file, or made from monthly normals."""

import csv
from calendar import monthrange
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from starverse.model.errors import BadInput
from starverse.physics.cooling.moist import wet_bulb_c

Floats = NDArray[np.floating[Any]]

HOURS = 8760
MONTH_DAYS = tuple(monthrange(2021, month)[1] for month in range(1, 13))
"""A typical year has no 29 February."""
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Weather(Struct, frozen=True):
    """8,760 hours: °C, relative humidity from 0 to 1, Pa; `where` says whose, and whether measured or
    made."""

    where: str
    dry_bulb_c: Floats
    relative_humidity: Floats
    pressure_pa: Floats
    wet_bulb_c: Floats


def month_of_hour() -> NDArray[np.intp]:
    """The month, 0 to 11, of each hour of the year, shape (8760,)."""
    return np.repeat(np.arange(12), np.array(MONTH_DAYS) * 24)


def hour_said(index: int) -> str:
    """An hour of the year, 0 to 8759, as EPW files count them: month-day hour 1 to 24."""
    day, hour = divmod(index, 24)
    for month, days in enumerate(MONTH_DAYS, 1):
        if day < days:
            return f"{month}-{day + 1} hour {hour + 1}"
        day -= days
    raise BadInput(f"A typical year has no hour {index}.", f"Give 0 to {HOURS - 1}.")


def check_hours(said: str, value: Floats, low: float, high: float, known: str, remedy: str) -> None:
    """Raises BadInput with the value that is farthest outside `low` to `high`, and its hour if of a year.

    `said` is the sentence's beginning with a place for the value, `known` its end, on what the range is of.
    """
    beyond = np.maximum(low - value, value - high)
    if beyond.size and not beyond.max() <= 1e-9:
        worst = int(beyond.argmax())
        when = f" in {hour_said(worst)}" if beyond.shape == (HOURS,) else ""
        what = said.format(float(value.flat[worst]))
        raise BadInput(f"{what[0].upper()}{what[1:]}{when}, and {known}.", remedy)


def read_epw(lines: Iterable[str], name: str = "the weather file") -> Weather:
    """Weather of an EPW file's lines (read them as latin-1): EnergyPlus Weather, as TMY3 and TMYx years come.

    Columns 7 to 10 are dry bulb °C, dew point °C, relative humidity %, pressure Pa (EnergyPlus, Auxiliary
    Programs, 2.9.1). Raises BadInput with the line for a header that is none, an hour out of order or left
    out, a missing or impossible value, a 29 February, and a year that isn't 8,760 hours.
    """
    rows = list(csv.reader(lines))
    if not rows or rows[0][:1] != ["LOCATION"]:
        raise BadInput(f"{name} is no EPW: line 1 does not begin with LOCATION.", "Give an .epw file.")
    first = next((n for n, row in enumerate(rows) if len(row) >= 30 and row[0].isdigit()), len(rows))
    expected = ((m, d, h) for m in range(12) for d in range(MONTH_DAYS[m]) for h in range(24))
    values = np.empty((HOURS, 3))
    hour = 0
    for number, row in enumerate(rows[first:], first + 1):
        if not row:
            continue
        month, day, ending = (_whole(row, column, name, number) for column in (1, 2, 3))
        if (month, day) == (2, 29):
            raise BadInput(
                f"{name}, line {number}: 29 February, but a typical year has 8,760 hours.",
                "Drop the 24 lines of the leap day.",
            )
        wanted = next(expected, None)
        if wanted is None:
            raise BadInput(f"{name}, line {number}: more than a year.", "Give one year of 8,760 hours.")
        if (month - 1, day - 1, ending - 1) != wanted:
            raise BadInput(
                f"{name}, line {number}: {hour_said(hour)} is missing before {month}-{day} hour {ending}.",
                "Fill the gap, or give a complete year.",
            )
        values[hour] = _readings(row, name, number)
        hour += 1
    if hour < HOURS:
        raise BadInput(f"{name} ends after {hour:,} hours.", "Give one whole year of 8,760 hours.")
    if values[:, 1].max() <= 1.0:
        raise BadInput(
            f"{name}: no hour's relative humidity exceeds {values[:, 1].max():g} %, as if they were shares.",
            "Give column 9 in per cent, from 0 to 110.",
        )
    where = ", ".join(part.strip() for part in rows[0][1:4] if part.strip(" -"))
    dry, humidity, pressure = values[:, 0], np.minimum(values[:, 1] / 100, 1.0), values[:, 2]
    return Weather(where, dry, humidity, pressure, wet_bulb_c(dry, humidity, pressure))


class Normals(Struct, frozen=True):
    """A place's monthly means, each of 12: dry bulb, its mean daily high less low, and relative humidity."""

    where: str
    dry_bulb_c: tuple[float, ...]
    daily_range_k: tuple[float, ...]
    relative_humidity: tuple[float, ...]
    pressure_pa: float = 101_000.0
    day_to_day_k: float = 2.5


XIAMEN = Normals(
    "Xiamen, SYNTHETIC year from monthly normals (not measured)",
    dry_bulb_c=(13.0, 13.3, 15.4, 19.6, 23.5, 26.6, 28.6, 28.5, 27.2, 23.9, 19.8, 15.1),
    daily_range_k=(6.7, 6.5, 6.9, 7.0, 6.5, 6.0, 6.7, 6.7, 6.2, 6.0, 6.2, 6.6),
    relative_humidity=(0.73, 0.77, 0.79, 0.79, 0.81, 0.84, 0.79, 0.79, 0.74, 0.67, 0.67, 0.68),
)
"""Monthly normals of Xiamen (station 59134) to the digit that is widely printed, from memory and so
indicative: a mean of 21.2 °C against 20.9 as often quoted. Load a measured year for anything that
is paid for."""


def synthetic_year(normals: Normals) -> Weather:
    """A made year that keeps the normals: means by month, a daily swing, and warm and cold spells.

    Monthly means run into each other through a periodic spline of cosines; the day is a cosine that peaks at
    15 h; spells are two incommensurate waves of 5.3 and 11.7 days with the standard deviation `day_to_day_k`
    (a fixed recipe, no chance: the same year each time). Relative humidity falls 5.5 % of itself per kelvin
    of the day's swing and 2 % per kelvin of a spell, so the dew point follows about 0.65 of
    the spells. Extremes are milder than a real year's.
    """
    hour = np.arange(HOURS)
    day = hour / 24
    month = month_of_hour()
    smooth = _through_the_year(normals.dry_bulb_c)
    swing = np.array(normals.daily_range_k)[month] / 2 * np.cos(2 * np.pi * (hour % 24 + 0.5 - 15) / 24)
    spells = normals.day_to_day_k * (np.sin(2 * np.pi * day / 5.3) + np.sin(2 * np.pi * day / 11.7 + 1.3))
    dry = smooth + swing + spells
    dry += (np.array(normals.dry_bulb_c) - _monthly(dry))[month]
    humidity = np.array(normals.relative_humidity)
    # Humidity falls as the day warms at a constant dew point: about 6 % of itself per kelvin.
    share = humidity[month] * np.exp(-0.055 * swing - 0.02 * spells)
    for _ in range(30):  # what saturation cuts off in humid months, the month's other hours take
        share = np.clip(share * (humidity / _monthly(share))[month], 0.05, 1.0)
    pressure = np.full(HOURS, normals.pressure_pa)
    return Weather(normals.where, dry, share, pressure, wet_bulb_c(dry, share, pressure))


def _through_the_year(monthly: Sequence[float]) -> Floats:
    """A smooth course with the months' means: the first three harmonics of the twelve."""
    spectrum = np.fft.rfft(np.array(monthly)) / 12
    phase = 2 * np.pi * (np.arange(HOURS) / HOURS - 1 / 24)
    course = np.full(HOURS, spectrum[0].real)
    for order in (1, 2, 3):
        course += 2 * (
            spectrum[order].real * np.cos(order * phase) - spectrum[order].imag * np.sin(order * phase)
        )
    return course


def _monthly(hourly: Floats) -> Floats:
    month = month_of_hour()
    means: Floats = np.bincount(month, hourly, 12) / np.bincount(month, minlength=12)
    return means


def _whole(row: Sequence[str], column: int, name: str, line: int) -> int:
    try:
        return int(row[column])
    except (IndexError, ValueError):
        raise BadInput(
            f"{name}, line {line}: column {column + 1} is no number.", "Give an unaltered .epw file."
        ) from None


_LIMITS = ((6, "dry bulb", -70.0, 70.0), (8, "relative humidity", 0.0, 110.0), (9, "pressure", 31e3, 120e3))
"""EPW's own limits; 99.9, 999 and 999999 mark what is missing, and lie outside."""


def _readings(row: Sequence[str], name: str, line: int) -> list[float]:
    found = []
    for column, what, low, high in _LIMITS:
        try:
            value = float(row[column])
        except (IndexError, ValueError):
            value = float("nan")
        if not low <= value <= high:
            raise BadInput(
                f"{name}, line {line}: the {what} is missing or impossible.",
                "Fill it in, or choose another file.",
            )
        found.append(value)
    return found
