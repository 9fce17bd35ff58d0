"""The hazard of competing causes: Weibull in age, Arrhenius in temperature for those that heat drives."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from starverse.model.errors import BadInput

Floats = NDArray[np.floating[Any]]

BOLTZMANN_EV_PER_K = 8.617333262e-5
YEAR_H = 8766.0


class Cause(Struct, frozen=True):
    """One way to stop: `rate_per_h` per unit at `reference_c`, over the life that was observed.

    `activation_ev` is 0 where heat plays no part. `shape` is Weibull's k: below 1 early deaths, 1 none in
    particular, above 1 wear; `life_h` its η where k isn't 1. `repair_h` is the mean time until the unit is
    back.
    """

    name: str
    rate_per_h: float
    activation_ev: float = 0.0
    reference_c: float = 63.0
    shape: float = 1.0
    life_h: float = 0.0
    repair_h: float = 4.0

    def __post_init__(self) -> None:
        if self.rate_per_h < 0 or self.activation_ev < 0 or self.shape <= 0:
            raise BadInput(
                f"The cause '{self.name}' has a rate, activation energy or shape below zero.",
                "Give `rate_per_h` and `activation_ev` of at least 0, `shape` above 0.",
            )
        if self.shape != 1 and self.life_h <= 0:
            raise BadInput(
                f"The cause '{self.name}' ages with shape {self.shape:g} but has no life.",
                "Give `life_h`, Weibull's η.",
            )


def arrhenius(activation_ev: float, reference_c: ArrayLike, temperature_c: ArrayLike) -> Floats:
    """How much faster a thermally activated cause goes: exp(Ea/k (1/Tref - 1/T)) (JEDEC JESD91, JEP122).

    0.7 eV from 63 to 83 °C is x3.9; 0.715 eV is x4. Shapes broadcast. Raises BadInput below absolute zero.
    """
    reference = np.asarray(reference_c, dtype=float) + 273.15
    temperature = np.asarray(temperature_c, dtype=float) + 273.15
    if (reference <= 0).any() or (temperature <= 0).any():
        raise BadInput("Nothing is colder than -273.15 °C.", "Give temperatures in °C.")
    factor: Floats = np.exp(activation_ev / BOLTZMANN_EV_PER_K * (1 / reference - 1 / temperature))
    return factor


def activation_ev_for(factor: float, cold_c: float, warm_c: float) -> float:
    """The activation energy under which a hazard grows by `factor` from `cold_c` to `warm_c`."""
    if factor <= 0 or cold_c >= warm_c:
        raise BadInput("A factor needs a warmer and a colder end.", "Give `cold_c` below `warm_c`.")
    return float(BOLTZMANN_EV_PER_K * np.log(factor) / (1 / (cold_c + 273.15) - 1 / (warm_c + 273.15)))


def thermal_share_for(life_gain_share: float, activation_ev: float, cold_c: float, warm_c: float) -> float:
    """The thermally activated share of a hazard at `warm_c` under which cooling to `cold_c` gains that much
    life.

    Life is the inverse of the hazard (1 - s) + s / A: +30 % over 20 K at 0.7 eV is 31 %.
    """
    gain = 1 - 1 / (1 + life_gain_share)
    spared = 1 - 1 / float(arrhenius(activation_ev, cold_c, warm_c))
    if not 0 <= gain <= spared:
        raise BadInput(
            f"At {activation_ev:g} eV, {warm_c:g} to {cold_c:g} °C cannot gain {life_gain_share:g} of life.",
            "Lower the gain, or raise `activation_ev`.",
        )
    return gain / spared


def weibull_hazard_per_h(shape: float, life_h: float, age_h: ArrayLike) -> Floats:
    """Weibull's hazard k/η (t/η)^(k-1) per hour, shaped as the ages (Nelson, Applied Life Data Analysis)."""
    hazard: Floats = shape / life_h * (np.asarray(age_h, dtype=float) / life_h) ** (shape - 1)
    return hazard


def weibull_survival(shape: float, life_h: float, age_h: ArrayLike) -> Floats:
    """The share still alive: exp(-(t/η)^k), shaped as the ages."""
    alive: Floats = np.exp(-((np.asarray(age_h, dtype=float) / life_h) ** shape))
    return alive


def hazard_per_h(cause: Cause, temperature_c: ArrayLike, age_h: ArrayLike = 0.0) -> Floats:
    """A cause's hazard per unit-hour at temperature and age; shapes broadcast.

    h_j exp[Ea/k (1/Tref - 1/T)], h_j the constant rate where k is 1, else the Weibull hazard
    (k/η)(t/η)^(k-1), which carries the rate itself.
    """
    warmth = arrhenius(cause.activation_ev, cause.reference_c, temperature_c)
    if cause.shape == 1:
        hazard: Floats = cause.rate_per_h * warmth * np.ones_like(np.asarray(age_h, dtype=float))
        return hazard
    aged: Floats = weibull_hazard_per_h(cause.shape, cause.life_h, age_h) * warmth
    return aged


def expected_failures(cause: Cause, temperature_c: ArrayLike, age_h: float, hours: float) -> Floats:
    """Failures of one unit in `hours` from `age_h` on: the hazard's integral, shaped as the temperatures.

    ((t + h)/η)^k - (t/η)^k times the warmth, or rate x hours where nothing ages.
    """
    if cause.shape == 1:
        return hazard_per_h(cause, temperature_c) * hours
    ages = np.array([age_h, age_h + hours]) / cause.life_h
    lost: Floats = np.diff(ages**cause.shape)[0] * arrhenius(
        cause.activation_ev, cause.reference_c, temperature_c
    )
    return lost


def total_hazard_per_h(causes: Sequence[Cause], temperature_c: ArrayLike, age_h: ArrayLike = 0.0) -> Floats:
    """Competing risks: the sum over causes, each at its own sensitivity to heat and age."""
    total: Floats = np.sum([hazard_per_h(cause, temperature_c, age_h) for cause in causes], axis=0)
    return total


def thermal_share(causes: Sequence[Cause]) -> float:
    """The share of the hazard at the reference temperature that heat drives."""
    total = sum(cause.rate_per_h for cause in causes)
    return sum(cause.rate_per_h for cause in causes if cause.activation_ev > 0) / total


class WeibullFit(Struct, frozen=True):
    """Shape and characteristic life, in the unit of the ages."""

    shape: float
    life: float


def fit_weibull(edges: Floats, exposure: Floats, deaths: Floats) -> WeibullFit:
    """The Weibull of a life table: exposure (unit-time) and deaths between `edges`, shape (bins + 1,) and
    (bins,).

    Maximum likelihood with deaths Poisson about exposure x mean hazard of the bin, (b^k - a^k) / (b - a) /
    η^k (Holford, Biometrics 36, 1980). Golden section over k from 0.3 to 8. Raises BadInput without deaths.
    """
    if edges.shape[0] != exposure.shape[0] + 1 or exposure.shape != deaths.shape or not deaths.sum() > 0:
        raise BadInput("A life table needs deaths, and one more edge than bins.", "Check its three columns.")

    def misfit(shape: float) -> tuple[float, float]:
        mean = np.diff(edges**shape) / np.diff(edges)
        scale = float(deaths.sum() / (exposure * mean).sum())
        seen = deaths > 0
        return -float((deaths[seen] * np.log(scale * mean[seen])).sum()), scale

    low, high, golden = 0.3, 8.0, (5**0.5 - 1) / 2
    for _ in range(80):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if misfit(left)[0] < misfit(right)[0]:
            high = right
        else:
            low = left
    shape = (low + high) / 2
    return WeibullFit(shape, misfit(shape)[1] ** (-1 / shape))
