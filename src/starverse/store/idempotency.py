"""What was answered to a request with an idempotency key, so that it may be sent again without harm."""

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from starverse.model.errors import Conflict
from starverse.store.schema import idempotency as table


def earlier_answer(connection: Connection, user: str, key: str, body_hash: bytes, now_ms: int) -> str | None:
    """The answer given before to this person's key; None when it is new, and then the key is taken.

    Everything between here and `remember` belongs in this same transaction; a second request with the key
    waits for its end. Raises Conflict when the key was used for something else (another hash of the body).
    """
    row = {"user": user, "key": key, "body_hash": body_hash, "answer": "", "created_ms": now_ms}
    try:
        with connection.begin_nested():
            connection.execute(insert(table), row)
        return None
    except IntegrityError:
        pass
    found = connection.execute(select(table.c.body_hash, table.c.answer).where(_of(user, key))).one()
    if bytes(found.body_hash) != body_hash:
        raise Conflict(f"The idempotency key '{key}' was used for another request.", "Take a new key.")
    return str(found.answer)


def remember(connection: Connection, user: str, key: str, answer: str) -> None:
    """Keep the answer for the next time the key comes."""
    connection.execute(update(table).where(_of(user, key)), {"answer": answer})


def forget(connection: Connection, before_ms: int) -> int:
    """Drop keys older than that, and say how many."""
    return connection.execute(delete(table).where(table.c.created_ms < before_ms)).rowcount


def _of(user: str, key: str) -> ColumnElement[bool]:
    return (table.c.user == user) & (table.c.key == key)
