"""A server killed at any instant has written all of it or nothing: whatever is read afterwards agrees."""

import multiprocessing
import random
import time

import pytest
from sqlalchemy import Engine, text
from tests.store.conftest import NewUrl
from tests.store.looking import all_agrees, rows_of
from tests.store.writer import serve

from starverse.store.database import is_sqlite, open_database

spawning = multiprocessing.get_context("forkserver")
spawning.set_forkserver_preload(["tests.store.writer"])


def killed_again_and_again(url: str, lives: int) -> None:
    engine = open_database(url)
    chance = random.Random(lives)
    counts = [0]
    for life in range(4 * lives):
        if life >= lives and counts[-1] > 100:
            break  # a slow machine needs more lives to write as much
        ready = spawning.Event()
        server = spawning.Process(target=serve, args=(url, life, ready.set), daemon=True)
        server.start()
        assert ready.wait(60)
        time.sleep(chance.uniform(0, 0.5))
        server.kill()
        server.join(60)
        nobody_else_writes(engine)
        counts.append(all_agrees(engine))
        opened = {row[7] for row in rows_of(engine, "ledger")["ledger"] if row[3] == "trial" and row[8] > 0}
        asked = {f"wallet/{tenant}" for tenant, *_ in rows_of(engine, "tenants")["tenants"]}
        assert opened <= asked
    assert counts[-1] > 100
    assert counts == sorted(counts)
    engine.dispose()


def nobody_else_writes(engine: Engine) -> None:
    """Wait until PostgreSQL has noticed that the server is dead."""
    others = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    for _ in range(500):
        if is_sqlite(engine):
            return
        with engine.connect() as connection:
            if not connection.execute(others).scalar():
                return
        time.sleep(0.02)
    raise AssertionError("the server's sessions are still there")


def test_a_server_killed_at_random_moments_loses_and_doubles_nothing(new_url: NewUrl) -> None:
    killed_again_and_again(new_url(), 5)


@pytest.mark.deep
@pytest.mark.timeout(600)
def test_a_server_killed_a_hundred_times(new_url: NewUrl) -> None:
    killed_again_and_again(new_url(), 100)
