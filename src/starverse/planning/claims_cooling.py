"""Claims C1 to C6: heat and life of cards, and what cooling draws, sounds like and saves."""

from functools import lru_cache

from starverse.physics.cooling.fluids import fluid_named
from starverse.physics.cooling.weather import XIAMEN, synthetic_year
from starverse.physics.faults.fleets import LLAMA3, LLAMA3_COUNTS
from starverse.physics.faults.hazard import (
    activation_ev_for,
    arrhenius,
    thermal_share,
    thermal_share_for,
)
from starverse.planning.claim import Claim, judged, near, percent
from starverse.planning.cooling import CAPACITY_SHARE, LIMIT_C, plan_cooling
from starverse.planning.faults import plan_faults
from starverse.planning.noise import FULL_DB, plan_noise
from starverse.planning.site import SiteAnswer, plan_site
from starverse.planning.site_file import CARD_W, Cards, Cooling, Electrical, Money, Plant, PowerChain, Site
from starverse.planning.site_plant import USUAL_FLUID

AIR_C = 32.0
"""Claim C1: the card and the air of its rack; the coolant of claim C4 is taken as warm."""
BOILS_C = 50.0
SILICON_EV = 0.7
"""JEDEC JEP122's usual activation energy for silicon."""
AIR_K_PER_W = (0.07, 0.091)
"""Heat sinks in air: assumed below; the upper end is measured, Acme's A100 cards."""
RACK_NODES = 4
SAFE_OIL = "mineral-oil"
"""The other oil of the table."""
SURVEY_PUE = 1.58
"""The mean of surveyed sites in 2023: Uptime Institute, Global Data Center Survey."""
TANK_PA = (50_000.0, 400_000.0)
"""What C3 is tried with beside the assumed drop: a range to show what hangs on it, nobody's."""
PUE_HALF = 0.005
"""PUE is claimed to two decimals: it is met within half of one in the last."""


def cooling_claims() -> list[Claim]:
    """The rows C1 to C6."""
    return [c1(), c2(), c3(), c4(), c5(), c6()]


@lru_cache(maxsize=16)
def reference_site(
    kind: Cooling = "cold-plate",
    chain: PowerChain = "busbar",
    life_years: float = 5.0,
    loop_pa: float = 0.0,
    load_share: float = Cards().load_share,
    fluid: str = "",
) -> SiteAnswer:
    """A year of the reference cluster in a synthetic year of Xiamen, cooled and fed in one way or another."""
    site = Site(
        cards=Cards(load_share=load_share),
        plant=Plant(kind=kind, fluid=fluid, loop_pa=loop_pa or Plant().loop_pa),
        electrical=Electrical(chain=chain),
        money=Money(life_years=life_years),
    )
    return plan_site(site, synthetic_year(XIAMEN))


def c1(claimed: float = 4.0, activation_ev: float = SILICON_EV) -> Claim:
    """How much more often a hot card fails."""
    cold_c, warm_c = _temperatures()
    computed = float(arrhenius(activation_ev, cold_c, warm_c))
    needed = activation_ev_for(claimed, cold_c, warm_c) if claimed > 0 else 0.0
    fleet = plan_faults(temperature_c=warm_c)
    return Claim(
        "C1",
        f"times as many failures of thermally activated mechanisms ({activation_ev:g} eV) at {warm_c:.0f} °C "
        f"(air of {AIR_C:g} °C) as at {cold_c:.0f} °C",
        claimed,
        computed,
        "times",
        judged(near(claimed, computed)),
        f"Exactly ×{claimed:g} takes {needed:.3f} eV, where C4's +30 % of life takes {_life_ev():.3f} eV: "
        "with one activation energy they exclude each other. A whole fleet, of whose stops heat drives "
        f"{percent(fleet.thermal_share)}, stops ×{fleet.hotter:.2f} as often. The 20 K are C4's. At a "
        "constant hazard 30 days add nothing to the rate.",
        "Arrhenius: JEDEC JESD91, JEP122; causes: Llama 3 (2024), table 5",
        f"starverse plan faults --temperature-c {warm_c:.4f} --than-c {cold_c:.4f}",
    )


def c2(claimed: float = 45.0, nodes: int = RACK_NODES) -> Claim:
    """The air-conditioning that a rack needs."""
    cards = Cards()
    found = plan_cooling("air", CARD_W, nodes=nodes)
    computed, node_kw = found.capacity_kw, found.heat_kw / nodes
    drawn = reference_site("air", "ac").ppue_cooling - 1
    return Claim(
        "C2",
        f"kW of cooling capacity for {nodes} nodes of {cards.per_node} cards, {CAPACITY_SHARE:g} times the "
        "heat",
        claimed,
        computed,
        "kW",
        judged(near(claimed, computed)),
        f"8 kW is a node ({node_kw:.1f} kW with fans), no rack: for one node {node_kw * CAPACITY_SHARE:.0f} "
        f"kW suffice. As electricity, air-conditioning of 8 kW draws {8 * drawn:.1f} kW (cooling pPUE "
        f"{1 + drawn:.2f}); {claimed:g} kW would be a PUE of {1 + claimed / 8:.1f}.",
        "node: 8 × 700 W and 1.6 kW beside, 10 % fans; reserve: assumed",
        f"starverse plan cooling --kind air --nodes {nodes}",
    )


def c3(claimed: float = 1.08, chain: PowerChain = "ac-eco") -> Claim:
    """The annual PUE of immersion with rear doors."""
    found = reference_site("single-phase", chain)
    behind, double = reference_site("single-phase"), reference_site("single-phase", "ac")
    little, much = (reference_site("single-phase", chain, loop_pa=pa) for pa in TANK_PA)
    busy = reference_site("single-phase", chain, load_share=1.0)
    safe = reference_site("single-phase", chain, fluid=SAFE_OIL)
    oil, other = fluid_named(USUAL_FLUID["single-phase"]), fluid_named(SAFE_OIL)
    return Claim(
        "C3",
        "annual PUE, ISO/IEC 30134-2 category 3: IT metered at the rack's input, UPS in eco mode, 90 % of "
        "the heat to liquid and 10 % to rear doors, hybrid dry coolers, a year of Xiamen's normals",
        claimed,
        found.pue,
        "",
        judged(found.pue <= claimed + PUE_HALF),
        f"At {percent(Cards().load_share)} load; with all cards at work {busy.pue:.3f}, as pumps then take "
        f"more. {found.ppue_cooling:.3f} is cooling, {found.ppue_power:.3f} power. With double conversion "
        f"{double.pue:.3f}; metered behind the rectifiers, at the 48 V busbar, {behind.pue:.3f}: the same "
        f"plant, so the boundary decides. TUE, which no boundary flatters, is {found.tue:.3f} and at the "
        f"busbar {behind.tue:.3f}. The weather is synthetic. Doors with coolant of {Plant().supply_c:g} °C "
        f"leave the room at {found.room_most_c:.0f} °C. No maker's or standard's pressure drop of tanks with "
        "their CDU was found, so that they have the "
        f"{Plant().loop_pa / 1e3:g} kPa of a cold plate's loop, assumed: at {TANK_PA[0] / 1e3:g} kPa it were "
        f"{little.pue:.3f}, at {TANK_PA[1] / 1e3:g} kPa {much.pue:.3f}. Measured cooling of oil tanks took 2 "
        "to 3 % of IT (Intel in GRC's, 2012; one server, Eiland et al. 2017), and here with pumps, rear "
        f"doors and coolers {percent(found.ppue_cooling - 1, 1)}. "
        f"WARNING: {oil.name} is {found.tank_most_c:.0f} °C warm in the tanks, above its flash point of "
        f"{oil.flash_c:g} °C; {other.name} ({other.flash_c:g} °C) would be safe, but so viscous that dies "
        f"are at {safe.die_most_c:.0f} °C instead of {found.die_most_c:.0f}, beyond the {LIMIT_C:g} at which "
        f"cards slow down (assumed), and its PUE of {safe.pue:.3f} by the same pressure drop is too low.",
        "ISO/IEC 30134-2:2016; plant by ε-NTU and affinity laws; typical loss curves",
        f"starverse plan site --set plant.kind=single-phase --set electrical.chain={chain}",
    )


def c4(claimed: float = 63.0, below_k: float = 20.0, gain_share: float = 0.30) -> Claim:
    """How hot a card is, how far below air, and how much longer it lives."""
    computed, warm_c = _temperatures()
    needed = thermal_share_for(gain_share, SILICON_EV, warm_c - below_k, warm_c)
    least = thermal_share(LLAMA3)
    counts = {name: count for name, count, _, _ in LLAMA3_COUNTS}
    most = least + counts["faulty card"] / sum(counts.values())
    boiling = plan_cooling("two-phase", CARD_W)
    sink = (claimed + below_k - AIR_C) / CARD_W
    measured_c = AIR_C + CARD_W * AIR_K_PER_W[1]
    bath = plan_cooling("single-phase", CARD_W, AIR_C)
    hot_bath = plan_cooling("single-phase", CARD_W, BOILS_C)
    boils_c = fluid_named("novec-649").boiling_c
    supply_c = Plant().supply_c
    site_c = reference_site().die_most_c
    assert site_c is not None
    return Claim(
        "C4",
        f"°C of a {CARD_W:g} W card on a cold plate with {AIR_C:g} °C water-glycol at 1 L/min (not in a "
        f"fluid that boils), where heat drives {percent(needed)} of the hazard",
        claimed,
        computed,
        "°C",
        judged(
            near(claimed, computed, 0.02),
            AIR_K_PER_W[0] <= sink <= AIR_K_PER_W[1],
            least <= needed <= most,
        ),
        f"{below_k:g} K below air takes a heat sink of {sink:.3f} K/W at {AIR_C:g} °C; A100 cards in air "
        f"as measured have {AIR_K_PER_W[1]:g} and would be {measured_c:.0f} °C. What boils at {BOILS_C:g} "
        f"°C (Novec 649: {boils_c} °C) is two-phase and holds the card at {boiling.die_c:.0f} °C; "
        f"single-phase oil at {AIR_C:g} °C gives {bath.die_c:.0f} °C, at {BOILS_C:g} °C "
        f"{hot_bath.die_c:.0f} °C: {claimed:g} °C and {BOILS_C:g} °C exclude each other. The site of C3 and "
        f"C6 supplies {supply_c:g} °C, to be without chillers: there the plate holds {site_c:.0f} °C. "
        f"+{percent(gain_share)} of life holds where heat at {SILICON_EV:g} eV drives {percent(needed)} of "
        "the hazard (competing risks), as C1's ×4 then does for that part; published stops have "
        f"{percent(least)} to {percent(most)} by how unexplained ones are counted. With one activation "
        f"energy it were {_life_ev(gain_share, below_k):.3f} eV.",
        "OCP cold plate table (2023), figure 7; JEDEC JEP122; Llama 3 (2024), table 5",
        "starverse plan cooling",
    )


def c5(claimed: float = 52.0, before_db: float = FULL_DB) -> Claim:
    """The noise of a hall whose fans have little left to do."""
    air = Plant().air_share
    slower = plan_noise(before_db, air, target_db=claimed)
    fewer = plan_noise(before_db, number_share=air)
    speed, left = slower.speed_alone_share, slower.number_alone_share
    assert speed is not None
    assert left is not None
    return Claim(
        "C5",
        f"dB, at most, of the same fans slowed down to the {percent(air)} of the air that rear doors still "
        "need",
        claimed,
        slower.level_db,
        "dB",
        judged(slower.level_db <= claimed),
        f"{before_db - claimed:g} dB less is fans at {percent(speed)} of their speed, or "
        f"{percent(left, 2)} of their number. Where {percent(air)} of the fans run on at full "
        f"speed, {fewer.level_db:.0f} dB remain, and {percent(left, 1)} of them at full speed break the "
        "claim. Only fans are modelled: pumps and transformers, and the sound of the room, are not yet.",
        slower.source,
        f"starverse plan noise --speed-share {air:g} --target-db {claimed:g}",
    )


def c6(claimed: float = 37.0, cheaper_share: float = 0.18, survey_pue: float = SURVEY_PUE) -> Claim:
    """The electricity and the cost that liquid cooling saves."""
    air, liquid = reference_site("air", "ac"), reference_site()
    fans = Cards().fan_share
    # all that is drawn over what computes: with liquid, IT holds no fans
    before, after = (1 + fans) * survey_pue, liquid.tue
    computed = 100 * (1 - after / before)
    own = 1 - liquid.energy_mwh_per_year / air.energy_mwh_per_year
    base = liquid.pue / (1 - claimed / 100)
    today = liquid.card_hour
    lasting = Money().life_years * 1.3
    longer = reference_site(life_years=lasting).card_hour
    dearer = today.total + today.energy * (before / after - 1) + today.site * fans
    energy_only, with_life = 1 - today.total / dearer, 1 - longer.total / today.total
    return Claim(
        "C6",
        f"% of electricity saved against the mean of surveyed sites (PUE {survey_pue:g}) with "
        f"{percent(fans)} of server power in fans, and C4's longer life booked",
        claimed,
        computed,
        "%",
        judged(near(claimed, computed), near(cheaper_share, with_life)),
        f"{claimed:g} % take a site of PUE {base:.2f} before, or {base / (1 + fans):.2f} with fans; "
        f"against our own air-cooled site of PUE {air.pue:.2f} it is {100 * own:.0f} %. Of the TCO of an "
        f"H100-class card the electricity is worth {percent(energy_only, 1)}; a further "
        f"{percent(with_life)} holds only if C4's +30 % of life is booked ({Money().life_years:g} to "
        f"{lasting:g} years of depreciation).",
        "Uptime Institute survey (2023); `plan site`; TCO by annuity; fans: assumed",
        f"starverse plan site --against-pue {survey_pue:g}",
    )


def _temperatures() -> tuple[float, float]:
    """A card's °C on a cold plate and in air, both at the same inlet."""
    return plan_cooling("cold-plate", CARD_W, AIR_C).die_c, plan_cooling("air", CARD_W, AIR_C).die_c


def _life_ev(gain_share: float = 0.30, below_k: float = 20.0) -> float:
    """The activation energy at which so many kelvin less give that much more life."""
    _, warm_c = _temperatures()
    return activation_ev_for(1 + gain_share, warm_c - below_k, warm_c)
