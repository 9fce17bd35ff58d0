"""Looks at a whole database: all rows of tables, and whether everything in it agrees."""

from typing import Any

import msgspec
from sqlalchemy import Engine, select, text

from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.store import history, recovery, schema
from starverse.store.database import is_sqlite, reading
from starverse.store.journal import SqlJournal


def rows_of(engine: Engine, *names: str) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of these tables, sorted by their keys."""
    with reading(engine) as connection:
        tables = [schema.tables.tables[name] for name in names]
        return {
            table.name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key))]
            for table in tables
        }


def projections_of(engine: Engine) -> dict[str, list[tuple[Any, ...]]]:
    return rows_of(engine, "jobs", "runs", "prices", "reservations")


def all_agrees(engine: Engine) -> int:
    """Journal, ledger, balances, projections and requests say the same. How many rows the journal has."""
    count = SqlJournal(engine).verify()
    kept = projections_of(engine)
    recovery.rebuild(engine)
    assert projections_of(engine) == kept
    submitted = {
        event.spec.job: heard_ms
        for _, heard_ms, event in history.tail(engine, 0, limit=1_000_000).events
        if type(event) is ev.JobSubmitted
    }
    asked = {}
    for _, _, body, job, taken_ms, refusal in rows_of(engine, "requests")["requests"]:
        if type(msgspec.json.decode(body, type=rq.Request)) is rq.SubmitJob:
            asked[job] = taken_ms
            assert refusal in ((None,) if taken_ms is None else ("",))
    if asked:
        assert {job: taken_ms for job, taken_ms in asked.items() if taken_ms is not None} == submitted
    return count


def by_hand(engine: Engine, statement: str, **values: object) -> None:
    """Change one row as somebody with the database's password would, past the triggers."""
    with engine.begin() as connection:
        if is_sqlite(engine):
            found = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'trigger'"))
            for name in found.scalars().all():
                connection.exec_driver_sql(f"DROP TRIGGER {name}")
        else:
            for table in ("journal", "ledger"):
                connection.exec_driver_sql(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        assert connection.execute(text(statement), values).rowcount == 1
