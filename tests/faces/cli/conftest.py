"""A served cluster of two cards, and people at their command lines."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.faces.cli.served import EMAIL, PASSWORD, Served, Shell

from starverse.model.requests import TopUp
from starverse.model.units import YUAN
from starverse.service import accounts


@pytest.fixture
def stranger(served: Served, tmp_path: Path) -> Iterator[Shell]:
    """Somebody who has not signed in."""
    shell = Shell(tmp_path / "stranger", served.url)
    yield shell
    shell.leave()


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory one works in: a script, and a folder that git ignores."""
    folder = tmp_path / "code"
    (folder / "data").mkdir(parents=True)
    (folder / "train.py").write_text("print('hello')\n")
    (folder / "data" / "large.bin").write_bytes(b"x" * 100_000)
    (folder / ".gitignore").write_text("data/\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def ada(served: Served, tmp_path: Path, code: Path) -> Iterator[Shell]:
    """Somebody with an account, ¥1000, and a script."""
    shell = Shell(tmp_path / "ada", served.url)
    shell("register", EMAIL, "--password-stdin", typed=PASSWORD)
    wallet = shell.json("wallet")["wallet"]
    served.place.tell(TopUp(wallet["tenant"], 1000 * YUAN))
    yield shell
    shell.leave()


@pytest.fixture
def operator(served: Served, tmp_path: Path) -> Shell:
    """Who runs the cluster."""
    made = accounts.make_operator(served.place.platform)
    assert made
    shell = Shell(tmp_path / "operator", served.url)
    shell.env["STARVERSE_TOKEN"] = made.token
    return shell


@pytest.fixture
def submitted(ada: Shell) -> Callable[..., str]:
    """Submit a job and say its id."""

    def submit(*words: str) -> str:
        return str(ada.json("submit", *(words or ("--name", "first", "--", "train.py")))["job"])

    return submit
