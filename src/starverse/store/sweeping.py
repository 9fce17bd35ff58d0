"""Removes submitted files that no job needs any more and that nobody has sent or named for long."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import msgspec
from sqlalchemy import Connection, select

from starverse.model.errors import BadInput
from starverse.model.job import JobSpec
from starverse.store.manifest import decoded
from starverse.store.schema import jobs

CHUNK = 500


def live_snapshots(connection: Connection) -> set[str]:
    """The snapshots of jobs that are not over."""
    found = connection.execute(select(jobs.c.spec).where(jobs.c.phase != "ended"))
    return {msgspec.json.decode(spec, type=JobSpec).work.snapshot for (spec,) in found}


def ended_ms(connection: Connection, names: Collection[str]) -> dict[str, int]:
    """When each of these jobs ended; without those that are not over or were never there."""
    found: dict[str, int] = {}
    some = sorted(names)
    for first in range(0, len(some), CHUNK):
        here = jobs.c.job.in_(some[first : first + CHUNK]) & (jobs.c.phase == "ended")
        rows = connection.execute(select(jobs.c.job, jobs.c.ended_ms).where(here))
        found |= {job: at_ms for job, at_ms in rows if at_ms is not None}
    return found


def sweep_blobs(home: Path, live: Collection[str], before_ms: int) -> int:
    """Remove snapshots that are not `live` and were last named before then, and the files that are then in
    none; how many of both. While it goes on, files may be sent and jobs submitted.

    Whoever names a snapshot or a file makes it new (see `Blobs`), and each is looked at in the very moment
    before it goes. Snapshots go first, so that what a later job can still name is whole.
    """
    root = home / "blobs"
    removed = 0
    needed: set[str] = set()
    for snapshot in _all(root / "snapshots"):
        if snapshot.name in live or not _is_older(snapshot, before_ms):
            needed |= _files_of(snapshot)
        else:
            removed += _remove(root, snapshot, "snapshots")
    for blob in _all(root):
        if blob.name not in needed and _is_older(blob, before_ms):
            removed += _remove(root, blob)
    return removed


def _all(place: Path) -> list[Path]:
    return [path for folder in place.glob("[0-9a-f][0-9a-f]") for path in folder.iterdir()]


def _is_older(path: Path, before_ms: int) -> bool:
    with suppress(FileNotFoundError):
        return path.stat().st_mtime_ns // 1_000_000 < before_ms
    return False


def _files_of(snapshot: Path) -> set[str]:
    with suppress(FileNotFoundError, BadInput):
        return {entry.digest for entry in decoded(snapshot.read_bytes())}
    return set()


def _remove(root: Path, path: Path, kind: str = "") -> bool:
    """The tenants' links before the file itself: a tenant who has a link has the file."""
    place = Path(path.parent.name, path.name)
    with suppress(FileNotFoundError):
        for tenant in (root / "of").iterdir():
            (tenant / kind / place).unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    return True
