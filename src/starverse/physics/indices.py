"""PUE and its relatives, each with the boundary it was taken at."""

from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from starverse.model.errors import BadInput
from starverse.physics.cooling.weather import month_of_hour

Floats = NDArray[np.floating[Any]]

Category = Literal[0, 1, 2, 3]

BOUNDARIES: dict[Category, str] = {
    0: "IT energy as a peak demand at the UPS output, no annual energy (only for orientation)",
    1: "IT metered at the UPS output; the whole facility at the utility",
    2: "IT metered at the PDU output; the whole facility at the utility",
    3: "IT metered at the input of the IT equipment (the rack); the facility at the utility",
}
"""ISO/IEC 30134-2:2016, categories of PUE by where IT energy is read (basic, intermediate, advanced)."""


class Energy(Struct, frozen=True):
    """A year of hourly power in W, shape (hours,): IT as metered, and everything else by what it does.

    `fans_in_it_w` and `conversion_in_it_w` are the parts of `it_w` that cool or convert rather than compute:
    server fans, power supplies behind the meter. They make TUE. `water_kg_per_s` is drawn at the site.
    """

    it_w: Floats
    cooling_w: Floats
    power_loss_w: Floats
    other_w: Floats
    fans_in_it_w: Floats
    conversion_in_it_w: Floats
    water_kg_per_s: Floats

    def __post_init__(self) -> None:
        shapes = {array.shape for array in (self.it_w, self.cooling_w, self.power_loss_w, self.other_w)}
        if len(shapes) > 1 or self.it_w.ndim != 1 or not self.it_w.sum() > 0:
            raise BadInput(
                "PUE needs IT energy, hour by hour, and the rest for the same hours.",
                "Give arrays of one shape (hours,) with `it_w` above zero.",
            )


class Indices(Struct, frozen=True):
    """Annual ratios with their boundary, and PUE by month and hour.

    `pue` = all energy / IT energy; `ppue_cooling` = (IT + cooling) / IT, a partial PUE of the cooling zone;
    `tue` = all energy / what computes; `wue_l_per_kwh` = litres of water a kWh of IT energy.
    """

    category: Category
    boundary: str
    source: str
    pue: float
    ppue_cooling: float
    ppue_power: float
    tue: float
    wue_l_per_kwh: float
    pue_by_month: tuple[float, ...]
    pue_by_hour: Floats


SOURCE = "ISO/IEC 30134-2:2016 (PUE, pPUE); Patterson et al. 2013 (ITUE, TUE); ISO/IEC 30134-9:2022 (WUE)"


def indices(energy: Energy, category: Category) -> Indices:
    """The indices of a year. Energy-weighted: a ratio of sums, never a mean of hourly ratios.

    Months are given for 8,760 hours and left empty otherwise. Hours without IT power have no PUE (nan).
    """
    it = float(energy.it_w.sum())
    cooling = float(energy.cooling_w.sum())
    lost = float(energy.power_loss_w.sum())
    everything = it + cooling + lost + float(energy.other_w.sum())
    computes = it - float(energy.fans_in_it_w.sum()) - float(energy.conversion_in_it_w.sum())
    hourly = energy.it_w + energy.cooling_w + energy.power_loss_w + energy.other_w
    with np.errstate(divide="ignore", invalid="ignore"):
        by_hour = np.where(energy.it_w > 0, hourly / energy.it_w, np.nan)
    months: tuple[float, ...] = ()
    if energy.it_w.shape == (8760,):
        month = month_of_hour()
        sums = np.bincount(month, hourly, 12), np.bincount(month, energy.it_w, 12)
        months = tuple(float(a / b) if b > 0 else float("nan") for a, b in zip(*sums, strict=True))
    return Indices(
        category,
        BOUNDARIES[category],
        SOURCE,
        pue=everything / it,
        ppue_cooling=1 + cooling / it,
        ppue_power=1 + lost / it,
        tue=everything / computes,
        # kg/s over an hour is 3600 L; W over an hour is Wh
        wue_l_per_kwh=float(energy.water_kg_per_s.sum()) * 3600 / (it / 1000),
        pue_by_month=months,
        pue_by_hour=by_hour,
    )
