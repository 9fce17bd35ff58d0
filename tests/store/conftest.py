"""Databases to try the store on: files of SQLite, and a PostgreSQL server that lives as long as the tests."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, event

from starverse.store.database import is_sqlite, open_database

POSTGRESQL = Path("/usr/lib/postgresql/15/bin")
AS_POSTGRES = ["--reuid=postgres", "--regid=postgres", "--init-groups"] if os.geteuid() == 0 else []
DROP = ["setpriv", *AS_POSTGRES, "--pdeathsig=QUIT", "--"]  # never as root, never longer than the tests
NewUrl = Callable[[], str]


def quick_folder() -> str:
    """Where a hundred databases are made in no time: in memory, if there is enough of it."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and shutil.disk_usage(memory).free > 2 << 30 else "/tmp"


def hasty(engine: Engine) -> Engine:
    """The same database, not waiting for the disk: processes are killed here, machines are not."""
    if is_sqlite(engine):
        engine.dispose()
        event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous=OFF"))
    return engine


@pytest.fixture(scope="session")
def postgresql() -> Iterator[NewUrl]:
    """New databases at the newest schema, on a server that listens on a socket in a folder of its own."""
    if not (POSTGRESQL / "initdb").exists():
        pytest.skip("PostgreSQL 15 is not installed: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="starverse-pg-", dir=quick_folder()))
    if AS_POSTGRES:
        shutil.chown(folder, "postgres", "postgres")
    data = folder / "data"
    init = f"-D {data} -U starverse -A trust -E UTF8 --locale=C.UTF-8 --no-sync".split()
    subprocess.run([*DROP, POSTGRESQL / "initdb", *init], check=True, capture_output=True, cwd="/")
    serve = f"-D {data} -k {folder}".split()
    for setting in ("listen_addresses=", "fsync=off", "full_page_writes=off", "shared_buffers=32MB"):
        serve += ["-c", setting]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([*DROP, POSTGRESQL / "postgres", *serve], stdout=log, stderr=log, cwd="/")
    try:
        ready = [str(POSTGRESQL / "pg_isready"), "-h", str(folder), "-t", "1"]
        while subprocess.run(ready, check=False, capture_output=True).returncode and server.poll() is None:
            pass
        assert server.poll() is None, (folder / "log").read_text()
        numbers = count()

        def url(name: str) -> str:
            return f"postgresql://starverse@/{name}?host={folder}"

        def create(name: str, template: str) -> str:
            admin = create_engine(url("postgres").replace("postgresql:", "postgresql+psycopg:"))
            with admin.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.exec_driver_sql(f"CREATE DATABASE {name} TEMPLATE {template}")
            admin.dispose()
            return url(name)

        open_database(create("made", "template0")).dispose()
        yield lambda: create(f"test_{next(numbers)}", "made")
    finally:
        server.send_signal(signal.SIGQUIT)  # at once: nobody needs what is in it
        server.wait(20)
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of SQLite at the newest schema, to be copied."""
    file = tmp_path_factory.mktemp("made") / "made.db"
    open_database(f"sqlite:///{file}").dispose()
    return file


@pytest.fixture
def sqlite(made: Path, tmp_path: Path) -> NewUrl:
    """New databases of SQLite at the newest schema."""
    numbers = count()

    def new() -> str:
        file = tmp_path / f"{next(numbers)}.db"
        shutil.copyfile(made, file)
        return f"sqlite:///{file}"

    return new


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request: pytest.FixtureRequest) -> NewUrl:
    """New databases, of each kind in turn."""
    found: NewUrl = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def new_engine(new_url: NewUrl) -> Iterator[Callable[[], Engine]]:
    """New databases, open; closed at the end."""
    opened: list[Engine] = []

    def new() -> Engine:
        opened.append(hasty(open_database(new_url())))
        return opened[-1]

    yield new
    for engine in opened:
        engine.dispose()


@pytest.fixture
def embedded(sqlite: NewUrl) -> Iterator[Engine]:
    """A new database of SQLite, open: for what does not depend on the database."""
    engine = hasty(open_database(sqlite()))
    yield engine
    engine.dispose()


@pytest.fixture
def engine(new_engine: Callable[[], Engine]) -> Engine:
    """A new database, open."""
    return new_engine()
