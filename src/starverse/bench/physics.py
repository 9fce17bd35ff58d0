"""The figures of the physics: how long the models take at the size of the reference cluster."""

from collections.abc import Callable, Sequence

from starverse.bench import physics_fabric, physics_facility
from starverse.bench.figure import Figure, Measure

PARTS: tuple[tuple[str, Measure], ...] = (*physics_fabric.PARTS, *physics_facility.PARTS)


def run(say: Callable[[str], None]) -> Sequence[Figure]:
    """All of them, one after the other; `say` hears what is measured now."""
    figures: list[Figure] = []
    for what, measure in PARTS:
        say(what)
        figures += measure()
    return figures
