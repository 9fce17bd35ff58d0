"""Saves a server's home into one file while it runs, and brings it back."""

import fcntl
import io
import os
import shutil
import sqlite3
import stat
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO

from sqlalchemy import Engine

from starverse.model.errors import BadInput, NotFound, Refused
from starverse.store.database import DATABASE_FILE, home_url, is_sqlite, open_database
from starverse.store.journal import SqlJournal

LOCK_FILE = "lock"
ORIGIN_FILE = "origin"
"""In a backup: the machine and the home that it was saved from."""

RESTORED_FILE = "restored"
"""In a home that was restored from another's backup, until somebody says that the other is stopped."""

NOT_KEPT = frozenset({LOCK_FILE, "cache", "tmp", "console"})
"""What of a home belongs to this machine and this moment only; `console` holds the tokens of those who are
signed in there, who sign in again."""

NOT_KEPT_OF_RUNS = frozenset({"shim.json", "work", "tmp", "rendezvous"})
"""The same for each folder in `runs` (see engines/folder.py). Without its `shim.json`, a run that was alive
is taken for lost after a restore, and the job goes on from its checkpoint; with it, the engine of the
restored home could meet the shim of the original and kill it."""

_OURS = "Take a file that `starverse backup` wrote."
_BEFORE = "before-restore"
_COMING = "coming-restore"


@contextmanager
def lock_home(home: Path) -> Iterator[None]:
    """Have a home for oneself, as a server or to restore into it. Raises Refused when a server has it."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (home / LOCK_FILE).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(f"A Starverse server is running in {home}.", "Stop it first.") from None
        yield


def demand_own(home: Path, *, take_over: bool) -> None:
    """Refuse a home that is another's copy, until told that the other server is stopped for good: both would
    run the same jobs and charge for them."""
    mark = home / RESTORED_FILE
    if mark.exists() and not take_over:
        raise Refused(
            f"{home} was restored from a backup of {mark.read_text().strip()}, whose server may still run: "
            "both would run the same jobs and charge for them.",
            "Once that one is stopped for good: starverse up --take-over",
        )
    mark.unlink(missing_ok=True)


def _origin(home: Path) -> str:
    """A home by its machine and its place there."""
    return f"{home.resolve()} on {os.uname().nodename}"


# -- out --------------------------------------------------------------------------------------------------


def backup(home: Path, engine: Engine, file: Path, *, force: bool = False) -> int:
    """Write the home to one tar file while the server runs, and say how many bytes that is.

    The database comes first, as it is at one instant. What follows can only be newer: submitted files never
    change, and a checkpoint counts once its manifest, its last file, is there. The file appears whole or not
    at all.

    Raises Refused on PostgreSQL and, without `force`, for a file that is there already; BadInput for a place
    that cannot take it.
    """
    if not is_sqlite(engine):
        raise Refused("The database is PostgreSQL.", "Save it with pg_dump, and the home with tar.")
    home, file = home.resolve(), file.resolve()
    if file.is_relative_to(home):
        raise BadInput(f"{file} lies in what is to be saved.", f"Name a file outside {home}.")
    if not file.parent.is_dir():
        raise BadInput(f"There is no folder {file.parent}.", f"Make it first: mkdir -p {file.parent}")
    if file.exists() and not force:
        raise Refused(f"{file} is there already.", "Name another file, or add --force to replace it.")
    database = Path(str(engine.url.database)).resolve()
    part = file.with_name(file.name + ".part")
    copy = file.with_name(file.name + ".db-part")
    try:
        _private(copy).close()
        _copy_database(database, copy)
        with _private(part) as out:
            with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
                _add(archive, copy, DATABASE_FILE)
                _add_text(archive, ORIGIN_FILE, _origin(home))
                _add_home(archive, home, database)
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
        _sync(file.parent)
    except (OSError, sqlite3.Error) as error:
        remedy = "Name a file in a folder with space, which you may write to."
        raise BadInput(f"Backup {file} cannot be written: {error}.", remedy) from error
    finally:
        for left in (copy, part):
            left.unlink(missing_ok=True)
    return file.stat().st_size


def _private(path: Path) -> IO[bytes]:
    """A new file for the server alone: tokens and checkpoints are in it."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb")


def _copy_database(database: Path, copy: Path) -> None:
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)  # all pages in one step: as of one commit, and writers go on meanwhile
        target.execute("PRAGMA journal_mode=DELETE")  # one file, without -wal and -shm


def _add_home(archive: tarfile.TarFile, home: Path, database: Path) -> None:
    own = {database, database.with_name(database.name + "-wal"), database.with_name(database.name + "-shm")}
    pending = sorted(path for path in home.iterdir() if not _is_left_out(path))
    while pending:
        path = pending.pop()
        if path in own:
            continue
        try:
            _add(archive, path, str(path.relative_to(home)))
            if path.is_dir() and not path.is_symlink():
                pending += _inside(path, home)
        except FileNotFoundError:  # an old checkpoint made room for a new one
            continue


def _is_left_out(path: Path) -> bool:
    return path.name in NOT_KEPT or path.name.startswith((_BEFORE, _COMING))


def _inside(folder: Path, home: Path) -> list[Path]:
    """What to save of a folder, in reverse order: the last is taken first."""
    left_out = NOT_KEPT_OF_RUNS if folder.parent == home / "runs" else frozenset()
    return sorted((path for path in folder.iterdir() if path.name not in left_out), reverse=True)


def _add(archive: tarfile.TarFile, path: Path, name: str) -> None:
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode) or stat.S_ISLNK(mode):
        archive.addfile(archive.gettarinfo(path, name))
    if not stat.S_ISREG(mode):  # no sockets, pipes or devices
        return
    # the file may be a job's: it could put a pipe or a link in its place, so never wait and never follow
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        info = archive.gettarinfo(None, name, file)
        archive.addfile(info, _Padded(file) if info.isreg() else None)  # type: ignore[arg-type]


def _add_text(archive: tarfile.TarFile, name: str, text: str) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(text.encode()), 0o600
    archive.addfile(info, io.BytesIO(text.encode()))


class _Padded:
    """A file that a job may be cutting short while it is read: what is missing is zeros."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int) -> bytes:
        return self._file.read(size).ljust(size, b"\0")


# -- in ---------------------------------------------------------------------------------------------------


def restore(home: Path, file: Path, *, replace: bool = False) -> int:
    """Bring a backup back into a home, and say how many rows of its journal were verified.

    With `replace`, what the home holds is moved into `before-restore-N` inside it; nothing is deleted.

    Raises Refused when a server runs there or the home isn't empty, NotFound and BadInput for a file that is
    no backup, JournalDamaged when the backup itself is damaged; the home is then as it was, or not there.
    """
    if not file.is_file():
        raise NotFound(f"There is no backup {file}.")
    made = [folder for folder in (home, *home.parents) if not folder.exists()]
    try:
        return _restore(home, file, replace)
    except BaseException:
        if made:
            (home / LOCK_FILE).unlink(missing_ok=True)
        with suppress(OSError):  # somebody else has begun to use one
            for folder in made:
                folder.rmdir()
        raise


def _restore(home: Path, file: Path, replace: bool) -> int:
    with lock_home(home):
        there = sorted(path for path in home.iterdir() if not _is_left_out(path))
        if there and not replace:
            raise Refused(
                f"{home} is not empty: {', '.join(path.name for path in there[:3])} …",
                "Name another home, or add --replace: what is there is then moved aside.",
            )
        coming = home / _COMING
        _remove(coming)
        coming.mkdir(mode=0o700)
        try:
            _unpack(file, coming)
            rows = _verified(coming)
            _mark(home, coming)
        except BaseException:
            _remove(coming)
            raise
        if there:
            _move_aside(home, there)
        for path in sorted(coming.iterdir(), key=lambda path: path.name == DATABASE_FILE):
            path.rename(home / path.name)  # the database last: without it a home is new
        coming.rmdir()
        _sync(home)
    return rows


def _unpack(file: Path, coming: Path) -> None:
    try:
        with tarfile.open(file, "r:") as archive:
            # the checks are ours: Debian 12's Python has no filters yet, newer ones ask for one
            archive.extraction_filter = lambda member, path: member
            folders = []
            for member in archive:
                _check(member, coming)
                if Path(member.name).parts[:1] and Path(member.name).parts[0] in NOT_KEPT:
                    continue  # an older version saved more
                archive.extract(member, coming, set_attrs=not member.isdir(), numeric_owner=True)
                folders += [member] * member.isdir()
            for folder in reversed(folders):  # last, since one may be read-only
                archive.extract(folder, coming, numeric_owner=True)
    except (tarfile.TarError, OSError, EOFError) as error:
        raise BadInput(f"{file} cannot be unpacked: {error}.", _OURS) from error


def _check(member: tarfile.TarInfo, coming: Path) -> None:
    """Let nothing in a backup be written outside, not even through a link in it."""
    names = [member.name] + [member.linkname] * member.islnk()
    inside = all(not Path(name).is_absolute() and ".." not in Path(name).parts for name in names)
    folders = [coming / parent for parent in Path(member.name).parents]
    if not inside or any(folder.is_symlink() for folder in folders):
        raise BadInput(f"{member.name} in the backup leads out of it.", _OURS)
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        raise BadInput(f"{member.name} in the backup is no file.", _OURS)


def _mark(home: Path, coming: Path) -> None:
    """Note whose copy this is. Of a home that is restored in its own place nobody else can be running: we
    hold its lock."""
    origin = coming / ORIGIN_FILE
    is_told = origin.is_file() and not origin.is_symlink()
    of = origin.read_text() if is_told else "a home that an older version saved"
    origin.unlink(missing_ok=True)
    (coming / RESTORED_FILE).unlink(missing_ok=True)
    if of != _origin(home):
        (coming / RESTORED_FILE).write_text(f"{of}\n")


def _verified(coming: Path) -> int:
    if not (coming / DATABASE_FILE).is_file():
        raise BadInput("There is no database in the backup.", _OURS)
    engine = open_database(home_url(coming))
    try:
        return SqlJournal(engine).verify()
    finally:
        engine.dispose()  # the last connection folds the -wal file into the database


def _move_aside(home: Path, there: list[Path]) -> None:
    number = 1
    while (aside := home / f"{_BEFORE}-{number}").exists():
        number += 1
    aside.mkdir(mode=0o700)
    for path in there:
        path.rename(aside / path.name)


def _remove(path: Path) -> None:
    if path.exists():
        shutil.rmtree(path)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
