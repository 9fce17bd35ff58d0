"""A site as a person writes it: one TOML file, each key with its unit, nothing unknown let through."""

import tomllib
from collections.abc import Iterable
from math import isfinite
from typing import Any, Literal, get_origin, get_type_hints

from msgspec import Struct, structs

from starverse.model.errors import BadInput
from starverse.model.written import as_struct, parsed

Cooling = Literal["air", "cold-plate", "single-phase", "two-phase"]
Rejection = Literal["dry", "hybrid", "tower"]
PowerChain = Literal["busbar", "ac", "ac-eco"]

CARD_W = 700.0
H100_YUAN = 250_000.0
"""The reference card: an H100-class one at its maker's full power, and its price on the market of 2026 with
its part of node, rack and network, ASSUMED."""


class Cards(Struct, frozen=True):
    """What is cooled: defaults are the reference cluster, 30,000 cards of 700 W."""

    count: int = 30_000
    power_w: float = CARD_W
    idle_w: float = 80.0
    load_share: float = 0.9
    """How busy cards are, all year."""
    per_node: int = 8
    node_w: float = 1_600.0
    """What a node takes beside its cards: processors, memory, network."""
    fan_share: float = 0.10
    """Server fans on top where cards are cooled by air; a liquid has none, and no such key."""


class Plant(Struct, frozen=True):
    """How heat leaves. Temperatures are those that the racks get, or tanks, or the condensers over them."""

    kind: Cooling = "cold-plate"
    fluid: str = ""
    """What tanks hold: silicone-oil where nothing is said, or novec-649 where it boils; plates have PG25."""
    supply_c: float = 40.0
    range_k: float = 8.0
    approach_k: float = 4.0
    """Of the racks' supply above the coolers': one CDU; 3 K more for each exchanger between."""
    air_share: float = 0.10
    """The share of heat that rear doors take, tanks or plates the rest; all of it with `kind` air."""
    rejection: Rejection = "hybrid"
    chiller: bool = True
    loop_pa: float = 250_000.0
    """Pressure drop of the racks' or the tanks' loop with its CDU, at full flow."""
    facility_pa: float = 200_000.0
    pump_efficiency: float = 0.65
    fan_share: float = 0.02


class Electrical(Struct, frozen=True):
    """How power comes: 48 V busbar, or AC with a UPS in double conversion or eco mode."""

    chain: PowerChain = "busbar"
    rack_w: float = 30_000.0
    other_share: float = 0.005
    """Lighting, security, offices: a share of IT at full load, whatever the load is."""
    cooled_share: float = 1.0
    """The share of the heat of rectifiers, busbars, distribution and UPS that the plant carries away, too;
    transformers stand outdoors."""


class Money(Struct, frozen=True):
    """What it costs, in yuan."""

    card_yuan: float = H100_YUAN
    """Of one card with its part of node, rack and network."""
    interest_share: float = 0.06
    life_years: float = 5.0
    residual_share: float = 0.0
    site_yuan_per_kw: float = 20_000.0
    sold_share: float = 0.70
    energy_yuan_per_kwh: float = 0.65
    time_of_use: bool = False
    price_yuan: float = 1.85


class Site(Struct, frozen=True):
    """A site; any part left out is the reference cluster's."""

    name: str = "xiamen-30k"
    cards: Cards = Cards()
    plant: Plant = Plant()
    electrical: Electrical = Electrical()
    money: Money = Money()


def parse_site(text: str, file: str = "the site file", changes: Iterable[str] = ()) -> Site:
    """The site that a TOML text describes, with `changes` such as `plant.kind=air` on top.

    Raises BadInput, naming key and remedy.
    """
    given = parsed(text, file)
    for change in changes:
        _change(given, change)
    site = as_struct(given, Site, file)
    check_ranges(site, file)
    _check_applies(site, given.get("plant", {}).keys(), file)
    if "fan_share" in given.get("cards", {}):
        _check_fans(site, file)
    return site


def check_ranges(site: Site, file: str = "the site") -> None:
    """Shares are from 0 to 1, counts and watts above zero, temperatures within `_LIMITS`, all under `_MOST`.

    Raises BadInput with the key of one that is not, and of one that an air hall would not heed.
    """
    usual = structs.asdict(Plant())
    if site.cards.fan_share != Cards().fan_share:
        _check_fans(site, file)
    _check_applies(
        site, [key for key, value in structs.asdict(site.plant).items() if value != usual[key]], file
    )
    for part in ("cards", "plant", "electrical", "money"):
        table = getattr(site, part)
        for name in get_type_hints(type(table)):
            value, key = getattr(table, name), f"{part}.{name}"
            if get_origin(get_type_hints(type(table))[name]) is Literal or isinstance(value, bool | str):
                continue
            if not isfinite(value):
                raise BadInput(f"{file}: `{key}` is not finite.", "Give a number.")
            low, high = _LIMITS.get(name, (value, value))
            if not low <= value <= high:
                raise BadInput(f"{file}: `{key}` = {value:g} makes no plant.", f"Give {low} to {high}.")
            if name.endswith(("_share", "efficiency")) and not 0 <= value <= 1:
                raise BadInput(f"{file}: `{key}` = {value:g} is not a share.", "Give 0 to 1.")
            if not name.endswith(("_c", "_share")) and value < 0:
                raise BadInput(f"{file}: `{key}` = {value:g} is below zero.", "Give it from zero.")
            if name in _ABOVE_ZERO and value <= 0:
                raise BadInput(f"{file}: `{key}` must be above zero.", f"Raise `{key}`.")
            most = _MOST.get(name, next((_MOST[end] for end in _MOST if name.endswith(end)), value))
            if value > most:
                raise BadInput(f"{file}: `{key}` = {value:g} is beyond any site.", f"Give at most {most:g}.")


_LIMITS = {"supply_c": (5, 70), "approach_k": (0, 30)}

_MOST = {
    "count": 1e7,
    "per_node": 10_000,
    "_w": 1e7,
    "_k": 60,
    "_pa": 1e7,
    "_years": 1_000,
    "_yuan": 1e9,
    "_per_kw": 1e9,
    "_per_kwh": 1e6,
}
"""The most of a key, or of what its name ends with; more is a slip, such as a wrong unit."""

_ABOVE_ZERO = {
    "count",
    "power_w",
    "per_node",
    "range_k",
    "rack_w",
    "life_years",
    "sold_share",
    "pump_efficiency",
    "loop_pa",
}


def _change(given: dict[str, Any], change: str) -> None:
    """Put one `table.key=value` into the tables; a value that is no TOML is a word."""
    where, sign, words = change.partition("=")
    table, dot, key = where.strip().rpartition(".")
    if not sign or not key or "." in table:
        raise BadInput(f"'{change}' changes nothing.", "Write it like `plant.kind=air`.")
    try:
        value = tomllib.loads(f"value = {words}")["value"]
    except tomllib.TOMLDecodeError:
        value = words.strip()
    if not dot:
        given[key] = value
        return
    inner = given.setdefault(table, {})
    if not isinstance(inner, dict):
        raise BadInput(f"`{table}` is no table, so that it has no `{key}`.", f"Correct `{table}`.")
    inner[key] = value


def _check_applies(site: Site, given: Iterable[str], file: str) -> None:
    """An air hall's units have their own temperatures, flows and fans: no key beside `kind` is theirs."""
    for key in sorted({*given} - {"kind"}) if site.plant.kind == "air" else ():
        raise BadInput(f"{file}: `plant.{key}` does not apply to `kind` air.", f"Leave out `plant.{key}`.")
    if site.plant.kind == "cold-plate" and site.plant.fluid not in {"", "pg25"}:
        raise BadInput(
            f"{file}: no cold plate was measured with `plant.fluid` {site.plant.fluid}.",
            "Leave it out, or choose `kind` single-phase or two-phase.",
        )


def _check_fans(site: Site, file: str) -> None:
    """Liquid-cooled servers have no fans here, so that a share of them would be left unheeded."""
    if site.plant.kind != "air":
        raise BadInput(
            f"{file}: `cards.fan_share` does not apply to `kind` {site.plant.kind}: no server has fans.",
            "Leave it out, or choose `kind` air.",
        )
