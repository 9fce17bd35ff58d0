"""A measured all-reduce asked about: the curve through its sizes, and how well half of them tell the rest."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from msgspec import Struct

from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.physics.fabric.measured import SWEEPS, Curve, fit, sweep
from starverse.physics.fabric.network import Floats

EQUATION = "t = start + S x byte + sqrt(S) x root: latency, wire, and the filling of a pipeline"
SOURCE = "Hockney (1994); the root: a pipeline in its best number of blocks"
PUBLISHED = "sweeps: nccl-tests all-reduces of stas00/ml-engineering, network/README.md at 744d01e (2026)"
LEAST_BYTES = 128 * 1024
"""Below, steps of the library's protocols show that no curve of three terms follows."""
SIZES_LEAST = 8
SIZES_MOST = 1_000


class SweepAnswer(Struct, frozen=True):
    """What `plan sweep` says; the errors are geometric means over the half that was not fitted on."""

    sweep: str
    cards: int
    sizes: int
    least_bytes: float
    most_bytes: float
    start_us: float
    bus_bytes_per_s_most: float
    root_s_per_sqrt_byte: float
    held_out_even_share: float
    held_out_odd_share: float
    bytes: float | None
    time_s: float | None
    bus_bytes_per_s: float | None
    equation: str
    source: str
    notes: tuple[str, ...]


def plan_sweep(
    words: str, lines: Sequence[str] | None, cards: int | None, megabytes: float | None
) -> SweepAnswer:
    """The curve of a published sweep by its name, or of the `lines` that nccl-tests printed for `cards`.

    Raises BadInput for a sweep that is none or too short, and for a size beyond its ends.
    """
    bounded(1e-6, 1e9, megabytes=megabytes)
    if lines is None:
        if cards is not None:
            raise BadInput(f"{words} is as published: its cards are known.", "Leave out --cards.")
        bytes_, seconds = sweep(words)
        cards, source = SWEEPS[words], PUBLISHED
    else:
        if cards is None:
            raise BadInput("How many cards reduced is not said in every such file.", "Give --cards.")
        bounded(2, 1_000_000, cards=cards)
        bytes_, seconds = _read(lines, words)
        source = f"sweep: {words}"
    curve = fit(bytes_, seconds)
    passes = 2 * (cards - 1) / cards
    asked = None if megabytes is None else megabytes * 1e6
    time_s = None if asked is None else curve.time_s(asked)
    return SweepAnswer(
        sweep=words,
        cards=cards,
        sizes=bytes_.size,
        least_bytes=curve.least_bytes,
        most_bytes=curve.most_bytes,
        start_us=curve.start_s * 1e6,
        bus_bytes_per_s_most=passes / curve.byte_s if curve.byte_s else float("inf"),
        root_s_per_sqrt_byte=curve.root_s,
        held_out_even_share=held_out_share(bytes_, seconds, 1),
        held_out_odd_share=held_out_share(bytes_, seconds, 0),
        bytes=asked,
        time_s=time_s,
        bus_bytes_per_s=passes * asked / time_s if asked and time_s else None,
        equation=EQUATION,
        source=f"{SOURCE}; {source}",
        notes=("fitted on all sizes; the held-out shares are of fits on every other size",),
    )


def held_out_share(bytes_: Floats, seconds: Floats, parity: int) -> float:
    """The error on every other of (sizes,), its geometric mean, of a curve fitted on those of this parity."""
    fitted = np.arange(bytes_.size) % 2 == parity
    curve: Curve = fit(bytes_[fitted], seconds[fitted])
    wide = replace(curve, least_bytes=float(bytes_[0]), most_bytes=float(bytes_[-1]))
    computed = np.array([wide.time_s(float(each)) for each in bytes_[~fitted]])
    return float(np.exp(np.abs(np.log(computed / seconds[~fitted])).mean()) - 1)


def _read(lines: Sequence[str], name: str) -> tuple[Floats, Floats]:
    """Bytes and seconds of what nccl-tests prints: size, count, type, redop, root, time in µs and more.

    Of equal sizes the first counts; those below 128 KiB are left out.
    """
    found: dict[int, float] = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#") or not words[0].isdigit():
            continue
        try:
            size, micros = int(words[0]), float(words[5])
        except (ValueError, IndexError):
            raise BadInput(
                f"{name}, line {number}: no size with its time in the sixth column.",
                "Give what all_reduce_perf printed.",
            ) from None
        if not 0 < micros < 1e12:
            raise BadInput(f"{name}, line {number}: {words[5]} us is no time.", "Measure it again.")
        if size >= LEAST_BYTES:
            found.setdefault(size, micros / 1e6)
    if not SIZES_LEAST <= len(found) <= SIZES_MOST:
        raise BadInput(
            f"{name} has {len(found)} sizes from 128 KiB up.",
            f"Give {SIZES_LEAST} to {SIZES_MOST:,}: all_reduce_perf -b 128K -e 16G -f 2.",
        )
    sizes = sorted(found)
    return np.array(sizes, np.float64), np.array([found[size] for size in sizes])
