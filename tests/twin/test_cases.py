"""What other schedulers got wrong, each a file in tests/cases that is played through the loop."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.control import laws

from starverse.main.solve import solve
from starverse.model import requests as rq
from starverse.model.job import JobSpec, Shape
from starverse.model.reservation import Reservation
from starverse.twin import case_file, cases
from starverse.twin.case import Case
from starverse.twin.cases import Look, Play
from starverse.twin.expecting import Finding, findings
from starverse.twin.tables import NotYet

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "tests" / "cases").glob("*.toml"))
SOURCES = ("case_file.py", "case_limits.py", "case_moments.py")
GUIDE = (ROOT / "docs" / "cases.md").read_text()

LAWS_TURNS = 100
LAWS_JOBS = 100
"""The laws read all of the state: they are asked for in cases, and turns, that are not too large."""


class NotMet(Exception):
    """What was expected did not come true."""


def play(case: Case) -> tuple[Play, list[Finding]]:
    found: list[Finding] = []
    turns = Counter[str]()

    def look(played: Play, look: Look) -> None:
        found.extend(findings(played, look.expect) if look.expect else [])

    def watch(played: Play) -> None:
        turns["all"] += 1
        if turns["all"] <= LAWS_TURNS and len(case.jobs) <= LAWS_JOBS:
            laws.of_the_state(played.state)

    return cases.play(case, look, watch), found


def marked(path: Path) -> Any:
    """The file; one that names what it needs, or a bug, must fail: the day it does not, this test does."""
    said = dict(re.findall(r'^(needs|bug) = "(.*)"$', path.read_text(), re.MULTILINE))
    marks = []
    if said:
        reason = "; ".join(f"{key}: {text}" for key, text in said.items())
        allowed: Any = Exception if "bug" in said else (NotMet, NotYet)
        marks = [pytest.mark.xfail(strict=True, raises=allowed, reason=reason)]
    return pytest.param(path, id=path.stem, marks=marks)


@pytest.mark.parametrize("path", [marked(path) for path in FILES])
def test_case(path: Path) -> None:
    _, found = play(case_file.read(path))
    assert found, "a case that expects nothing shows nothing"
    missed = [
        f"{each.about}: expected {each.wanted}; instead: {each.found}" for each in found if not each.met
    ]
    if missed:
        raise NotMet("\n".join(missed))


def test_there_is_a_file_for_every_situation() -> None:
    there = {path.stem.split("-")[0] for path in FILES}
    rows = "a01 a03 a04 a05 a06 a07 a08 a09 a11 a12 a13 a14 a15 b01 b02 b03 b06 b07 c04 c08 c09 c10 "
    rows += "d01 d03 d04 d05 d06 d07 d08 d10 e01 e02 e03 e04 e05 e06 e07 f01 f02 f03 f04 h01 h03 h05 h06 "
    rows += "i01 j01 j05 k03 k04 s01 s02 s03 s04 s05 s06 s07 s09 s12 s15"
    assert set(rows.split()) <= there


def test_a_case_is_the_same_each_time_and_looking_changes_nothing() -> None:
    for name in ("e01-a-large-job-among-small-ones", "h06-restart-in-the-middle-of-recovery"):
        case = case_file.read(ROOT / "tests" / "cases" / f"{name}.toml")
        played, _ = play(case)
        unseen = cases.play(case, lambda played, look: None)
        assert played.journal.rows == unseen.journal.rows
        assert played.state.snapshot() == unseen.state.snapshot()


# -- what a case can say ----------------------------------------------------------------------------------


def test_all_that_can_be_asked_for_can_be_said_in_a_case() -> None:
    """A new request, or a new part of a job, needs a key in a case, which may be one that says "not yet"."""
    said = {rq.OpenTenant, rq.TopUp, rq.SubmitJob, rq.StopJob, rq.ResumeJob, rq.CordonNode, rq.UncordonNode}
    said |= {
        rq.SetQuota,
        rq.RemoveQuota,
        rq.SetBudget,
        rq.SetLicences,
        rq.Reserve,
        rq.CancelReservation,
        rq.SubmitArray,
    }
    otherwise = {rq.SetPrice, rq.InjectFault}  # a job has its price; `kill`
    assert said | otherwise == set(rq.Request.__args__)  # type: ignore[attr-defined]
    assert set(Shape.__struct_fields__) == {
        "member", "milli_cpu", "memory_mb", "needs", "require", "prefer", "slices", "spread", "balanced",
        "licences", "apart", "apart_level",
    }  # fmt: skip
    of_no_matter = {"project", "owner", "name", "work"}
    assert set(JobSpec.__struct_fields__) - of_no_matter == {
        "job", "tenant", "cards_min", "cards_max", "kind", "price", "time_limit_ms", "retries", "priority",
        "after", "earliest_start_ms", "shape", "reservation", "array", "array_index", "array_limit",
        "roles", "stays",
    }  # fmt: skip
    assert set(Reservation.__struct_fields__) == {
        "name", "tenant", "kind", "milli_cards", "from_ms", "to_ms", "shape", "repeat", "zone", "until_ms",
        "label",
    }  # fmt: skip


NODES = '[cluster]\nlevels = ["rack"]\nnodes = [{name = "n[1-2]", place = "r", cards = 8}]\n'
JOB = NODES + '[[jobs]]\nname = "j"\n'

WRONG = [
    ("", "cluster.nodes: there are no nodes. Write"),
    ("x = [", "this is no valid TOML"),
    (NODES + "[tenant.ann]", "tenant: this key is not known. Did you mean 'tenants'?"),
    (NODES + "[[jobs]]", 'jobs[1].name: this must be said. Write name = "something".'),
    (JOB + "card = 2", "jobs[1].card: this key is not known. Did you mean 'cards'?"),
    (JOB + 'cards = "many"', "jobs[1].cards: 'many' is not a number of cards."),
    (JOB + "cards = 4611686018427387904", "jobs[1].cards: 4611686018427387904 cards cannot be had."),
    (JOB + "cards = 7\nmember = 2", "jobs[1].cards: they are no whole multiple of member = 2."),
    (JOB + "cpu = nan", "jobs[1].cpu: 'nan' is no number of 0 or more."),
    (JOB + "cpu = -1", "jobs[1].cpu: '-1' is no number of 0 or more."),
    (JOB + 'require = "rak"', "jobs[1].require: 'rak' is not known here. Did you mean 'rack'?"),
    (JOB + 'runs_for = "soon"', "jobs[1].runs_for: 'soon' is not a duration."),
    (JOB + 'time_limit = "0s"', "jobs[1].time_limit: no time at all is too little."),
    (JOB + "submit = 2020-01-01T00:00:00Z", "is before the start of the case"),
    (JOB + "submit = 2027-01-01T00:00:00", "names no time zone"),
    (JOB + 'after = ["i"]', "jobs: j waits for i, which is not here"),
    (JOB + 'outcome = "well"', "jobs[1].outcome: 'well' is not known here."),
    (JOB + 'name = "k"', "this is no valid TOML"),
    (JOB + '[[jobs]]\nname = "j"', "jobs[2].name: 'j' is there twice"),
    (NODES + '[[jobs]]\nname = "j[2-1]"', "jobs[1].name: 'j[2-1]' is no range"),
    (NODES + '[[jobs]]\nname = "j[1-999999]"', "is no range, or more than 20,000 names"),
    (JOB + "[[at]]", "at[1].time: this must be said."),
    (JOB + '[[at]]\ntime = "1m"\nlost = "n3"', "at[1].lost: there is no node 'n3'. Did you mean 'n"),
    (JOB + '[[at]]\ntime = "1m"\nbroken = {n1 = 8}', "at[1].broken: '8' is no whole number from 0 to 7."),
    (JOB + '[[at]]\ntime = "1m"\nstop = "jj"', "at[1].stop: there is no job 'jj'. Did you mean 'j'?"),
    (JOB + "[expect]\nrunning = {j2 = true}", "expect.running: there is no job 'j2'."),
    (JOB + "[expect]\nwaits = {}", "expect.waits: this key is not known. Did you mean 'waiting'?"),
    (JOB + '[expect]\nended = {j = "well"}', "expect.ended.j: 'well' is not known here."),
    (JOB + '[expect]\nrunning = {j = {within = "pod"}}', "expect.running.j: 'pod' is not known here."),
    (JOB + "[expect]\nrunning = {j = {nodes_at_most = 2}}", "expect.running.j.nodes_at_most: this key"),
    ('[cluster]\nnodes = [{name = "n", place = "r"}]', "cluster.nodes[1].place: 'r' names no domains."),
    ('[cluster]\nlevels = "r"\nnodes = [{name = "n", place = "{1}"}]', "has no range number 1"),
    (NODES + "[tenants.ann]\nquota = 8", "tenants.ann.quota: this key is not known."),
    (NODES + "[tenants.ann]\nborrow_max = -1", "tenants.ann.borrow_max: '-1' is no number of 0 or more"),
    (NODES + '[budgets]\nrow = "much"', "budgets.row: 'much' is no number of 0 or more."),
    (NODES + '[[reservations]]\nname = "b"', "reservations[1].from: both times must be said."),
    (JOB + 'reservation = "b"', "jobs: j runs in 'b', which is not here."),
    (JOB + 'cron = "30 1 * * *"', "jobs[1].cron: not yet: jobs cannot be submitted by a calendar."),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_what_makes_no_sense_is_refused_with_the_key_and_the_remedy(text: str, said: str) -> None:
    with pytest.raises(case_file.BadInput) as refused:
        case_file.parse(text)
    assert said in str(refused.value)
    assert refused.value.remedy


# -- the command ------------------------------------------------------------------------------------------


def starverse(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "starverse.main", *words]
    here = os.environ | {"LC_ALL": "C.UTF-8"}
    return subprocess.run(
        command, cwd=ROOT, env=here, check=False, capture_output=True, text=True, timeout=60
    )


def test_the_command_shows_the_case_and_writes_it_down(tmp_path: Path) -> None:
    written = tmp_path / "seen.json"
    ran = starverse("solve", "tests/cases/s01-backfill.toml", "--json", str(written))
    assert ran.returncode == 0, ran.stderr
    assert "All 5 expectations are met." in ran.stdout
    assert re.search(r"waiting  j2  It needs 32 h200 cards at once; .* \(starts by 10 min 10 s\)", ran.stdout)
    seen = msgspec.json.decode(written.read_bytes())
    assert {run["job"] for run in seen["running"]} == {"j1", "j3"}
    assert seen["waiting"][0]["why"][0].startswith("It needs 32 h200 cards")
    assert [row["met"] for row in seen["expected"]] == [True] * 5
    assert seen["events"][0][1]["type"] == "LayoutSet"


def test_the_command_fails_with_the_difference(tmp_path: Path) -> None:
    case = tmp_path / "case.toml"
    case.write_text(JOB + '[[at]]\ntime = "1m"\nexpect = {running = {j = ["n2"]}, free = 15}\n')
    ran = starverse("solve", str(case))
    assert ran.returncode == 1
    assert "✗ 1 min 00 s  j  expected: runs: on n2\n  instead: runs on n1 (1)\n" in ran.stdout
    assert "1 of 2 expectations are not met." in ran.stdout


def test_the_command_tells_when_what_was_refused_and_why(tmp_path: Path) -> None:
    case, written = tmp_path / "case.toml", tmp_path / "seen.json"
    case.write_text(JOB + 'submit = "1m"\ncards = 99\n')
    ran = starverse("solve", str(case), "--json", str(written))
    assert re.search(r"1 min 00 s  j  was refused: Job j never fits on this cluster\.", ran.stdout)
    assert [row[1] for row in msgspec.json.decode(written.read_bytes())["refused"]] == ["j"]


def test_the_command_refuses_what_it_does_not_understand(tmp_path: Path) -> None:
    case = tmp_path / "case.toml"
    case.write_text(NODES + "clock = 1\n")
    assert starverse("solve", str(case)).returncode == 2
    gone = starverse("solve", str(tmp_path / "gone.toml"))
    assert (gone.returncode, gone.stdout) == (2, "")
    assert "gone.toml cannot be read: No such file or directory." in gone.stderr


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_case_can_be_shown_in_chinese(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        solve(path, None, "zh")
    except SystemExit:
        assert "期望" in capsys.readouterr().out
    except (NotYet, IndexError):
        assert re.search("^(needs|bug) = ", path.read_text(), re.MULTILINE)
    else:
        assert "条期望全部满足" in capsys.readouterr().out


TREE = """
[[jobs]]
name = "a"
cards = 4
[[jobs]]
name = "b[1-2]"
cards = 2
[[at]]
time = "0s"
broken = {n2 = 7}
cordon = "n2"
"""
LARGE = """
[cluster]
levels = ["rack"]
nodes = [{name = "r[1-2]-n[01-99]", place = "rack {1}", cards = 8}]
[[jobs]]
name = "j"
cards = 16
"""
TORUS = """
[cluster]
levels = ["r"]
torus = {level = "r", size = [3, 2]}
nodes = [{name = "x[0-2]y[0-1]", place = "{1}{2}", at = ["{1}", "{2}"], cards = 2}]
[[jobs]]
name = "j[1-2]"
[[jobs]]
name = "k"
cards = 2
[[at]]
time = "0s"
lost = "x2y1"
"""
PICTURES = [
    pytest.param(NODES + TREE, "r  n1 AAAABBCC  n2 #######x", id="tree"),
    pytest.param(LARGE, "1584 cards: 16 used, 1568 free, 0 closed, 0 broken  A 16", id="large"),
    pytest.param(TORUS, "  * . .\n    C . x", id="torus"),
]


@pytest.mark.parametrize(("text", "picture"), PICTURES)
def test_a_picture_has_a_sign_for_each_card(
    text: str, picture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = tmp_path / "case.toml"
    case.write_text(text)
    solve(case, None, "en")
    assert picture in capsys.readouterr().out


# -- the guide --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL))
def test_the_examples_of_the_guide_come_true(text: str) -> None:
    _, found = play(case_file.parse(text))
    assert found
    assert all(finding.met for finding in found), found


def test_the_guide_names_every_key() -> None:
    source = "".join((ROOT / "src/starverse/twin" / name).read_text() for name in SOURCES)
    calls = r"\b(?:has|raw|text|name|flag|whole|decimal|duration_ms|moment_ms|one_of|texts|table|tables)"
    keys = set(re.findall(calls + r'\("([a-z_]+)"', source))
    keys |= set(re.findall(r'\b(?:nodes|jobs|of_jobs|level|sizes)\("([a-z_]+)"', source))
    keys |= set(re.findall(r'_cards\(row, "([a-z_]+)"', source))
    assert len(keys) > 70
    assert keys - set(re.findall(r"[a-z_]+", GUIDE)) == set(), "docs/cases.md leaves these out"
