"""`starverse claims`: a table for people, a list for programs, and commands that exist."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from starverse.main.commands import build
from starverse.planning.claims import claims


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command prints that ends well."""
    with pytest.raises(SystemExit) as end:
        build()([*words])
    assert not end.value.code, capsys.readouterr().err
    return capsys.readouterr().out


def test_json_is_a_list_of_rows(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(said(capsys, "claims", "--json"))
    assert [row["id"] for row in rows] == [row.id for row in claims()]
    assert set(rows[0]) == {
        *("id", "definition", "claimed", "computed", "unit", "verdict", "why", "source", "command")
    }
    assert isinstance(rows[0]["computed"], float)


def test_people_read_figure_verdict_reason_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    table = said(capsys, "claims")
    for word in ("N1", "U7", "180 days", "50 ms", "doesn't hold", "not yet", "JESD91", "$ starverse plan"):
        assert word in table


@pytest.mark.parametrize("command", sorted({row.command for row in claims() if row.command}))
def test_every_command_named_is_there(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its words up to its arguments are a command with the options named."""
    program, *words = shlex.split(command.partition(" -- ")[0])
    assert program == "starverse"
    path = words[: 2 if words[0] == "plan" else 1]
    shown = said(capsys, *path, "--help")
    for word in words[len(path) :]:
        if word.startswith("--"):
            assert word in shown
        if word.endswith(".toml"):
            assert (Path(__file__).parents[2] / word).exists()


def test_the_table_loads_nothing_that_is_slow() -> None:
    """No table of fluids or moist air from a library, and no torch."""
    heavy = "CoolProp", "psychrolib", "torch", "matplotlib", "sqlalchemy"
    code = (
        "import sys; from starverse.planning.claims import claims; claims();"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
