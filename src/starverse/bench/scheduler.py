"""The figures of the scheduler: how long it takes to decide, and how good what it decides is."""

from starverse.bench import decisions, openb, replay
from starverse.bench.figure import Measure, one_by_one

PARTS: tuple[tuple[str, Measure], ...] = (
    *decisions.PARTS,
    ("replays of traces", replay.measure),
    ("the packing of shared cards", openb.measure),
)

run = one_by_one(PARTS)
