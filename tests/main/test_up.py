"""`starverse up`, phase by phase: what is refused before anything starts, what is said, and how it ends."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from starverse.faces.client import Client
from starverse.main import server as of_server
from starverse.main import up
from starverse.main.server import Server
from starverse.model.errors import BadInput, PortTaken, StarverseError
from starverse.store.backup import lock_home
from starverse.store.database import DATABASE_FILE


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield int(listener.getsockname()[1])


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """`up.serve` in this process, on a home of its own; signals, logs and umask are put back afterwards."""
    mask = os.umask(0o022)
    os.umask(mask)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.setattr(up, "set_up_logs", lambda home: None)

    def serve(**given: object) -> None:
        defaults = {"host": None, "port": free_port(), "console_port": None, "console": False, "cards": 1}
        up.serve(tmp_path / "home", **defaults | given)  # type: ignore[arg-type]

    yield serve
    for number, handler in before.items():
        signal.signal(number, handler)
    os.umask(mask)


def test_a_taken_api_port_is_said_before_anything_is_made(
    serve: Callable[..., None], taken: int, tmp_path: Path
) -> None:
    with pytest.raises(PortTaken, match=rf"Port {taken} is taken by .*--port"):
        serve(port=taken)
    assert not (tmp_path / "home" / DATABASE_FILE).exists()


def test_an_option_out_of_range_is_said_before_anything_is_made(
    serve: Callable[..., None], tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=r"The options: cards is 5,000\. Give 0 to 4,096\."):
        serve(cards=5000)
    assert not (tmp_path / "home").exists()


def test_a_taken_console_port_is_said_before_anything_is_made_too(
    serve: Callable[..., None], taken: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(up, "CONSOLE_PORT_WAIT_S", 0.0)
    with pytest.raises(PortTaken, match=rf"Port {taken} is taken by .*--console-port"):
        serve(console=True, console_port=taken)
    assert not (tmp_path / "home" / DATABASE_FILE).exists()


def test_a_loop_that_ends_while_the_rest_comes_up_is_the_error_of_it_all(
    serve: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(platform: object) -> None:
        built[0].failure = StarverseError("The loop ended.")

    def build(*given: object) -> Server:
        built.append(of_server.build(*given))  # type: ignore[arg-type]
        return built[0]

    built: list[Server] = []
    monkeypatch.setattr(up, "build", build)
    monkeypatch.setattr(up.accounts, "make_operator", broken)
    with pytest.raises(StarverseError, match="The loop ended"):
        serve()
    with lock_home(tmp_path / "home"):
        pass


@pytest.mark.parametrize("terminal", [True, False])
def test_a_token_is_shown_on_a_terminal_only(
    serve: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    terminal: bool,
) -> None:
    monkeypatch.setattr(up.uvicorn.Server, "run", lambda self: None)
    monkeypatch.setattr(up.sys.stdout, "isatty", lambda: terminal)
    serve()
    said = capsys.readouterr().out
    assert ("svt_" in said) == terminal
    assert ("starverse operator token" in said) != terminal
    assert said.endswith("Stopped in good order. No job was running.\n")


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        (0, "No job was running."),
        (1, "One run goes on under its lease; the next `starverse up` takes over."),
        (1200, "1,200 runs go on under their leases; the next `starverse up` takes over."),
    ],
)
def test_the_last_line_says_what_goes_on(capsys: pytest.CaptureFixture[str], runs: int, says: str) -> None:
    up._take_leave(runs)
    assert capsys.readouterr().out == f"Stopped in good order. {says}\n"


@pytest.mark.timeout(120)
def test_a_server_comes_up_answers_and_ends_in_good_order(tmp_path: Path) -> None:
    home, port, console_port = tmp_path / "home", free_port(), free_port()
    home.mkdir()
    (home / "starverse.toml").write_text(f"port = 1\nconsole_port = {console_port}\ncards = 2\n")
    command = [sys.executable, "-m", "starverse.main", "up", "--home", str(home), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        with Client(f"http://127.0.0.1:{port}") as client:
            until(lambda: is_ready(client))
        until(lambda: answers(console_port))
    finally:
        process.terminate()
        said, _ = process.communicate(timeout=30)
    assert process.returncode == 0, said
    assert "on 2 × cpu" in said
    assert f"console  http://127.0.0.1:{console_port}" in said
    assert said.splitlines()[-1] == "Stopped in good order. No job was running."
    until(lambda: not answers(console_port))
    assert (home / "console.log").exists()


def is_ready(client: Client) -> bool:
    try:
        return client.health().ready
    except StarverseError:
        return False


def answers(port: int) -> bool:
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0


def until(true: Callable[[], bool], within_s: float = 60.0) -> None:
    """Wait for what another process is about to do."""
    end_s = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < end_s, "it never came to be"
        time.sleep(0.05)
