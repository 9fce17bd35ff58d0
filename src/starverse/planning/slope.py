"""The kelvin per watt of a fleet's cards in use, from the distributions of their power and temperature."""

import csv
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from starverse.model.errors import BadInput

EQUATION = "K/W = (T90 - T10) / (P90 - P10): power and temperature matched by quantile"
SOURCE = "as on Acme's traces: Hu et al., Characterization of Large Language Model Development, NSDI 2024"
LOW, HIGH = 10.0, 90.0
"""Per cent: between them the distributions are straight, beyond them idle and hot spots are."""
_COLDEST_C, _HOTTEST_C = 0.0, 130.0
"""No card in use is colder or hotter."""


class SlopeAnswer(Struct, frozen=True):
    """What `plan slope` says."""

    k_per_w: float
    power_w: tuple[float, float]
    temperature_c: tuple[float, float]
    equation: str
    source: str
    notes: tuple[str, ...]


def plan_slope(power: Sequence[str], temperature: Sequence[str], names: tuple[str, str]) -> SlopeAnswer:
    """The slope of two tables' lines: a header, then a value and its cumulative per cent in each row."""
    if list(power) == list(temperature):
        raise BadInput(f"{names[0]} and {names[1]} say the same.", "Give the power, then the temperature.")
    watts = _quantiles(power, names[0], "temp", "temperatures")
    celsius = _quantiles(temperature, names[1], "power", "power")
    if celsius[0] < _COLDEST_C or celsius[1] > _HOTTEST_C:
        raise BadInput(
            f"{names[1]}: {celsius[0]:g} to {celsius[1]:g} are no temperatures of cards in °C.",
            "Give the power first, then the temperature.",
        )
    if watts[1] <= watts[0]:
        raise BadInput(f"{names[0]}: the 90 % of power are no more than the 10 %.", "Give a distribution.")
    return SlopeAnswer(
        k_per_w=(celsius[1] - celsius[0]) / (watts[1] - watts[0]),
        power_w=watts,
        temperature_c=celsius,
        equation=EQUATION,
        source=SOURCE,
        notes=("the hottest cards are taken to be those that draw most",),
    )


def _quantiles(lines: Sequence[str], name: str, other: str, others: str) -> tuple[float, float]:
    """The values at both per cents of a table whose header does not name the `other` quantity."""
    rows = []
    for number, row in enumerate(csv.reader(lines), 1):
        if number == 1 and row and other in row[0].lower():
            raise BadInput(
                f"{name} holds {others}, by its header '{row[0]}'.",
                "Give the power first, then the temperature.",
            )
        if number == 1 or not row:
            continue
        try:
            rows.append((float(row[0]), float(row[1])))
        except (ValueError, IndexError):
            raise BadInput(
                f"{name}, line {number}: no value with its cumulative per cent.", "Give both as numbers."
            ) from None
    if not rows:
        raise BadInput(f"{name} is empty.", "Give a header, then a value and its cumulative per cent a line.")
    table = np.array(rows)
    if len(rows) < 2 or not np.isfinite(table).all() or (np.diff(table[:, 1]) < 0).any():
        raise BadInput(f"{name} is no distribution: its per cents do not rise.", "Sort it by value.")
    if table[0, 1] > LOW or table[-1, 1] < HIGH:
        raise BadInput(f"{name} does not reach from {LOW:g} to {HIGH:g} %.", "Give the whole distribution.")
    low, high = np.interp([LOW, HIGH], table[:, 1], table[:, 0])
    return float(low), float(high)
