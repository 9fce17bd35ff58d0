"""What a site's answer takes for granted, and what is to be heeded of it, in sentences."""

from starverse.money.tco import Cost
from starverse.physics.cooling.rear_door import RearDoors
from starverse.planning.site_file import CARD_W, H100_YUAN, Plant, Site
from starverse.planning.site_plant import USUAL_FLUID, Cooled, tank_fluid

_COOLED = (
    "`electrical.cooled_share`: the plant cools {:.0%} of the heat of rectifiers, busbars, distribution and "
    "UPS; transformers stand outdoors"
)
_DOORS = (
    "rear doors get the racks' supply, are {0.effective_share:.0%} effective, and cool air that the racks "
    "warm by {0.air_k:g} K, at {0.fan_pa:g} Pa; its moisture is outdoors'. It is {1:.0f} °C at most where "
    "nodes breathe it: ASHRAE's class A4, the hardiest, ends at 45 °C"
)
_BY_KIND = {
    "air": ("the hall is EnergyPlus' example's units, scaled, at their own supply temperature",),
    "single-phase": ("all heat but the rear doors' goes into tanks of {fluid}",),
    "two-phase": (
        "all heat but the rear doors' boils {fluid}; `supply_c` is of the water that their condensers get",
        "nothing is pumped in the tanks, and none of the vapour is lost",
    ),
}


def assumed(site: Site, plant: Cooled, cost: Cost) -> tuple[str, ...]:
    """What a site's year rests on that nobody measured or sold."""
    said = [
        "loss curves and plant sizes are typical, not one maker's",
        f"the load is {site.cards.load_share:.0%} all year; converters, plant and price are for 100%",
        _COOLED.format(site.electrical.cooled_share),
        *(each.format(fluid=_fluid_said(site.plant)) for each in _BY_KIND.get(site.plant.kind, ())),
    ]
    if plant.room_c is not None:
        said.append(_DOORS.format(RearDoors(1.0), plant.room_c.max()))
    return (*said, *_money_said(site, cost))


def flash_said(plant: Plant, tank_c: float | None) -> str:
    """A warning where a tank's liquid gets as warm as its flash point; else nothing."""
    fluid = tank_fluid(plant) if plant.kind in USUAL_FLUID else None
    if fluid is None or fluid.flash_c is None or tank_c is None or tank_c < fluid.flash_c:
        return ""
    return (
        f"WARNING: {fluid.name} gets {tank_c:.0f} °C warm in the tanks, above its flash point of "
        f"{fluid.flash_c:g} °C, where a spark lights the vapour over it: lower `plant.supply_c`, or take "
        "another `plant.fluid`"
    )


def _money_said(site: Site, cost: Cost) -> tuple[str, ...]:
    money = site.money
    usual = money.card_yuan == H100_YUAN
    whose = ", an H100-class one's" if usual else ""
    other = usual and site.cards.power_w != CARD_W
    tariff = f"{money.energy_yuan_per_kwh:g} yuan/kWh at any hour"
    if money.time_of_use:
        tariff = "an EXAMPLE of a tariff by time of use, with a charge for each month's peak"
    yours = f"; give that of your card of {site.cards.power_w:g} W" if other else ""
    site_life = f"{cost.site_life_years:g} years"
    return (
        (
            f"`money.card_yuan`: {money.card_yuan:,.0f} yuan a card with its part of node, rack and network"
            f"{whose}{yours}"
        ),
        (
            f"money: {money.interest_share:.1%} interest, {money.life_years:g} years of cards' life, of "
            f"whose price {money.residual_share:.0%} is left, {money.sold_share:.0%} of card-hours sold"
        ),
        (
            f"money: {money.site_yuan_per_kw:,.0f} yuan of site per kW of IT, for {site_life}; "
            f"{cost.upkeep_share:.1%} of all capital a year for upkeep, {cost.spare_share:.0%} spare cards"
        ),
        f"money: {tariff}",
    )


def _fluid_said(plant: Plant) -> str:
    """A tank's fluid with its flash point, where it has one."""
    if plant.kind not in USUAL_FLUID:
        return ""
    fluid = tank_fluid(plant)
    if fluid.flash_c is not None:
        return f"{fluid.name}, whose flash point is {fluid.flash_c:g} °C"
    return f"{fluid.name}, which boils at {fluid.boiling_c:g} °C"
