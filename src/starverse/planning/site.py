"""What a site draws, drinks and costs over a year of weather."""

from typing import Any

import numpy as np
from msgspec import Struct, structs
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
from starverse.physics.cooling.chiller import carnot_chiller
from starverse.physics.cooling.crac import ECONOPHASE_HALL, AirHall, AirServers, hall_power
from starverse.physics.cooling.fluids import Fluid, dielectric_named, fluid_named
from starverse.physics.cooling.immersion import Tanks, boiling_state, condenser, tank_state, tanks, warmest_c
from starverse.physics.cooling.loop import Resistance
from starverse.physics.cooling.plant import LiquidPlant, PumpDuty, plant_power
from starverse.physics.cooling.rejection import DryCooler, Tower
from starverse.physics.cooling.weather import Weather, check_hours
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
from starverse.planning.site_file import Cards, Plant, Site, check_ranges

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

_COOLED = (
    "`electrical.cooled_share`: the plant cools {:.0%} of the heat of rectifiers, busbars, distribution and "
    "UPS; transformers stand outdoors"
)
USUAL_FLUID = {"single-phase": "silicone-oil", "two-phase": "novec-649"}
"""What tanks hold where `plant.fluid` says nothing."""

_CHAINS = {"busbar": BUSBAR_CHAIN, "ac": AC_CHAIN, "ac-eco": AC_CHAIN_ECO}
_ASSUMED = {
    "air": ("the hall is EnergyPlus' example's units, scaled, at their own supply temperature",),
    "single-phase": ("all heat but the rear doors' goes into tanks of {fluid}",),
    "two-phase": (
        "all heat but the rear doors' boils {fluid}; `supply_c` is of the water that their condensers get",
        "nothing is pumped in the tanks, and none of the vapour is lost",
    ),
}
_MECHANICAL = Chain("mechanical", ((TRANSFORMER, 0.5),))


class SiteYear(Struct, frozen=True):
    """A site's year, hour by hour, shape (8760,): what goes into its indices, and the plant's parts in W."""

    energy: Energy
    total_w: Floats
    pump_w: Floats
    fan_w: Floats
    compressor_w: Floats
    supply_c: Floats
    tank_c: Floats | None = None
    """The liquid of immersion where it is warmest."""


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
    peak_kw: float
    energy_mwh_per_year: float
    chiller_hours: int
    supply_most_c: float
    tank_most_c: float | None
    card_hour: CardHour
    card_hour_micro_yuan: int
    break_even_card_yuan: float
    saved_share: float | None
    """Of the electricity of the air-cooled site that it is compared with."""
    assumed: tuple[str, ...]


def plan_site(site: Site, weather: Weather, against_pue: float | None = None) -> SiteAnswer:
    """A year of a site: PUE by month, power at peak, water, and the cost of a sold card-hour.

    `against_pue` is that of a site cooled by air, whose servers' fans take a tenth on top of what computes:
    what all takes for the same computing is `tue` here and 1.1 times that PUE there.
    """
    bounded(1, 100, against_pue=against_pue)
    year = site_year(site, weather)
    found: Indices = indices(year.energy, 3)
    total_kw = year.total_w / 1e3
    tariff = _tariff(site)
    energy, demand = energy_bill(total_kw.tolist(), tariff)
    money = site.money
    cost = Cost(
        money.card_yuan,
        interest=money.interest_share,
        life_years=money.life_years,
        residual_share=money.residual_share,
        site_yuan_per_kw=money.site_yuan_per_kw,
    )
    it_kw = float(year.energy.it_w.max()) / 1e3
    hour = card_hour(cost, site.cards.count, it_kw, energy, demand, money.sold_share)
    even = break_even_card_yuan(
        cost, round(money.price_yuan * YUAN), site.cards.count, it_kw, energy, demand, money.sold_share
    )
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
        it_kw=it_kw,
        peak_kw=float(total_kw.max()),
        energy_mwh_per_year=float(total_kw.sum()) / 1e3,
        chiller_hours=int((year.compressor_w > 0).sum()),
        supply_most_c=float(year.supply_c.max()),
        tank_most_c=None if year.tank_c is None else float(year.tank_c.max()),
        card_hour=hour,
        card_hour_micro_yuan=hour.total,
        break_even_card_yuan=even,
        saved_share=None if against_pue is None else 1 - found.tue / ((1 + Cards().fan_share) * against_pue),
        assumed=(
            "loss curves and plant sizes are typical, not one maker's",
            "the load is the same all year",
            _COOLED.format(site.electrical.cooled_share),
            *(said.format(fluid=_fluid_said(site.plant)) for said in _ASSUMED.get(site.plant.kind, ())),
            hour.definition,
        ),
    )


def tank_fluid(plant: Plant) -> Fluid:
    """What the tanks of a plant hold. Raises BadInput for what conducts, or is not known."""
    return dielectric_named(plant.fluid or USUAL_FLUID[plant.kind])


def _fluid_said(plant: Plant) -> str:
    """A tank's fluid with its flash point, where it has one."""
    if plant.kind not in USUAL_FLUID:
        return ""
    fluid = tank_fluid(plant)
    if fluid.flash_c is not None:
        return f"{fluid.name}, whose flash point is {fluid.flash_c:g} °C"
    return f"{fluid.name}, which boils at {fluid.boiling_c:g} °C"


def site_year(site: Site, weather: Weather) -> SiteYear:
    """A site's year in hours. IT is metered at the rack: busbar, or the servers' supplies with AC.

    So a rectifier shelf counts as a loss, a server's supply as IT (and TUE takes it out again).
    """
    check_ranges(site)
    hours = weather.dry_bulb_c.shape[0]
    computing = np.full(hours, _computing_w(site.cards))
    fans_in_it = computing * site.cards.fan_share if site.plant.kind == "air" else np.zeros(hours)
    used = computing + fans_in_it
    peak = float(used.max())
    racks = max(1, round(peak / site.electrical.rack_w))
    losses = chain_losses(_CHAINS[site.electrical.chain], used, peak, racks)
    inside = losses.by_stage_w.get(SUPPLY_TITANIUM.name, np.zeros(hours))
    it = used + inside
    indoors = losses.lost_w - inside - losses.by_stage_w[TRANSFORMER.name]
    beside = indoors * site.electrical.cooled_share
    if site.plant.kind == "air":
        cooled = _by_air(it, fans_in_it, beside, weather)
    else:
        cooled = _by_liquid(site.plant, it + beside, weather)
    pump, fan, compressor, water, supply = cooled
    cooling = pump + fan + compressor
    mechanical = chain_losses(_MECHANICAL, cooling, float(cooling.max())).lost_w
    other = it * site.electrical.other_share
    lost = losses.lost_w - inside + mechanical
    energy = Energy(it, cooling, lost, other, fans_in_it, inside, water)
    tank = _tank_c(site.plant, it + beside, supply)
    return SiteYear(energy, it + cooling + lost + other, pump, fan, compressor, supply, tank)


def _computing_w(cards: Cards) -> float:
    nodes = -(-cards.count // cards.per_node)
    each = cards.idle_w + (cards.power_w - cards.idle_w) * cards.load_share
    if cards.idle_w > cards.power_w:
        raise BadInput(
            f"`cards.idle_w` = {cards.idle_w:g} exceeds `cards.power_w` = {cards.power_w:g}.",
            "Swap the two, or lower `idle_w`.",
        )
    return cards.count * each + nodes * cards.node_w


_Cooled = tuple[Floats, Floats, Floats, Floats, Floats]


def _by_air(it: Floats, fans: Floats, beside: Floats, weather: Weather) -> _Cooled:
    """Units of EnergyPlus' example, as many as the heat takes; servers breathe 0.1 L/s per W as there.

    The heat of what stands `beside` the servers goes into the room's air, not through them.
    """
    peak = float(it.max())
    servers = AirServers(
        chips_w=float((it - fans).max()),
        fans_w=float(fans.max()),
        air_m3_per_s=peak * 1e-4,
        chips_curve=(0.0, 1.0, 0.0),
        air_curve=(0.0, 1.0, 0.0),
        supply_loss_share=float(beside.max()) / peak,
    )
    like = ECONOPHASE_HALL.unit
    scale = 1.3 * (peak + float(beside.max())) / like.capacity_w
    unit = structs.replace(
        like,
        capacity_w=like.capacity_w * scale,
        air_m3_per_s=servers.air_m3_per_s * 1.25,
        fan_w=servers.air_m3_per_s * 1.25 * like.fan_w / like.air_m3_per_s,
    )
    took = hall_power(AirHall(servers, unit), it / peak, weather.dry_bulb_c)
    none = np.zeros_like(it)
    return none, took.fan_w, took.compressor_w, none, took.supply_c


def _by_liquid(plant: Plant, heat: Floats, weather: Weather) -> _Cooled:
    took = plant_power(liquid_plant(plant, float(heat.max())), heat, weather.dry_bulb_c, weather.wet_bulb_c)
    if plant.kind == "cold-plate":
        _check_table(fluid_named("pg25"), took.supply_c + plant.range_k)
    pump: Floats = np.sum(list(took.pump_w.values()), axis=0)
    return pump, took.fan_w + took.air_fan_w, took.chiller_w, took.water_kg_per_s, took.supply_c


def _tank_c(plant: Plant, heat: Floats, supply: Floats) -> Floats | None:
    """The warmest of the tanks' liquid, where there are tanks. Raises BadInput where vapour would be left."""
    heat = heat * (1 - plant.air_share)
    peak = float(heat.max())
    if plant.kind in {"air", "cold-plate"} or not peak:
        return None
    if plant.kind == "single-phase":
        out_c = tank_state(_tanks(plant, peak), heat, supply - plant.approach_k).tank_out_c
        _check_table(tank_fluid(plant), out_c)
        return out_c
    boiling = tank_fluid(plant)
    most = boiling_state(condenser(boiling, peak, plant.supply_c, plant.range_k), heat).water_most_c
    if (supply > most + 1e-6).any():
        raise BadInput(
            f"In the warmest hour the condensers get water of {supply.max():.1f} °C, and vapour is left.",
            "Set `plant.chiller`, or take another `plant.rejection`.",
        )
    assert boiling.boiling_c is not None
    return np.full_like(heat, boiling.boiling_c)


def _check_table(fluid: Fluid, returned_c: Floats) -> None:
    """Raises BadInput where a liquid leaves what it cools outside its table."""
    low, high = fluid.rows[0][0], warmest_c(fluid)
    known = f"the table of {fluid.name} goes from {low:g} to {high:g} °C"
    remedy = "Set `plant.chiller`, take another `plant.rejection`, or lower `plant.supply_c`."
    check_hours("the coolant returns at {:.1f} °C", returned_c, low, high, known, remedy)


def _tanks(plant: Plant, heat_w: float) -> Tanks:
    fluid, loop_pa, efficiency = tank_fluid(plant), plant.loop_pa, plant.pump_efficiency
    low, high = fluid.rows[0][0], fluid.rows[-1][0]
    if plant.supply_c < low or plant.supply_c + plant.range_k > high:
        raise BadInput(
            f"The table of {fluid.name} goes from {low:g} to {high:g} °C, and tanks from `plant.supply_c` = "
            f"{plant.supply_c:g} to {plant.supply_c + plant.range_k:g} °C.",
            "Change `plant.supply_c` or `plant.range_k`, or choose another `plant.fluid`.",
        )
    return tanks(fluid, heat_w, plant.supply_c, plant.range_k, plant.approach_k, loop_pa, efficiency)


def liquid_plant(plant: Plant, it_w: float) -> LiquidPlant:
    """A plant for `it_w` of heat as the file describes it; sized with 10 % for pumps and chiller.

    The cooler is designed for 8 K between air and returned coolant, the chiller for a COP of 5 between 7 and
    30 °C (AHRI 551/591's temperatures), keeping its share of Carnot's. Flow is heat over range: 1.007 kg/L x
    3,981 J/kg/K for PG25 through cold plates, the oil's own through single-phase tanks; what boils is not
    pumped, only the facility's water, through its condensers. Rear doors beside tanks have glycol.
    """
    in_tanks = 0.0 if plant.kind == "cold-plate" else 1 - plant.air_share
    flow = it_w * (1 - in_tanks) / (plant.range_k * 3981 * 1007)
    facility = it_w / (plant.range_k * 4180 * 990)
    pumps = [PumpDuty("facility", facility, Resistance(plant.facility_pa), plant.pump_efficiency)]
    if plant.kind == "single-phase" and in_tanks:
        pumps.append(_tanks(plant, it_w * in_tanks).pump)
    if in_tanks < 1:
        pumps.append(PumpDuty("racks", flow, Resistance(plant.loop_pa), plant.pump_efficiency))
    returned = plant.supply_c - plant.approach_k
    heat = 1.1 * it_w
    cooler: DryCooler | Tower
    if plant.rejection == "tower":
        cooler = Tower(heat, range_k=plant.range_k, fan_share=plant.fan_share)
    else:
        cooler = DryCooler(
            heat,
            air_c=returned - 8.0,
            coolant_in_c=returned + plant.range_k,
            coolant_out_c=returned,
            fan_share=plant.fan_share,
            wet_effectiveness=0.8 if plant.rejection == "hybrid" else 0.0,
        )
    chiller = carnot_chiller(heat, 5.0, 7.0, 30.0) if plant.chiller else None
    return LiquidPlant(
        it_w,
        tuple(pumps),
        cooler,
        supply_c=plant.supply_c,
        approach_k=plant.approach_k,
        range_k=plant.range_k,
        chiller=chiller,
        air_share=plant.air_share,
    )


def _tariff(site: Site) -> Tariff:
    if site.money.time_of_use:
        return TIME_OF_USE
    return Tariff((round(site.money.energy_yuan_per_kwh * YUAN),) * 24, FLAT.demand_micro_yuan_per_kw_month)
