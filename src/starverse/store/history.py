"""What happened, read from the journal: the events of a job, and those that are new, for live streams."""

from typing import NamedTuple

from sqlalchemy import Connection, Engine

from starverse.model.events import Event
from starverse.store.database import driver_sql, reading
from starverse.store.raising import raised

EVENTS_MAX = 10_000
"""The most events read at once."""

_OF_JOB = "SELECT seq, heard_ms, tag, body FROM journal WHERE job = ? AND seq > ? ORDER BY seq LIMIT ?"
_AFTER = "SELECT seq, heard_ms, tag, body FROM journal WHERE seq > ? ORDER BY seq LIMIT ?"
_OF_TENANT = (
    "SELECT seq, heard_ms, tag, body FROM journal WHERE seq > ? AND seq <= ? AND ("
    "EXISTS (SELECT 1 FROM jobs WHERE jobs.job = journal.job AND jobs.tenant = ?) OR journal.job IS NULL AND "
    "EXISTS (SELECT 1 FROM ledger WHERE ledger.seq = journal.seq AND ledger.tenant = ?)) ORDER BY seq LIMIT ?"
)
_LAST = "SELECT COALESCE(MAX(seq), 0) FROM journal"

Told = tuple[int, int, Event]
"""(seq, heard_ms, event)."""


class Tail(NamedTuple):
    """New events, and the row to go on from; that moves on even when none of the rows was the tenant's."""

    events: list[Told]
    seq: int


def events_of(engine: Engine, job: str, after_seq: int = 0, limit: int = EVENTS_MAX) -> list[Told]:
    """The life of a job, oldest first: its first `limit` events after row `after_seq`."""
    with reading(engine) as connection:
        return _told(connection, _OF_JOB, job, after_seq, limit)


def tail(engine: Engine, after_seq: int, limit: int = 1000, tenant: str | None = None) -> Tail:
    """What was journaled after row `after_seq`, of all or of one tenant's jobs and wallet."""
    with reading(engine) as connection:
        if tenant is None:
            events = _told(connection, _AFTER, after_seq, limit)
            return Tail(events, events[-1][0] if events else after_seq)
        last = int(connection.exec_driver_sql(_LAST).scalar_one())
        upto = min(last, after_seq + EVENTS_MAX)  # so that one call never reads a whole history
        events = _told(connection, _OF_TENANT, after_seq, upto, tenant, tenant, limit)
        return Tail(events, events[-1][0] if len(events) == limit else max(upto, after_seq))


def newest(engine: Engine) -> int:
    """The number of the last row, 0 if there is none: where a stream of what is new begins."""
    with reading(engine) as connection:
        return int(connection.exec_driver_sql(_LAST).scalar_one())


def _told(connection: Connection, statement: str, *values: object) -> list[Told]:
    found = connection.exec_driver_sql(driver_sql(connection, statement), values)
    return [(seq, heard_ms, raised(tag, body)) for seq, heard_ms, tag, body in found]
