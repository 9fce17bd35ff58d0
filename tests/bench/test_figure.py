"""A figure meets its target or not, whichever way is better; files have the rows that are promised."""

import json
from pathlib import Path

from starverse.bench.figure import Figure, write


def test_less_is_better_unless_said_otherwise() -> None:
    assert Figure("a", "time", 2.0, "s", 3.0).meets is True
    assert Figure("a", "time", 4.0, "s", 3.0).meets is False
    assert Figure("a", "rate", 4.0, "1/s", 3.0, "more").meets is True
    assert Figure("a", "rate", 2.0, "1/s", 3.0, "more").meets is False


def test_without_a_target_there_is_no_verdict() -> None:
    assert Figure("a", "time", 2.0, "s").meets is None


def test_the_file_is_a_list_of_rows(tmp_path: Path) -> None:
    write([Figure("a", "time", 2.0, "s", 3.0, peer="slurm 5 s")], tmp_path / "rows.json")
    (row,) = json.loads((tmp_path / "rows.json").read_text())
    assert row.pop("machine")
    assert row == {
        "id": "a",
        "what": "time",
        "value": 2.0,
        "unit": "s",
        "target": 3.0,
        "meets": True,
        "peer": "slurm 5 s",
    }
