"""A site's year hour by hour, as a table for a spreadsheet."""

import numpy as np

from starverse.physics.cooling.weather import HOURS, Weather, month_of_hour
from starverse.planning.site import SiteYear

COLUMNS = (
    "hour", "month", "dry_bulb_c", "wet_bulb_c", "it_w", "pump_w", "fan_w", "compressor_w", "power_loss_w",
    "other_w", "total_w", "water_kg_per_s", "pue",
)  # fmt: skip


def hours_csv(year: SiteYear, weather: Weather) -> str:
    """The 8,760 hours with their columns named; hours from 0, months from 1, an hour's own ratio as `pue`."""
    energy, plant = year.energy, year.plant
    columns = (
        np.arange(HOURS), month_of_hour() + 1, weather.dry_bulb_c, weather.wet_bulb_c, energy.it_w,
        plant.pump_w, plant.fan_w, plant.compressor_w, energy.power_loss_w, energy.other_w, year.total_w,
        energy.water_kg_per_s, year.total_w / energy.it_w,
    )  # fmt: skip
    rows = (",".join(f"{value:.7g}" for value in row) for row in zip(*columns, strict=True))
    return "\n".join((",".join(COLUMNS), *rows)) + "\n"
