"""The hourly sweep: what the settings keep, and a thread that no failure ends."""

import os
import threading
from hashlib import sha256
from pathlib import Path

import pytest

from starverse.main import sweeping
from starverse.main.settings import Keep
from starverse.main.sweeping import Sweeper, sweep
from starverse.model import events as ev
from starverse.model.job import JobSpec
from starverse.model.units import DAY_MS
from starverse.store.blobs import Blobs
from starverse.store.database import home_url, open_database
from starverse.store.journal import SqlJournal
from starverse.store.manifest import Entry


@pytest.mark.parametrize(
    ("keep", "removed"),
    [
        (Keep(), {"runs": 1, "outputs": 0, "snapshots": 2}),
        (Keep(runs_days=60, outputs_days=39, snapshots_days=60), {"runs": 0, "outputs": 1, "snapshots": 0}),
        (Keep(runs_days=0, outputs_days=0, snapshots_days=0), {"runs": 0, "outputs": 0, "snapshots": 0}),
        (Keep(runs_days=0, runs_gb=0), {"runs": 0, "outputs": 0, "snapshots": 2}),
    ],
)
def test_what_the_settings_do_not_keep_is_removed(
    tmp_path: Path, keep: Keep, removed: dict[str, int]
) -> None:
    now_ms = 100 * DAY_MS
    database = open_database(home_url(tmp_path))
    journal = SqlJournal(database)
    journal.lead()
    ended_ms = now_ms - 40 * DAY_MS
    spec = JobSpec("j-1", "ada")
    journal.append(ended_ms, [ev.TenantOpened("ada"), ev.JobSubmitted(spec), ev.JobEnded("j-1", "done")], [])
    for folder in ("runs/j-1.0", "jobs/j-1/output"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "file").write_text("x")
    blobs, digest = Blobs(tmp_path), sha256(b"x").hexdigest()
    blobs.put("ada", digest, [b"x"])
    blobs.put_manifest("ada", [Entry("x", digest, 1)])
    for path in (tmp_path / "blobs").rglob("*"):
        if path.is_file():
            os.utime(path, (ended_ms / 1000, ended_ms / 1000))
    assert sweep(tmp_path, database, keep, now_ms) == removed
    assert (tmp_path / "runs/j-1.0").exists() == (not removed["runs"])
    assert (tmp_path / "jobs/j-1").exists() == (not removed["outputs"])
    database.dispose()


def test_a_sweep_that_fails_is_tried_again_until_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "FIRST_AFTER_S", 0.0)
    monkeypatch.setattr(sweeping, "EVERY_S", 0.01)
    swept: list[int] = []
    enough = threading.Event()

    def fails() -> dict[str, int]:
        swept.append(1)
        if len(swept) == 3:
            enough.set()
        raise OSError(5, "the disk is ill")

    sweeper = Sweeper(fails)
    sweeper.start()
    assert enough.wait(20)
    sweeper.stop()
    count = len(swept)
    sweeper.stop()
    assert len(swept) == count
