"""Reads the journal back: the state after a start, and the proof that nothing in it was changed."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, Engine, delete, select
from sqlalchemy.exc import DatabaseError

from starverse.control.state import State
from starverse.model.errors import JournalDamaged
from starverse.model.events import Event, Posted
from starverse.money.lease import LeaseTerms
from starverse.store import chain, ledger, schema
from starverse.store.database import driver_sql
from starverse.store.projections import Projection
from starverse.store.raising import OLD, Shape, raised

CHUNK = 5_000
"""Rows read at once."""

CHECKED_BEFORE = 5_000
"""So many rows before the newest snapshot are checked at each start too, with their postings: a bounded time
(about 0.1 s), in which what a hand or a failing disk did lately is found. `verify` checks all of them."""

REMEDY = "Stop the server and restore the newest sound backup: `starverse restore FILE`."

_ROWS = "SELECT seq, heard_ms, tag, job, body, chain FROM journal WHERE seq > ? ORDER BY seq LIMIT ?"

log = logging.getLogger(__name__)
Old = Mapping[str, Callable[[Shape], Shape]]


class Heard(NamedTuple):
    """A row of the journal that is what was written."""

    seq: int
    heard_ms: int
    event: Event
    link: bytes


def rows(connection: Connection, seq: int = 0, link: bytes = chain.START, old: Old = OLD) -> Iterator[Heard]:
    """The rows after (`seq`, `link`), each checked. Raises JournalDamaged at one that is not as written."""
    while chunk := _chunk(connection, seq):
        for found, heard_ms, tag, job, body, written in chunk:
            seq += 1
            if found != seq:
                raise JournalDamaged(f"Row {seq} of the journal is missing.", REMEDY)
            try:
                link = chain.link(link, seq, heard_ms, body.encode())
                sound = link == bytes(written)
            except (AttributeError, TypeError):  # SQLite takes any kind of value in any column
                sound = False
            if not sound:
                raise JournalDamaged(f"Row {seq} of the journal is not what was written.", REMEDY)
            try:
                event = raised(tag, body, old)
            except (msgspec.MsgspecError, KeyError) as error:
                what = f"Row {seq} of the journal, {tag}, cannot be read: {error}."
                raise JournalDamaged(what, REMEDY) from error
            if chain.job_of(event) != job:
                raise JournalDamaged(f"Row {seq} of the journal is filed under the wrong job.", REMEDY)
            yield Heard(seq, heard_ms, event, link)


def _chunk(connection: Connection, seq: int) -> Sequence[Any]:
    """The next rows, as they are. Raises JournalDamaged where the database cannot read them."""
    try:
        return connection.exec_driver_sql(driver_sql(connection, _ROWS), (seq, CHUNK)).all()
    except DatabaseError as error:
        what = (
            f"Row {seq + 1} of the journal, or one of the {CHUNK:,} after it, cannot be read: {error.orig}."
        )
        raise JournalDamaged(what, REMEDY) from error


def fold(state: State, row: Heard) -> None:
    """Apply a row to the state. Raises JournalDamaged when it cannot have happened."""
    try:
        state.apply(row.event, row.heard_ms)
    except (AssertionError, LookupError) as error:
        what = f"Row {row.seq} of the journal cannot have happened: {error}."
        raise JournalDamaged(what, REMEDY) from error


# -- snapshots --------------------------------------------------------------------------------------------


def snapshot_row(seq: int, heard_ms: int, state: bytes, link: bytes) -> dict[str, Any]:
    """A row of `snapshots`, with the checksum over all of it."""
    check = blake2b(b"%d %d %b%b" % (seq, heard_ms, link, state), digest_size=16).digest()
    return {"seq": seq, "heard_ms": heard_ms, "state": state, "chain": link, "check": check}


def newest_snapshot(connection: Connection) -> int:
    """The row of the journal that the newest snapshot was taken after, 0 if there is none."""
    table = schema.snapshots
    return connection.execute(select(table.c.seq).order_by(table.c.seq.desc()).limit(1)).scalar() or 0


def _from_snapshot(connection: Connection, terms: LeaseTerms | None) -> tuple[State, bytes]:
    """The state of the newest sound snapshot, and the chain there; an empty one if there is none."""
    table, rows_of = schema.snapshots, schema.journal
    for found in connection.execute(select(table).order_by(table.c.seq.desc())):
        row = snapshot_row(found.seq, found.heard_ms, bytes(found.state), bytes(found.chain))
        if row["check"] == bytes(found.check):
            try:
                state = State.load(row["state"], terms)
            except msgspec.MsgspecError as error:  # an older version's shape
                log.warning("the snapshot of row %d cannot be read: %s", found.seq, error)
                continue
            written = connection.execute(select(rows_of.c.chain).where(rows_of.c.seq == found.seq)).scalar()
            if written is None or bytes(written) != row["chain"]:
                wrong = "missing" if written is None else "not what was written"
                raise JournalDamaged(f"Row {found.seq} of the journal is {wrong}.", REMEDY)
            return state, row["chain"]
        log.warning("the snapshot of row %d is damaged: an older one serves", found.seq)
    return State(terms=terms), chain.START


def recover(connection: Connection, terms: LeaseTerms | None, old: Old = OLD) -> State:
    """See SqlJournal.recover."""
    state, link = _from_snapshot(connection, terms)
    seq = state.truth.seq
    before = max(seq - CHECKED_BEFORE, 0)
    for _ in _with_postings(connection, before, _link_of(connection, before), old, until=seq):
        pass  # folded already: only the check is wanted
    for row in _with_postings(connection, seq, link, old):
        fold(state, row)
    _check_balances(connection, state)
    return state


def _link_of(connection: Connection, seq: int) -> bytes:
    rows_of = schema.journal
    found = connection.execute(select(rows_of.c.chain).where(rows_of.c.seq == seq)).scalar()
    if seq and found is None:
        raise JournalDamaged(f"Row {seq} of the journal is missing.", REMEDY)
    return bytes(found) if found else chain.START


# -- the whole --------------------------------------------------------------------------------------------


def verify(connection: Connection, old: Old = OLD) -> int:
    """See SqlJournal.verify."""
    state = State()
    for row in _with_postings(connection, 0, chain.START, old):
        fold(state, row)
    if newest_snapshot(connection) > state.truth.seq:
        raise JournalDamaged(f"Row {state.truth.seq + 1} of the journal is missing.", REMEDY)
    _check_balances(connection, state)
    assert sum(state.accounts.values()) == 0, "State.apply takes only postings that sum to zero"
    return state.truth.seq


def _with_postings(
    connection: Connection, seq: int, link: bytes, old: Old, until: int | None = None
) -> Iterator[Heard]:
    """The rows after (`seq`, `link`), up to `until`, each checked, and with it its lines in the ledger."""
    written = _ledger(connection, seq)
    last: ledger.Line | None = next(written, None)
    for row in rows(connection, seq, link, old):
        if until is not None and row.seq > until:
            return
        if type(row.event) is Posted:
            for line in ledger.lines_of(row.seq, row.heard_ms, row.event):
                if line != last:
                    what = f"Line {line[1]} of posting {row.seq} in the ledger is wrong."
                    raise JournalDamaged(what, REMEDY)
                last = next(written, None)
        yield row
    if until is None and last is not None:
        raise JournalDamaged(f"Posting {last[0]} in the ledger is in no row of the journal.", REMEDY)


def _check_balances(connection: Connection, state: State) -> None:
    """Raises JournalDamaged where an account holds something else than its postings sum to."""
    balances = {row.account: row.amount for row in connection.execute(select(schema.balances))}
    for account in sorted(balances.keys() | state.accounts.keys()):
        has, is_due = balances.get(account, 0), state.accounts.get(account, 0)
        if has != is_due:
            raise JournalDamaged(f"The balance of {account} is {has}, its postings sum to {is_due}.", REMEDY)


def _ledger(connection: Connection, seq: int) -> Iterator[ledger.Line]:
    """The lines of the ledger after row `seq`, in the order of the journal."""
    table = schema.ledger
    seq, line = seq + 1, -1
    while True:
        after = (table.c.seq > seq) | ((table.c.seq == seq) & (table.c.line > line))
        chunk = connection.execute(
            select(table).where(table.c.seq >= seq, after).order_by(table.c.seq, table.c.line).limit(CHUNK)
        ).all()
        if not chunk:
            return
        yield from (tuple(row) for row in chunk)
        seq, line = chunk[-1].seq, chunk[-1].line


def rebuild(engine: Engine, old: Old = OLD) -> int:
    """Make the projections anew from the journal, in one transaction; says how many rows were folded."""
    projection = Projection()
    count = 0
    with engine.begin() as connection:
        for table in (schema.jobs, schema.runs, schema.prices, schema.reservations):
            connection.execute(delete(table))
        for row in rows(connection, old=old):
            projection.add(row.seq, row.heard_ms, row.event)
            count += 1
            if not count % CHUNK:
                projection.write(connection)
        projection.write(connection)
    return count
