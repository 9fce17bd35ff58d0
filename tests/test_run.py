"""./run says what would be in its way before it sets anything up."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A copy in which nothing is set up yet."""
    for name in ("run", "scripts/setup.sh", "pyproject.toml", "constraints.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def taken() -> Iterator[str]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield str(listener.getsockname()[1])


def said(fresh: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [str(fresh / "run"), "--home", str(fresh / "home"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)


@pytest.mark.parametrize("option", ["--port", "--console-port"])
@pytest.mark.parametrize("form", ["{0} {1}", "{0}={1}"])
def test_a_taken_port_is_said_before_the_set_up(fresh: Path, taken: str, option: str, form: str) -> None:
    other = {"--port": "--console-port", "--console-port": "--port"}[option]
    answer = said(fresh, *form.format(option, taken).split(), other, "1")
    assert answer.returncode == 1
    assert (
        answer.stderr == f"Port {taken} is taken. Choose another with {option}, or stop what listens there.\n"
    )
    assert not (fresh / ".venv").exists()


def test_a_taken_port_of_the_settings_file_is_said_too(fresh: Path, taken: str) -> None:
    (fresh / "home").mkdir()
    (fresh / "home/starverse.toml").write_text(f"port = 1\nconsole_port = {taken}\n")
    assert f"Port {taken} is taken. Choose another with --console-port" in said(fresh).stderr


def test_where_there_are_no_settings_yet_it_goes_on_to_the_ports(fresh: Path, taken: str) -> None:
    """The first start of all: no home, no file. It once ended here without a word."""
    answer = said(fresh, "--console-port", taken)
    assert "is taken. Choose another with" in answer.stderr, answer
    assert not (fresh / "home").exists()


def test_the_help_names_every_option_of_the_demo(fresh: Path) -> None:
    from starverse.main.commands import build

    demo = next(each for each in build().registered_commands if each.callback.__name__ == "demo")
    options = [f"--{name.replace('_', '-')}" for name in demo.callback.__annotations__ if name != "return"]
    answer = said(fresh, "--help").stdout
    assert [option for option in options if option not in answer] == []
