"""What the scheduler sees of the state, and may not change."""

from collections import deque
from collections.abc import Mapping
from typing import Protocol

from starverse.model.job import JobSpec
from starverse.money.lease import LeaseTerms
from starverse.scheduler.space import Space


class Waiting(Protocol):
    """A job as the scheduler sees it."""

    @property
    def spec(self) -> JobSpec:
        """What was asked for."""
        ...


class View:
    """The read-only face of the state; its parts are the state's own and always up to date.

    `queues` holds the waiting jobs of each card kind in order, `accounts` the money (`wallet/T`). What
    changed is told by `Space.changes`: a request that did not fit does not fit until that has grown; while
    nothing at all has `stirred` since the last decision, there is nothing to decide.
    """

    def __init__(
        self,
        queues: Mapping[str, deque[str]],
        spaces: Mapping[str, Space],
        jobs: Mapping[str, Waiting],
        accounts: Mapping[str, int],
        terms: LeaseTerms,
    ) -> None:
        self.queues = queues
        self.spaces = spaces
        self.jobs = jobs
        self.accounts = accounts
        self.terms = terms
        self.stirred = True
