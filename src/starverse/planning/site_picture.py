"""A site's year as a picture, PNG or SVG."""

from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from starverse.model.units import YUAN
from starverse.physics.cooling.weather import MONTH_DAYS, MONTHS, month_of_hour
from starverse.planning.site import SiteAnswer, SiteYear

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.floating[Any]]

_STARTS = (0, *np.cumsum(MONTH_DAYS).tolist())
# after Paul Tol's "muted" and "bright" sets, which stay apart for the colour-blind and in grey
_INK, _SOFT, _GRID = "#22303c", "#66788a", "#e3e8ee"
_BLUE, _WATER = "#33689e", "#3fa7b5"
_PARTS = {
    "power losses": "#8c9bab",
    "lights, offices": "#ccd4dc",
    "pumps": _BLUE,
    "fans": "#7fb2dd",
    "compressors": "#e08a3c",
}
_COSTS = {
    "cards": "#33689e",
    "site": "#7fb2dd",
    "upkeep": "#8c9bab",
    "energy": "#e08a3c",
    "demand": "#b8554a",
}


def site_picture(answer: SiteAnswer, year: SiteYear, form: Literal["png", "svg"] = "png") -> bytes:
    """A year on one page: PUE, what all beside IT takes by part, water and peak by month, and a card-hour.

    PUE is by month over the spread of each day's hours. The bytes of a file; writing it is the caller's.
    Labelled with the site, the weather and the boundary.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = BytesIO()
    with rc_context(_STYLE):
        figure = Figure(figsize=(12, 10.5))
        FigureCanvasAgg(figure)
        figure.text(0.06, 0.965, answer.site, size=19, weight="bold")
        figure.text(0.06, 0.942, f"{answer.weather}. PUE: {answer.boundary}.", color=_SOFT, size=9.5)
        grid = figure.add_gridspec(
            3, 3, height_ratios=(3.2, 2.6, 2.2), left=0.06, right=0.975, top=0.885, bottom=0.045,
            hspace=0.42, wspace=0.24,
        )  # fmt: skip
        _ratio(figure.add_subplot(grid[0, :]), answer, year)
        _parts(figure.add_subplot(grid[1, :]), year)
        _water(figure.add_subplot(grid[2, 0]), answer, year)
        _peak(figure.add_subplot(grid[2, 1]), year)
        _card_hour(figure.add_subplot(grid[2, 2]), answer)
        # without a date, the same site gives the same bytes
        figure.savefig(made, format=form, dpi=130, metadata={"Date": None} if form == "svg" else None)
    return made.getvalue()


_STYLE: dict[Any, Any] = {
    "font.size": 9.5,
    "text.color": _INK,
    "axes.edgecolor": _SOFT,
    "axes.labelcolor": _SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 9,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "grid.color": _GRID,
    "svg.hashsalt": "site",
}


def _ratio(axes: "Axes", answer: SiteAnswer, year: SiteYear) -> None:
    by_day = (year.total_w / year.energy.it_w).reshape(365, 24)
    low, high = by_day.min(axis=1), by_day.max(axis=1)
    axes.fill_between(_middles(), low, high, color=_BLUE, alpha=0.22, lw=0, label="hours of each day")
    axes.stairs(answer.pue_by_month, _STARTS, baseline=None, color=_BLUE, lw=2.4, label="month")
    axes.axhline(answer.pue, color=_INK, lw=1, ls=(0, (4, 3)), label="year")
    axes.set_title(f"PUE {answer.pue:.4f}")
    axes.grid(axis="y")
    _in_days(axes)
    _legend(axes, 3)


def _parts(axes: "Axes", year: SiteYear) -> None:
    """What is drawn beside IT; the steady parts below, so that what the weather moves shows on top."""
    watts = (
        year.energy.power_loss_w, year.energy.other_w, year.plant.pump_w, year.plant.fan_w,
        year.plant.compressor_w,
    )  # fmt: skip
    scale, unit = _scaled(max(float(each.max()) for each in watts))
    days = [each.reshape(365, 24).mean(axis=1) / scale for each in watts]
    axes.stackplot(_middles(), *days, labels=list(_PARTS), colors=list(_PARTS.values()), lw=0)
    axes.set_title(f"Drawn beside {year.energy.it_w.mean() / scale:,.4g} {unit} of IT, {unit}")
    axes.set_ylim(0, float(np.sum(days, axis=0).max()) * 1.04)
    axes.grid(axis="y")
    _in_days(axes)
    _legend(axes, 5)


def _water(axes: "Axes", answer: SiteAnswer, year: SiteYear) -> None:
    cubic = np.bincount(month_of_hour(), year.energy.water_kg_per_s, 12) * 3.6
    axes.bar(range(12), cubic, color=_WATER, width=0.72)
    axes.set_title(f"Water, m³: {answer.water_m3_per_year:,.0f} a year")
    axes.yaxis.set_major_formatter("{x:,.0f}" if cubic.max() >= 10 else "{x:,.2g}")
    _in_months(axes)
    if not cubic.any():
        axes.set_ylim(0, 1)
        axes.set_yticks([])
        axes.text(5.5, 0.5, "none is evaporated", ha="center", color=_SOFT)


def _peak(axes: "Axes", year: SiteYear) -> None:
    """Each month's highest hour, IT's part of it below."""
    month = month_of_hour()
    hours = [int(np.flatnonzero(month == each)[year.total_w[month == each].argmax()]) for each in range(12)]
    total, it = year.total_w[hours], year.energy.it_w[hours]
    scale, unit = _scaled(float(total.max()))
    axes.bar(range(12), it / scale, color="#ccd4dc", width=0.72, label="IT")
    axes.bar(range(12), (total - it) / scale, bottom=it / scale, color=_BLUE, width=0.72, label="beside")
    axes.set_title(f"Power at peak, {unit}: {total.max() / scale:,.4g}")
    axes.set_ylim(0, float(total.max()) / scale * 1.22)
    _in_months(axes)
    axes.legend(
        loc="upper right", ncols=2, facecolor="white", edgecolor="none", framealpha=1, borderaxespad=0,
        borderpad=0.2, handlelength=1.2,
    )  # fmt: skip


def _card_hour(axes: "Axes", answer: SiteAnswer) -> None:
    yuan = {part: getattr(answer.card_hour, part) / YUAN for part in _COSTS}
    most = max(*yuan.values(), 1e-6)
    axes.barh(list(yuan), list(yuan.values()), color=list(_COSTS.values()), height=0.66)
    for row, value in enumerate(yuan.values()):
        axes.text(value + 0.02 * most, row, f"{value:.2f}", va="center")
    axes.invert_yaxis()
    axes.set_xlim(0, most * 1.18)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(axis="y", length=0, labelcolor=_INK)
    axes.set_title(f"A sold card-hour, yuan: {answer.card_hour_micro_yuan / YUAN:.2f}")


def _middles() -> Floats:
    return np.arange(365) + 0.5


def _legend(axes: "Axes", columns: int) -> None:
    """In one line with the title, at the right."""
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1, 1.035),
        ncols=columns,
        frameon=False,
        borderaxespad=0,
        borderpad=0,
    )


def _in_days(axes: "Axes") -> None:
    axes.set_xlim(0, 365)
    axes.set_xticks([(a + b) / 2 for a, b in pairwise(_STARTS)], MONTHS)
    axes.tick_params(axis="x", length=0)


def _in_months(axes: "Axes") -> None:
    axes.set_xticks(range(12), [month[0] for month in MONTHS])
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="y")


def _scaled(watts: float) -> tuple[float, str]:
    """A unit in which so many watts are read easily."""
    return (1e6, "MW") if watts >= 5e5 else (1e3, "kW")
