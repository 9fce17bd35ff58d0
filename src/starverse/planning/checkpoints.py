"""How often a job should checkpoint where, and what is left of its time."""

from typing import Any

from msgspec import Struct, structs

from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.physics.checkpoints import (
    Level,
    daly_interval_s,
    goodput,
    plan_levels,
    save_s,
    state_bytes,
    young_interval_s,
)
from starverse.physics.faults.fleet import expected_stops
from starverse.physics.faults.fleets import fleet_named

EQUATION = (
    "τ_i = √(2 δ_i / λ_i) ≤ 1/λ_i, not below a save's s; ETTR = τ / (M e^((R+s)/M) (e^((τ+δ)/M) - 1)); "
    "one level: Daly's √(2δM) (1 + ⅓√(δ/2M) + ⅑δ/2M) - δ"
)
SOURCE = "Young, CACM 17 (1974); Daly, FGCS 22 (2006); Benoit et al., IEEE Trans. Computers 66 (2017)"
LEAST_ETTR = 1e-3
"""Below it a job is refused: it would not end."""


class LevelAnswer(Struct, frozen=True):
    """One place to save to: how long a save stalls, how often, and what that costs of the wall time."""

    name: str
    stall_s: float
    interval_s: float
    stall_share: float
    redo_share: float
    restart_share: float


class CheckpointAnswer(Struct, frozen=True):
    """What `plan checkpoint` says: one level by Young and Daly, and several if there is a fast one.

    No interval is shorter than a save takes. `goodput_one_level` is ETTR at Daly's interval.
    """

    cards: int
    state_bytes: float
    mtbf_h: float
    equation: str
    source: str
    young_interval_s: float
    daly_interval_s: float
    goodput_one_level: float
    levels: tuple[LevelAnswer, ...]
    ettr: float
    lost_s_per_stop: float


def plan_checkpoint(
    parameters: float = 405e9,
    cards: int = 16_384,
    bytes_per_parameter: float = 14.0,
    volume_bytes_per_s: float = 2e12,
    card_bytes_per_s: float = 2e9,
    memory_bytes_per_s: float = 25e9,
    memory_survives: float = 0.0,
    restart_s: float = 300.0,
    memory_restart_s: float = 60.0,
    asynchronous: bool = True,
    fleet: str = "llama3",
    stops_per_hour: float | None = None,
    least_interval_s: float = 10.0,
    stall_s: float | None = None,
) -> CheckpointAnswer:
    """The best interval and what is left of the time for a job on `cards`.

    A save goes to a volume that takes `volume_bytes_per_s` in all and `card_bytes_per_s` a card;
    asynchronous, training stands still only while the state is copied to memory at `memory_bytes_per_s` a
    card. With `memory_survives` above zero that share of stops restarts from a peer's memory (Gemini, SOSP
    '23). Stops come at the published fleet's rate unless `stops_per_hour` is given;
    `least_interval_s` is e.g. a step. `stall_s` puts a measured or published stall of a save to the volume in
    the place of the one by the state's size.
    """
    _check(locals())
    if stops_per_hour is None:
        stops_per_hour = expected_stops(fleet_named(fleet), cards, 24.0).total / 24.0
    rate, mtbf = stops_per_hour / 3600, 3600 / stops_per_hour
    state = state_bytes(parameters, bytes_per_parameter)
    written = save_s(state, cards, card_bytes_per_s, volume_bytes_per_s)
    copied = save_s(state, cards, memory_bytes_per_s)
    stall = stall_s if stall_s is not None else copied if asynchronous else written
    behind = written if asynchronous else 0.0
    levels = [Level("volume", stall, restart_s, rate * (1 - memory_survives), behind)]
    if memory_survives:
        levels.insert(0, Level("memory of a peer", copied, memory_restart_s, rate * memory_survives))
    plan = plan_levels(levels, least_interval_s)
    if plan.ettr < LEAST_ETTR:
        raise _nowhere(mtbf, written, restart_s)
    least = max(least_interval_s, behind)
    daly = max(daly_interval_s(stall, mtbf), least)
    return CheckpointAnswer(
        cards=cards,
        state_bytes=state,
        mtbf_h=mtbf / 3600,
        equation=EQUATION,
        source=SOURCE,
        young_interval_s=max(young_interval_s(stall, mtbf), least),
        daly_interval_s=daly,
        goodput_one_level=goodput(daly, stall, restart_s + behind, mtbf),
        levels=tuple(
            LevelAnswer(stall_s=level.stall_s, **structs.asdict(cost))
            for level, cost in zip(levels, plan.levels, strict=True)
        ),
        ettr=plan.ettr,
        lost_s_per_stop=plan.lost_s_per_stop,
    )


_RANGES: dict[str, tuple[float, float]] = {
    "cards": (1, 1e6),
    "parameters": (1, 1e16),
    "volume_bytes_per_s": (1, 1e18),
    "card_bytes_per_s": (1, 1e18),
    "memory_bytes_per_s": (1, 1e18),
    "stops_per_hour": (0, 1e6),
    "restart_s": (0, 1e6),
    "memory_restart_s": (0, 1e6),
    "least_interval_s": (0, 1e6),
    "stall_s": (1e-3, 1e6),
    "bytes_per_parameter": (0.1, 1_000),
}
"""What each number may be."""


def _check(given: dict[str, Any]) -> None:
    for name, (low, high) in _RANGES.items():
        bounded(low, high, **{name: given[name]})
    if not 0 <= given["memory_survives"] < 1:
        raise BadInput(
            f"Memory that survives {given['memory_survives']:g} of the stops is no share below one.",
            "Give `memory_survives` from 0 to below 1.",
        )
    if given["stops_per_hour"] == 0:
        raise BadInput("A job that never stops needs no checkpoint.", "Give `stops_per_hour` above zero.")


def _nowhere(mtbf_s: float, save_s: float, restart_s: float) -> BadInput:
    return BadInput(
        f"A job that stops every {mtbf_s:.3g} s, with saves of {save_s:.3g} s and restarts of {restart_s:g} "
        "s, hardly gets anywhere.",
        "Give fewer `cards` or `stops_per_hour`, a faster volume, or a shorter `restart_s`.",
    )
