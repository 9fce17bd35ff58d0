"""The figures of the facility's physics: power chain, thermal network, a year of PUE."""

from collections.abc import Sequence
from time import perf_counter

import numpy as np

from starverse.bench.figure import Figure, Measure
from starverse.physics.cooling.card import CardThermal
from starverse.physics.cooling.network import run as run_network
from starverse.physics.cooling.weather import XIAMEN, synthetic_year
from starverse.physics.power.frontier import FRONTIER, shelf_power
from starverse.planning.site import site_year
from starverse.planning.site_file import Site


def power_chain() -> Sequence[Figure]:
    """9,472 nodes x 5,760 steps of 15 s: a day of Frontier at random loads."""
    chance = np.random.default_rng(1)
    loads = chance.random((5_760, FRONTIER.nodes), dtype=np.float32)
    shelf_power(FRONTIER, loads[:1], loads[:1])
    seconds = _best(lambda: shelf_power(FRONTIER, loads, loads))
    return [
        Figure(
            "facility.power",
            "power chain, 9,472 nodes x 5,760 steps",
            seconds,
            "s",
            0.3,
            peer="RAPS 31 s for the whole day",
        )
    ]


def thermal_network() -> Sequence[Figure]:
    """30,000 cards for 24 h at 0.5 s, powers changing every ten minutes, with leakage."""
    watts = np.random.default_rng(2).uniform(80, 700, (144, 30_000))
    inlet = np.full(144, 32.0)
    run_network(CardThermal(), watts[:1], inlet[:1], start_c=40, steps_per_row=2, leakage_per_k=0.004)
    seconds = _best(
        lambda: run_network(CardThermal(), watts, inlet, start_c=40, steps_per_row=1200, leakage_per_k=0.004)
    )
    what = "30,000 cards' RC network, 24 h at 0.5 s"
    return [Figure("facility.cards", what, seconds, "s", 2.0, peer="prototype 0.9 s")]


def year_of_pue() -> Sequence[Figure]:
    """8,760 hours of the reference site."""
    weather = synthetic_year(XIAMEN)
    seconds = _best(lambda: site_year(Site(), weather))
    return [Figure("facility.pue", "a year of hourly PUE", seconds, "s", 1.0, peer="EnergyPlus 9 s")]


PARTS: tuple[tuple[str, Measure], ...] = (
    ("the power chain of 9,472 nodes", power_chain),
    ("30,000 cards' temperatures for a day", thermal_network),
    ("a year of hourly PUE", year_of_pue),
)


def _best(work: object) -> float:
    """The fastest of three: what the work takes when nobody disturbs it."""
    assert callable(work)
    times = []
    for _ in range(3):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)
