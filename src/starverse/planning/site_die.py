"""How hot a card gets in what a site cools it with."""

from starverse.model.errors import BadInput
from starverse.physics.cooling.crac import ECONOPHASE_HALL
from starverse.planning.cooling import LIMIT_C, CoolingAnswer, plan_cooling
from starverse.planning.site_file import Plant, Site
from starverse.planning.site_plant import Cooled, plate_l_per_min, tank_fluid


def die_most(site: Site, plant: Cooled) -> tuple[float | None, str]:
    """The die's °C of a card at full power where the year's coolant is warmest, and what is to be said of it.

    By the model of `plan cooling` for that kind. Where that refuses the card, its sentence comes without a
    temperature: the rest of the site's answer stands all the same.
    """
    try:
        found, where = _card_in(site.plant, site.cards.power_w, plant)
    except BadInput as no:
        return None, f"the die's temperature is not known: {no}"
    said = f"the die is that of a card at {site.cards.power_w:g} W {where}, as `plan cooling` has it"
    if found.die_c >= LIMIT_C:
        said += f"; from {LIMIT_C:g} °C on (assumed) cards slow down"
    return found.die_c, said


def _card_in(plant: Plant, power_w: float, year: Cooled) -> tuple[CoolingAnswer, str]:
    supply_c = float(year.supply_c.max())
    if plant.kind == "air":
        inlet_c = supply_c + ECONOPHASE_HALL.supply_approach_k
        return plan_cooling("air", power_w, inlet_c), f"in air of {inlet_c:.0f} °C"
    if plant.kind == "cold-plate":
        flow = plate_l_per_min(plant, power_w)
        where = f"on a plate with {flow:.2f} L/min of {supply_c:.0f} °C, its heat over `plant.range_k`"
        return plan_cooling("cold-plate", power_w, supply_c, flow_l_per_min=flow), where
    fluid = tank_fluid(plant).name
    if plant.kind == "two-phase":
        return plan_cooling("two-phase", power_w, coolant=fluid), f"in boiling {fluid}"
    # with all heat to rear doors nothing is in the tanks, and cards stand at the supply
    bath_c = supply_c if year.tank_c is None else float(year.tank_c.max())
    found = plan_cooling("single-phase", power_w, bath_c, coolant=fluid)
    return found, f"in {fluid} of {bath_c:.0f} °C, by natural convection"
