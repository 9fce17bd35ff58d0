"""Where all who wait stand, in columns: how many are before somebody is counted at a glance."""

from array import array

import numpy as np

from starverse.scheduler.kernels import Ints


class Standing:
    """A row for each waiting job, in no order: its rank, its tenant's number and its order; mutable."""

    def __init__(self) -> None:
        self._row: dict[str, int] = {}
        self._jobs: list[str] = []
        self._rank, self._tenant, self._order = array("q"), array("q"), array("q")

    def add(self, job: str, rank: int, tenant: int, order: int) -> None:
        """A job waits."""
        self._row[job] = len(self._jobs)
        self._jobs.append(job)
        self._rank.append(rank)
        self._tenant.append(tenant)
        self._order.append(order)

    def remove(self, job: str) -> None:
        """A job waits no more: the last row takes its place."""
        row, last = self._row.pop(job), self._jobs.pop()
        columns = self._rank, self._tenant, self._order
        if last != job:
            self._row[last] = row
            self._jobs[row] = last
            for column in columns:
                column[row] = column[-1]
        for column in columns:
            column.pop()

    def before(self, rank: int, tenant: int, order: int, key: Ints) -> int:
        """How many stand before such a job: those of better rank, of the same those of tenants with a lower
        `key`, and of the same key those of lower order."""
        if not self._jobs:
            return 0
        ranks, tenants, orders = (
            np.frombuffer(column, np.int64) for column in (self._rank, self._tenant, self._order)
        )
        same = ranks == rank
        keys = key[tenants[same]]
        is_before = (keys < key[tenant]) | ((keys == key[tenant]) & (orders[same] < order))
        return int((ranks < rank).sum() + is_before.sum())
