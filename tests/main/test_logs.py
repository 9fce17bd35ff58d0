"""What a process says is kept in a file that stays bounded."""

import io
from pathlib import Path

import pytest

from starverse.main import logs


def test_what_is_said_is_kept_and_the_oldest_of_too_much_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "CONSOLE_BYTES_MAX", 1000)
    said = "".join(f"line {number} 训练\n" for number in range(500)).encode()
    path = tmp_path / "console.log"
    for _ in range(2):  # a server after another
        logs.pour(io.BytesIO(said), path).join(20)
    assert path.read_text().endswith("line 499 训练\n")
    assert {file.name for file in tmp_path.iterdir()} == {"console.log", "console.log.1"}
    assert all(file.stat().st_size <= 1000 for file in tmp_path.iterdir())


def test_a_line_without_end_is_kept_in_pieces(tmp_path: Path) -> None:
    logs.pour(io.BytesIO(b"x" * 100_000), tmp_path / "console.log").join(20)
    assert (tmp_path / "console.log").read_text().count("x") == 100_000
