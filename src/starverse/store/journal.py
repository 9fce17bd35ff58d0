"""The journal in SQL: events, postings, projections and answered requests, written together or not at all."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, delete, insert, select
from sqlalchemy.exc import DatabaseError

from starverse.control.ports import Taken
from starverse.control.state import State
from starverse.model.errors import JournalDamaged, StaleEpoch
from starverse.model.events import Event, Posted
from starverse.money.lease import LeaseTerms
from starverse.store import chain, ledger, recovery, schema
from starverse.store.database import driver_sql, is_sqlite, reading
from starverse.store.projections import Projection
from starverse.store.raising import OLD, Shape

SNAPSHOTS_KEPT = 3

_LEAD = (
    "INSERT INTO leader (id, epoch) VALUES (1, 1) "
    "ON CONFLICT (id) DO UPDATE SET epoch = leader.epoch + 1 RETURNING epoch"
)
_LAST = "SELECT seq, chain FROM journal ORDER BY seq DESC LIMIT 1"
_EPOCH = "SELECT epoch FROM leader WHERE id = 1"
_EPOCH_LOCKED = "SELECT epoch FROM leader WHERE id = 1 FOR SHARE"
_ADD_ROW = "INSERT INTO journal (seq, heard_ms, tag, job, body, chain) VALUES (?, ?, ?, ?, ?, ?)"
_TAKE = "UPDATE requests SET taken_ms = ?, refusal = ? WHERE id = ? AND taken_ms IS NULL"


class SqlJournal:
    """Fulfils `control.ports.Journal`; also where the state comes from at a start.

    A server first calls `lead`, then `recover`, then hands both to the controller. It tells `on_taken` which
    requests were answered, once that is durable.
    """

    def __init__(
        self,
        engine: Engine,
        on_taken: Callable[[Sequence[Taken]], None] | None = None,
        old: Mapping[str, Callable[[Shape], Shape]] = OLD,
    ) -> None:
        self._engine = engine
        self._on_taken = on_taken
        self._old = old
        self._epoch = 0
        self._seq = 0
        self._chain = chain.START
        self._saved_seq = 0
        self._add_row = driver_sql(engine, _ADD_ROW)
        self._take = driver_sql(engine, _TAKE)
        # on PostgreSQL the row is locked, so that the next leader waits until this one's rows are there
        self._read_epoch = _EPOCH if is_sqlite(engine) else _EPOCH_LOCKED

    @property
    def rows_since_snapshot(self) -> int:
        """How many rows a start would have to fold now."""
        return self._seq - self._saved_seq

    def lead(self) -> int:
        """Become the journal's only writer: from here on the writer before is refused. The new epoch."""
        with _whole_pages(), self._engine.begin() as connection:
            self._epoch = int(connection.exec_driver_sql(_LEAD).scalar_one())
            last = connection.exec_driver_sql(_LAST).first()
            self._seq, self._chain = (last[0], bytes(last[1])) if last else (0, chain.START)
            self._saved_seq = recovery.newest_snapshot(connection)
        return self._epoch

    def append(self, heard_ms: int, events: Sequence[Event], taken: Sequence[Taken]) -> None:
        """See `control.ports.Journal`. Raises StaleEpoch when another server leads."""
        seq, link = self._seq, self._chain
        rows: list[chain.Row] = []
        lines: list[ledger.Line] = []
        projection = Projection()
        for event in events:
            seq += 1
            row = chain.write(link, seq, heard_ms, event)
            rows.append(row)
            link = row[5]
            if type(event) is Posted:
                lines += ledger.lines_of(seq, heard_ms, event)
            projection.add(seq, heard_ms, event)
        asked = [(heard_ms, each.refusal, each.id) for each in taken if each.id]
        with self._engine.begin() as connection:
            self._check_epoch(connection)
            if rows:
                connection.exec_driver_sql(self._add_row, rows)
                projection.write(connection)
            if lines:
                ledger.post(connection, lines)
            if asked:
                answered = connection.exec_driver_sql(self._take, asked).rowcount
                assert answered == len(asked), f"{len(asked)} requests were taken, {answered} of them waited"
        self._seq, self._chain = seq, link
        if asked and self._on_taken:
            self._on_taken(taken)

    def recover(self, terms: LeaseTerms | None = None) -> State:
        """The state, from the newest sound snapshot and the rows after it.

        Raises JournalDamaged, naming the row, when one of them, of the last rows before the snapshot, or of
        their postings is not what was written, or when a balance is not what its postings sum to.
        """
        with _whole_pages(), reading(self._engine) as connection:
            return recovery.recover(connection, terms, self._old)

    def save(self, state: State) -> None:
        """Keep a snapshot, so that the next start begins here. Call it between turns of the loop."""
        truth = state.truth
        assert truth.seq == self._seq, f"the state is at row {truth.seq}, the journal at {self._seq}"
        if not truth.seq:
            return
        table = schema.snapshots
        row = recovery.snapshot_row(truth.seq, truth.heard_ms, state.snapshot(), self._chain)
        with self._engine.begin() as connection:
            self._check_epoch(connection)
            connection.execute(delete(table).where(table.c.seq == truth.seq))
            connection.execute(insert(table), row)
            kept = select(table.c.seq).order_by(table.c.seq.desc()).limit(SNAPSHOTS_KEPT)
            oldest = min(connection.execute(kept).scalars())
            connection.execute(delete(table).where(table.c.seq < oldest))
        self._saved_seq = truth.seq

    def verify(self) -> int:
        """Check all that is written, from the first row on, and say how many rows there are.

        Raises JournalDamaged, naming the row or the account that is wrong.
        """
        with reading(self._engine) as connection:
            return recovery.verify(connection, self._old)

    def _check_epoch(self, connection: Connection) -> None:
        assert self._epoch, "lead() comes before the first append"
        epoch = connection.exec_driver_sql(self._read_epoch).scalar_one()
        if epoch != self._epoch:
            what = f"Another server leads: epoch {epoch}, this one's is {self._epoch}."
            raise StaleEpoch(what, "Stop this one.")


@contextmanager
def _whole_pages() -> Iterator[None]:
    """Say as JournalDamaged that the database's own file is broken; other errors of it pass unchanged."""
    try:
        yield
    except DatabaseError as error:
        if type(error) is not DatabaseError:  # a lock, a constraint, a lost connection: the file may be sound
            raise
        raise JournalDamaged(f"The database cannot be read: {error.orig}.", recovery.REMEDY) from error
