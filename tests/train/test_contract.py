"""What job and platform say to each other: read back as written, whatever else is in the file."""

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import starverse
from starverse.train import contract
from starverse.train.report import Reporter, append, interval_s

DOC = Path(__file__).parents[2] / "docs" / "job-contract.md"

wholes = st.integers(0, contract.WHOLE_MAX)
numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**15), 10**15)
texts = st.text('aé中🙂 "\\{}:,', max_size=300)
shapes: dict[str, st.SearchStrategy[Any]] = {
    "whole": wholes, "whole?": st.none() | wholes, "number": numbers, "number?": st.none() | numbers,
    "bool": st.booleans(), "text": texts,
}  # fmt: skip


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(sorted(contract.FIELDS)))
    fields = {name: draw(shapes[shape]) for name, shape in contract.FIELDS[kind].items()}
    return {"kind": kind, "at_ms": draw(wholes), **fields}


def line(record: dict[str, Any]) -> bytes:
    return contract.encode(**record)


def read_all(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    offset, before = 0, -1
    while offset != before:
        before = offset
        more, offset = contract.read_reports(path, offset)
        found += more
    return found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("contract") / "report"


@given(st.lists(records(), max_size=20))
def test_records_are_read_as_written(report: Path, written: list[dict[str, Any]]) -> None:
    report.write_bytes(b"".join(map(line, written)))
    assert read_all(report) == written


@given(st.lists(records(), min_size=1, max_size=6), st.data())
def test_a_file_cut_anywhere_gives_its_whole_lines_and_later_the_rest(
    report: Path, written: list[dict[str, Any]], data: st.DataObject
) -> None:
    whole = b"".join(map(line, written))
    cut = data.draw(st.integers(0, len(whole)))
    report.write_bytes(whole[:cut])
    first, offset = contract.read_reports(report)
    assert first == written[: whole[:cut].count(b"\n")]
    report.write_bytes(whole)
    rest, end = contract.read_reports(report, offset)
    assert (first + rest, end) == (written, len(whole))


@given(st.lists(st.one_of(records(), st.binary(max_size=200)), max_size=12))
def test_garbage_lines_are_skipped_and_cost_no_good_one(report: Path, mixed: list[Any]) -> None:
    lines = [line(item) if isinstance(item, dict) else item.replace(b"\n", b"") + b"\n" for item in mixed]
    report.write_bytes(b"".join(lines))
    assert read_all(report) == [item for item in mixed if isinstance(item, dict)]


@given(st.lists(records(), min_size=1, max_size=4), st.data())
def test_a_changed_byte_spoils_at_most_the_lines_it_touches(
    report: Path, written: list[dict[str, Any]], data: st.DataObject
) -> None:
    whole = bytearray(b"".join(map(line, written)))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] = data.draw(st.integers(0, 255))
    report.write_bytes(bytes(whole))
    struck = bytes(whole[:at]).count(b"\n")
    unharmed = written[:struck] + written[struck + 2 :]
    found = read_all(report)
    assert [record for record in unharmed if record not in found] == []


@pytest.mark.parametrize(
    "hostile",
    [
        b'{"kind":"done","at_ms":1,"step":NaN}',
        b'{"kind":"done","at_ms":1,"step":-1}',
        b'{"kind":"done","at_ms":1,"step":true}',
        b'{"kind":"done","at_ms":1,"step":1.5}',
        b'{"kind":"done","at_ms":1,"step":' + b"9" * 4000 + b"}",
        b'{"kind":"done","step":1}',
        b'{"kind":["done"],"at_ms":1,"step":1}',
        b'{"kind":"no_space","at_ms":1,"step":1,"text":"\\ud800"}',
        b'{"kind":"no_space","at_ms":1,"step":1,"text":"a\\u0000b"}',
        b'{"kind":"step","at_ms":1,"step":1,"steps":null,"loss":1e999,"finite":true,"tokens_per_s":null}',
        b"[" * 4000,
        b"null",
    ],
)
def test_what_would_hurt_the_platform_is_not_a_record(report: Path, hostile: bytes) -> None:
    report.write_bytes(hostile + b"\n")
    assert contract.read_reports(report) == ([], len(hostile) + 1)


def test_unknown_fields_and_kinds_are_left_out(report: Path) -> None:
    report.write_bytes(b'{"kind":"done","at_ms":1,"step":2,"more":"x"}\n{"kind":"mood","at_ms":1}\n')
    assert contract.read_reports(report)[0] == [{"kind": "done", "at_ms": 1, "step": 2}]


def test_one_call_reads_a_bounded_part_and_a_line_without_end_is_passed_over(report: Path) -> None:
    good = contract.encode("done", 1, step=2)
    report.write_bytes(b"x" * (3 * contract.READ_BYTES_MAX) + b"\n" + good)
    assert contract.read_reports(report) == ([], contract.READ_BYTES_MAX)
    assert read_all(report) == [{"kind": "done", "at_ms": 1, "step": 2}]


def test_no_file_a_pipe_a_link_or_a_folder_has_no_records(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(contract.encode("done", 1, step=2))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for name in ("none", "pipe", "link", "."):
        assert contract.read_reports(tmp_path / name, 0) == ([], 0), name


def test_lines_of_many_writers_never_mix(report: Path) -> None:
    """Eight processes append at once; the longest line there can be."""
    report.write_bytes(b"")
    text = "x" * (contract.LINE_BYTES_MAX - 100)
    script = (
        "import sys, pathlib; from starverse.train import contract, report\n"
        f"for n in range(50): report.append(pathlib.Path(sys.argv[1]), "
        f"contract.encode('no_space', n, step=n, text={text!r}))"
    )
    environ = {**os.environ, "PYTHONPATH": str(Path(starverse.__file__).parent.parent)}
    writers = [subprocess.Popen([sys.executable, "-c", script, str(report)], env=environ) for _ in range(8)]
    assert [writer.wait(60) for writer in writers] == [0] * 8
    assert sorted(record["step"] for record in read_all(report)) == sorted(list(range(50)) * 8)


def test_after_a_torn_line_the_next_one_stands_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "report"
    reporter = Reporter(str(path), steps=9, tokens_per_batch=None)
    reporter.started(2, None)
    append(path, b'{"kind":"step","at_')  # a disk that filled up
    reporter._torn = True
    reporter.done(9)
    assert [record["kind"] for record in read_all(path)] == ["started", "done"]


def test_a_report_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    Reporter(str(tmp_path / "no such folder" / "report"), steps=9, tokens_per_batch=None).done(9)
    Reporter(None, steps=9, tokens_per_batch=None).done(9)


def test_fast_steps_are_reported_20_times_a_second_and_the_first_and_the_last(
    tmp_path: Path,
) -> None:
    reporter = Reporter(str(tmp_path / "report"), steps=5000, tokens_per_batch=10)
    for step in range(1000, 5001):
        reporter.step(step, math.nan if step == 5000 else 1.5)
    steps = contract.read_reports(tmp_path / "report")[0]
    assert len(steps) < 20
    assert (steps[0]["step"], steps[0]["tokens_per_s"]) == (1000, None)
    assert (steps[-1]["step"], steps[-1]["loss"], steps[-1]["finite"]) == (5000, None, False)


def test_an_old_run_reports_less_often_so_that_its_file_stays_small() -> None:
    assert [interval_s(age_s) for age_s in (0, 500, 5_000, 10**9)] == [0.05, 0.05, 0.5, 10.0]
    age_s, records, day_s = 0.0, 0, 86_400
    while age_s < 365 * day_s:
        age_s, records = age_s + 100 * interval_s(age_s), records + 100
    assert records * 120 < 500e6, "a year of a fast job: half a gigabyte at most"


def maybe(value: str) -> st.SearchStrategy[str | None]:
    return st.sampled_from([None, value])


places = st.builds(
    contract.Place,
    job=maybe("job-1"),
    run=maybe("run-1"),
    attempt=st.none() | st.integers(0, 99),
    cards=st.none() | st.integers(1, 30_000),
    card_kind=maybe("cpu"),
    checkpoints=maybe("/c"),
    output=maybe("/o"),
    report=maybe("/r"),
    rendezvous=maybe("/v"),
    grace_s=st.none() | st.floats(0, 1e6),
    rank=st.integers(0, 7),
    world_size=st.integers(8, 16),
    local_rank=st.integers(0, 7),
    local_world_size=st.integers(8, 8),
    master_addr=maybe("::1"),
    master_port=st.none() | st.integers(1, 65_535),
)


@given(places)
def test_a_place_told_by_variables_is_read_back(place: contract.Place) -> None:
    assert contract.Place.read(place.variables()) == place


def test_without_variables_the_place_is_one_rank_by_itself() -> None:
    assert contract.Place.read({"PATH": "/bin", "STARVERSE_JOB": ""}) == contract.Place()


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"WORLD_SIZE": "two"}, "WORLD_SIZE='two' is not a number"),
        ({"STARVERSE_GRACE_S": "soon"}, "STARVERSE_GRACE_S='soon' is not a number"),
        ({"RANK": "2", "WORLD_SIZE": "2"}, "RANK=2 is not a rank of WORLD_SIZE=2"),
    ],
)
def test_a_malformed_variable_is_named(environ: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        contract.Place.read(environ)


def test_the_contract_is_imported_without_torch_or_numpy() -> None:
    script = "import sys, starverse.train.contract; print({'torch', 'numpy'} & set(sys.modules))"
    environ = {**os.environ, "PYTHONPATH": str(Path(starverse.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environ, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "set()"


def test_the_document_names_every_variable_code_and_record() -> None:
    text = DOC.read_text()
    fields = {name for kind in contract.FIELDS.values() for name in kind}
    for word in [*contract.VARIABLES.values(), *contract.FIELDS, *fields]:
        assert f"`{word}`" in text, word
    for name, code in contract.EXIT_CODES.items():
        assert f"`{name}` = {code}" in text, name
