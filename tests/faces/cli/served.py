"""The real API on a real port, over a server whose engine is worked by hand; and its command line."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import uvicorn
from tests.service.place import Place
from typer.testing import CliRunner, Result

import starverse
from starverse.faces.api import app as api
from starverse.faces.cli import app as cli

SOURCE = str(Path(starverse.__file__).parents[1])
COMMAND = [sys.executable, "-c", "from starverse.faces.cli.app import build; build()()"]
PASSWORD = "correct horse battery"
EMAIL = "ada@example.com"

APP = cli.build()


class Served:
    """A server at `url`, which can be stopped and started again there."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._port = 0
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", self._port))
        self._port = listening.getsockname()[1]
        settings: dict[str, Any] = {"log_config": None, "timeout_graceful_shutdown": 1}
        self.app = api.build(self.place.platform)
        server = uvicorn.Server(uvicorn.Config(self.app, **settings))
        self._thread = threading.Thread(target=server.run, args=([listening],))
        self._thread.start()
        self._server = server
        until(lambda: server.started)

    def stop(self) -> None:
        if self._server and self._thread:
            self._server.should_exit = True
            self._thread.join(20)
            self._server = None


class Shell:
    """A person at the command line, with settings of their own."""

    def __init__(self, home: Path, url: str) -> None:
        self.home = home
        self._started: list[subprocess.Popen[bytes]] = []
        self.env: dict[str, str | None] = {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "STARVERSE_URL": url,
            "STARVERSE_TOKEN": None,
            "STARVERSE_DEBUG": None,
            "NO_COLOR": None,
        }

    def __call__(self, *words: str, typed: str = "", code: int = 0) -> Result:
        """Run a command in this process; it must end with `code`."""
        result = CliRunner().invoke(APP, list(words), input=typed, env=self.env)
        assert result.exit_code == code, f"{words} ended with {result.exit_code}: {result.output}"
        return result

    def json(self, *words: str, typed: str = "", code: int = 0) -> Any:
        """Run a command with --json; its one document, and nothing else on stdout."""
        first, *rest = words
        split = rest.index("--") if "--" in rest else len(rest)
        result = self(first, *rest[:split], "--json", *rest[split:], typed=typed, code=code)
        return msgspec.json.decode(result.stdout)

    def start(self, *words: str, **options: Any) -> "subprocess.Popen[bytes]":
        """Run a command as a process of its own."""
        process = subprocess.Popen([*COMMAND, *words], env=self.environment(), **options)
        self._started.append(process)
        return process

    def leave(self) -> None:
        """End what is still going on."""
        for process in self._started:
            process.kill()
            process.wait(20)

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in self.env}
        ours = {name: value for name, value in self.env.items() if value is not None}
        return {**kept, **ours, "PYTHONPATH": SOURCE, **(more or {})}


def until(true: Any, within_s: float = 20.0) -> Any:
    """Wait for what another thread or process is about to do."""
    end_s = time.monotonic() + within_s
    while not (found := true()):
        assert time.monotonic() < end_s, "it never came to be"
        time.sleep(0.01)
    return found
