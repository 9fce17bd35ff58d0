"""Titan's first cards, counted by age, serial number and cage; and the life that is fitted on them."""

import numpy as np
from msgspec import Struct

from starverse.physics.faults.hazard import WeibullFit, activation_ev_for, fit_weibull

SOURCE = "Ostrouchov et al., GPU Lifetimes on Titan (SC'20): counted from olcf/TitanGPULife @f330355"

AGES = np.arange(0, 6.01, 0.5)
"""Years, edges of the bins below."""

YEARS = np.array(
    [
        [
            [1566.2, 1565.5, 1564.6, 1563.5, 1560.7, 1541.5, 1505.6, 1449.9, 1372.5, 1270.8, 1143.7, 67.0],
            [1563.5, 1562.1, 1558.1, 1553.9, 1530.9, 1414.1, 870.3, 714.6, 583.0, 488.1, 376.9, 23.2],
            [1575.9, 1573.8, 1564.3, 1551.4, 1472.5, 1133.5, 337.2, 143.1, 71.1, 42.5, 8.6, 0.0],
        ],
        [
            [1553.0, 1552.1, 1551.0, 1549.6, 1546.4, 1532.3, 1501.3, 1446.3, 1367.9, 1265.5, 1134.6, 65.2],
            [1573.3, 1572.8, 1567.6, 1562.9, 1538.7, 1421.0, 867.4, 710.3, 575.2, 484.4, 381.8, 23.2],
            [1582.4, 1579.7, 1568.5, 1553.7, 1469.5, 1129.6, 345.8, 151.4, 80.8, 48.3, 8.0, 0.0],
        ],
    ]
)
"""Card-years: serial numbers (even, odd) x cages (bottom to top) x bins of age."""

DEATHS = np.array(
    [
        [
            [1, 0, 1, 2, 13, 32, 71, 83, 109, 116, 129, 5],
            [1, 1, 1, 13, 76, 192, 138, 138, 111, 104, 96, 3],
            [3, 0, 1, 56, 271, 432, 169, 71, 36, 20, 2, 0],
        ],
        [
            [2, 2, 0, 1, 10, 18, 65, 79, 92, 116, 150, 10],
            [1, 1, 2, 15, 87, 196, 152, 122, 95, 109, 90, 2],
            [3, 2, 2, 59, 272, 464, 181, 79, 35, 14, 2, 0],
        ],
    ]
)
"""Deaths, likewise."""

EVEN, ODD = 0, 1

BOTTOM_C, TOP_C = 46.2, 65.2
"""Cage means 19 K apart (ORNL, GTC 2015: air from 20.5 to 49 °C over three cages), dies about 21 K above
their air."""


class TitanFit(Struct, frozen=True):
    """A Weibull life and the top cage's deaths a card-year over the bottom's, with the activation energy that
    explains them; fitted on all cards, on half of them, and what the half says of the other."""

    shape: float
    life_years: float
    cage_ratio: float
    activation_ev: float
    even_shape: float
    even_life_years: float
    even_cage_ratio: float
    odd_deaths: int
    odd_deaths_foreseen: float
    odd_cage_ratio: float


def fit_titan() -> TitanFit:
    """Maximum likelihood (`fit_weibull`) on the counts; odd serial numbers are held out of `even`."""
    whole = fit_weibull(AGES, YEARS.sum(axis=(0, 1)), DEATHS.sum(axis=(0, 1)))
    even = half_fit(EVEN)
    ratio = cage_ratio(EVEN, ODD)
    mean = np.diff(AGES**even.shape) / np.diff(AGES) / even.life**even.shape
    return TitanFit(
        shape=whole.shape,
        life_years=whole.life,
        cage_ratio=ratio,
        activation_ev=activation_ev_for(ratio, BOTTOM_C, TOP_C),
        even_shape=even.shape,
        even_life_years=even.life,
        even_cage_ratio=cage_ratio(EVEN),
        odd_deaths=int(DEATHS[ODD].sum()),
        odd_deaths_foreseen=float((YEARS[ODD].sum(axis=0) * mean).sum()),
        odd_cage_ratio=cage_ratio(ODD),
    )


def half_fit(half: int) -> WeibullFit:
    """The Weibull of the even or of the odd serial numbers, in years."""
    return fit_weibull(AGES, YEARS[half].sum(axis=0), DEATHS[half].sum(axis=0))


def cage_ratio(*halves: int) -> float:
    """Deaths a card-year in the top cage over those in the bottom one."""
    deaths, years = DEATHS[list(halves)].sum(axis=(0, 2)), YEARS[list(halves)].sum(axis=(0, 2))
    return float(deaths[2] / years[2] / (deaths[0] / years[0]))
