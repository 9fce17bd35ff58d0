"""Opening a database: the right settings, the newest schema, and a sentence when it can't be."""

import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, func, insert, inspect, select, text, update
from tests.store.conftest import NewUrl

from starverse.model.errors import BadInput, JournalDamaged, Refused
from starverse.store import migrations, schema
from starverse.store.database import NEWEST, home_url, open_database, reading


def test_the_migrations_lead_to_the_schema(engine: Engine) -> None:
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.tables) == []
        partial = {
            index["name"]: index.get("dialect_options", {})
            for table in ("journal", "requests", "jobs", "ledger", "reservations")
            for index in inspect(connection).get_indexes(table)
        }
    where = f"{engine.dialect.name}_where"
    assert [name for name, options in sorted(partial.items()) if where in options] == [
        "jobs_alive", "jobs_array", "journal_job", "ledger_job", "requests_waiting", "reservations_ended",
    ]  # fmt: skip


def test_the_newest_migration_is_known_without_alembic() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    assert ScriptDirectory.from_config(config).get_current_head() == NEWEST


def test_a_second_start_does_not_load_alembic(sqlite: NewUrl) -> None:
    code = (
        "import sys; from starverse.store.database import open_database;"
        f"open_database({sqlite()!r}); sys.exit('alembic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_is_read_in_several_queries_is_of_one_moment(engine: Engine) -> None:
    def price(kind: str, micro_yuan: int) -> None:
        with engine.begin() as connection:
            connection.execute(insert(schema.prices), {"kind": kind, "from_ms": 0, "price": micro_yuan})

    count = select(func.count()).select_from(schema.prices)
    price("cpu", 1)
    with reading(engine) as connection:
        assert connection.execute(count).scalar() == 1
        price("gpu", 2)
        assert connection.execute(count).scalar() == 1, "a page would be torn"
    with reading(engine) as connection:
        assert connection.execute(count).scalar() == 2
    with engine.begin() as connection:  # the same connection, writing again
        connection.execute(update(schema.prices).values(price=3))


def test_sqlite_commits_to_the_disk_and_checks_its_keys(sqlite: NewUrl) -> None:
    engine = open_database(sqlite())
    with engine.connect() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "recursive_triggers", "busy_timeout")
        }
    engine.dispose()
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,  # FULL
        "foreign_keys": 1,
        "recursive_triggers": 1,
        "busy_timeout": 30_000,
    }


def test_a_new_home_gets_a_database_that_only_the_server_can_read(tmp_path: Path) -> None:
    home = tmp_path / "a" / "home"
    engine = open_database(home_url(home))
    with engine.begin() as connection:
        connection.execute(insert(schema.balances), {"account": "wallet/ada", "amount": 0})
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in home.iterdir()} == {
        "starverse.db": 0o600, "starverse.db-shm": 0o600, "starverse.db-wal": 0o600,
    }  # fmt: skip
    engine.dispose()


@pytest.mark.parametrize(
    ("url", "error", "says"),
    [
        ("mysql://host/x", BadInput, "not a database for Starverse"),
        ("sqlite://", BadInput, "not a database for Starverse"),
        ("sqlite:////proc/nowhere/x.db", Refused, "cannot be opened"),
        ("postgresql://u:secret@/x?host=/nowhere", Refused, r"postgresql://u:\*\*\*@"),
    ],
)
def test_a_place_that_cannot_be_a_database(url: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        open_database(url)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("this is a diary, and not a short one: " * 50)
    with pytest.raises(JournalDamaged, match="starverse restore"):
        open_database(f"sqlite:///{tmp_path}/x.db")


def test_a_database_of_a_newer_version_is_left_alone(new_url: NewUrl) -> None:
    url = new_url()
    engine = open_database(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(Refused, match=r"newer Starverse \(revision 9999\)"):
        open_database(url)


def test_several_may_open_a_new_database_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor() as pool:
        opened = list(pool.map(open_database, [f"sqlite:///{tmp_path}/x.db"] * 4))
    for engine in opened:
        engine.dispose()
    with sqlite3.connect(tmp_path / "x.db") as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(NEWEST,)]
    connection.close()


def test_what_is_read_before_a_write_is_still_so_when_it_is_written(sqlite: NewUrl) -> None:
    """SELECT, then UPDATE: with SQLAlchemy's own way of beginning, some of these would be lost."""
    engine = open_database(sqlite())
    table = schema.balances
    with engine.begin() as connection:
        connection.execute(insert(table), {"account": "a", "amount": 0})

    def add() -> None:
        for _ in range(25):
            with engine.begin() as connection:
                amount = connection.execute(select(table.c.amount)).scalar_one()
                connection.execute(update(table), {"amount": amount + 1})

    with ThreadPoolExecutor() as pool:
        for added in [pool.submit(add) for _ in range(4)]:
            added.result()
    with reading(engine) as connection:
        assert connection.execute(select(table.c.amount)).scalar_one() == 100
    engine.dispose()


def test_a_reader_waits_for_no_writer(engine: Engine) -> None:
    with engine.begin() as writer:
        writer.execute(insert(schema.balances), {"account": "a", "amount": 1})
        with reading(engine) as reader:
            assert reader.execute(select(schema.balances)).all() == []
