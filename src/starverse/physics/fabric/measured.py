"""All-reduces as measured, and the curve through them."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from starverse.model.errors import BadInput
from starverse.model.names import nearest
from starverse.physics.fabric.network import Floats

KIB = 1024

_FROM_32_KIB = {
    "h200-node": (8, (1.44, 2.93, 5.73, 11.74, 23.94, 39.93, 64.53, 107.16, 155.53, 219.89,
                      275.84, 346.51, 401.93, 436.15, 450.29, 463.58, 469.17, 473.10, 477.45, 482.26)),
    "b200-node": (8, (1.20, 2.17, 4.86, 9.54, 18.71, 36.06, 63.09, 76.48, 126.49, 254.96,
                      325.97, 400.60, 568.38, 646.11, 688.99, 723.34, 734.97, 740.64, 839.07, 845.67)),
    "b200-4-nodes": (32, (0.01, 0.04, 0.45, 1.33, 2.84, 5.37, 10.38, 18.90, 35.12, 64.43,
                          91.19, 156.74, 197.94, 229.09, 326.90, 361.99, 372.42, 377.34, 380.39, 381.80)),
}  # fmt: skip
"""Cards, and bus bandwidth in GB/s at 32 KiB and each power of two up to 16 GiB: nccl-tests all-reduces of
stas00/ml-engineering, network/README.md at 744d01e (2026); the last over 8 × 400 Gbit/s EFA a node."""

SWEEPS = {name: cards for name, (cards, _) in _FROM_32_KIB.items()}
"""The cards of each sweep."""


@dataclass(frozen=True)
class Curve:
    """An all-reduce's time by its bytes S: start + S × byte + √S × root, within the sizes it was fitted on.

    The start is latency, the byte the wire, the root the filling of a pipeline in its best number of blocks
    (`collectives.pipelined_s`).
    """

    start_s: float
    byte_s: float
    root_s: float
    least_bytes: float
    most_bytes: float

    def time_s(self, bytes_: float) -> float:
        """The time of an all-reduce of so many bytes; raises BadInput outside the measured sizes."""
        if not self.least_bytes <= bytes_ <= self.most_bytes:
            raise BadInput(
                f"bytes = {bytes_:,.0f} is outside what was measured.",
                f"Give {self.least_bytes:,.0f} to {self.most_bytes:,.0f} bytes, or ask for a closed form.",
            )
        return float(self.start_s + bytes_ * self.byte_s + bytes_**0.5 * self.root_s)


def sweep(name: str) -> tuple[Floats, Floats]:
    """The bytes (sizes,) and seconds (sizes,) of a measured sweep, from 128 KiB up."""
    if name not in _FROM_32_KIB:
        raise BadInput(f"There is no sweep '{name}'.", nearest(name, _FROM_32_KIB))
    cards, bus_gb_per_s = _FROM_32_KIB[name]
    bytes_ = 32.0 * KIB * np.exp2(np.arange(len(bus_gb_per_s), dtype=np.float64))
    seconds = 2 * (cards - 1) / cards * bytes_ / (np.array(bus_gb_per_s) * 1e9)
    return bytes_[2:], seconds[2:]


def fit(bytes_: Floats, seconds: Floats) -> Curve:
    """The curve that comes nearest in relative error (least squares of computed over measured minus 1)."""
    terms = np.stack((np.ones_like(bytes_), bytes_, np.sqrt(bytes_)), 1) / seconds[:, None]
    found, *_ = np.linalg.lstsq(terms, np.ones_like(bytes_), rcond=None)
    if (found < 0).any():
        raise BadInput("These times do not grow with the bytes.", "Give a sweep of an idle fabric.")
    start_s, byte_s, root_s = (float(term) for term in found)
    return Curve(start_s, byte_s, root_s, float(bytes_.min()), float(bytes_.max()))


@lru_cache(maxsize=8)
def measured(name: str) -> Curve:
    """The curve of a measured sweep, fitted on all its sizes."""
    return fit(*sweep(name))
