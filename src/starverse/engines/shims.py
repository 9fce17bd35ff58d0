"""Shims as the engine handles them: let loose, met again after a restart, woken, and buried."""

import json
import os
import select
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from starverse.engines import tree
from starverse.engines.folder import PASSING, RunFolder, boot_id, read_json, take_claim, write_json
from starverse.engines.orders import boot

DEAD_WITHIN_S = 10.0
LOG_CHARACTERS_MAX = 2000


class Shim:
    """A hold on one shim process: by a pidfd, so that its number can't come to mean another process."""

    def __init__(self, pid: int, started: int, here: bool) -> None:
        self._pidfd = -1
        self._door = select.poll()
        if here:
            with suppress(ProcessLookupError):
                self._pidfd = os.pidfd_open(pid)
        if self._pidfd >= 0:
            self._door.register(self._pidfd, select.POLLIN)
            if not tree.is_alive(pid, started):
                self.release()

    def is_dead(self) -> bool:
        """Whether the process is dead, reaped or not."""
        return self._pidfd < 0 or bool(self._door.poll(0))

    def wake(self) -> None:
        """Let it look at once at what was written for it (it does so by itself within 200 ms)."""
        if self._pidfd >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGHUP)

    def release(self) -> None:
        """Let go of it."""
        if self._pidfd >= 0:
            self._door.unregister(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1


def let_loose(folder: RunFolder, secrets: dict[str, str]) -> int:
    """Start a shim on a run, in a session of its own so that it outlives us; hand it the secrets through its
    stdin.

    Its pid; whoever started it must reap it.
    """
    reading, writing = os.pipe2(os.O_CLOEXEC)
    log = os.open(folder.shim_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    argv = [*boot("starverse.engines.shim"), "starverse-shim", folder.path]
    streams = [
        (os.POSIX_SPAWN_DUP2, reading, 0),
        (os.POSIX_SPAWN_DUP2, log, 1),
        (os.POSIX_SPAWN_DUP2, log, 2),
    ]
    try:
        pid = os.posix_spawn(
            argv[0],
            argv,
            {"LANG": "C.UTF-8", "STARVERSE_RUN": folder.run},
            file_actions=streams,
            setsid=True,
            setsigmask=[],
            setsigdef=[signal.SIGINT, signal.SIGTERM, signal.SIGHUP],
        )
    finally:
        os.close(reading)
        os.close(log)
    with suppress(BrokenPipeError), open(writing, "wb") as pipe:
        pipe.write(json.dumps(secrets).encode() + b"\n")
    return pid


def meet(folder: RunFolder) -> Shim | None:
    """The shim of a run, dead or alive; None while it has not said who it is."""
    said = read_json(folder.shim)
    if said is None:
        return None
    return Shim(said["pid"], said["started"], here=said["boot"] == boot_id())


def refuse(folder: RunFolder, now_ms: int, text: str) -> bool:
    """Leave a tombstone, so that the run never starts; False if a shim has claimed it already."""
    Path(folder.path).mkdir(mode=0o711, parents=True, exist_ok=True)
    claim = take_claim(folder, {"tombstone_ms": now_ms, "text": text})
    if claim is None:
        return False
    os.close(claim)
    return True


def last_words(folder: RunFolder) -> str:
    """What a shim died of, as far as it could tell."""
    with suppress(FileNotFoundError):
        return Path(folder.shim_log).read_text(errors="replace").strip()[-LOG_CHARACTERS_MAX:]
    return ""


def bury(folder: RunFolder) -> dict[str, Any]:
    """Make sure that nothing of a run lives whose shim is dead, and write its status: lost, at its last sign
    of life.

    Raises TimeoutError if something would not die.
    """
    said = read_json(folder.shim) or {}
    order = read_json(folder.order) or {}
    if said.get("boot") == boot_id():
        known = [(said["pid"], said["started"]), *([tuple(said["first"])] if "first" in said else [])]

        def living() -> list[int]:
            return [*(pid for pid, started in known if tree.is_alive(pid, started)), *tree.marked(folder.run)]

        _kill(living, folder.run)
        if not order.get("namespace", True):
            tree.remove_shared_memory(order["uid"], Path(folder.claim).stat().st_ctime)
    clean(folder)
    status = read_json(folder.status) or {}
    if "ended_ms" not in status:
        status |= {"ended_ms": _last_sign_ms(folder, order), "how": "lost", "code": 0, "rank": -1}
        status["text"] = f"The run's shim vanished. {last_words(folder)}".strip()
        with suppress(OSError):  # a full disk must not keep the run alive
            write_json(folder.status, status, durable=True)
    return status


def clean(folder: RunFolder) -> None:
    """Remove what is of no use after a run."""
    for name in (*PASSING, "work~"):
        shutil.rmtree(f"{folder.path}/{name}", ignore_errors=True)
    Path(folder.spare).unlink(missing_ok=True)


def _kill(living: Callable[[], list[int]], run: str) -> None:
    """Kill until nobody is seen twice in a row: one that is about to become another program shows no mark."""
    end_s, unseen = time.monotonic() + DEAD_WITHIN_S, 0
    while unseen < 2:
        pids = living()
        unseen = 0 if pids else unseen + 1
        tree.kill(pids)
        if time.monotonic() > end_s:
            raise TimeoutError(f"the processes of {run} don't die")
        time.sleep(0.01)


def _last_sign_ms(folder: RunFolder, order: dict[str, Any]) -> int:
    with suppress(OSError, ValueError):
        return int(Path(folder.heartbeat).read_text())
    return int(order.get("ordered_ms", 0))
