"""The two-node network of every card through time: exact steps, thirty thousand cards, a day in seconds."""

from typing import Any

import numpy as np
from msgspec import Struct
from numba import njit
from numpy.typing import NDArray

from starverse.model.errors import BadInput
from starverse.physics.cooling.card import CardThermal
from starverse.physics.cooling.step import Step, exact_step

Floats = NDArray[np.floating[Any]]

_TOGETHER = 4
_BLOCK = 256
"""Cards that are stepped together: their temperatures and coefficients stay in the nearest cache."""


class Course(Struct, frozen=True):
    """What became of the cards, each of shape (cards,): °C at the end, the hottest °C, and J since the
    start."""

    die_c: Floats
    sink_c: Floats
    peak_c: Floats
    heat_in_j: Floats
    heat_out_j: Floats
    stored_j: Floats


def run(
    thermal: CardThermal,
    power_w: Floats,
    inlet_c: Floats,
    *,
    start_c: float,
    step_s: float = 0.5,
    steps_per_row: int = 1,
    leakage_per_k: float = 0.0,
    reference_c: float = 63.0,
) -> Course:
    """Follow cards through `power_w`, shape (rows, cards) in W at `reference_c`, and `inlet_c`, shape
    (rows,).

    Each row holds for `steps_per_row` steps of `step_s`. The step is the matrix exponential of the network
    (`CardThermal`), exact for constant power and so stable at any length; leakage enters at the die's
    temperature at the step's start, P = P0 (1 + a (T1 - Tref)). Heat in is ∫P dt, heat out ∫(T2 - Tin)/R2 dt:
    their difference is what is stored, to rounding (tests: 1e-9). Raises BadInput for shapes that don't
    match.
    """
    if power_w.ndim != 2 or inlet_c.shape != (power_w.shape[0],):
        raise BadInput(
            f"`power_w` has shape {power_w.shape} and `inlet_c` {inlet_c.shape}.",
            "Give (rows, cards) and (rows,).",
        )
    if step_s <= 0 or steps_per_row < 1:
        raise BadInput("Time must go on.", "Give `step_s` above zero and `steps_per_row` of at least 1.")
    step = exact_step(thermal, step_s)
    state = np.empty((6, power_w.shape[1]))
    state[:3] = start_c
    state[3:] = 0.0
    _run_kernel(
        state,
        np.ascontiguousarray(power_w, dtype=np.float64),
        np.ascontiguousarray(inlet_c, dtype=np.float64),
        steps_per_row,
        leakage_per_k,
        reference_c,
        step.a,
        step.b,
    )
    return _course(thermal, state, start_c, float(inlet_c.sum()) * steps_per_row, step, step_s)


def _course(
    thermal: CardThermal, state: Floats, start_c: float, sum_inlet: float, step: Step, step_s: float
) -> Course:  # fmt: skip
    """What became of the cards; sums over steps become integrals by the same matrices, for all rows."""
    sum_die, sum_sink, sum_power = state[3], state[4], state[5]
    integral_sink = (
        step.g[1, 0] * sum_die + step.g[1, 1] * sum_sink + step.h[1, 0] * sum_power + step.h[1, 1] * sum_inlet
    )
    stored = thermal.die_j_per_k * (state[0] - start_c) + thermal.sink_j_per_k * (state[1] - start_c)
    return Course(
        die_c=state[0],
        sink_c=state[1],
        peak_c=state[2],
        heat_in_j=sum_power * step_s,
        heat_out_j=(integral_sink - sum_inlet * step_s) / thermal.sink_k_per_w,
        stored_j=stored,
    )


@njit(cache=True, fastmath=True)
def _run_kernel(
    state: Any,
    power: Any,
    inlet: Any,
    steps: int,
    leakage: float,
    reference: float,
    a: Any,
    b: Any,
) -> None:
    """Step `state` (die, sink, peak, Σdie, Σsink, Σpower by card) through all rows, a block of cards at a
    time."""
    rows, cards = power.shape
    a00, a01, a10, a11 = a[0, 0], a[0, 1], a[1, 0], a[1, 1]
    die = np.empty(_BLOCK)
    sink = np.empty(_BLOCK)
    peak = np.empty(_BLOCK)
    sum_die = np.empty(_BLOCK)
    sum_sink = np.empty(_BLOCK)
    hot = np.empty(_BLOCK)
    cold = np.empty(_BLOCK)
    lean_hot = np.empty(_BLOCK)
    lean_cold = np.empty(_BLOCK)
    for first in range(0, cards, _BLOCK):
        width = min(_BLOCK, cards - first)
        for k in range(width):
            die[k], sink[k], peak[k] = state[0, first + k], state[1, first + k], state[2, first + k]
        for row in range(rows):
            for k in range(width):
                full = power[row, first + k]
                level = full * (1 - leakage * reference)
                # Leakage is linear in the die's temperature, so it joins the matrix's first column.
                lean_hot[k] = a00 + b[0, 0] * full * leakage
                lean_cold[k] = a10 + b[1, 0] * full * leakage
                hot[k] = b[0, 0] * level + b[0, 1] * inlet[row]
                cold[k] = b[1, 0] * level + b[1, 1] * inlet[row]
                sum_die[k] = 0.0
                sum_sink[k] = 0.0
            _go_on(steps, width, a01, a11, lean_hot, lean_cold, hot, cold, die, sink, peak, sum_die, sum_sink)
            for k in range(width):
                full = power[row, first + k]
                state[3, first + k] += sum_die[k]
                state[4, first + k] += sum_sink[k]
                state[5, first + k] += full * ((1 - leakage * reference) * steps + leakage * sum_die[k])
        for k in range(width):
            state[0, first + k], state[1, first + k], state[2, first + k] = die[k], sink[k], peak[k]


@njit(cache=True, fastmath=True)
def _go_on(
    steps: int, width: int, a01: float, a11: float, lean_hot: Any, lean_cold: Any, hot: Any, cold: Any,
    die: Any, sink: Any, peak: Any, sum_die: Any, sum_sink: Any,
) -> None:  # fmt: skip
    """Step a block of cards through one row; die and sink are linear in those of the step before."""
    done = 0
    while done < steps:
        # Four steps at a time stay in registers; a remainder goes singly.
        together = _TOGETHER if done + _TOGETHER <= steps else 1
        for k in range(width):
            at_die, at_sink, hottest = die[k], sink[k], peak[k]
            die_sum, sink_sum = sum_die[k], sum_sink[k]
            if together == _TOGETHER:
                for _ in range(_TOGETHER):
                    die_sum += at_die
                    sink_sum += at_sink
                    after = lean_hot[k] * at_die + a01 * at_sink + hot[k]
                    at_sink = lean_cold[k] * at_die + a11 * at_sink + cold[k]
                    at_die = after
                    hottest = max(hottest, after)
            else:
                die_sum += at_die
                sink_sum += at_sink
                after = lean_hot[k] * at_die + a01 * at_sink + hot[k]
                at_sink = lean_cold[k] * at_die + a11 * at_sink + cold[k]
                at_die = after
                hottest = max(hottest, after)
            die[k], sink[k], peak[k] = at_die, at_sink, hottest
            sum_die[k], sum_sink[k] = die_sum, sink_sum
        done += together
