"""What a sold card-hour costs whoever runs the cluster: capital, upkeep, energy, spares."""

from collections.abc import Sequence
from math import expm1, log1p

from msgspec import Struct

from starverse.model.errors import BadInput
from starverse.model.units import YUAN

YEAR_H = 8760


class Tariff(Struct, frozen=True):
    """What electricity costs: micro-yuan a kWh by hour of day (24 of them), and a kW of each month's peak."""

    micro_yuan_per_kwh: tuple[int, ...]
    demand_micro_yuan_per_kw_month: int = 0

    def __post_init__(self) -> None:
        if len(self.micro_yuan_per_kwh) != 24:
            raise BadInput(
                f"A tariff of {len(self.micro_yuan_per_kwh)} prices does not fill a day.",
                "Give 24 prices of a kWh, from midnight on.",
            )


FLAT = Tariff((650_000,) * 24)
"""0.65 yuan a kWh at any hour (the article's claim)."""

TIME_OF_USE = Tariff(
    (300_000,) * 8 + (650_000,) * 2 + (1_000_000,) * 2 + (650_000,) * 3 + (1_000_000,) * 5 + (650_000,) * 4,
    demand_micro_yuan_per_kw_month=39 * YUAN,
)
"""An EXAMPLE of industrial time of use as Chinese provinces have it: night cheap, late morning and evening
dear, plus a demand charge. Take the local grid company's own."""


class Cost(Struct, frozen=True):
    """What a cluster costs, in yuan and shares; the card's price includes its part of node, rack and network.

    `life_years` of cards, `site_life_years` of building, power and cooling; `site_yuan_per_kw` per kW of IT;
    `upkeep_share` of all capital a year (staff, repair, software); `spare_share` cards beyond those sold
    (about 5 %, NCSA Delta, arXiv 2503.11901); `residual_share` what a card still fetches at the end.
    """

    card_yuan: float
    interest: float = 0.06
    life_years: float = 5.0
    residual_share: float = 0.0
    site_yuan_per_kw: float = 20_000.0
    site_life_years: float = 15.0
    upkeep_share: float = 0.025
    spare_share: float = 0.05

    def __post_init__(self) -> None:
        if self.card_yuan < 0 or self.life_years <= 0 or self.site_life_years <= 0 or self.interest < 0:
            raise BadInput(
                "Capital has a price, an interest and a life.",
                "Give `card_yuan` and `interest` of at least zero, `life_years` above zero.",
            )


class CardHour(Struct, frozen=True):
    """Micro-yuan of one sold card-hour by part; `total` is their sum."""

    cards: int
    site: int
    upkeep: int
    energy: int
    demand: int
    definition: str

    @property
    def total(self) -> int:
        """All of it, in micro-yuan."""
        return self.cards + self.site + self.upkeep + self.energy + self.demand


DEFINITION = (
    "annuity of cards and site, upkeep, energy and demand charge of all cards, "
    "over the card-hours sold; spares are bought and idle"
)


def annuity_share(interest: float, years: float) -> float:
    """What a year of capital costs as a share of it: r / (1 - (1 + r)^-n), or 1/n without interest."""
    if years <= 0 or interest < 0:
        raise BadInput("Capital is paid back in time.", "Give `years` above zero, `interest` from zero.")
    return interest / -expm1(-years * log1p(interest)) if interest else 1 / years


def energy_bill(hourly_kw: Sequence[float], tariff: Tariff) -> tuple[int, int]:
    """Micro-yuan of energy and of demand for a year of hourly kW, from 1 January, midnight.

    The demand charge is on each month's highest hour. Raises BadInput unless there are 8,760 hours.
    """
    if len(hourly_kw) != YEAR_H:
        raise BadInput(f"{len(hourly_kw):,} hours are no year.", "Give 8,760 hours of kW.")
    prices = tariff.micro_yuan_per_kwh
    energy = sum(float(kw) * prices[hour % 24] for hour, kw in enumerate(hourly_kw))
    demand, first = 0.0, 0
    for days in (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31):
        demand += float(max(hourly_kw[first : first + days * 24])) * tariff.demand_micro_yuan_per_kw_month
        first += days * 24
    return round(energy), round(demand)


def card_hour(
    cost: Cost,
    cards: int,
    it_kw: float,
    energy_micro_yuan: int,
    demand_micro_yuan: int,
    sold_share: float = 1.0,
) -> CardHour:
    """A sold card-hour's cost, of `cards` sellable cards that need `it_kw` of site at their peak.

    `sold_share` of the year's card-hours carry everything. Residual value is discounted: a card costs
    P (1 - s (1 + r)^-n) times the annuity a year. Raises BadInput where nothing is sold.
    """
    if cards < 1 or not 0 < sold_share <= 1:
        raise BadInput(
            "A card-hour must be sold to cost something.", "Give `cards`, and `sold_share` above 0."
        )
    sold_hours = cards * YEAR_H * sold_share
    bought = cards * (1 + cost.spare_share)
    capital = bought * cost.card_yuan
    residue = 1 - cost.residual_share * (1 + cost.interest) ** -cost.life_years
    site = it_kw * cost.site_yuan_per_kw

    def per_hour(yuan_a_year: float) -> int:
        return round(yuan_a_year * YUAN / sold_hours)

    return CardHour(
        cards=per_hour(capital * residue * annuity_share(cost.interest, cost.life_years)),
        site=per_hour(site * annuity_share(cost.interest, cost.site_life_years)),
        upkeep=per_hour((capital + site) * cost.upkeep_share),
        energy=round(energy_micro_yuan / sold_hours),
        demand=round(demand_micro_yuan / sold_hours),
        definition=DEFINITION,
    )


def break_even_card_yuan(
    cost: Cost,
    price_micro_yuan: int,
    cards: int,
    it_kw: float,
    energy_micro_yuan: int,
    demand_micro_yuan: int,
    sold_share: float = 1.0,
) -> float:
    """The card price in yuan at which a card-hour sold at `price_micro_yuan` just pays; below zero, none
    does."""
    without = Cost(
        0.0,
        cost.interest,
        cost.life_years,
        cost.residual_share,
        cost.site_yuan_per_kw,
        cost.site_life_years,
        cost.upkeep_share,
        cost.spare_share,
    )
    rest = card_hour(without, cards, it_kw, energy_micro_yuan, demand_micro_yuan, sold_share).total
    residue = 1 - cost.residual_share * float((1 + cost.interest) ** -cost.life_years)
    yearly = residue * annuity_share(cost.interest, cost.life_years) + cost.upkeep_share
    left_yuan = (price_micro_yuan - rest) / YUAN * YEAR_H * sold_share
    return left_yuan / ((1 + cost.spare_share) * yearly)
