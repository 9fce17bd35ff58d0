"""What a site draws, drinks and costs over a year of weather."""

from math import ceil
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.model.units import YUAN
from starverse.money.tco import (
    FLAT,
    TIME_OF_USE,
    CardHour,
    Cost,
    Tariff,
    break_even_card_yuan,
    card_hour,
    energy_bill,
)
from starverse.physics.cooling.weather import Weather
from starverse.physics.indices import Energy, Indices, indices
from starverse.physics.power.chain import (
    AC_CHAIN,
    AC_CHAIN_ECO,
    BUSBAR_CHAIN,
    SUPPLY_TITANIUM,
    TRANSFORMER,
    Chain,
    chain_losses,
)
from starverse.planning.site_die import die_most
from starverse.planning.site_file import Cards, Plant, Site, check_ranges
from starverse.planning.site_plant import (
    AirHeat,
    Cooled,
    cooled_by_air,
    cooled_by_liquid,
)
from starverse.planning.site_said import assumed, flash_said

Floats = NDArray[np.floating[Any]]

EQUATION = (
    "PUE = (IT + cooling + power losses + other) / IT, annual energies; pPUE the same of one part; TUE the "
    "same over what computes, without fans and supplies; WUE = water / IT; "
    "TCO by annuity r / (1 - (1 + r)^-n)"
)
_LIQUID = (
    "ISO/IEC 30134-2 category 3; plant by ε-NTU (Incropera), affinity and fan laws; loss curves a + bx + cx²"
)
SOURCES = {
    "air": "ISO/IEC 30134-2 category 3; units and their curves from EnergyPlus' example "
    "1ZoneDataCenterCRAC_wApproachTemp, DX coils by its Engineering Reference; loss curves a + bx + cx²",
    "cold-plate": _LIQUID,
    "single-phase": _LIQUID,
    "two-phase": _LIQUID,
}

_CHAINS = {"busbar": BUSBAR_CHAIN, "ac": AC_CHAIN, "ac-eco": AC_CHAIN_ECO}
_MECHANICAL = Chain("mechanical", ((TRANSFORMER, 0.5),))


class SiteYear(Struct, frozen=True):
    """A site's year, hour by hour, shape (8760,): what its indices are made of, all of it in W, the plant."""

    energy: Energy
    total_w: Floats
    plant: Cooled
    full_it_w: float
    """IT with all cards at work: what the site is built for."""


class Fed(Struct, frozen=True):
    """What a power chain feeds and loses, hour by hour, in W: IT with its fans and supplies, the losses that
    the plant cools, and those before the meter."""

    it_w: Floats
    fans_w: Floats
    inside_w: Floats
    beside_w: Floats
    lost_w: Floats


class SiteAnswer(Struct, frozen=True):
    """What `plan site` says. Money in micro-yuan."""

    site: str
    weather: str
    equation: str
    source: str
    boundary: str
    pue: float
    pue_by_month: tuple[float, ...]
    ppue_cooling: float
    ppue_power: float
    tue: float
    wue_l_per_kwh: float
    water_m3_per_year: float
    it_kw: float
    it_full_kw: float
    """With all cards at work: what converters, plant and the site's price are for."""
    peak_kw: float
    energy_mwh_per_year: float
    chiller_hours: int
    supply_most_c: float
    tank_most_c: float | None
    room_most_c: float | None
    """The air that rear doors leave in the room."""
    die_most_c: float | None
    """Of a card at full power where the year's coolant is warmest; none where no model knows it."""
    card_yuan: float
    card_hour: CardHour
    card_hour_micro_yuan: int
    break_even_card_yuan: float
    saved_share: float | None
    """Of the electricity of the air-cooled site that it is compared with."""
    assumed: tuple[str, ...]
    notes: tuple[str, ...]


def plan_site(site: Site, weather: Weather, against_pue: float | None = None) -> SiteAnswer:
    """A year of a site: PUE by month, power at peak, water, and the cost of a sold card-hour.

    `against_pue` is that of a site cooled by air, whose servers' fans take a tenth on top of what computes:
    what all takes for the same computing is `tue` here and 1.1 times that PUE there.
    """
    bounded(1, 100, against_pue=against_pue)
    year = site_year(site, weather)
    found: Indices = indices(year.energy, 3)
    total_kw = year.total_w / 1e3
    cost = _cost(site)
    hour, even = _money(site, year, cost)
    plant = year.plant
    tank_c = None if plant.tank_c is None else float(plant.tank_c.max())
    die_c, die_said = die_most(site, plant)
    return SiteAnswer(
        site=site.name,
        weather=weather.where,
        equation=EQUATION,
        source=f"{SOURCES[site.plant.kind]}; indices: {found.source}",
        boundary=found.boundary,
        pue=found.pue,
        pue_by_month=found.pue_by_month,
        ppue_cooling=found.ppue_cooling,
        ppue_power=found.ppue_power,
        tue=found.tue,
        wue_l_per_kwh=found.wue_l_per_kwh,
        water_m3_per_year=float(year.energy.water_kg_per_s.sum()) * 3.6,
        it_kw=float(year.energy.it_w.max()) / 1e3,
        it_full_kw=year.full_it_w / 1e3,
        peak_kw=float(total_kw.max()),
        energy_mwh_per_year=float(total_kw.sum()) / 1e3,
        chiller_hours=int((plant.compressor_w > 0).sum()),
        supply_most_c=float(plant.supply_c.max()),
        tank_most_c=tank_c,
        room_most_c=None if plant.room_c is None else float(plant.room_c.max()),
        die_most_c=die_c,
        card_yuan=site.money.card_yuan,
        card_hour=hour,
        card_hour_micro_yuan=hour.total,
        break_even_card_yuan=even,
        saved_share=None if against_pue is None else 1 - found.tue / ((1 + Cards().fan_share) * against_pue),
        assumed=(*assumed(site, plant, cost), hour.definition),
        notes=tuple(said for said in (flash_said(site.plant, tank_c), die_said) if said),
    )


def site_year(site: Site, weather: Weather) -> SiteYear:
    """A site's year in hours. IT is metered at the rack: busbar, or the servers' supplies with AC.

    All equipment is rated for all cards at `power_w`; the year runs at `load_share`, so that what is lost at
    any load (no-load losses, least speeds of fans and pumps, lights) weighs more the less is computed.
    So a rectifier shelf counts as a loss, a server's supply as IT (and TUE takes it out again).
    """
    check_ranges(site)
    hours = weather.dry_bulb_c.shape[0]
    asked, full = (_fed(site, hours, share) for share in (site.cards.load_share, 1.0))
    took = _cooled(site.plant, asked, full, weather)
    most = took if site.cards.load_share == 1 else _cooled(site.plant, full, full, weather)
    mechanical = chain_losses(_MECHANICAL, took.power_w, float(most.power_w.max())).lost_w
    other = full.it_w * site.electrical.other_share
    lost = asked.lost_w + mechanical
    energy = Energy(asked.it_w, took.power_w, lost, other, asked.fans_w, asked.inside_w, took.water_kg_per_s)
    return SiteYear(energy, asked.it_w + took.power_w + lost + other, took, float(full.it_w.max()))


def _fed(site: Site, hours: int, load_share: float) -> Fed:
    """What a site's power chain feeds at a load; its converters and bars are rated for all cards at work."""
    air = site.plant.kind == "air"
    used, peak = (
        _computing_w(site.cards, share) * (1 + (site.cards.fan_share if air else 0.0))
        for share in (load_share, 1.0)
    )
    racks = ceil(peak / site.electrical.rack_w)
    losses = chain_losses(_CHAINS[site.electrical.chain], np.full(hours, used), peak, racks)
    inside = losses.by_stage_w.get(SUPPLY_TITANIUM.name, np.zeros(hours))
    indoors = losses.lost_w - inside - losses.by_stage_w[TRANSFORMER.name]
    return Fed(
        it_w=used + inside,
        fans_w=np.full(hours, used - _computing_w(site.cards, load_share)),
        inside_w=inside,
        beside_w=indoors * site.electrical.cooled_share,
        lost_w=losses.lost_w - inside,
    )


def _cooled(plant: Plant, heat: Fed, full: Fed, weather: Weather) -> Cooled:
    """What cooling takes for a heat, by a plant built for that at full load."""
    if plant.kind == "air":
        asked, most = (AirHeat(each.it_w, each.fans_w, each.beside_w) for each in (heat, full))
        return cooled_by_air(asked, most, weather)
    return cooled_by_liquid(
        plant, heat.it_w + heat.beside_w, float((full.it_w + full.beside_w).max()), weather
    )


def _computing_w(cards: Cards, load_share: float) -> float:
    nodes = -(-cards.count // cards.per_node)
    each = cards.idle_w + (cards.power_w - cards.idle_w) * load_share
    if cards.idle_w > cards.power_w:
        raise BadInput(
            f"`cards.idle_w` = {cards.idle_w:g} exceeds `cards.power_w` = {cards.power_w:g}.",
            "Swap the two, or lower `idle_w`.",
        )
    return cards.count * each + nodes * cards.node_w


def _cost(site: Site) -> Cost:
    money = site.money
    return Cost(
        money.card_yuan,
        interest=money.interest_share,
        life_years=money.life_years,
        residual_share=money.residual_share,
        site_yuan_per_kw=money.site_yuan_per_kw,
    )


def _money(site: Site, year: SiteYear, cost: Cost) -> tuple[CardHour, float]:
    """What a sold card-hour costs, and the yuan of a card at which the price covers it."""
    total_kw = (year.total_w / 1e3).tolist()
    energy, demand = energy_bill(total_kw, _tariff(site))
    money = site.money
    rest = (site.cards.count, year.full_it_w / 1e3, energy, demand, money.sold_share)
    return card_hour(cost, *rest), break_even_card_yuan(cost, round(money.price_yuan * YUAN), *rest)


def _tariff(site: Site) -> Tariff:
    if site.money.time_of_use:
        return TIME_OF_USE
    return Tariff((round(site.money.energy_yuan_per_kwh * YUAN),) * 24, FLAT.demand_micro_yuan_per_kw_month)
