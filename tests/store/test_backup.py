"""A home is saved while its server writes, and goes on elsewhere."""

import io
import os
import socket
import sqlite3
import stat
import tarfile
import threading
from pathlib import Path

import pytest
from sqlalchemy import Engine
from tests.store.conftest import NewUrl
from tests.store.looking import all_agrees, by_hand

from starverse.control.ports import Taken
from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.errors import BadInput, JournalDamaged, NotFound, Refused
from starverse.store.backup import backup, demand_own, lock_home, restore
from starverse.store.database import home_url, open_database
from starverse.store.journal import SqlJournal
from starverse.store.requests import Requests

T = 1_000_000


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with all that a server leaves in one."""
    home = tmp_path / "home"
    files = {
        "starverse.toml": "port = 1", "blobs/ab/abc": "blob", "jobs/j1/checkpoints/7/manifest.json": "{}",
        "jobs/j1/output/model.pt": "weights", "runs/j1.0/stdout.0.log": "hello", "runs/j1.0/claim": "{}",
        "runs/j1.0/shim.json": "{}", "runs/j1.0/work/train.py": "x", "jobs/j1/output/work/kept": "x",
        "cache/numba": "x", "lock": "123", "console/sessions.json": "svt_secret",
    }  # fmt: skip
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    (home / "blobs/of").mkdir()
    os.link(home / "blobs/ab/abc", home / "blobs/of/abc")
    (home / "jobs/j1/output/latest").symlink_to("model.pt")
    (home / "jobs/j1/output/passwords").symlink_to("/etc/passwd")
    os.mkfifo(home / "jobs/j1/output/pipe")
    (home / "jobs/j1/output/model.pt").chmod(0o640)
    (home / "jobs/j1/output/sealed").mkdir()
    (home / "jobs/j1/output/sealed/x").write_text("x")
    (home / "jobs/j1/output/sealed").chmod(0o500)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(home / "jobs/j1/s"))
    return home


KEPT = {
    "starverse.db", "starverse.toml", "blobs/ab/abc", "blobs/of/abc", "jobs/j1/checkpoints/7/manifest.json",
    "jobs/j1/output/model.pt", "jobs/j1/output/latest", "jobs/j1/output/passwords", "jobs/j1/output/sealed/x",
    "jobs/j1/output/work/kept", "runs/j1.0/stdout.0.log", "runs/j1.0/claim",
}  # fmt: skip


def names_in(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.rglob("*") if path.is_symlink() or not path.is_dir()}


def test_a_backup_taken_while_the_server_writes_is_restored_and_goes_on(home: Path, tmp_path: Path) -> None:
    engine = open_database(home_url(home))
    journal = SqlJournal(engine)
    journal.lead()
    done = threading.Event()
    begun = threading.Event()

    def write() -> None:
        count = 0
        while not done.is_set():
            count += 1
            node = f"n{count % 100}"
            journal.append(T + count, [ev.NodeJoined(node, "cpu", 8), ev.NodeCordoned(node)], [])
            if count == 20:
                begun.set()

    writer = threading.Thread(target=write)
    writer.start()
    assert begun.wait(30)
    file = tmp_path / "backup.tar"
    with lock_home(home):  # a server has it
        assert backup(home, engine, file) == file.stat().st_size
    done.set()
    writer.join()
    assert journal.verify() > 40
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"home", "backup.tar"}

    other = tmp_path / "other"
    rows = restore(other, file)
    assert 40 <= rows < journal.verify()
    assert rows % 2 == 0, "an instant was saved in part"
    assert names_in(other) == KEPT | {"lock", "restored"}
    assert (other / "jobs/j1/output/latest").read_text() == "weights"
    assert (other / "jobs/j1/output/passwords").readlink() == Path("/etc/passwd")
    assert stat.S_IMODE((other / "jobs/j1/output/model.pt").stat().st_mode) == 0o640
    assert stat.S_IMODE((other / "jobs/j1/output/sealed").stat().st_mode) == 0o500
    assert stat.S_IMODE((other / "starverse.db").stat().st_mode) == 0o600

    engine.dispose()
    engine = open_database(home_url(other))
    restored, requests = SqlJournal(engine), Requests(engine, lambda: T)
    assert restored.lead() == 2
    state = restored.recover()
    assert (state.truth.seq, len(state.nodes)) == (rows, min(rows // 2, 100))
    requests.submit(rq.OpenTenant("ada"))
    restored.append(T * 2, [ev.TenantOpened("ada")], [Taken(requests.poll(T)[0].id, "")])
    assert all_agrees(engine) == rows + 1
    engine.dispose()


@pytest.fixture
def saved(home: Path, tmp_path: Path) -> Path:
    engine = open_database(home_url(home))
    journal = SqlJournal(engine)
    journal.lead()
    journal.append(T, [ev.TenantOpened("ada")], [])
    backup(home, engine, tmp_path / "backup.tar")
    engine.dispose()
    return tmp_path / "backup.tar"


def test_a_home_that_is_used_is_left_alone_unless_told(home: Path, saved: Path) -> None:
    (home / "starverse.toml").write_text("port = 2")
    before = names_in(home)
    with pytest.raises(Refused, match=r"is not empty: .*--replace"):
        restore(home, saved)
    assert names_in(home) == before
    assert restore(home, saved, replace=True) == 1
    assert (home / "starverse.toml").read_text() == "port = 1"
    assert (home / "before-restore-1/starverse.toml").read_text() == "port = 2"
    assert restore(home, saved, replace=True) == 1
    assert {path.name for path in home.glob("before*")} == {"before-restore-1", "before-restore-2"}
    assert not (home / "before-restore-2/before-restore-1").exists()


def test_a_copy_is_not_started_until_told_that_the_original_is_stopped(saved: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    restore(other, saved)
    for _ in range(2):
        with pytest.raises(Refused, match=r"whose server may still run.*starverse up --take-over"):
            demand_own(other, take_over=False)
    demand_own(other, take_over=True)
    demand_own(other, take_over=False)  # told once
    assert not (other / "origin").exists()


def test_a_running_server_is_not_restored_over(home: Path, saved: Path, tmp_path: Path) -> None:
    with lock_home(tmp_path / "other"), pytest.raises(Refused, match="server is running"):
        restore(tmp_path / "other", saved)
    with lock_home(home), pytest.raises(Refused, match="server is running"):
        restore(home, saved, replace=True)


def test_a_damaged_backup_changes_nothing(home: Path, saved: Path, tmp_path: Path) -> None:
    engine = open_database(home_url(home))
    by_hand(engine, "UPDATE journal SET heard_ms = 5 WHERE seq = 1")
    backup(home, engine, saved, force=True)
    engine.dispose()
    with pytest.raises(JournalDamaged, match="Row 1"):
        restore(tmp_path / "other", saved)
    assert not (tmp_path / "other").exists()


def test_what_is_no_backup(tmp_path: Path, saved: Path) -> None:
    whole = saved.read_bytes()
    other = tmp_path / "other"
    with pytest.raises(NotFound, match="no backup"):
        restore(other, tmp_path / "nothing.tar")
    for body in (b"", b"not a tar file at all", whole[: len(whole) // 2]):
        saved.write_bytes(body)
        with pytest.raises(BadInput):
            restore(other / "deeper", saved)
        assert not other.exists()


@pytest.mark.parametrize(
    ("name", "kind", "target"),
    [
        ("../evil", tarfile.REGTYPE, ""),
        ("/tmp/evil", tarfile.REGTYPE, ""),
        ("link/evil", tarfile.REGTYPE, ""),
        ("evil", tarfile.LNKTYPE, "../../etc/passwd"),
        ("evil", tarfile.CHRTYPE, ""),
        ("evil", tarfile.FIFOTYPE, ""),
    ],
)
def test_a_backup_cannot_write_outside(tmp_path: Path, name: str, kind: bytes, target: str) -> None:
    file = tmp_path / "evil.tar"
    with tarfile.open(file, "w") as archive:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
        archive.addfile(link)
        evil = tarfile.TarInfo(name)
        evil.type, evil.linkname = kind, target
        archive.addfile(evil, io.BytesIO())
    with pytest.raises(BadInput, match="in the backup"):
        restore(tmp_path / "home", file)
    assert {path.name for path in tmp_path.iterdir()} == {"evil.tar"}


def test_a_place_that_cannot_take_a_backup(home: Path, tmp_path: Path) -> None:
    engine = open_database(home_url(home))
    (tmp_path / "taken").mkdir()
    missing = rf"There is no folder {tmp_path}/no/such\. Make it first: mkdir -p {tmp_path}/no/such"
    for file, says in (
        (home / "x.tar", "lies in what"),
        (tmp_path / "no/such/x.tar", missing),
        (tmp_path / "taken", "cannot be written"),
    ):
        with pytest.raises(BadInput, match=says):
            backup(home, engine, file, force=True)
    engine.dispose()


def test_a_backup_that_is_there_is_replaced_only_if_told(home: Path, saved: Path) -> None:
    before = saved.read_bytes()
    engine = open_database(home_url(home))
    with pytest.raises(Refused, match=r"is there already\..*--force"):
        backup(home, engine, saved)
    assert saved.read_bytes() == before
    (home / "jobs/j1/output/model.pt").write_text("other weights")
    backup(home, engine, saved, force=True)
    assert b"other weights" in saved.read_bytes()
    engine.dispose()


def test_what_an_older_version_saved_of_this_machine_is_left_out(tmp_path: Path, saved: Path) -> None:
    with tarfile.open(saved, "a") as archive:
        body = b"svt_secret"
        for name in ("console/sessions.json", "lock"):
            member = tarfile.TarInfo(name)
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    (tmp_path / "other/console").mkdir(parents=True)
    restore(tmp_path / "other", saved)
    assert list((tmp_path / "other/console").iterdir()) == []


def test_a_file_cut_short_meanwhile_is_filled_up(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_database(home_url(home))
    model = home / "jobs/j1/output/model.pt"
    told = tarfile.TarFile.gettarinfo

    def cut(archive: tarfile.TarFile, *names: object) -> tarfile.TarInfo:
        info = told(archive, *names)  # type: ignore[arg-type]
        if info.name.endswith("model.pt"):
            model.write_text("we")
        if info.name == "runs/j1.0":
            (home / "runs/j1.0/claim").unlink()
        return info

    monkeypatch.setattr(tarfile.TarFile, "gettarinfo", cut)
    backup(home, engine, tmp_path / "x.tar")
    engine.dispose()
    restore(tmp_path / "other", tmp_path / "x.tar")
    assert (tmp_path / "other/jobs/j1/output/model.pt").read_bytes() == b"we\0\0\0\0\0"
    assert not (tmp_path / "other/runs/j1.0/claim").exists()


def test_postgresql_is_left_to_its_own_tools(postgresql: NewUrl, tmp_path: Path) -> None:
    engine: Engine = open_database(postgresql())
    with pytest.raises(Refused, match="pg_dump"):
        backup(tmp_path, engine, tmp_path.parent / "x.tar")
    engine.dispose()


def test_the_database_in_a_backup_is_one_sound_file(saved: Path, tmp_path: Path) -> None:
    with tarfile.open(saved) as archive:
        assert archive.getnames()[0] == "starverse.db"
        (tmp_path / "x.db").write_bytes(archive.extractfile("starverse.db").read())  # type: ignore[union-attr]
    with sqlite3.connect(tmp_path / "x.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
