"""How often to checkpoint, and what is left of the time: intervals, lost work, goodput and ETTR."""

from collections.abc import Sequence
from math import exp, expm1, inf, sqrt

from msgspec import Struct

from starverse.model.errors import BadInput


class Level(Struct, frozen=True):
    """One place to save to: node memory, a peer, a volume.

    `stall_s` is how long training stands still for a save; `save_s` until it is safe (asynchronous saves go
    on behind); `restart_s` from the stop to the first new step; `stop_rate_per_s` the rate of those stops
    that need this level and no higher one.
    """

    name: str
    stall_s: float
    restart_s: float
    stop_rate_per_s: float
    save_s: float = 0.0

    def __post_init__(self) -> None:
        if self.stall_s <= 0 or self.restart_s < 0 or self.stop_rate_per_s < 0:
            raise BadInput(
                f"The checkpoint level '{self.name}' has no stall, or a negative restart or rate.",
                "Give `stall_s` above zero, `restart_s` and `stop_rate_per_s` of at least zero.",
            )


def young_interval_s(stall_s: float, mtbf_s: float) -> float:
    """Seconds of work between saves: √(2 δ M) (Young, CACM 17, 1974); for δ far below M."""
    _check(stall_s, mtbf_s)
    return sqrt(2 * stall_s * mtbf_s)


def daly_interval_s(stall_s: float, mtbf_s: float) -> float:
    """Seconds of work between saves, to higher order (Daly, FGCS 22, 2006, equation 37).

    √(2δM) (1 + ⅓ √(δ/2M) + ⅑ δ/2M) - δ below δ = 2M, else M.
    """
    _check(stall_s, mtbf_s)
    if stall_s >= 2 * mtbf_s:
        return mtbf_s
    half = stall_s / (2 * mtbf_s)
    return sqrt(2 * stall_s * mtbf_s) * (1 + sqrt(half) / 3 + half / 9) - stall_s


def goodput(interval_s: float, stall_s: float, restart_s: float, mtbf_s: float) -> float:
    """The share of wall time that makes progress kept for good, with exponential stops at any moment.

    Daly's complete model (2006, equation 20): T_wall / T_work = M/τ e^(R/M) (e^((τ+δ)/M) - 1). 0 where a
    segment is so long that it never gets done (the exponent overflows).
    """
    _check(stall_s, mtbf_s)
    if interval_s <= 0 or restart_s < 0:
        raise BadInput("Work goes on between saves.", "Give `interval_s` above zero, `restart_s` from zero.")
    exponent = (interval_s + stall_s) / mtbf_s
    if exponent + restart_s / mtbf_s > 700:
        return 0.0
    return interval_s / mtbf_s / (exp(restart_s / mtbf_s) * expm1(exponent))


class LevelPlan(Struct, frozen=True):
    """A level's interval and the shares of time it costs: standing still, work done again, restarts."""

    name: str
    interval_s: float
    stall_share: float
    redo_share: float
    restart_share: float


class CheckpointPlan(Struct, frozen=True):
    """Intervals by level, and what is left.

    `ettr` is the effective training time ratio: time that advances the job over wall time, queueing left out
    (Kokolis et al., "Revisiting Reliability in Large-Scale Machine Learning Research Clusters", HPCA 2025).
    """

    levels: tuple[LevelPlan, ...]
    lost_s_per_stop: float
    ettr: float


def plan_levels(levels: Sequence[Level], least_interval_s: float = 0.0) -> CheckpointPlan:
    """The best interval of each level and what they leave, to first order.

    Waste = Σ δ_i/τ_i + λ_i (τ_i/2 + s_i + R_i), minimal at τ_i = √(2 δ_i / λ_i) (Benoit, Cavelan, Robert,
    Sun, "Towards Optimal Multi-Level Checkpointing", IEEE Trans. Computers 66, 2017; one level is Young's).
    A level that no stop needs is never saved, and none more often than a save takes. ETTR = 1 / (1 + waste
    over work). `least_interval_s` is e.g. a step.
    """
    if not levels:
        raise BadInput("A plan needs a place to save to.", "Give at least one level.")
    plans = []
    for level in levels:
        rate = level.stop_rate_per_s
        interval = max(sqrt(2 * level.stall_s / rate), least_interval_s, level.save_s) if rate > 0 else inf
        redo = rate * (interval / 2 + level.save_s) if rate > 0 else 0.0
        plans.append(LevelPlan(level.name, interval, level.stall_s / interval, redo, rate * level.restart_s))
    waste = sum(plan.stall_share + plan.redo_share + plan.restart_share for plan in plans)
    rate = sum(level.stop_rate_per_s for level in levels)
    lost = sum(plan.redo_share + plan.restart_share for plan in plans) / rate if rate else 0.0
    return CheckpointPlan(tuple(plans), lost, 1 / (1 + waste))


def state_bytes(parameters: float, bytes_per_parameter: float = 14.0) -> float:
    """What a checkpoint holds: BF16 weights (2) and FP32 master weights and two Adam moments (12) a
    parameter.

    Rajbhandari et al., "ZeRO" (SC'20): gradients are not saved.
    """
    if parameters <= 0 or bytes_per_parameter <= 0:
        raise BadInput("A model has parameters.", "Give `parameters` and `bytes_per_parameter` above zero.")
    return parameters * bytes_per_parameter


def save_s(saved_bytes: float, writers: int, bytes_per_s_each: float, bytes_per_s_all: float = inf) -> float:
    """Seconds to write a state from `writers` at once, held up by the slower of them and what they share."""
    if writers < 1 or bytes_per_s_each <= 0 or bytes_per_s_all <= 0:
        raise BadInput("A state is written by somebody.", "Give `writers` and bandwidths above zero.")
    return saved_bytes / min(writers * bytes_per_s_each, bytes_per_s_all)


def _check(stall_s: float, mtbf_s: float) -> None:
    if stall_s <= 0 or mtbf_s <= 0:
        raise BadInput(
            f"A save of {stall_s:g} s every {mtbf_s:g} s of MTBF has no best interval.",
            "Give `stall_s` and `mtbf_s` above zero.",
        )
