"""What the scheduler decides."""

import numpy as np
from msgspec import Struct

from starverse.model.allocation import Share
from starverse.model.events import Promised
from starverse.model.job import StopWhy
from starverse.scheduler.forward import Still
from starverse.scheduler.kernels import Ints
from starverse.scheduler.line import Line
from starverse.scheduler.packed import Packings
from starverse.scheduler.preempt import InVain


class Place(Struct, frozen=True, gc=False):
    """Start the job on these cards, with `hold` micro-yuan set aside for the first `lease_ms`."""

    job: str
    shares: tuple[Share, ...]
    milli_cards: int
    lease_ms: int
    hold: int


class Unpaid(Struct, frozen=True, gc=False):
    """The job's turn has come, but its wallet holds `has` micro-yuan and the shortest lease needs `needs`."""

    job: str
    needs: int
    has: int


class Evict(Struct, frozen=True, gc=False):
    """Ask the run to save and leave: its cards are kept for the job."""

    run: str
    job: str


class Move(Struct, frozen=True, gc=False):
    """Ask the run to save and leave: these cards are kept for its job's next run (none: it waits)."""

    run: str
    keeps: tuple[Share, ...]
    why: StopWhy


class Plan(Struct, frozen=True, gc=False):
    """The decisions of one instant; what is not named stays as it is. At `again_ms` (0: never) there may be
    more to decide, though nothing happens by then."""

    places: tuple[Place, ...] = ()
    unpaid: tuple[Unpaid, ...] = ()
    promises: tuple[Promised, ...] = ()
    evictions: tuple[Evict, ...] = ()
    moves: tuple[Move, ...] = ()
    again_ms: int = 0


NOTHING = Plan()


class Proven:
    """What was proven for the jobs of one kind, mutable, handed from decision to decision.

    `lack[q]` members at least are missing for a job of class q to start now; 0 says nothing. It shrinks by
    what nodes could take more since (`Space.loosened_since`), and is forgotten with its class.
    """

    def __init__(self) -> None:
        self.lack: Ints = np.zeros(16, np.int64)
        self.vain: dict[int, InVain] = {}
        """Of a class, that nobody's leaving would have helped."""
        self.births = 0
        self.changes = 0
        self.shrunk = self.grown = 0
        self.limited: set[int] = set()
        """The classes that lack members because of a limit: it says nothing once one has loosened."""
        self.loosened = 0
        self.parted: set[int] = set()
        """The classes that lack a part of a card: free cards do not say when there is one."""
        self.packings = Packings()
        self.still: Still | None = None
        """Why the first in line is not brought forward."""

    def fit(self, line: Line) -> None:
        """Make place for the classes that came since, and forget those whose numbers they have."""
        if self.births == line.births:
            return
        more = line.born.size - self.lack.size
        if more > 0:
            self.lack = np.pad(self.lack, (0, more))
        self.lack[line.born > self.births] = 0
        self.vain = {number: proof for number, proof in self.vain.items() if line.born[number] <= self.births}
        self.births = line.births


Memo = dict[str, Proven]
"""What was proven, by kind. A memo never changes a plan: an empty one yields the same."""
