"""A site's year as a picture, PNG or SVG."""

from io import BytesIO
from itertools import pairwise
from typing import Literal

from starverse.planning.site import SiteAnswer, SiteYear

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def site_picture(answer: SiteAnswer, year: SiteYear, form: Literal["png", "svg"] = "png") -> bytes:
    """PUE by month over the hours' spread, what cooling takes by part, and what a card-hour is made of.

    The bytes of a file; writing it is the caller's. Labelled with the site, the weather and the boundary.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7), layout="constrained")
    FigureCanvasAgg(figure)
    ratio, parts = figure.subplots(2, 1, height_ratios=(3, 2), sharex=False)
    figure.suptitle(
        f"{answer.site}: annual PUE {answer.pue:.4f}, {answer.weather}\n{answer.boundary}", size=10
    )
    hourly = year.total_w / year.energy.it_w
    days = range(365)
    by_day = hourly.reshape(365, 24)
    ratio.fill_between(days, by_day.min(axis=1), by_day.max(axis=1), alpha=0.3, label="hours of each day")
    starts = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365)
    ratio.stairs(answer.pue_by_month, starts, baseline=None, linewidth=2, label="month, energy-weighted")
    ratio.set_ylabel("PUE")
    ratio.set_xlim(0, 365)
    ratio.set_xticks([(a + b) / 2 for a, b in pairwise(starts)], _MONTHS)
    ratio.legend(loc="upper left", frameon=False)
    megawatt = [
        ("pumps", year.plant.pump_w),
        ("fans", year.plant.fan_w),
        ("chiller", year.plant.compressor_w),
        ("power losses", year.energy.power_loss_w),
    ]
    series = [watts.reshape(365, 24).mean(axis=1) / 1e6 for _, watts in megawatt]
    parts.stackplot(days, *series, labels=[name for name, _ in megawatt])
    parts.set_ylabel("MW, mean of the day")
    parts.set_xlim(0, 365)
    parts.set_xticks([(a + b) / 2 for a, b in pairwise(starts)], _MONTHS)
    parts.legend(loc="upper left", ncols=4, frameon=False)
    made = BytesIO()
    # without a date, the same site gives the same bytes
    figure.savefig(made, format=form, dpi=120, metadata={"Date": None} if form == "svg" else None)
    return made.getvalue()
