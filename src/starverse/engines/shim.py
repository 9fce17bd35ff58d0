"""The shim: one small process that claims a run, starts it, watches its lease, and writes down how it ended.

It outlives the server that started it, so no server's death harms a run or loses an exit code. It reads the
clock once removed: what the engine's clock said at the order, plus what the boot clock has counted since. So
the wall clock may jump as it likes: no lease ends early, and no run is paid for an hour that was not.
Standard library only, and of that the cheapest: its start is part of every run's start.
"""

import _socket  # `socket` itself would add 7 ms
import json
import os
import signal
import sys
import time
from contextlib import suppress
from typing import Any

from starverse.engines import tree
from starverse.engines.folder import (
    PASSING,
    RunFolder,
    boot_id,
    boot_ns,
    read_json,
    sync_folder,
    take_claim,
    write_json,
)
from starverse.engines.gang import Gang

MS = 1_000_000  # nanoseconds in a millisecond
LOOK_MS = 200
BEAT_MS = 1000
KILL_WITHIN_S = 5.0
WRITE_TRIES = 3600
PORTS = range(20_000, 30_000)  # below Linux's ephemeral ports (32768 up), so no outgoing connection takes one
TEXT_CHARACTERS_MAX = 4000
SPARE_BYTES = 16 * 1024
STOPPED_EARLY = "The run was stopped before it started."


def main() -> None:
    """Live the run whose folder is the last argument, if it is still to be had; its secrets come through
    stdin."""
    _let_go_of_the_server()
    secrets = _read_secrets()
    folder = RunFolder(sys.argv[-1])
    if secrets is None or not os.path.exists(folder.order):
        return  # the engine died in mid-sentence; its successor will say it again
    claim = take_claim(folder, {"pid": os.getpid()})
    if claim is None:
        return
    order = read_json(folder.order)
    assert order is not None, "an order never vanishes"
    Shim(folder, order, claim).live(secrets)


class Shim:
    """The life of one run. Mutable owner of its deadlines."""

    def __init__(self, folder: RunFolder, order: dict[str, Any], claim: int) -> None:
        self._folder, self._order, self._claim = folder, order, claim
        self._lease_ns: int = order["lease_ns"]
        self._stop_ns: int | None = None
        self._asked = ""  # why the ranks were told to leave: "stop" or "lease"
        self._started_ms: int | None = None
        self._look_ns = self._beat_ns = 0
        woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGHUP, self._on_news)
        signal.signal(signal.SIGTERM, self._on_shutdown)
        self._gang = Gang(folder, order, woken)
        self._heart = os.open(folder.heartbeat, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def live(self, secrets: dict[str, str]) -> None:
        """From the claim to the end; whatever happens to the shim, it leaves no process behind."""
        tree.adopt_orphans()
        self._identify()
        self._look()
        try:
            self._run(secrets)
        finally:
            while not self._gang.kill(KILL_WITHIN_S):  # who hangs in the kernel is not dead, the run not over
                self._beat()
        self._gang.drain()
        if self._gang.started and self._started_ms is None:  # so short a life that its start was not seen
            self._started_ms = self._now_ms()
        self._conclude()
        self._clean()

    def _run(self, secrets: dict[str, str]) -> None:
        self._port_lock, port = _claim_port()  # held as long as this process lives
        if self._port_lock is None:
            self._gang.failure = "No port is free on this machine for the ranks to meet at."
            return
        if self._stop_ns is not None:
            self._gang.failure = STOPPED_EARLY
            return
        try:
            self._gang.start(secrets, port)
        except OSError as error:
            self._gang.failure = f"The sandbox can't be started: {error}."
            return
        self._make_sure()  # while the sandbox is set up
        while self._gang.status is None:
            self._gang.turn(self._rest_ms())
            if self._gang.started and self._started_ms is None:
                self._announce()
            self._keep_time()

    def _make_sure(self) -> None:
        """Let the claim be there after a power cut too, and some room to write the end down in."""
        with suppress(OSError):
            os.fsync(self._claim)
            sync_folder(self._folder.path)
            with open(self._folder.spare, "wb") as spare:
                spare.write(bytes(SPARE_BYTES))

    def _rest_ms(self) -> float:
        next_ns = min(self._look_ns, self._beat_ns, self._kill_ns())
        return (next_ns - boot_ns()) / MS + 0.5

    def _keep_time(self) -> None:
        now_ns = boot_ns()
        if now_ns >= self._beat_ns:
            self._beat()
        if now_ns >= self._look_ns:
            self._look()
        last_ns = self._lease_ns - self._order["grace_ms"] * MS
        if not self._asked and (self._stop_ns is not None or now_ns >= last_ns):
            self._asked = "lease" if self._stop_ns is None else "stop"
            self._gang.tell("stop")
        if now_ns >= self._kill_ns():
            self._gang.kill(KILL_WITHIN_S)

    def _kill_ns(self) -> int:
        return self._lease_ns if self._stop_ns is None else min(self._lease_ns, self._stop_ns)

    def _look(self) -> None:
        """See what the engine has written since."""
        self._look_ns = boot_ns() + LOOK_MS * MS
        names = os.listdir(self._folder.path)
        if "lease.json" in names and self._asked != "lease":  # once told to leave, a renewal is too late
            renewed_ns = (read_json(self._folder.lease) or {}).get("deadline_ns", 0)
            self._lease_ns = max(self._order["lease_ns"], renewed_ns)
        if "stop.json" in names:
            self._stop_ns = (read_json(self._folder.stop) or {}).get("deadline_ns", self._stop_ns)
        for name in names:
            kind, _, rank = name.partition(".")
            if kind == "kill" and rank.isdecimal() and self._started_ms is not None:
                os.unlink(self._folder.kill(int(rank)))
                self._gang.tell(f"kill {rank}")

    def _beat(self) -> None:
        self._beat_ns = boot_ns() + BEAT_MS * MS
        self._gang.tick()
        try:
            os.pwrite(self._heart, b"%d\n" % self._now_ms(), 0)
        except OSError:
            return

    def _on_news(self, *_: object) -> None:
        self._look_ns = 0

    def _on_shutdown(self, *_: object) -> None:
        """The machine shuts down: the run may use its grace."""
        if self._stop_ns is None:
            self._stop_ns = boot_ns() + self._order["grace_ms"] * MS

    def _now_ms(self) -> int:
        since_ms: int = (boot_ns() - self._order["ordered_ns"]) // MS
        return int(self._order["ordered_ms"]) + since_ms

    def _identify(self) -> None:
        """Say who this is, so that a later engine knows it again, or can make sure that all of it is dead."""
        pid = os.getpid()
        said = {"boot": boot_id(), "pid": pid, "started": tree.start_time(pid)}
        write_json(self._folder.shim, said | ({"first": list(self._gang.first)} if self._gang.first else {}))

    def _announce(self) -> None:
        """Say that the ranks are there; if the disk is full, again at the next turn."""
        now_ms = self._now_ms()
        try:
            self._identify()
            write_json(self._folder.status, {"started_ms": now_ms})
        except OSError:
            return
        self._started_ms = now_ms
        self._look_ns = 0

    def _conclude(self) -> None:
        """Write down how it ended. An exit code must not be lost to a full disk, so it waits until there is
        room."""
        how, code, rank, text = self._verdict()
        status = {"ended_ms": self._now_ms(), "how": how, "code": code, "rank": rank, "text": text}
        if self._started_ms is not None:
            status["started_ms"] = self._started_ms
        for _ in range(WRITE_TRIES):
            try:
                return write_json(self._folder.status, status, durable=True)
            except OSError:
                self._clean()
            with suppress(OSError):
                return write_json(self._folder.status, status, durable=True)
            self._beat()
            time.sleep(1)
        return None

    def _verdict(self) -> tuple[str, int, int, str]:
        gang = self._gang
        first_bad = next((end for end in gang.ends if (end.how, end.code) != ("exit", 0)), None)
        rank = first_bad.rank if first_bad else -1
        words = gang.last_words(rank)[-TEXT_CHARACTERS_MAX:]
        if self._started_ms is None:
            early = STOPPED_EARLY if self._asked else f"The sandbox can't be started: {gang.complaint()}"
            return "unstarted", 0, -1, (gang.failure or early)[-TEXT_CHARACTERS_MAX:]
        if self._asked == "lease":
            return "lease", first_bad.code if first_bad and first_bad.how == "exit" else 0, rank, words
        if first_bad:
            quiet = first_bad.how == "exit" and first_bad.code in self._order["quiet_codes"]
            return first_bad.how, first_bad.code, rank, "" if quiet else words
        if len(gang.ends) >= gang.ranks:
            return "exit", 0, -1, ""
        return "signal", int(signal.SIGKILL), -1, words

    def _clean(self) -> None:
        """Remove what is of no use any more; of the run stay its logs, reports and status."""
        import shutil  # 9 ms, which nobody waits for here

        for name in PASSING:
            shutil.rmtree(f"{self._folder.path}/{name}", ignore_errors=True)
        with suppress(FileNotFoundError):
            os.unlink(self._folder.spare)
        if not self._order["namespace"]:
            tree.remove_shared_memory(self._order["uid"], os.stat(self._folder.claim).st_ctime)


def _let_go_of_the_server() -> None:
    """Keep nothing of the server's open or in use: not its sockets, not its folder."""
    os.chdir("/")
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            try:
                os.close(int(name))
            except OSError:  # the one that listed them
                continue


def _read_secrets() -> dict[str, str] | None:
    """The secrets of the run; None if the engine didn't get to the end of them."""
    heard = b""
    while data := os.read(0, 65536):
        heard += data
    secrets: dict[str, str] | None = json.loads(heard) if heard.endswith(b"\n") else None
    return secrets


def _claim_port() -> tuple[Any, int]:
    """A port for the ranks to meet at, which no other run on this machine is given while the lock is held.

    The lock is an abstract socket's name: one for all servers of the machine, gone with its process, and no
    file.
    """
    first = os.getpid() % len(PORTS)
    for port in (*PORTS[first:], *PORTS[:first]):
        lock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        trial = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        try:
            lock.bind(f"\0starverse-port-{port}")
            trial.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
            trial.bind(("", port))
            return lock, port
        except OSError:
            lock.close()
        finally:
            trial.close()
    return None, 0
