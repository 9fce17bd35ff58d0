"""The files between engine and shim: confined, whole, and claimed by one alone."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from starverse.engines import reading
from starverse.engines.folder import (
    JobFolder,
    RunFolder,
    confined,
    read_claim,
    read_json,
    take_claim,
    write_json,
)
from starverse.model.errors import BadInput, NotFound


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    run = tmp_path / "runs" / "j-a.0"
    run.mkdir(parents=True)
    return RunFolder(str(run))


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "/etc", "a..b", ".hidden", "a\0b", "a\nb", "ü", "x" * 129]
)
def test_an_id_that_would_leave_its_folder_is_refused(name, tmp_path):
    with pytest.raises(BadInput, match="is not the id"):
        RunFolder.of(str(tmp_path), name)
    with pytest.raises(BadInput):
        JobFolder(str(tmp_path), name)


def test_ids_as_they_are_made_are_fine():
    assert confined("j-abc123.0") == "j-abc123.0"


def test_only_one_of_many_gets_the_claim(folder):
    with ThreadPoolExecutor(16) as pool:
        claims = list(pool.map(lambda n: take_claim(folder, {"pid": n}), range(64)))
    won = [claim for claim in claims if claim is not None]
    assert len(won) == 1
    assert read_claim(folder) == ("held", {"pid": claims.index(won[0])})
    os.close(won[0])
    assert read_claim(folder)[0] == "dead"
    assert [path.name for path in Path(folder.path).iterdir()] == ["claim"]


def test_a_tombstone_is_a_claim_nobody_holds(folder):
    assert read_claim(folder) == ("free", {})
    claim = take_claim(folder, {"tombstone_ms": 5, "text": "stopped"})
    assert claim is not None
    os.close(claim)
    assert read_claim(folder) == ("tombstone", {"tombstone_ms": 5, "text": "stopped"})
    assert take_claim(folder, {"pid": 1}) is None


def test_a_file_is_written_whole_or_not_at_all(folder, monkeypatch):
    assert read_json(folder.status) is None
    write_json(folder.status, {"code": 0}, durable=True)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("starverse.engines.folder.os.write", full)
    with pytest.raises(OSError, match="No space left"):
        write_json(folder.status, {"code": 1})
    monkeypatch.undo()
    assert read_json(folder.status) == {"code": 0}
    assert [path.name for path in Path(folder.path).iterdir()] == ["status.json"]


@pytest.fixture
def output(tmp_path: Path) -> Path:
    top = Path(JobFolder(str(tmp_path), "j-a").output)
    (top / "plots").mkdir(parents=True)
    (top / "plots" / "loss.png").write_bytes(b"picture")
    (top / "model").write_bytes(b"weights")
    (tmp_path / "secret").write_text("of the server")
    (top / "link").symlink_to(tmp_path / "secret")
    (top / "out").symlink_to(tmp_path)
    os.mkfifo(top / "pipe")
    return tmp_path


def test_output_lists_plain_files_and_follows_no_link(output):
    found = reading.list_output(output, "j-a")
    assert [(file.path, file.size) for file in found] == [("model", 7), ("plots/loss.png", 7)]
    assert reading.list_output(output, "j-none") == []


def test_output_opens_plain_files_only(output):
    with reading.open_output(output, "j-a", "plots/loss.png") as file:
        assert file.read() == b"picture"
    for path in (
        "",
        "nothing",
        "plots",
        "pipe",
        "link",
        "out/secret",
        "../../../secret",
        str(output / "secret"),
        "a\0b",
    ):
        with pytest.raises(NotFound, match="has no output file"):
            reading.open_output(output, "j-a", path)
