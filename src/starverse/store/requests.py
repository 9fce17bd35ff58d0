"""What people ask the loop for: written with the rows it concerns, handed to the loop once, and answered."""

import time
from collections.abc import Callable, Sequence
from threading import Condition
from typing import Any

import msgspec
from sqlalchemy import Connection, Engine, event, insert, select, update
from sqlalchemy.exc import IntegrityError

from starverse.control.ports import Asked, Taken
from starverse.model.errors import BadInput, Conflict
from starverse.model.requests import Request, SubmitArray, SubmitJob
from starverse.model.units import SECOND_MS
from starverse.store.database import reading
from starverse.store.schema import requests

LOOK_EVERY_MS = 1 * SECOND_MS
"""How often to look for what another process wrote; what this one wrote is seen at once."""

HANDED_AT_ONCE = 1000
BODY_BYTES_MAX = 1_000_000

_decode = msgspec.json.Decoder(Request).decode


def _nobody() -> None:
    """Nobody waits yet."""


class Requests:
    """Fulfils `control.ports.Source`. Safe to use from any thread.

    `now_ms` tells the wall clock for `made_ms`. The loop sets `wake`, which is called whenever there is
    something to poll for, and hands `answered` what its journal has taken.
    """

    def __init__(self, engine: Engine, now_ms: Callable[[], int]) -> None:
        self._engine = engine
        self._now_ms = now_ms
        self.wake: Callable[[], None] = _nobody
        self._new = True  # those that an earlier life of this server left
        self._look_ms = 0
        self._handed: set[int] = set()
        self._told = Condition()
        self._answers: dict[int, str | None] = {}  # of those that somebody waits for
        self._waiters: dict[int, int] = {}
        self._mark = object()  # on a connection that carries a request; another Requests would have its own
        event.listen(engine, "checkin", self._after)

    # -- asking -------------------------------------------------------------------------------------------

    def put(self, connection: Connection, request: Request) -> int:
        """Write a request in the caller's transaction, and say its number. The loop hears of it once that is
        committed.

        Raises Conflict for a job that was submitted before, BadInput for a request beyond reason.
        """
        body = msgspec.json.encode(request)
        if len(body) > BODY_BYTES_MAX:
            most = f"At most {BODY_BYTES_MAX:,} are heard."
            raise BadInput(f"That is {len(body):,} bytes to ask for.", most)
        job = request.spec.job if isinstance(request, SubmitJob | SubmitArray) else None
        row = {"made_ms": self._now_ms(), "body": body.decode(), "job": job}
        try:
            with connection.begin_nested():
                number = connection.execute(insert(requests).returning(requests.c.id), row).scalar_one()
        except IntegrityError as error:
            raise Conflict(f"Job {job} was submitted before.", "Take another id.") from error
        connection.info[self._mark] = True
        return int(number)

    def submit(self, request: Request) -> int:
        """Write a request in a transaction of its own, and say its number."""
        with self._engine.begin() as connection:
            return self.put(connection, request)

    def answer_of(self, number: int, timeout_s: float) -> str | None:
        """Wait for the answer: "" when granted, a sentence when refused, None when it was not heard in time.

        Call it after the commit: nobody can answer what is not written.
        """
        until_s = time.monotonic() + timeout_s
        with self._told:
            self._waiters[number] = self._waiters.get(number, 0) + 1
            self._answers.setdefault(number, None)
        try:
            while True:
                written = self._written_answer(number)  # also by a loop in another process
                if written is not None:
                    return written
                with self._told:
                    left_s = min(until_s - time.monotonic(), LOOK_EVERY_MS / SECOND_MS)
                    if self._told.wait_for(lambda: self._answers[number] is not None, max(left_s, 0)):
                        return self._answers[number]
                if time.monotonic() >= until_s:
                    return None
        finally:
            with self._told:
                self._waiters[number] -= 1
                if not self._waiters[number]:
                    del self._waiters[number], self._answers[number]

    def _written_answer(self, number: int) -> str | None:
        with reading(self._engine) as connection:
            taken = (requests.c.id == number) & requests.c.taken_ms.is_not(None)
            return connection.execute(select(requests.c.refusal).where(taken)).scalar()

    def _after(self, connection: Any, record: Any) -> None:
        """A connection came back to the pool: what was put on it is committed by now, or never will be."""
        if record is not None and record.info.pop(self._mark, False):
            self._new = True
            self.wake()

    # -- the loop's side ----------------------------------------------------------------------------------

    def poll(self, now_ms: int) -> Sequence[Asked]:
        """What was asked for and not handed out yet in this life of the server, oldest first."""
        if not self._new and now_ms < self._look_ms:
            return ()
        self._new = False
        self._look_ms = now_ms + LOOK_EVERY_MS
        waiting = select(requests.c.id, requests.c.body).where(requests.c.taken_ms.is_(None))
        with self._told:
            handed = frozenset(self._handed)
        asked: list[Asked] = []
        with reading(self._engine) as connection:
            found = connection.execute(
                waiting.order_by(requests.c.id).limit(HANDED_AT_ONCE + len(handed))
            ).all()
        for number, body in found:
            if number in handed:
                continue
            try:
                asked.append(Asked(number, _decode(body)))
            except msgspec.MsgspecError as error:
                self._refuse(number, f"It cannot be read: {error}.", now_ms)
        if len(found) == HANDED_AT_ONCE + len(handed):
            self._new = True
        with self._told:
            self._handed.update(each.id for each in asked)
        return asked

    def answered(self, taken: Sequence[Taken]) -> None:
        """The loop's journal has these answers on disk: tell those who wait."""
        with self._told:
            for number, refusal in taken:
                self._handed.discard(number)
                if number in self._answers:
                    self._answers[number] = refusal
            self._told.notify_all()

    def _refuse(self, number: int, why: str, now_ms: int) -> None:
        with self._engine.begin() as connection:
            waiting = (requests.c.id == number) & requests.c.taken_ms.is_(None)
            connection.execute(update(requests).where(waiting), {"taken_ms": now_ms, "refusal": why})
        self.answered([Taken(number, why)])
