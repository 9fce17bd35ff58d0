"""What stopped published fleets, and how often: lists of causes to begin with."""

from starverse.model.errors import BadInput
from starverse.model.names import nearest
from starverse.physics.faults.hazard import YEAR_H, Cause

LLAMA3_CARDS = 16_384
LLAMA3_DAYS = 54
LLAMA3_STOPS = 419

LLAMA3_COUNTS: tuple[tuple[str, int, float, float], ...] = (
    ("faulty card", 148, 0.0, 24.0),
    ("card memory (HBM3)", 72, 0.7, 24.0),
    ("software", 54, 0.0, 0.2),
    ("network switch or cable", 35, 0.0, 4.0),
    ("host maintenance", 32, 0.0, 4.0),
    ("card SRAM", 19, 0.7, 24.0),
    ("card system processor", 17, 0.0, 1.0),
    ("network card", 7, 0.0, 24.0),
    ("collective watchdog", 7, 0.0, 0.2),
    ("silent data corruption", 6, 0.0, 24.0),
    ("thermal interface and sensor", 6, 0.7, 24.0),
    ("disk", 3, 0.0, 24.0),
    ("power supply", 3, 0.7, 24.0),
    ("chassis", 2, 0.0, 48.0),
    ("I/O board", 2, 0.0, 48.0),
    ("dependency", 2, 0.0, 1.0),
    ("processor", 2, 0.0, 24.0),
    ("system memory", 2, 0.0, 24.0),
)
"""(cause, unexpected stops in 54 days on 16,384 H100, activation energy in eV, mean hours to repair).

Counts: Llama Team, "The Llama 3 Herd of Models" (2024), table 5; they sum to 419. The activation energies
and repair times are ours, not the paper's: 0.7 eV (JEDEC JEP122's usual value for silicon) where the
mechanism is known to be thermally activated; "faulty card" is left out, because the paper does not say of
what they died. So the thermal share here, 24 %, is a lower bound; with them it would be 59 %."""

LLAMA3: tuple[Cause, ...] = tuple(
    Cause(name, count / (LLAMA3_CARDS * LLAMA3_DAYS * 24), ev, repair_h=repair_h)
    for name, count, ev, repair_h in LLAMA3_COUNTS
)
"""CALIBRATION, not a forecast: rates per card-hour that reproduce the published counts."""

TITAN_OLD: tuple[Cause, ...] = (
    Cause(
        "card, old batch (resistor defect)",
        5_027 / (75_746 * YEAR_H),
        activation_ev=0.59,
        reference_c=55.7,
        shape=2.64,
        life_h=7.11 * YEAR_H,
        repair_h=24.0,
    ),
)
"""Titan's first K20X cards: 5,027 dead in 75,746 card-years, Weibull k 2.64, η 7.11 years (data of
Ostrouchov et al., SC'20, fitted by maximum likelihood). The activation energy is that of its cages,
confounded with a defect
and with age: at a common shape the top cage's hazard is 7.7 times the bottom's, deaths a card-year 3.3."""

TITAN_NEW: tuple[Cause, ...] = (
    Cause("card, new batch", 62 / (25_144 * YEAR_H), activation_ev=0.30, reference_c=55.7, repair_h=24.0),
)
"""Titan's replaced cards: 62 dead in 25,144 card-years, k 1.02; the activation energy is weakly supported."""

FLEETS: dict[str, tuple[Cause, ...]] = {
    "llama3": LLAMA3,
    "titan-old": TITAN_OLD,
    "titan-new": TITAN_NEW,
}


def fleet_named(name: str) -> tuple[Cause, ...]:
    """The causes of a published fleet. Raises BadInput, naming those there are."""
    if name not in FLEETS:
        raise BadInput(f"There is no fleet '{name}'.", nearest(name, FLEETS))
    return FLEETS[name]
