"""When the loop wants to be woken: the next moment at which something is due."""

from collections import deque
from heapq import heapify, heappop, heappush

from starverse.control import rules
from starverse.control.state import State
from starverse.model.units import DAY_MS
from starverse.money.lease import LeaseTerms

MIDNIGHT = ""
"""The subject of the wake-up at each UTC midnight, when what runs is charged for the day."""

_UNKNOWN = (0, MIDNIGHT)
"""Earlier than all, and of no run: the first wake-up has to be looked up."""


class Agenda:
    """Wake-ups by subject (a run, midnight), earliest first; what else waits for a time stands in the state.

    Derived from the state and rebuilt with it. A subject may stand here more than once, or be over by the
    time its turn comes: both do no harm, for what is due is asked of the state. Most wake-ups come in order
    of time, since every lease has the same window: those stand in a line, the others in a heap, which is
    never empty, because there is always another midnight.
    """

    def __init__(self, state: State, terms: LeaseTerms) -> None:
        self._runs = state.runs
        self._delayed = state.delayed
        self._turns = state.scheduling.turns
        self._resting = state.resting
        now_ms = state.truth.heard_ms
        self._line: deque[tuple[int, str]] = deque()
        self._heap: list[tuple[int, str]] = [(_midnight_after(now_ms), MIDNIGHT)]
        self._heap += [(rules.wake_of(state, run, terms), run.run) for run in state.runs.values()]
        heapify(self._heap)
        self._first = _UNKNOWN
        """The earliest wake-up, right for as long as its run is alive: it is asked for at every turn."""

    def add(self, at_ms: int, subject: str) -> None:
        """Wake for this subject then."""
        line = self._line
        if at_ms < self._first[0]:
            self._first = at_ms, subject
        if not line or line[-1][0] <= at_ms:
            line.append((at_ms, subject))
        else:
            heappush(self._heap, (at_ms, subject))

    def next_ms(self) -> int | None:
        """The earliest wake-up of a subject that is alive; None when nothing is, for nothing is due then."""
        first = self._first
        if first[1] not in self._runs:
            first = self._first = self._earliest()
        at_ms = first[0] if first[1] or self._runs else None
        for others in (self._delayed, self._turns, self._resting):
            if others and (at_ms is None or others[0][0] < at_ms):
                at_ms = others[0][0]
        return at_ms

    def _earliest(self) -> tuple[int, str]:
        line, heap, runs = self._line, self._heap, self._runs
        while line and line[0][1] not in runs:
            line.popleft()
        while heap[0][1] != MIDNIGHT and heap[0][1] not in runs:
            heappop(heap)
        return min(line[0], heap[0]) if line else heap[0]

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
        self._first = _UNKNOWN
        return list(dict.fromkeys(sorted(due)))


def _midnight_after(now_ms: int) -> int:
    return (now_ms // DAY_MS + 1) * DAY_MS
