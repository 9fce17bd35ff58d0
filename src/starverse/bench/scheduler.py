"""The figures of the scheduler: how long it takes to decide, and how good what it decides is."""

from collections.abc import Callable, Sequence

from starverse.bench import decisions, openb, replay
from starverse.bench.figure import Figure, Measure

PARTS: tuple[tuple[str, Measure], ...] = (
    *decisions.PARTS,
    ("replays of traces", replay.measure),
    ("the packing of shared cards", openb.measure),
)


def run(say: Callable[[str], None]) -> Sequence[Figure]:
    """All of them, one after the other; `say` hears what is measured now."""
    figures: list[Figure] = []
    for what, measure in PARTS:
        say(what)
        figures += measure()
    return figures
