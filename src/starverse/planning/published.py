"""A published year of PUE run again: its figure beside the one computed here."""

from msgspec import Struct

from starverse.physics.cooling.published import YEARS, dry_bulb_c, published_named
from starverse.physics.cooling.weather import Weather

__all__ = ["YEARS", "PublishedAnswer", "plan_published"]


class PublishedAnswer(Struct, frozen=True):
    """What `plan site` says of a published site; `published_pue` is the source's own, of its own weather."""

    site: str
    weather: str
    pue: float
    published_pue: float
    it_mwh_per_year: float
    pumps_mwh_per_year: float
    fans_mwh_per_year: float
    compressors_mwh_per_year: float
    supply_most_c: float
    boundary: str
    equation: str
    source: str
    notes: tuple[str, ...]


def plan_published(name: str, weather: Weather | None = None) -> PublishedAnswer:
    """A published site in its own year of weather, or in another."""
    site = published_named(name)
    outdoor = dry_bulb_c(site.place) if weather is None else weather.dry_bulb_c
    year = site.year(outdoor)
    notes = list(site.notes)
    if weather is not None:
        notes.append("the published figure is of other weather")
    return PublishedAnswer(
        site=name,
        weather=site.weather if weather is None else weather.where,
        pue=year.pue,
        published_pue=site.pue,
        it_mwh_per_year=float(year.it_w.sum()) / 1e6,
        pumps_mwh_per_year=float(year.pump_w.sum()) / 1e6,
        fans_mwh_per_year=float(year.fan_w.sum()) / 1e6,
        compressors_mwh_per_year=float(year.compressor_w.sum()) / 1e6,
        supply_most_c=float(year.supply_c.max()),
        boundary=site.boundary,
        equation=site.equation,
        source=site.source,
        notes=tuple(notes),
    )
