"""Submitted files go when nobody needs them; whoever sends, names or runs them again keeps them."""

import os
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import Engine

from starverse.model import events as ev
from starverse.model.job import JobSpec, Work
from starverse.store.blobs import Blobs
from starverse.store.database import reading
from starverse.store.journal import SqlJournal
from starverse.store.manifest import Entry
from starverse.store.sweeping import ended_ms, live_snapshots, sweep_blobs

T = 1_000_000
OLD_S, THEN_MS = 1_000, 2_000_000
A, B, C = b"a" * 10, b"b" * 20, b"c" * 30


def digest(body: bytes) -> str:
    return sha256(body).hexdigest()


def put(blobs: Blobs, tenant: str, *bodies: bytes) -> str:
    for body in bodies:
        blobs.put(tenant, digest(body), [body])
    return blobs.put_manifest(tenant, [Entry(f"{len(body)}", digest(body), len(body)) for body in bodies])


def grow_old(home: Path) -> None:
    for path in (home / "blobs").rglob("*"):
        if path.is_file():
            os.utime(path, (OLD_S, OLD_S))


def left(home: Path) -> set[str]:
    return {path.name for path in (home / "blobs").rglob("*") if path.is_file()}


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path)


def test_what_nobody_needs_goes_with_all_links_to_it(blobs: Blobs, tmp_path: Path) -> None:
    first = put(blobs, "ada", A, B)
    put(blobs, "bo", A, B)
    second = put(blobs, "ada", B, C)
    grow_old(tmp_path)
    assert sweep_blobs(tmp_path, {second}, THEN_MS) == 2
    assert left(tmp_path) == {second, digest(B), digest(C)}
    assert blobs.missing("bo", [digest(A), digest(B)]) == [digest(A)]
    assert not blobs.has("ada", first)
    assert blobs.unpack(second, tmp_path / "out") == 50
    assert sweep_blobs(tmp_path, {second}, THEN_MS) == 0


def test_what_is_young_stays(blobs: Blobs, tmp_path: Path) -> None:
    put(blobs, "ada", A, B)
    assert sweep_blobs(tmp_path, (), THEN_MS) == 0
    assert sweep_blobs(tmp_path, (), 0) == 0


def test_an_upload_that_is_asked_about_made_or_named_again_is_new(blobs: Blobs, tmp_path: Path) -> None:
    snapshot = put(blobs, "ada", A, B)
    grow_old(tmp_path)
    assert blobs.has("ada", snapshot)  # a job is about to name it: it and all in it stay
    assert sweep_blobs(tmp_path, (), THEN_MS) == 0
    grow_old(tmp_path)
    assert blobs.missing("ada", [digest(A), digest(B)]) == []
    assert sweep_blobs(tmp_path, (), THEN_MS) == 1, "the snapshot goes, what is about to be one again stays"
    assert put(blobs, "ada", A, B) == snapshot
    grow_old(tmp_path)
    assert put(blobs, "ada", A) != snapshot
    assert sweep_blobs(tmp_path, (), THEN_MS) == 2
    assert digest(A) in left(tmp_path)
    assert digest(B) not in left(tmp_path)


def test_what_is_swept_away_can_be_sent_again(blobs: Blobs, tmp_path: Path) -> None:
    snapshot = put(blobs, "ada", A)
    grow_old(tmp_path)
    assert sweep_blobs(tmp_path, (), THEN_MS) == 2
    assert left(tmp_path) == set()
    assert put(blobs, "ada", A) == snapshot
    assert blobs.unpack(snapshot, tmp_path / "out") == 10


def test_jobs_that_are_over_and_snapshots_that_are_needed(engine: Engine) -> None:
    journal = SqlJournal(engine)
    journal.lead()
    journal.append(T, [ev.TenantOpened("ada")], [])
    for name in ("j1", "j2"):
        journal.append(T, [ev.JobSubmitted(JobSpec(name, "ada", work=Work(snapshot=f"of {name}")))], [])
    journal.append(T + 5, [ev.JobEnded("j1", "stopped")], [])
    with reading(engine) as connection:
        assert ended_ms(connection, ["j1", "j2", "j3"]) == {"j1": T + 5}
        assert ended_ms(connection, [f"j{n}" for n in range(1200)]) == {"j1": T + 5}
        assert live_snapshots(connection) == {"of j2"}
