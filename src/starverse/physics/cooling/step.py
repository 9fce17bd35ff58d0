"""One exact step of a card's thermal network, and how long a card lasts when its coolant stands still."""

from math import exp
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from starverse.physics.cooling.card import CardThermal

Floats = NDArray[np.floating[Any]]


class Step(Struct, frozen=True):
    """One exact step of length h: x' = A x + B u, and its integral ∫x dt = G x + H u; u = (power, inlet)."""

    a: Floats
    b: Floats
    g: Floats
    h: Floats


def exact_step(thermal: CardThermal, step_s: float) -> Step:
    """The matrices of one step, from the two eigenvalues of the network."""
    g1, g2 = 1 / thermal.die_k_per_w, 1 / thermal.sink_k_per_w
    system = np.array(
        [
            [-g1 / thermal.die_j_per_k, g1 / thermal.die_j_per_k],
            [g1 / thermal.sink_j_per_k, -(g1 + g2) / thermal.sink_j_per_k],
        ]
    )
    drive = np.array([[1 / thermal.die_j_per_k, 0.0], [0.0, g2 / thermal.sink_j_per_k]])
    rates, vectors = np.linalg.eig(system)
    back = np.linalg.inv(vectors)
    grown = np.exp(rates * step_s)
    # ∫e^(λs) ds and ∫∫ over the step; expm1 keeps their digits where λh is small.
    once = np.expm1(rates * step_s) / rates
    twice = (once - step_s) / rates
    a = (vectors * grown) @ back
    integral = (vectors * once) @ back
    return Step(a, integral @ drive, integral, (vectors * twice) @ back @ drive)


def seconds_until(thermal: CardThermal, power_w: float, start_c: float, limit_c: float) -> float:
    """Seconds until a card, steady at `start_c`, reaches `limit_c` at `power_w` without any flow.

    Nothing leaves the two nodes then: their mean rises at P / (C1 + C2), 1.5 to 3.3 K/s for 700 W on 210 to
    460 J/K (assumed range), and the die's lead over the sink falls from P R1 to P R1 C2 / (C1 +
    C2) with R1 C1 C2 / (C1 + C2). Bisection on that closed form, to a millisecond; `inf` for no power.
    """
    if power_w <= 0:
        return float("inf")
    if limit_c <= start_c:
        return 0.0
    c1, c2 = thermal.die_j_per_k, thermal.sink_j_per_k
    both = c1 + c2
    lead = power_w * thermal.die_k_per_w
    mean = start_c - lead * c2 / both
    settling_s = thermal.die_k_per_w * c1 * c2 / both

    def die_c(seconds: float) -> float:
        led = lead * (c2 + c1 * exp(-seconds / settling_s)) / both
        return mean + power_w * seconds / both + led * c2 / both

    low, high = 0.0, (limit_c - mean) * both / power_w
    while high - low > 5e-4:
        middle = (low + high) / 2
        if die_c(middle) < limit_c:
            low = middle
        else:
            high = middle
    return high
