"""How often a fleet stops, of what, and what heat does to it."""

from msgspec import Struct

from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.physics.faults.fleet import SHARED, expected_stops
from starverse.physics.faults.fleets import fleet_named
from starverse.physics.faults.hazard import thermal_share, total_hazard_per_h

EQUATION = (
    "stops = Σ_j cards x ∫h_j dt x exp[Ea/k (1/Tref - 1/T)]; h_j = λ_j, or (k/η)(t/η)^(k-1) where k ≠ 1"
)
SOURCES = {
    "llama3": "Llama Team, The Llama 3 Herd of Models (2024), table 5: 419 stops (calibrated)",
    "titan-old": "Ostrouchov et al., GPU Lifetimes on Titan (SC'20): old batch, with a known resistor defect",
    "titan-new": "Ostrouchov et al., GPU Lifetimes on Titan (SC'20): replaced cards, 62 deaths",
}


class CauseStops(Struct, frozen=True):
    """Stops by one cause and its share of all."""

    cause: str
    stops: float
    share: float


class FaultsAnswer(Struct, frozen=True):
    """What `plan faults` says: `hotter` is how much more often than at the fleet's reference temperature."""

    fleet: str
    cards: int
    days: float
    temperature_c: float
    equation: str
    source: str
    stops: float
    stops_per_day: float
    mtbf_h: float
    hotter: float
    thermal_share: float
    card_hours_lost: float
    by_cause: tuple[CauseStops, ...]
    notes: tuple[str, ...]


def plan_faults(
    fleet: str = "llama3",
    cards: int = 30_000,
    days: float = 30.0,
    temperature_c: float | None = None,
    age_years: float = 1.0,
    shared: bool = False,
) -> FaultsAnswer:
    """The stops to expect of `cards` over `days`, at the published fleet's rates.

    `temperature_c` is the die's, the fleet's reference without it; `age_years` matters to causes that wear;
    `shared` adds switches, PDUs, CDUs, leaks and UPS modules at assumed rates.
    """
    if days <= 0:
        raise BadInput(f"Nothing happens in {days:g} days.", "Give `days` above zero.")
    if age_years < 0:
        raise BadInput(f"No card is {age_years:g} years old.", "Give `age_years` from zero.")
    bounded(1, 1e6, cards=cards)
    bounded(0, 36_600, days=days)
    bounded(0, 100, age_years=age_years)
    bounded(-50, 200, temperature_c=temperature_c)
    causes = fleet_named(fleet)
    reference = causes[0].reference_c
    celsius = reference if temperature_c is None else temperature_c
    age_h = age_years * 8766
    found = expected_stops(causes, cards, days * 24, celsius, age_h, SHARED if shared else ())
    hot = float(total_hazard_per_h(causes, celsius, age_h + days * 12))
    cold = float(total_hazard_per_h(causes, reference, age_h + days * 12))
    ordered = sorted(found.by_cause.items(), key=lambda pair: (-pair[1], pair[0]))
    notes = ["activation energies (0.7 eV) are JEDEC's usual value; which causes are thermal is our reading"]
    if shared:
        notes.append("rates of shared equipment are assumed, not published")
    return FaultsAnswer(
        fleet=fleet,
        cards=cards,
        days=days,
        temperature_c=celsius,
        equation=EQUATION,
        source=SOURCES[fleet],
        stops=found.total,
        stops_per_day=found.total / days,
        mtbf_h=found.mtbf_h,
        hotter=hot / cold,
        thermal_share=thermal_share(causes),
        card_hours_lost=found.card_hours_lost,
        by_cause=tuple(CauseStops(name, stops, stops / found.total) for name, stops in ordered),
        notes=tuple(notes),
    )
