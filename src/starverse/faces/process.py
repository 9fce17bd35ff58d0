"""A server as a process of its own: started, killed, started again, ended in good order."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from starverse.faces.client import Client
from starverse.model.errors import Refused, StarverseError

READY_WITHIN_S = 60.0
"""Counted from the last line it said: one that compiles says how far it is."""

STOP_WITHIN_S = 20.0
LOOK_EVERY_S = 0.02
LOG_BYTES_MAX = 1 << 20


class ServerProcess:
    """`starverse up` in a session of its own: Ctrl-C reaches whoever started it first.

    Mutable owner of the process. What it says goes into HOME/server.log; of a long one the last is kept.
    """

    def __init__(self, home: Path, api: str, arguments: Sequence[str]) -> None:
        self._home = home
        self._api = api
        self._arguments = list(arguments)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, hear: Callable[[str], None] = lambda line: None) -> float:
        """Start it and wait until it answers; the seconds that took. `hear` is told each line it says.

        Raises Refused with its last words if it does not come up.
        """
        began = time.monotonic()
        log = self._home / "server.log"
        if log.exists() and log.stat().st_size > LOG_BYTES_MAX:
            log.replace(log.with_name("server.log.1"))
        with log.open("ab") as out:
            position = out.tell()
            command = [sys.executable, "-m", "starverse.main", "up", "--home", str(self._home)]
            self._process = subprocess.Popen(
                command + self._arguments,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        spoke, words = began, "The server ended without a word."
        with Client(self._api) as client, log.open("rb") as said:
            said.seek(position)
            while True:
                has_ended = self._process.poll() is not None
                for line in _whole_lines(said):
                    spoke, words = time.monotonic(), line or words
                    hear(line)
                if has_ended:
                    raise Refused(said.read().decode(errors="replace").strip() or words)
                try:
                    if client.health().ready:
                        return time.monotonic() - began
                except StarverseError:
                    pass
                if time.monotonic() - spoke > READY_WITHIN_S:
                    raise Refused(
                        f"The server is not ready and said nothing for {READY_WITHIN_S:.0f} s.", f"See {log}."
                    )
                time.sleep(LOOK_EVERY_S)

    def kill(self) -> int:
        """Kill it at once, as a power cut would; its pid."""
        assert self._process is not None, "there is no server to kill"
        pid = self._process.pid
        os.kill(pid, signal.SIGKILL)
        self._process.wait()
        self._process = None
        return pid

    def rss_mb(self) -> float:
        """Its resident memory."""
        assert self._process is not None, "there is no server to look at"
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise AssertionError("a running process has a size")

    def stop(self) -> None:
        """End it in good order."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def wait(self) -> None:
        """Wait until it ends by itself."""
        if self._process is not None:
            self._process.wait()


def _whole_lines(said: IO[bytes]) -> Iterator[str]:
    """The lines that are there now; one that is not at its end yet is left for later."""
    while line := said.readline():
        if not line.endswith(b"\n"):
            said.seek(-len(line), os.SEEK_CUR)
            return
        yield line.decode(errors="replace").strip()
