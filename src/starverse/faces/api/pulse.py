"""Tells live streams what has changed: one look at the journal five times a second, for all of them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from starverse.service.rates import TooOften
from starverse.store import history
from starverse.store.chain import job_of

log = logging.getLogger(__name__)

LOOK_EVERY_S = 0.2
THREADS = 4
"""Streams look at files and rows on threads of their own, so that ordinary calls never wait for them."""

T = TypeVar("T")


class Watch:
    """What one stream waits for: news of a job ("": of any)."""

    def __init__(self, job: str) -> None:
        self.job = job
        self._news = asyncio.Event()

    def ring(self) -> None:
        """There is news."""
        self._news.set()

    async def wait(self, timeout_s: float) -> bool:
        """Until there is news, or the time is over; says whether there was any."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), timeout_s)
        heard = self._news.is_set()
        self._news.clear()
        return heard


class Pulse:
    """One for all streams of a server. Mutable owner of who watches; lives on the event loop."""

    def __init__(self, database: Engine, streams_per_user: int) -> None:
        self._database = database
        self._per_user = streams_per_user
        self._seq = 0  # of the journal, as far as all have heard
        self._watches: set[Watch] = set()
        self._users: dict[str, int] = {}
        self._limiter = CapacityLimiter(THREADS)

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return len(self._watches)

    async def look(self, function: Callable[[], T]) -> T:
        """Run something that blocks on a thread of the streams'."""
        return await anyio.to_thread.run_sync(function, limiter=self._limiter)

    def admit(self, user: str) -> None:
        """Raises TooOften when the user has too many streams open."""
        if self._users.get(user, 0) >= self._per_user:
            raise TooOften(f"{self._per_user} streams of yours are open.", 30)

    @asynccontextmanager
    async def watch(self, user: str, job: str = "") -> AsyncIterator[Watch]:
        """Watch a job, or with "" all."""
        watch = Watch(job)
        self._watches.add(watch)
        self._users[user] = self._users.get(user, 0) + 1
        try:
            yield watch
        finally:
            self._watches.discard(watch)
            self._users[user] -= 1
            if not self._users[user]:
                del self._users[user]

    async def beat(self) -> None:
        """Look at the journal for ever, as long as anybody watches."""
        watched = False
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                if not self._watches:
                    watched = False
                elif watched:
                    self._tell(await self.look(lambda: history.tail(self._database, self._seq)))
                else:  # begin anew at the end; whoever came meanwhile looks once more
                    self._seq = await self.look(lambda: history.newest(self._database))
                    watched = True
                    for watch in self._watches:
                        watch.ring()
            except SQLAlchemyError as error:
                log.warning("live streams could not read the journal: %s", type(error).__name__)

    def _tell(self, tail: history.Tail) -> None:
        if tail.seq == self._seq:
            return
        self._seq = tail.seq
        jobs = {job_of(event) for _, _, event in tail.events}
        for watch in self._watches:
            if not watch.job or watch.job in jobs:
                watch.ring()
