"""Secrets that jobs see in their environment, by name; only a run's start reads their values.

They are not encrypted: no library for it is among the dependencies, and own cryptography is no protection.
What guards them is that the database is readable by the server alone (mode 0600). The first byte of a value
says so, so that a later version can seal what it finds.
"""

import re
from collections.abc import Sequence

from sqlalchemy import Connection, delete, insert, select, update

from starverse.model.errors import BadInput, NotFound
from starverse.store.schema import secrets as table

VALUE_BYTES_MAX = 64 * 1024
_PLAIN = b"\0"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def put_secret(connection: Connection, tenant: str, name: str, value: str, now_ms: int) -> None:
    """Keep a secret of a tenant, in place of the one of that name. Raises BadInput."""
    if not _NAME.fullmatch(name):
        raise BadInput(f"'{name[:70]}' is not a name for a secret.", "Use letters, digits and _, 64 at most.")
    stored = _PLAIN + value.encode()
    if len(stored) > VALUE_BYTES_MAX or "\0" in value:
        remedy = f"At most {VALUE_BYTES_MAX:,} bytes of text."
        raise BadInput(f"Secret {name} is too long or not text.", remedy)
    row = (table.c.tenant == tenant) & (table.c.name == name)
    if not connection.execute(update(table).where(row), {"value": stored, "created_ms": now_ms}).rowcount:
        added = {"tenant": tenant, "name": name, "value": stored, "created_ms": now_ms}
        connection.execute(insert(table), added)


def secret_names(connection: Connection, tenant: str) -> list[tuple[str, int]]:
    """The names of a tenant's secrets, and when each was set."""
    found = select(table.c.name, table.c.created_ms).where(table.c.tenant == tenant).order_by(table.c.name)
    return [(row.name, row.created_ms) for row in connection.execute(found)]


def secret_values(connection: Connection, tenant: str, names: Sequence[str]) -> dict[str, str]:
    """The values of these secrets, for the start of a run. Raises NotFound naming those that aren't there."""
    found = select(table.c.name, table.c.value).where(table.c.tenant == tenant, table.c.name.in_(names))
    values = {row.name: _opened(bytes(row.value)) for row in connection.execute(found)}
    missing = sorted(set(names) - values.keys())
    if missing:
        raise NotFound(f"There is no secret {', '.join(missing)}.", "Set it, then start the job again.")
    return values


def delete_secret(connection: Connection, tenant: str, name: str) -> bool:
    """Forget a secret; False when there was none."""
    row = (table.c.tenant == tenant) & (table.c.name == name)
    return bool(connection.execute(delete(table).where(row)).rowcount)


def _opened(stored: bytes) -> str:
    assert stored[:1] == _PLAIN, "a secret sealed in a way this version does not know"
    return stored[1:].decode()
