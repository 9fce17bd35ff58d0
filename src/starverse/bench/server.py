"""A server that a bench starts in a home and on a port of its own, and ends by its pid."""

import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from starverse.faces.client import Client
from starverse.model.errors import StarverseError

READY_WITHIN_S = 60.0
SETTLE_S = 2.0


class BenchServer:
    """`starverse up` without a console, as a context."""

    def __init__(self, home: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.api = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "starverse.main", "up", "--home", str(home)]
        self._command = [*command, "--port", str(port), "--no-console"]
        self.ready_s = 0.0

    def __enter__(self) -> Self:
        began = time.perf_counter()
        self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        with Client(self.api) as client:
            while time.perf_counter() - began < READY_WITHIN_S:
                try:
                    client.health()
                    break
                except StarverseError:
                    assert self._process.poll() is None, "the server ended while coming up"
                    time.sleep(0.02)
        self.ready_s = time.perf_counter() - began
        time.sleep(SETTLE_S)
        return self

    def rss_mb(self) -> float:
        """The resident memory of the server's process."""
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise AssertionError("a running process has a size")

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(30)
