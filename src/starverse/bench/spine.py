"""The figures of the spine: the loop, the journal, the API, and the start of things."""

from collections.abc import Callable, Sequence

from starverse.bench import journal, lives, serving, starts
from starverse.bench.figure import Figure, Measure

PARTS: tuple[tuple[str, Measure], ...] = (
    ("whole job lives through the loop", lives.measure),
    ("the journal on disk", journal.measure),
    ("the start of the command line", starts.measure),
    ("a server: latency, reads, memory", serving.measure),
)


def run(say: Callable[[str], None]) -> Sequence[Figure]:
    """All of them, one after the other; `say` hears what is measured now."""
    figures: list[Figure] = []
    for what, measure in PARTS:
        say(what)
        figures += measure()
    return figures
