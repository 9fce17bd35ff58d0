"""When the loop wants to be woken: the next moment at which something is due."""

from heapq import heapify, heappop, heappush

from starverse.control import rules
from starverse.control.state import State
from starverse.model.units import DAY_MS
from starverse.money.lease import LeaseTerms

MIDNIGHT = ""
"""The subject of the wake-up at each UTC midnight, when what runs is charged for the day."""


class Agenda:
    """Wake-ups by subject (a run, a waiting job, midnight), earliest first.

    Derived from the state and rebuilt with it. A subject may stand here more than once, or be over by the
    time its turn comes: both do no harm, for what is due is asked of the state. The heap is never empty,
    because there is always another midnight.
    """

    def __init__(self, state: State, terms: LeaseTerms) -> None:
        self._state = state
        now_ms = state.truth.heard_ms
        self.heap: list[tuple[int, str]] = [(_midnight_after(now_ms), MIDNIGHT)]
        self.heap += [(rules.wake_of(state, run, terms), run.run) for run in state.runs.values()]
        self.heap += [
            (job.not_before_ms, name)
            for name, job in state.jobs.items()
            if job.phase == "waiting" and job.not_before_ms > now_ms
        ]
        heapify(self.heap)

    def add(self, at_ms: int, subject: str) -> None:
        """Wake for this subject then."""
        heappush(self.heap, (at_ms, subject))

    def next_ms(self) -> int | None:
        """The earliest wake-up of a subject that is alive; None when nothing is, for nothing is due then."""
        heap = self.heap
        runs = self._state.runs
        while (subject := heap[0][1]) not in runs:
            if subject == MIDNIGHT:
                if not self._state.runs and not self._state.delayed:
                    return None
                break
            if subject in self._state.jobs:
                break
            heappop(heap)
        return heap[0][0]

    def take_due(self, now_ms: int) -> list[str]:
        """The subjects that are due, each once, in order of time."""
        heap = self.heap
        due: dict[str, None] = {}
        while heap[0][0] <= now_ms:
            subject = heappop(heap)[1]
            if subject == MIDNIGHT:
                heappush(heap, (_midnight_after(now_ms), MIDNIGHT))
            due[subject] = None
        return list(due)


def _midnight_after(now_ms: int) -> int:
    return (now_ms // DAY_MS + 1) * DAY_MS
