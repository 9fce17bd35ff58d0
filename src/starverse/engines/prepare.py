"""Makes a run's folder ready and lets a shim loose on it; twice does no harm, for only one can claim it."""

import fcntl
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from starverse.engines.folder import JobFolder, RunFolder, write_json
from starverse.engines.orders import check_environment
from starverse.engines.sandbox import Isolation, lay_out
from starverse.engines.shims import let_loose

Unpack = Callable[[str, Path], None]
"""Write the files of a snapshot into an empty folder, as copies (they will belong to the tenant)."""

SecretsOf = Callable[[str, tuple[str, ...]], Mapping[str, str]]
"""The values of a tenant's secrets, by name; raises a StarverseError for one that isn't there."""


def prepare(
    order: dict[str, Any], home: str, uid: int, isolation: Isolation, unpack: Unpack, secrets_of: SecretsOf
) -> int | None:
    """Lay the run's folder out and start a shim on it; its pid, or None if the run was claimed before.

    Two engines may do this at once, or one be killed anywhere in it: the folder is locked meanwhile, what is
    half-unpacked is thrown away, and a whole one is used. Raises OSError and StarverseError.
    """
    start = order["start"]
    folder, job = RunFolder.of(home, start["run"]), JobFolder(home, start["job"])
    Path(folder.path).mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if Path(folder.claim).exists():
            return None
        if not Path(folder.work).exists():
            _unpack(folder, start["work"].get("snapshot", ""), unpack)
        lay_out(isolation, folder, job, uid)
        _give(Path(folder.work), isolation.user(uid))
        names = tuple(start["work"].get("secrets", ()))
        secrets = dict(secrets_of(start["tenant"], names)) if names else {}
        check_environment(tuple(secrets.items()))
        write_json(folder.order, order)
        return let_loose(folder, secrets)
    finally:
        os.close(lock)


def _unpack(folder: RunFolder, snapshot: str, unpack: Unpack) -> None:
    half = Path(f"{folder.work}~")
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir(mode=0o700)
    if snapshot:
        unpack(snapshot, half)
    half.rename(folder.work)


def _give(folder: Path, user: int) -> None:
    """Make the tenant's user the owner of all files in a folder."""
    if user == os.getuid():
        return
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(Path(place, name), user, user, follow_symlinks=False)
