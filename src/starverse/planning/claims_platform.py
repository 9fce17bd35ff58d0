"""Claims S1 to S3 and U1 to U7: what the product does, by the command that shows it; and the price."""

from starverse.model.units import YUAN
from starverse.money.tco import annuity_share
from starverse.physics.cooling.weather import XIAMEN, synthetic_year
from starverse.planning.claim import Claim, Verdict, judged, percent
from starverse.planning.site import SiteAnswer, plan_site
from starverse.planning.site_file import CARD_W, H100_YUAN, Cards, Money, Site

# U4. A 4090-class card with its part of node, rack and network, and an H100-class one: prices of 2026,
# assumed. A reserved card is sold every hour, one by the hour 70 % of them (assumed)
CONSUMER = (450.0, 28_000.0)
TRAINING = (CARD_W, H100_YUAN)
RESERVED_SHARE, HOURLY_SHARE = 1.0, 0.70


def scheduler_claims() -> list[Claim]:
    """The rows S1 to S3."""
    return [
        _feature(
            "S1",
            "PyTorch jobs resume from checkpoints after a fault",
            "shown",
            "Trains through the killing of a worker and of the server; checkpoints are PyTorch DCP. An "
            "adapter for DeepSpeed: not yet.",
            "starverse demo",
        ),
        _feature(
            "S2",
            "elastic jobs: a gang of MIN to MAX cards",
            "shown",
            "MIN:MAX, or a part of one card; 1000 cards where the cluster has them. Jobs grow into idle "
            "cards, and give them up before a run of equal right has to wait.",
            "starverse submit --cards 1:8 -- train.py",
        ),
        _feature(
            "S3",
            "a job is placed anew by topology when part of the cluster dies",
            "shown",
            "A torus that loses a rack, played through the scheduler; how long deciding takes at 30,000 "
            "cards: `starverse bench scheduler`.",
            "starverse solve tests/cases/t02-a-torus-loses-a-rack.toml",
        ),
    ]


def platform_claims() -> list[Claim]:
    """The rows U1 to U7."""
    return [
        _feature(
            "U1",
            "register, trial credit, and one 4090 for 48 hours at nothing",
            "not yet",
            "The credit of ¥10 arrives with `starverse register`; the grant of 48 card-hours does not yet.",
            "starverse register you@example.org",
        ),
        _feature(
            "U2",
            "apply for 8 to 128 cards",
            "not yet",
            "The operator gives quotas (`starverse limits quota`); a tenant cannot ask for one yet.",
            "",
        ),
        _feature("U3", "images of apps and 200 models, one click", "not yet", "No catalogue yet.", ""),
        u4(),
        _feature("U5", "interactive instances beside jobs", "not yet", "Only jobs can be rented yet.", ""),
        _feature(
            "U6",
            "30 TB of storage shared by instances",
            "not yet",
            "A job has its output folder; volumes there are none yet.",
            "",
        ),
        _feature(
            "U7",
            "resume within seconds after a fault",
            "shown",
            "Prints the seconds from each fault to the next step, measured. A power cut told by a UPS: "
            "not yet.",
            "starverse demo",
        ),
    ]


def u4(claimed: float = 1.85, below_share: float = 0.42, card: tuple[float, float] = CONSUMER) -> Claim:
    """What a sold card-hour costs, and when a room of one's own is as dear as said."""
    computed = _site(*card).card_hour_micro_yuan / YUAN
    own = claimed / (1 - below_share)
    used = computed * RESERVED_SHARE / own
    training = _site(*TRAINING).card_hour_micro_yuan / YUAN
    even = _site(*card, price_yuan=claimed).break_even_card_yuan
    years = Money().life_years
    return Claim(
        "U4",
        f"yuan that a sold card-hour costs, at most; 4090-class card ({card[1]:,.0f} yuan, {card[0]:g} W), "
        "reserved, so that every hour is sold",
        claimed,
        computed,
        "yuan per card-hour",
        judged(computed <= claimed, used < HOURLY_SHARE),
        f"{percent(below_share)} below a room of one's own puts that at {own:.2f} yuan ({own:.2f} × "
        f"{1 - below_share:.2f} = {claimed:g}): the same card used {percent(used)} of the hours. Sold "
        f"{percent(HOURLY_SHARE)} of the hours it costs {computed * RESERVED_SHARE / HOURLY_SHARE:.2f}, more "
        f"than it brings. An H100-class card ({TRAINING[1]:,.0f} yuan) costs {training:.2f}; at "
        f"{claimed:g} a card may cost {even:,.0f} yuan. Assumed {percent(Money().interest_share)} interest, "
        f"{years:g} years (annuity {annuity_share(Money().interest_share, years):.3f}), "
        f"{Money().energy_yuan_per_kwh:g} yuan/kWh. Tenants book 1000 cards for a year with `starverse "
        "reserve --cards 1000 --from 1d --for 365d`, at the price of any card-hour, where the cluster has "
        "them and the wallet holds what they cost; a price of their own for booked cards: not yet.",
        "TCO by annuity over the hours sold; card prices: assumed from the market of 2026",
        f"starverse plan site --set cards.power_w={card[0]:g} --set money.card_yuan={card[1]:g} "
        f"--set money.sold_share={RESERVED_SHARE:g}",
    )


def _site(power_w: float, card_yuan: float, price_yuan: float = 1.85) -> SiteAnswer:
    site = Site(
        cards=Cards(power_w=power_w),
        money=Money(card_yuan=card_yuan, sold_share=RESERVED_SHARE, price_yuan=price_yuan),
    )
    return plan_site(site, synthetic_year(XIAMEN))


def _feature(id_: str, what: str, verdict: Verdict, why: str, command: str) -> Claim:
    return Claim(id_, what, None, None, "", verdict, why, "this product", command)
