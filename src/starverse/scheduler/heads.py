"""Who comes next in each class of equal requests, while jobs of it start in one decision."""

from collections.abc import Container, Sequence
from heapq import heapify, heappop, heapreplace

import numpy as np

from starverse.scheduler import kernels as k
from starverse.scheduler.line import Line
from starverse.scheduler.owed import Queue
from starverse.scheduler.shares import Shares
from starverse.scheduler.space import Space

_MANY = 64
"""More classes than these are sifted before they are tried one by one."""


class Heads:
    """The next jobs of a line, the scratch of one decision: those `settled` are passed over, tenants that are
    `barred` from a class left out. What it takes from queues it puts back at the end."""

    def __init__(
        self, line: Line, shares: Shares, settled: Container[str], barred: Container[tuple[int, int]]
    ) -> None:
        self._line = line
        self._shares = shares
        self._settled = settled
        self._barred = barred
        self._heaps: dict[int, list[tuple[int, int, int]]] = {}
        """Of each class looked at, (key, order, tenant) of its tenants' next jobs."""
        self._firsts: dict[int, tuple[int, int, int]] = {}
        """Of each class looked at but once, the first of these."""
        self._keys: list[int] = []
        self._popped: list[tuple[Queue, tuple[int, str]]] = []

    def may_fit(self, lack: k.Ints, space: Space) -> list[int]:
        """The classes that have jobs and of which nothing is known to be missing.

        Where there are many, those that ask for more members than all nodes together could take are left out.
        """
        line = self._line
        count = len(line.requests)
        open_ = np.empty(count, np.int64)
        numbers = open_[: k.open_classes(lack, line.count, open_)]
        if numbers.size > _MANY:
            members, least = line.fields[0, numbers], line.fields[3, numbers]
            free = space.node[k.COUNT, : space.size]
            for member in np.unique(members).tolist():
                missing = least - int((free // member).sum())
                mine = members == member
                lack[numbers[mine]] = np.maximum(missing[mine], 0)
            numbers = numbers[lack[numbers] <= 0]
        found: list[int] = numbers.tolist()
        return found

    def next(self, number: int) -> tuple[int, int, str] | None:
        """The class's next job by fair share: (tenant's key, order, job); None when none is left."""
        queues, key_of = self._line.queues[number], self._shares.key
        heap = self._heaps.get(number)
        if heap is None:
            first = self._first(number)
            if first:
                return first
            heap = [(int(key_of[tenant]), queue[0][0], tenant) for tenant, queue in queues.items()]
            heapify(heap)
            self._heaps[number] = heap
        while heap:
            key, order, tenant = heap[0]
            queue = queues[tenant]
            while queue and queue[0][1] in self._settled:
                self._popped.append((queue, queue.popleft()))
            if not queue or (number, tenant) in self._barred:
                heappop(heap)
            elif (key, order) != (mine := (int(key_of[tenant]), queue[0][0])):
                heapreplace(heap, (*mine, tenant))
            else:
                return key, order, queue[0][1]
        return None

    def _first(self, number: int) -> tuple[int, int, str] | None:
        """The class's next job as long as none of it has started: most classes are not looked at further."""
        queues = self._line.queues[number]
        first = self._firsts.get(number)
        if first is None:
            if len(self._firsts) == _MANY:  # keys only grow meanwhile: nobody else comes to be the first
                self._keys = self._shares.key.tolist()
            keys: Sequence[int] | k.Ints = self._keys or self._shares.key
            least = min(map(keys.__getitem__, queues))
            order, tenant = min((queues[tenant][0][0], tenant) for tenant in queues if keys[tenant] == least)
            first = self._firsts[number] = int(least), order, tenant
        key, order, tenant = first
        job = queues[tenant][0][1]
        if key != self._shares.key[tenant] or job in self._settled or (number, tenant) in self._barred:
            return None
        return key, order, job

    def put_back(self) -> None:
        """Leave the queues as they were."""
        for queue, entry in reversed(self._popped):
            queue.appendleft(entry)
