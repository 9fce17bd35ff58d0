"""Writes postings down: the lines as they are, and with them the balance of each account."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection

from starverse.model.events import Posted
from starverse.store.database import driver_sql, plain

_ADD_LINE = (
    "INSERT INTO ledger (seq, line, at_ms, kind, tenant, job, run, account, amount, card_ms, from_ms, to_ms,"
    " note) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_ADD_TO_BALANCE = (
    "INSERT INTO balances (account, amount) VALUES (?, ?) "
    "ON CONFLICT (account) DO UPDATE SET amount = balances.amount + excluded.amount"
)

Line = tuple[int, int, int, str, str, str, str, str, int, int, int, int, str]
"""A row of the ledger, in the order of its columns."""


def lines_of(seq: int, heard_ms: int, posting: Posted) -> Iterable[Line]:
    """The rows of the ledger that a posting in row `seq` of the journal is."""
    p = posting
    for line, (account, amount) in enumerate(p.lines):
        yield (
            seq, line, heard_ms, p.kind, p.tenant, p.job, p.run, account, amount,
            p.card_ms, p.from_ms, p.to_ms, plain(p.note),
        )  # fmt: skip


def post(connection: Connection, lines: Sequence[Line]) -> None:
    """Write lines, and add them up in the balances; unique by (seq, line): nothing is posted twice."""
    totals: dict[str, int] = {}
    for line in lines:
        totals[line[7]] = totals.get(line[7], 0) + line[8]
    connection.exec_driver_sql(driver_sql(connection, _ADD_LINE), list(lines))
    # in one order for all, so that two writers never wait for each other in a ring
    connection.exec_driver_sql(driver_sql(connection, _ADD_TO_BALANCE), sorted(totals.items()))
