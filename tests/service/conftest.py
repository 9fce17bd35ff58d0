"""A server for each test, and two people who have registered there."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.service.place import Place

from starverse.service.access import Actor
from starverse.store.database import DATABASE_FILE, home_url, open_database


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new database: migrating takes most of a second, copying does not."""
    home = tmp_path_factory.mktemp("migrated")
    open_database(home_url(home)).dispose()
    return home / DATABASE_FILE


@pytest.fixture
def place(tmp_path: Path, migrated: Path) -> Iterator[Place]:
    shutil.copy(migrated, tmp_path)
    place = Place(tmp_path)
    yield place
    place.close()


@pytest.fixture
def ann(place: Place) -> Actor:
    return place.person("ann", yuan=1000)


@pytest.fixture
def bob(place: Place) -> Actor:
    return place.person("bob", yuan=1000)
