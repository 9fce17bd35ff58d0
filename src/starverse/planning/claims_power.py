"""Claims P1 and P2: the 48 V busbar, and failing over without anybody noticing."""

from starverse.physics.cooling.card import CardThermal, cold_plate_k_per_w
from starverse.physics.cooling.loop import facility_loss_rise_k
from starverse.physics.cooling.step import seconds_until
from starverse.physics.power.chain import (
    AC_CHAIN,
    AC_CHAIN_ECO,
    BUSBAR_CHAIN,
    busbar_loss_w,
    chain_losses,
    loss_share,
)
from starverse.planning.claim import Claim, judged, near, percent
from starverse.planning.cooling import plan_cooling
from starverse.planning.power import converting

RACK_W = 30_000.0
"""A rack of four nodes of 8 cards of 700 W, rounded: the one that P1's own figures imply."""
CARD_W, INLET_C, LIMIT_C = 700.0, 32.0, 87.0
"""Claims C1 and C4, and where cards throttle (assumed)."""
SINK_J_PER_K = (150.0, 400.0)
"""Cold plates with what hangs on them, assumed."""
LOOP_L_PER_KW, TANK_L_PER_KW = 1.0, 10.0
CAP_W = CARD_W / 2


def power_claims() -> list[Claim]:
    """The rows P1 and P2."""
    return [p1(), p2()]


def p1(
    claimed: float = 1.2, before_share: float = 0.07, after_share: float = 0.03, rack_w: float = RACK_W
) -> Claim:
    """What a 48 V busbar saves in a rack."""
    before, after, double = (converting(chain, rack_w) for chain in (AC_CHAIN_ECO, BUSBAR_CHAIN, AC_CHAIN))
    computed = (before.lost_w - after.lost_w) / 1e3
    taken = claimed / (before_share - after_share)
    given = claimed / (1 / (1 - before_share) - 1 / (1 - after_share))
    busbar = float(busbar_loss_w(rack_w, BUSBAR_CHAIN.busbar_v, BUSBAR_CHAIN.busbar_ohm))
    whole = [float(loss_share(chain_losses(chain, rack_w, rack_w))) for chain in (AC_CHAIN_ECO, BUSBAR_CHAIN)]
    return Claim(
        "P1",
        f"kW less lost in a {rack_w / 1e3:g} kW rack by conversion alone: UPS in eco mode and node supplies, "
        "against rectifier shelf and busbar with its own batteries",
        claimed,
        computed,
        "kW per rack",
        judged(near(claimed, computed), near(before_share, before.share), near(after_share, after.share)),
        f"{percent(before.share, 1)} and {percent(after.share, 1)} are lost (claimed "
        f"{percent(before_share)} and {percent(after_share)}); with double conversion "
        f"{percent(double.share, 1)}, {(double.lost_w - after.lost_w) / 1e3:.2f} kW. With transformer, "
        f"distribution and a UPS before both it is {percent(whole[0], 1)} and {percent(whole[1], 1)}. "
        f"{claimed:g} kW of {percent(before_share - after_share)} is a rack of {taken:.1f} kW "
        f"(of input; {given:.1f} of output), not of 8 kW, which saves "
        f"{8 * computed / (rack_w / 1e3):.2f}. The busbar itself loses {busbar:.0f} W.",
        "loss curves a + bx + cx²: 80 PLUS Titanium, OCP Open Rack V3",
        f"starverse plan power busbar --against ac-eco --rack-w {rack_w:g}",
    )


def p2(claimed: float = 15.0, card_w: float = CARD_W, limit_c: float = LIMIT_C) -> Claim:
    """How long a card bears standing coolant, against how long failing over takes."""
    found = plan_cooling("cold-plate", card_w, INLET_C, limit_c=limit_c)
    computed = found.seconds_to_limit or 0.0
    plate = float(cold_plate_k_per_w(1.0))
    light, heavy = (
        seconds_until(CardThermal(sink_k_per_w=plate, sink_j_per_k=each), card_w, found.die_c, limit_c)
        for each in SINK_J_PER_K
    )
    capped = seconds_until(CardThermal(sink_k_per_w=plate), CAP_W, found.die_c, limit_c)
    loop, tank = (facility_loss_rise_k(1e3, each, claimed) for each in (LOOP_L_PER_KW, TANK_L_PER_KW))
    watt_hours = RACK_W * claimed / 3600
    return Claim(
        "P2",
        f"seconds until a {card_w:g} W card on a cold plate reaches {limit_c:g} °C once its coolant stands "
        "still; failing over must take less",
        claimed,
        computed,
        "s",
        judged(claimed <= computed),
        f"{light:.1f} to {heavy:.1f} s by the plate's heat capacity ({SINK_J_PER_K[0]:g} to "
        f"{SINK_J_PER_K[1]:g} J/K). Capped to {CAP_W:g} W at once, {capped:.0f} s. Where only the facility's "
        f"side stops, {claimed:g} s warm the loop by {loop:.1f} K ({LOOP_L_PER_KW:g} L/kW) and an immersion "
        f"tank by {tank:.2f} K ({TANK_L_PER_KW:g} L/kW): then it holds. Power: a {RACK_W / 1e3:g} kW rack "
        f"takes {watt_hours:.0f} Wh in {claimed:g} s. One module for both is one cause for both to fail.",
        "two-node card network; OCP cold plate table (2023)",
        f"starverse plan cooling --power-w {card_w:g} --limit-c {limit_c:g}",
    )
