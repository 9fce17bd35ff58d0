"""What the steps of a collective take together: chunks that follow each other through its phases."""

from collections.abc import Sequence
from typing import NamedTuple

from starverse.physics.fabric.bucket import CHUNKS_MAX, checked, flow_shop
from starverse.physics.fabric.collectives import streamed_s
from starverse.physics.fabric.steps import Step


class Phase(NamedTuple):
    """A step as it goes on a network, done once, in seconds: its way, its bytes, and adding those in memory.

    The way is that of the slowest flow; where blocks are handed on from hop to hop, the mean of the hops.
    """

    step: Step
    way_s: float
    body_s: float
    add_s: float = 0.0

    def stages(self, chunks: int) -> tuple[float, float]:
        """The time of one of so many chunks when it comes by, and when it comes back to be gathered."""
        step, part_s = self.step, self.body_s / chunks
        add_s = step.adds * self.add_s / chunks
        if step.fill:
            return streamed_s(step.fill, self.way_s, part_s) + add_s, 0.0
        time_s = step.times * (self.way_s + part_s)
        return (time_s / 2 + add_s, time_s / 2) if step.back else (time_s + add_s, 0.0)


def together_s(phases: Sequence[Phase], chunks: int) -> float:
    """The time of all phases, of so many chunks of the buffer; of the best number where `chunks` is 0.

    Each server takes one chunk at a time, so that the wires inside nodes and those between, or those of the
    axes of a torus, work at once (a re-entrant flow shop, as ASTRA-sim schedules its chunks).
    """
    if chunks:
        return _shop_s(phases, checked(chunks))
    best_s, chunks = _shop_s(phases, 1), 2
    while chunks <= CHUNKS_MAX and (time_s := _shop_s(phases, chunks)) < best_s:
        best_s, chunks = time_s, 2 * chunks
    return best_s


def _shop_s(phases: Sequence[Phase], chunks: int) -> float:
    there = [(phase.step.server, phase.stages(chunks)[0]) for phase in phases]
    back = [(phase.step.server, phase.stages(chunks)[1]) for phase in phases if phase.step.back]
    return flow_shop(there + back[::-1], chunks)
