"""How often to checkpoint, and what is left of the time: intervals, lost work, goodput and ETTR."""

from collections.abc import Sequence
from math import exp, expm1, inf, log1p, sqrt

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

    Daly's complete model (2006, equation 20): T_wall / T_work = M/τ e^(R/M) (e^((τ+δ)/M) - 1). A save that is
    written behind the training, in s ≤ τ, adds s to R, exactly: a stop while it goes on falls back one more
    segment. 0 where a segment is so long that it never gets done (the exponent overflows).
    """
    _check(stall_s, mtbf_s)
    if interval_s <= 0 or restart_s < 0:
        raise BadInput("Work goes on between saves.", "Give `interval_s` above zero, `restart_s` from zero.")
    exponent = (interval_s + stall_s) / mtbf_s
    if exponent + restart_s / mtbf_s > _LONGEST:
        return 0.0
    return interval_s / mtbf_s / (exp(restart_s / mtbf_s) * expm1(exponent))


class LevelPlan(Struct, frozen=True):
    """A level's interval and the shares of wall time it costs: standing still, work done again, restarts.

    With the plan's ETTR they add up to one. What stops cost is split into levels, and into work done again
    and restarts, as λ (τ/2 + s) is to λ R.
    """

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
    """A good interval of each level, from the quickest to the surest, and what they leave of the time.

    τ_i = √(2 δ_i / λ_i) (Benoit, Cavelan, Robert, Sun, "Towards Optimal Multi-Level Checkpointing", IEEE
    Trans. Computers 66, 2017; one level is Young's), at most 1 / λ_i as Daly has it, and not below what a
    save takes or `least_interval_s`, which is e.g. a step. With one level they leave within 6 % of the most
    that is possible, however often it stops. A level that no stop needs is never saved. ETTR is work over
    the expected wall time of these intervals (`wall_per_work`), not its first order; 0 where nothing ever
    gets done.
    """
    if not levels:
        raise BadInput("A plan needs a place to save to.", "Give at least one level.")
    used = tuple(
        (level, max(_first_order_s(level), least_interval_s, level.save_s))
        for level in levels
        if level.stop_rate_per_s > 0
    )
    ettr = 1 / wall_per_work(used)
    stalls = [ettr * level.stall_s / interval for level, interval in used]
    again = [level.stop_rate_per_s * (interval / 2 + level.save_s) for level, interval in used]
    restarts = [level.stop_rate_per_s * level.restart_s for level, _ in used]
    lost = 1 - ettr - sum(stalls)
    part = lost / (sum(again) + sum(restarts)) if used else 0.0
    found = {
        level.name: LevelPlan(level.name, interval, stall, redo * part, restart * part)
        for (level, interval), stall, redo, restart in zip(used, stalls, again, restarts, strict=True)
    }
    rate = sum(level.stop_rate_per_s for level in levels)
    return CheckpointPlan(
        tuple(found.get(level.name, LevelPlan(level.name, inf, 0.0, 0.0, 0.0)) for level in levels),
        lost / rate if rate else 0.0,
        ettr,
    )


def wall_per_work(levels: Sequence[tuple[Level, float]]) -> float:
    """Expected wall time over work of levels saved each so many seconds of work, the quickest first.

    A level's segment is work, with the stops and saves of the levels below, and its own stall. Let b be the
    chance that none of its stops (rate λ) falls into one; each costs a restart, which any stop that its level
    or one below answers (Λ together) begins anew: T/τ = (1/b - 1) (1/λ + (e^(ΛR) - 1) / Λ) e^(λs) / τ. For
    one level b = e^(-λ(τ+δ)) and this is Daly's equation 20 (2006). With several it is exact where their
    intervals divide each other and saves are written at once. `inf` where nothing gets done.
    """
    if not levels:
        return 1.0
    top, interval = levels[-1]
    rate = top.stop_rate_per_s
    every = sum(level.stop_rate_per_s for level, _ in levels)
    missed = _attempt(levels, rate)
    if max(missed, every * top.restart_s, rate * top.save_s) > _LONGEST / 3:
        return inf
    restart = 1 / rate + expm1(every * top.restart_s) / every
    return expm1(missed) * restart * exp(rate * top.save_s) / interval


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


_LONGEST = 700.0
"""e to the power of more overflows."""


def _first_order_s(level: Level) -> float:
    return min(sqrt(2 * level.stall_s / level.stop_rate_per_s), 1 / level.stop_rate_per_s)


# Below, what takes a time T is known by -ln E[e^(-θT)], its Laplace transform at a rate θ: the chance that no
# stop of that rate falls into it.


def _attempt(levels: Sequence[tuple[Level, float]], theta: float) -> float:
    """Of a segment of the uppermost level, none of whose own stops are counted."""
    *below, (top, interval) = levels
    if not below:
        return theta * (interval + top.stall_s)
    quicker, each = below[-1]
    segment = _stopped(below, _attempt(below, theta + quicker.stop_rate_per_s), theta)
    return interval / each * segment + _uninterrupted(below, top.stall_s, theta)


def _uninterrupted(levels: Sequence[tuple[Level, float]], seconds: float, theta: float) -> float:
    """Of so many seconds on end, begun again after each stop that these levels answer."""
    if not levels:
        return theta * seconds
    level, _ = levels[-1]
    return _stopped(levels, _uninterrupted(levels[:-1], seconds, theta + level.stop_rate_per_s), theta)


def _stopped(levels: Sequence[tuple[Level, float]], attempt: float, theta: float) -> float:
    """Of an attempt that the uppermost level's stops begin again, after a restart.

    With `attempt` at θ + λ, b = e^(-attempt) is the transform of one that gets through, λ/(θ+λ) (1 - b) of
    one that is stopped. A save written behind makes the next attempt longer by `save_s`, until it is safe.
    """
    level, _ = levels[-1]
    rate, every = level.stop_rate_per_s, sum(each.stop_rate_per_s for each, _ in levels)
    once = exp(-(theta + every) * level.restart_s)
    restart = once / (1 - every / (theta + every) * (1 - once))
    stops = rate / (theta + rate)
    longer = exp(-attempt - (theta + rate) * level.save_s)
    retried = longer / (1 - stops * (1 - longer) * restart)
    missed = -expm1(-attempt) * (1 - stops * restart * retried)
    return -log1p(-missed) if missed < 1 else inf
