"""A fleet's faults: how many to expect, what falls together, and what flaps."""

from collections.abc import Sequence
from math import exp

from msgspec import Struct

from starverse.model.errors import BadInput
from starverse.physics.faults.hazard import Cause, expected_failures


class Shared(Struct, frozen=True):
    """Something many nodes hang on: when it fails, they all stop."""

    name: str
    nodes: int
    """Nodes on one of it."""
    rate_per_h: float
    repair_h: float
    survives: float = 0.0
    """The share of its failures that redundancy absorbs."""


SHARED: tuple[Shared, ...] = (
    Shared("rack switch", 5, 2.0e-6, 2.0),
    Shared("rack PDU or busbar", 5, 1.0e-6, 6.0, survives=0.5),
    Shared("CDU", 125, 5.0e-6, 8.0, survives=0.9),
    Shared("leak in a rack", 5, 5.0e-7, 12.0),
    Shared("UPS module", 125, 4.0e-6, 8.0, survives=0.95),
)
"""ASSUMED, for the reference cluster's racks of 5 nodes and pods of 25 racks: typical field figures of one
failure in 20 to 230 years a unit. No published fleet gives them apart; replace them by your own."""


class Stops(Struct, frozen=True):
    """Expected stops over a time by cause, the cards each stops counted once, and the mean time between
    them."""

    hours: float
    by_cause: dict[str, float]
    total: float
    mtbf_h: float
    card_hours_lost: float


def expected_stops(
    causes: Sequence[Cause],
    cards: int,
    hours: float,
    temperature_c: float | None = None,
    age_h: float = 0.0,
    shared: Sequence[Shared] = (),
    cards_per_node: int = 8,
) -> Stops:
    """How often a fleet (or a job on all of it) stops in `hours`: Σ over causes of cards x hazard x time.

    Causes compete, rates add ; what ages is integrated over the time. Without a temperature each cause is
    taken at its reference. Shared things count cards / (nodes x cards_per_node) units, rounded up, less what
    redundancy absorbs. `card_hours_lost` is stops x cards stopped x repair, as if nothing replaced them.
    """
    if cards < 1 or hours <= 0:
        raise BadInput(f"{cards} cards over {hours:g} h cannot stop.", "Give `cards` and `hours` above zero.")
    by_cause: dict[str, float] = {}
    lost = 0.0
    for cause in causes:
        celsius = cause.reference_c if temperature_c is None else temperature_c
        stops = cards * float(expected_failures(cause, celsius, age_h, hours))
        by_cause[cause.name] = stops
        lost += stops * cause.repair_h
    for thing in shared:
        units = -(-cards // (thing.nodes * cards_per_node))
        stops = units * hours * thing.rate_per_h * (1 - thing.survives)
        by_cause[thing.name] = stops
        lost += stops * thing.repair_h * min(cards, thing.nodes * cards_per_node)
    total = sum(by_cause.values())
    return Stops(hours, by_cause, total, hours / total if total else float("inf"), lost)


class Flap(Struct, frozen=True):
    """A link that comes and goes: mean seconds up and down while it flaps, both exponential."""

    up_s: float = 30.0
    down_s: float = 2.0


class Flapping(Struct, frozen=True):
    """What a flap costs: share of time up, outages an hour, and those longer than what a job bears."""

    up_share: float
    outages_per_h: float
    stops_per_h: float


def flapping(flap: Flap, tolerated_s: float) -> Flapping:
    """What a flapping link costs a job that bears outages up to `tolerated_s`.

    An alternating renewal process (Cox, Renewal Theory, ch. 7): up share U / (U + D), outages 1 / (U + D), of
    which exp(-tolerated / D) outlast what retransmission bears.
    """
    if flap.up_s <= 0 or flap.down_s <= 0 or tolerated_s < 0:
        raise BadInput("A flap has time up and time down.", "Give `up_s` and `down_s` above zero.")
    cycle = flap.up_s + flap.down_s
    outages = 3600 / cycle
    return Flapping(flap.up_s / cycle, outages, outages * exp(-tolerated_s / flap.down_s))
