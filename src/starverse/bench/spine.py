"""The figures of the spine: the loop, the journal, the API, and the start of things."""

from starverse.bench import journal, lives, serving, starts
from starverse.bench.figure import Measure, one_by_one

PARTS: tuple[tuple[str, Measure], ...] = (
    ("whole job lives through the loop", lives.measure),
    ("the journal on disk", journal.measure),
    ("the start of the command line", starts.measure),
    ("a server: latency, reads, memory", serving.measure),
)

run = one_by_one(PARTS)
