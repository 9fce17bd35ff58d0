"""When the loop wants to be woken: the next moment at which something is due."""

from collections import deque
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
    time its turn comes: both do no harm, for what is due is asked of the state. Most wake-ups come in order
    of time, since every lease has the same window: those stand in a line, the others in a heap, which is
    never empty, because there is always another midnight.
    """

    def __init__(self, state: State, terms: LeaseTerms) -> None:
        self._state = state
        self._runs = state.runs
        now_ms = state.truth.heard_ms
        self._line: deque[tuple[int, str]] = deque()
        self._heap: list[tuple[int, str]] = [(_midnight_after(now_ms), MIDNIGHT)]
        self._heap += [(rules.wake_of(state, run, terms), run.run) for run in state.runs.values()]
        self._heap += [
            (job.not_before_ms, name)
            for name, job in state.jobs.items()
            if job.phase == "waiting" and job.not_before_ms > now_ms
        ]
        heapify(self._heap)

    def add(self, at_ms: int, subject: str) -> None:
        """Wake for this subject then."""
        line = self._line
        if not line or line[-1][0] <= at_ms:
            line.append((at_ms, subject))
        else:
            heappush(self._heap, (at_ms, subject))

    def next_ms(self) -> int | None:
        """The earliest wake-up of a subject that is alive; None when nothing is, for nothing is due then."""
        line, heap, runs, jobs = self._line, self._heap, self._runs, self._state.jobs
        while line and line[0][1] not in runs and line[0][1] not in jobs:
            line.popleft()
        while (subject := heap[0][1]) != MIDNIGHT and subject not in runs and subject not in jobs:
            heappop(heap)
        if line and line[0][0] <= heap[0][0]:
            return line[0][0]
        if heap[0][1] == MIDNIGHT and len(heap) == 1 and not runs and not line:
            return None
        return heap[0][0]

    def take_due(self, now_ms: int) -> list[tuple[int, str]]:
        """The subjects that are due, each once, in order of time."""
        line, heap = self._line, self._heap
        due: list[tuple[int, str]] = []
        while line and line[0][0] <= now_ms:
            due.append(line.popleft())
        while heap[0][0] <= now_ms:
            due.append(heappop(heap))
            if due[-1][1] == MIDNIGHT:
                heappush(heap, (_midnight_after(now_ms), MIDNIGHT))
        return list(dict.fromkeys(sorted(due)))


def _midnight_after(now_ms: int) -> int:
    return (now_ms // DAY_MS + 1) * DAY_MS
