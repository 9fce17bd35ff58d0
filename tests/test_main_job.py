"""The main job, end to end, as a user starts it: train through two kills here, and get the bill."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

STARVERSE = Path(sys.executable).with_name("starverse")


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.timeout(400)
def test_the_demo_trains_through_the_death_of_a_worker_and_of_the_server(tmp_path: Path) -> None:
    home, out = tmp_path / "home", tmp_path / "figures.json"
    command: list[object] = [STARVERSE, "demo", "--once", "--json", out, "--steps", "200", "--home", home]
    command += ["--port", str(free_port()), "--console-port", str(free_port())]
    said = run(command, 380)
    assert said.returncode == 0, said.stdout + said.stderr
    figures = json.loads(out.read_text())
    assert figures["state"] == "done"
    assert figures["steps"] == 200
    assert figures["runs"] == 2
    assert figures["faults"] == 2
    assert len(figures["resume_s"]) == 2
    assert 0 <= figures["steps_lost"] <= 40
    assert figures["loss_last"] < figures["entropy_unigram"] < figures["loss_first"]
    assert figures["ledger_balanced"] is True
    assert figures["charged_micro_yuan"] > figures["credited_micro_yuan"] > 0
    trial = 10_000_000
    assert (
        figures["balance_micro_yuan"]
        == trial - figures["charged_micro_yuan"] + figures["credited_micro_yuan"]
    )
    assert left_over(home) == [], "the demo left processes behind"


@pytest.mark.timeout(120)
def test_a_taken_port_is_said_by_the_demo_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = str(listener.getsockname()[1])
        command: list[object] = [STARVERSE, "demo", "--once", "--home", tmp_path / "home", "--port", port]
        said = run(command, 60)
    assert said.returncode != 0
    assert f"Port {port} is taken by " in said.stderr
    assert "--port" in said.stderr
    assert "Traceback" not in said.stderr


def run(command: list[object], timeout_s: int) -> "subprocess.CompletedProcess[str]":
    """A command, run to its end."""
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, timeout=timeout_s, check=False)


def left_over(home: Path) -> list[str]:
    """Processes that still have the home in their command line; they are ended here, so that none stays."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(home) in words and int(entry.name) != os.getpid():
            found.append(words)
            os.kill(int(entry.name), signal.SIGKILL)
    return found
