"""What the scheduler decides."""

from msgspec import Struct

from starverse.model.allocation import Share


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


class Plan(Struct, frozen=True, gc=False):
    """The decisions of one instant; what is not named stays as it is."""

    places: tuple[Place, ...] = ()
    unpaid: tuple[Unpaid, ...] = ()


NOTHING = Plan()

Memo = dict[str, tuple[str, int]]
"""What was proven: by kind, the job at the head that does not fit, and Space.changes when that was seen.
A memo never changes a plan: an empty one yields the same."""
