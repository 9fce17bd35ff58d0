"""A job's shape at the command line and in a job file: asked for, refused, and told back."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.faces.cli.served import Shell

from starverse.faces.cli import jobfile, shapes
from starverse.faces.schemas import ShapeAsk
from starverse.model.errors import BadInput

FILE = """
command = "train.py"
cards = 8
require = "pod"
prefer = "rack"
slices = {rack = 4, node = 2}
spread = {node = 4}
balanced = true
member = 2
cpu = 1.5
memory_mb = 1024
resources = {nic = 1}
licences = {solver = 1}
apart = "web"
apart_level = "rack"
earliest_start = 2026-12-24T18:00:00+08:00
reservation = "night"
stays = true
"""


def test_a_job_file_says_all_that_can_be_asked_for() -> None:
    ask = jobfile.parse(FILE, Path("job.toml")).ask()
    assert ask.shape == ShapeAsk(
        member=2,
        cpu=1.5,
        memory_mb=1024,
        resources={"nic": 1},
        require="pod",
        prefer="rack",
        slices={"rack": 4, "node": 2},
        spread={"node": 4},
        balanced=True,
        licences={"solver": 1},
        apart="web",
        apart_level="rack",
    )
    at_ms = round(datetime(2026, 12, 24, 10, tzinfo=UTC).timestamp() * 1000)
    assert (ask.earliest_start_ms, ask.reservation, ask.stays) == (at_ms, "night", True)


def test_an_option_counts_more_than_the_file() -> None:
    wish = jobfile.Wish(shape=shapes.shape_of(require="node", slices=["rack=8"], cpu=None))
    shape = wish.over(jobfile.parse(FILE, Path("job.toml"))).ask().shape
    assert (shape.require, shape.slices, shape.cpu) == ("node", {"rack": 8}, 1.5)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("requires = 'rack'", "Did you mean 'require'"),
        ("slices = 'rack=8'", "is no table"),
        ("slices = {rack = -1}", "no whole number"),
        ("cpu = 'many'", "no number"),
        ("balanced = 1", "neither true nor false"),
        ("earliest_start = 'soon'", "is no moment"),
        ("earliest_start = 5", "is no moment"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_with_the_key(line: str, says: str) -> None:
    with pytest.raises(BadInput, match=says) as refused:
        jobfile.parse(f"command = 'a'\n{line}", Path("job.toml"))
    assert line.partition(" ")[0] in refused.value.what


def test_a_moment_is_from_now_on_or_by_the_calendar() -> None:
    assert shapes.moment_of("1h30m", now=1_000) == 5_401_000
    assert shapes.moment_of("2026-12-24T18:00+08:00") == 1_798_106_400_000


def test_what_was_asked_for_is_told_by_show(ada: Shell) -> None:
    words = ["--cards", "2", "--require", "node", "--member", "2", "--apart", "web", "--earliest-start", "2h"]
    job = ada.json("submit", *words, "--stays", "--array", "0-3%2", "--", "train.py")
    assert job["shape"]["require"] == "node"
    assert job["shape"]["apart_level"] == "node"
    shown = ada("job", "show", job["job"]).stdout
    assert (
        "lie         all in one node; 2 at a time on one node; no node shared with others apart as web"
        in shown
    )
    assert f"array       {job['array']}, index 0, at most 2 at once" in shown
    assert "not before  " in shown
    assert "stays       its runs are never moved" in shown
    assert "It was asked to start in" in ada("job", "why", job["job"]).stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--require", "nod"], "This cluster has no level 'nod'. Did you mean 'node'?"),
        (["--slice", "node"], "names nothing and how many of it"),
        (["--licence", "solver=1"], "This cluster has no licence 'solver'."),
        (["--kind", "cpus"], "This cluster has no 'cpus' cards. Did you mean 'cpu'?"),
        (["--earliest-start", "soon"], "That is no moment."),
        (["--priority", "reserved"], "Class 'reserved' needs a reservation."),
    ],
)
def test_what_is_not_known_is_refused_in_a_sentence(ada: Shell, words: list[str], says: str) -> None:
    refused = ada("submit", *words, "--", "train.py", code=5 if "reserved" in words else 2)
    assert says in refused.output
    assert ada.json("jobs")["items"] == []


def test_words_for_a_shape() -> None:
    shape = ShapeAsk(slices={"rack": 16}, spread={"node": 4}, balanced=True, cpu=2, licences={"solver": 1})
    assert shapes.lies(shape) == "16 or a multiple in each rack; at most 4 in one node; evenly"
    assert shapes.beside(shape) == "2 processors for each member; 1 of licence solver"
    assert shapes.lies(ShapeAsk()) == shapes.beside(ShapeAsk()) == ""
