"""Cards by row: what a run has, and what somebody has a claim on."""

import numpy as np

from starverse.scheduler.kernels import Ints


class Lot:
    """Cards on some nodes, by number: `masks` are bit sets; both arrays have the same length.

    With `milli`, it is so many milli-cards of each of them.
    """

    __slots__ = ("masks", "milli", "nodes")

    def __init__(self, nodes: Ints, masks: Ints, milli: int = 0) -> None:
        self.nodes = nodes
        self.masks = masks
        self.milli = milli

    @property
    def counts(self) -> Ints:
        """How many cards there are of each node."""
        return np.bitwise_count(self.masks).astype(np.int64)

    @property
    def count(self) -> int:
        """How many cards there are."""
        return sum(map(int.bit_count, self.masks.tolist()))
