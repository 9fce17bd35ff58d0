"""How often a fleet stops, of what, and what heat does to it."""

import inspect
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.physics.cooling.card import JUNCTION_C
from starverse.physics.faults.fleet import SHARED, Flap, Flapping, expected_stops, flapping
from starverse.physics.faults.fleets import FLEETS, fleet_named
from starverse.physics.faults.hazard import YEAR_H, Cause, arrhenius, thermal_share, total_hazard_per_h
from starverse.physics.faults.titan import AGES, BOTTOM_C, TOP_C, TitanFit, fit_titan

EQUATION = (
    "stops = Σ_j cards x ∫h_j dt x exp[Ea/k (1/Tref - 1/T)]; h_j = λ_j, or (k/η)(t/η)^(k-1) where k ≠ 1"
)
SOURCES = {
    "llama3": "Llama Team, The Llama 3 Herd of Models (2024), table 5: 419 stops (calibrated)",
    "titan-old": "Ostrouchov et al., GPU Lifetimes on Titan (SC'20): old batch, with a known resistor defect",
    "titan-new": "Ostrouchov et al., GPU Lifetimes on Titan (SC'20): replaced cards, 62 deaths",
}


_ABOUT = {
    "llama3": "activation energies (0.7 eV) are JEDEC's usual value; which causes are thermal is our reading",
    "titan": "the activation energy is that of the cages, "
    f"{BOTTOM_C:g} to {TOP_C:g} °C warm, confounded with a defect, age and position",
}


class CauseStops(Struct, frozen=True):
    """Stops by one cause and its share of all; `times` as often as at the temperature compared with."""

    cause: str
    stops: float
    share: float
    times: float


class FaultsAnswer(Struct, frozen=True):
    """What `plan faults` says: `hotter` is how many times as often as at `than_c`, `hotter_thermal` the same
    of the causes that heat drives, alone; `fitted` is Titan's life, fitted afresh on its counts."""

    fleet: str
    cards: int
    days: float
    temperature_c: float
    than_c: float
    equation: str
    source: str
    stops: float
    stops_per_day: float
    mtbf_h: float
    hotter: float
    hotter_thermal: float
    thermal_share: float
    card_hours_lost: float
    by_cause: tuple[CauseStops, ...]
    fitted: TitanFit | None
    flapping: Flapping | None
    """Of one link while it flaps."""
    notes: tuple[str, ...]


def plan_faults(
    fleet: str = "llama3",
    cards: int = 30_000,
    days: float = 30.0,
    temperature_c: float | None = None,
    age_years: float = 1.0,
    shared: bool = False,
    than_c: float | None = None,
    flap_up_s: float | None = None,
    flap_down_s: float = Flap().down_s,
    tolerated_s: float = 5.0,
) -> FaultsAnswer:
    """The stops to expect of `cards` over `days`, at the published fleet's rates.

    `temperature_c` is the die's, the fleet's reference without it, and so is `than_c`, which it is compared
    with; `age_years` matters to causes that wear;
    `shared` adds switches, PDUs, CDUs, leaks and UPS modules at assumed rates. `flap_up_s` and `flap_down_s`
    are a flapping link's mean seconds up and down, `tolerated_s` the outage that a job bears.
    """
    _check(dict(locals()))
    causes = fleet_named(fleet)
    reference = causes[0].reference_c
    celsius = reference if temperature_c is None else temperature_c
    than = reference if than_c is None else than_c
    age_h = age_years * 8766
    found = expected_stops(causes, cards, days * 24, celsius, age_h, SHARED if shared else ())
    middle_h = age_h + days * 12
    driven = [cause for cause in causes if cause.activation_ev]
    times = {cause.name: float(arrhenius(cause.activation_ev, than, celsius)) for cause in causes}
    ordered = sorted(found.by_cause.items(), key=lambda pair: (-pair[1], pair[0]))
    flap = None if flap_up_s is None else Flap(flap_up_s, flap_down_s)
    return FaultsAnswer(
        fleet=fleet,
        cards=cards,
        days=days,
        temperature_c=celsius,
        than_c=than,
        equation=EQUATION,
        source=SOURCES[fleet],
        stops=found.total,
        stops_per_day=found.total / days,
        mtbf_h=found.mtbf_h,
        hotter=_ratio(causes, than, celsius, middle_h),
        hotter_thermal=_ratio(driven, than, celsius, middle_h) if driven else 1.0,
        thermal_share=thermal_share(causes),
        card_hours_lost=found.card_hours_lost,
        by_cause=tuple(
            CauseStops(name, stops, stops / found.total, times.get(name, 1.0)) for name, stops in ordered
        ),
        fitted=fit_titan() if fleet == "titan-old" else None,
        flapping=flapping(flap, tolerated_s) if flap else None,
        notes=_notes(fleet, shared=shared, flaps=flap is not None),
    )


def _notes(fleet: str, *, shared: bool, flaps: bool) -> tuple[str, ...]:
    low, high = JUNCTION_C
    notes = [_ABOUT[fleet.partition("-")[0]], f"heat by Arrhenius: dies of {low:g} to {high:g} °C, assumed"]
    if shared:
        notes.append("rates of shared equipment are assumed, not published")
    if flaps:
        notes.append("flapping: alternating renewals (Cox, Renewal Theory, ch. 7), not among the stops")
    return tuple(notes)


def _ratio(causes: Sequence[Cause], than_c: float, celsius: float, age_h: float) -> float:
    """How many times as often causes strike at one temperature as at another."""
    warm, cold = (float(total_hazard_per_h(causes, each, age_h)) for each in (celsius, than_c))
    return warm / cold


_RANGES: dict[str, tuple[float, float]] = {
    "cards": (1, 1e6),
    "days": (0, 36_600),
    "age_years": (0, 100),
    "temperature_c": (-273.15, 1e4),
    "than_c": (-273.15, 1e4),
    "flap_up_s": (1e-3, 1e7),
    "flap_down_s": (1e-3, 1e7),
    "tolerated_s": (0, 1e7),
}
"""What each number may be."""


def _check_observed(given: dict[str, Any]) -> None:
    """Arrhenius holds where one mechanism does, and Titan's wear up to the age at which it was seen."""
    low, high = JUNCTION_C
    for name in ("temperature_c", "than_c"):
        if given[name] is not None and not low <= given[name] <= high:
            raise BadInput(
                f"`{name}` = {given[name]:g}: rates are carried by Arrhenius from {low:g} to {high:g} °C "
                "(junctions of silicon, assumed), not beyond.",
                f"Give {low:g} to {high:g}.",
            )
    reached = given["age_years"] + given["days"] * 24 / YEAR_H
    wears = given["fleet"] in FLEETS and any(cause.shape != 1 for cause in FLEETS[given["fleet"]])
    if wears and reached > AGES[-1] + 1e-9:
        raise BadInput(
            f"Titan's cards were counted up to an age of {AGES[-1]:g} years, and these reach {reached:.4g}.",
            "Lower `age_years` or `days`.",
        )


def _check(given: dict[str, Any]) -> None:
    if given["days"] <= 0:
        raise BadInput(f"Nothing happens in {given['days']:g} days.", "Give `days` above zero.")
    if given["age_years"] < 0:
        raise BadInput(f"No card is {given['age_years']:g} years old.", "Give `age_years` from zero.")
    for name, (low, high) in _RANGES.items():
        bounded(low, high, **{name: given[name]})
    usual = inspect.signature(plan_faults).parameters
    _check_observed(given)
    for name in ("flap_down_s", "tolerated_s"):
        if given["flap_up_s"] is None and given[name] != usual[name].default:
            raise BadInput(f"`{name}` is of a link that flaps.", "Give `flap_up_s`, too.")
