"""Opens the database, SQLite or PostgreSQL, at the newest migration and with the settings money needs."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, make_url
from sqlalchemy.exc import DatabaseError, OperationalError

from starverse.model.errors import BadInput, JournalDamaged, Refused

DATABASE_FILE = "starverse.db"
"""The embedded database in the server's home."""

NEWEST = "0003"
"""The newest migration: a start with a current schema does not load Alembic (0.8 s). A test compares."""

BUSY_S = 30
"""How long a writer waits for another; writers hold the lock for milliseconds."""

_MIGRATING = 0x57A2
"""The PostgreSQL advisory lock held while migrating."""


def home_url(home: Path) -> str:
    """The address of the embedded database of a server's home."""
    return f"sqlite:///{home.resolve() / DATABASE_FILE}"


def open_database(url: str) -> Engine:
    """The database at `sqlite:///FILE` or `postgresql://…`, made or brought to the newest schema.

    `engine.begin()` is for writing: on SQLite it takes the write lock at once, so that what is read before a
    write is still so when it is written. Read with `reading(engine)`, which waits for nobody.

    Raises BadInput for another kind of database, Refused when it cannot be opened or is too new,
    JournalDamaged when the file is no database.
    """
    address = make_url(url)
    shown = address.render_as_string(hide_password=True)
    if address.get_backend_name() == "sqlite" and address.database:
        engine = _sqlite(Path(address.database))
    elif address.get_backend_name() == "postgresql":
        address = address.set(drivername="postgresql+psycopg")
        engine = create_engine(address, pool_pre_ping=True, max_overflow=32)
    else:
        raise BadInput(f"'{shown}' is not a database for Starverse.", "Name sqlite:///FILE or postgresql://…")
    try:
        _bring_up(engine)
    except OperationalError as error:
        engine.dispose()
        raise Refused(f"The database {shown} cannot be opened: {error.orig}.", "Is it there?") from error
    except DatabaseError as error:
        engine.dispose()
        remedy = "Restore a backup: `starverse restore FILE`."
        raise JournalDamaged(f"The database {shown} cannot be read: {error.orig}.", remedy) from error
    except BaseException:
        engine.dispose()
        raise
    return engine


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection that sees the database as of its first query and never waits for writers."""
    same = {} if is_sqlite(engine) else {"isolation_level": "REPEATABLE READ"}  # SQLite knows no other way
    with engine.connect().execution_options(reading=True, **same) as connection:
        yield connection


def is_sqlite(of: Engine | Connection) -> bool:
    """Whether this is the embedded database."""
    return of.dialect.name == "sqlite"


def driver_sql(of: Engine | Connection, statement: str) -> str:
    """A statement with `?` for its values as the driver wants it; it must not have a `?` or `%` otherwise."""
    return statement if is_sqlite(of) else statement.replace("?", "%s")


def plain(text: str) -> str:
    """The text without NUL characters, which PostgreSQL takes in no column."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}") if "\0" in text else text


# -- SQLite -----------------------------------------------------------------------------------------------


def _sqlite(file: Path) -> Engine:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))  # SQLite's own would be 0644
    except OSError as error:
        raise Refused(f"Database {file} cannot be opened: {error.strerror}.", "Check the folder.") from error
    waits = {"timeout": BUSY_S}
    engine = create_engine(f"sqlite:///{file}", connect_args=waits, pool_size=8, max_overflow=56)
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "begin", _on_begin)
    return engine


def _on_connect(connection: sqlite3.Connection, record: Any) -> None:
    # https://docs.sqlalchemy.org/en/21/dialects/sqlite.html: the driver must not begin transactions by itself
    connection.isolation_level = None
    _to_wal(connection)
    for pragma in (
        "synchronous=FULL",  # a commit is on the disk, not only with the kernel
        "wal_autocheckpoint=4000",  # 16 MB: 1.3 x the journal's speed of the default 4 MB, measured
        "foreign_keys=ON",
        "recursive_triggers=ON",  # else INSERT OR REPLACE would delete past the append-only triggers
    ):
        connection.execute(f"PRAGMA {pragma}")


def _to_wal(connection: sqlite3.Connection) -> None:
    """Write ahead. SQLite waits for nobody here, though two that open a new database at once may meet."""
    give_up_s = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up_s:
                raise
            time.sleep(0.01)
        else:
            return


def _on_begin(connection: Connection) -> None:
    kind = "DEFERRED" if connection.get_execution_options().get("reading") else "IMMEDIATE"
    connection.exec_driver_sql(f"BEGIN {kind}")


# -- the schema -------------------------------------------------------------------------------------------


def _bring_up(engine: Engine) -> None:
    with reading(engine) as connection:
        if _revision(connection) == NEWEST:
            return
    with engine.begin() as connection:
        if not is_sqlite(connection):
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATING})")
        if _revision(connection) != NEWEST:  # or else another process was quicker
            _migrate(connection)


def _revision(connection: Connection) -> str:
    """The migration the database is at, "" when it is new."""
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return str(connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() or "")


def _migrate(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise Refused(
            f"The database was last used by a newer Starverse (revision {_revision(connection)}).",
            "Start that version, or restore a backup made by this one.",
        ) from error
