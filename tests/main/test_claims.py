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
    for word in ("N1", "U7", "180 days", "51 ms", "doesn't hold", "not yet", "JESD91", "$ starverse plan"):
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


ON_THE_NETWORK = {row.id: row.command for row in claims() if row.id.startswith("N")}


SHOWN = {
    "N1": ("days_with_stops", 1),
    "N2": ("step_longer_mean_share", 100),
    "N3": ("alone_s", 1e3),
    "N4": ("hops_most", 1),
    "N5": ("alone_wire_share", 100),
    "N6": ("alone_s", 1e3),
}
"""Where a line's answer has the row's figure, and how many of the row's unit one of the answer's is."""

AS_FLOWS = {"alone_s": "time_s", "alone_wire_share": "wire_share"}
"""Closed forms, and the same by flows through the network."""


@pytest.mark.parametrize("key", ON_THE_NETWORK)
def test_a_row_on_the_network_names_a_line_that_shows_its_figure(
    key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program, *words = shlex.split(ON_THE_NETWORK[key])
    assert [program, *words][:3] in (["starverse", "plan", "collective"], ["starverse", "plan", "train"])
    answer = json.loads(said(capsys, *words, "--json"))
    assert answer["equation"]
    assert answer["source"]
    part, unit = SHOWN[key]
    row = next(row.computed for row in claims() if row.id == key)
    assert unit * answer[part] == pytest.approx(row, rel=1e-5)
    if part in AS_FLOWS:
        assert answer[AS_FLOWS[part]] == pytest.approx(answer[part], rel=1e-2)


def test_n2_says_beside_its_mean_what_its_line_says_of_the_slowest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    why = next(row.why for row in claims() if row.id == "N2")
    answer = json.loads(said(capsys, *shlex.split(ON_THE_NETWORK["N2"])[1:], "--json"))
    assert f"+{100 * answer['step_longer_slowest_share']:.1f} %." in why


def test_n4_says_the_latency_that_its_line_says(capsys: pytest.CaptureFixture[str]) -> None:
    why = next(row.why for row in claims() if row.id == "N4")
    answer = json.loads(said(capsys, *shlex.split(ON_THE_NETWORK["N4"])[1:], "--json"))
    assert f"Over {answer['hops_most']} switches {answer['message_most_ns'] / 1e3:.1f} µs unloaded" in why


def test_the_table_loads_nothing_that_is_slow() -> None:
    """No table of fluids or moist air from a library, and no torch."""
    heavy = "CoolProp", "psychrolib", "torch", "matplotlib", "sqlalchemy"
    code = (
        "import sys; from starverse.planning.claims import claims; claims();"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


FIGURES = {
    "C1": ("hotter_thermal", 1.0),
    "C2": ("capacity_kw", 1.0),
    "C3": ("pue", 1.0),
    "C4": ("die_c", 1.0),
    "C5": ("level_db", 1.0),
    "C6": ("saved_share", 0.01),
    "P1": ("saved_kw", 1.0),
    "P2": ("seconds_to_limit", 1.0),
    "U4": ("card_hour_micro_yuan", 1e6),
}
"""Where a command's answer has the figure of a row, and how many of its unit the row's is."""


def test_every_row_that_is_a_figure_names_a_line_that_computes_it() -> None:
    figures = [row for row in claims() if row.computed is not None]
    assert {row.id for row in figures} == {*ON_THE_NETWORK, *FIGURES}
    for row in figures:
        assert row.command.startswith("starverse plan "), row.id


def test_each_row_of_rooms_and_prices_with_a_plan_says_where_its_figure_is() -> None:
    named = {row.id for row in claims() if row.command.startswith("starverse plan") and row.id[0] != "N"}
    assert named == set(FIGURES)


@pytest.mark.parametrize("key", FIGURES)
def test_the_command_of_a_row_prints_its_figure(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    row = next(row for row in claims() if row.id == key)
    field, unit = FIGURES[key]
    answer = json.loads(said(capsys, *shlex.split(row.command)[1:], "--json"))
    assert answer[field] / unit == pytest.approx(row.computed, rel=1e-5)
