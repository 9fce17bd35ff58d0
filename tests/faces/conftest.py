"""A served cluster of two cards, for whoever comes to it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faces.cli.served import Served
from tests.service.place import Place

from starverse.store.database import DATABASE_FILE, home_url, open_database


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new database: migrating takes most of a second, copying does not."""
    home = tmp_path_factory.mktemp("migrated")
    open_database(home_url(home)).dispose()
    return home / DATABASE_FILE


@pytest.fixture
def served(tmp_path: Path, migrated: Path) -> Iterator[Served]:
    home = tmp_path / "server"
    home.mkdir()
    shutil.copy(migrated, home)
    served = Served(Place(home))
    served.start()
    yield served
    served.stop()
    served.place.close()


@pytest.fixture
def place(served: Served) -> Place:
    return served.place
