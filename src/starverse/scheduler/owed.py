"""The waiting jobs that have no promise yet: whose turn it is to get one."""

from bisect import insort
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from starverse.scheduler.kernels import Ints

Queue = deque[tuple[int, str]]

_NONE = np.int64(1 << 62)


class Turn(NamedTuple):
    """A job whose turn has come, with where it stood."""

    rank: int
    tenant: int
    order: int
    job: str


class Owed:
    """Queues by rank and tenant, mutable, part of the line. An entry may be out of date: it is passed over
    when its turn comes.

    `_front[rank][tenant]` is the order of the first in each queue, so that the next is found by a glance.
    """

    def __init__(self) -> None:
        self._queues: dict[int, dict[int, Queue]] = {}
        self._front: dict[int, Ints] = {}

    def add(self, rank: int, tenant: int, order: int, job: str) -> None:
        """A job waits without a promise."""
        queues = self._queues.get(rank)
        if queues is None:
            queues = self._queues[rank] = {}
            self._front[rank] = np.full(16, _NONE, np.int64)
            for each in sorted(self._queues):  # ranks are served in order
                self._queues[each] = self._queues.pop(each)
        queue = queues.get(tenant)
        if queue is None:
            queue = queues[tenant] = deque()
            if tenant >= self._front[rank].size:
                more = max(tenant + 1 - self._front[rank].size, self._front[rank].size)
                self._front[rank] = np.pad(self._front[rank], (0, more), constant_values=_NONE)
        put(queue, order, job)
        self._front[rank][tenant] = queue[0][0]

    def remove(self, rank: int, tenant: int, order: int) -> None:
        """This job waits no more, or has its promise; only the first of a queue is removed at once."""
        queue = self._queues.get(rank, {}).get(tenant)
        if queue and queue[0][0] == order:
            queue.popleft()
            self._front[rank][tenant] = queue[0][0] if queue else _NONE

    def hide(self, rank: int, tenant: int) -> None:
        """Pass over a tenant's jobs of a rank until they are shown again."""
        self._front[rank][tenant] = _NONE

    def show(self, rank: int, tenant: int) -> None:
        """Undo `hide`."""
        queue = self._queues[rank][tenant]
        self._front[rank][tenant] = queue[0][0] if queue else _NONE

    def pop(self, key: Ints, is_owed: Callable[[int, str], bool]) -> Turn | None:
        """Take out the next by rank, the least key of the tenants, and order; None when there is none."""
        for rank, queues in self._queues.items():
            front = self._front[rank]
            while True:
                size = min(front.size, key.size)
                keys = np.where(front[:size] < _NONE, key[:size], _NONE)
                least = np.flatnonzero(keys == keys.min())
                tenant = int(least[front[least].argmin()])
                if front[tenant] >= _NONE:
                    break
                order, job = queues[tenant][0]
                self.remove(rank, tenant, order)
                if is_owed(order, job):
                    return Turn(rank, tenant, order, job)
        return None


def put(queue: Queue, order: int, job: str) -> None:
    """Put a job into a queue at its place; one that is there already stays."""
    if not queue or queue[-1][0] < order:
        queue.append((order, job))
    elif queue[0][0] > order:
        queue.appendleft((order, job))
    elif (order, job) not in queue:
        insort(queue, (order, job))
