"""Where a gang lies: the choice of nodes among those that could take members of it."""

from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Rule(NamedTuple):
    """How members must lie; levels by number (`Topology.level`), sizes in members.

    `slices`, outermost first, and `spread` are (level, members in one domain).
    """

    require: int = -1
    prefer: int = -1
    slices: tuple[tuple[int, int], ...] = ()
    spread: tuple[tuple[int, int], ...] = ()
    balanced: bool = False


ANYWHERE = Rule()


class Chosen(Struct, frozen=True, gc=False):
    """The nodes of a placement, by number, and how many members each takes (both of the same length)."""

    nodes: Ints
    members: Ints
