"""What a job wrote: logs and files, brought home unharmed and nowhere else."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.faces.cli.served import Shell, until
from tests.service.place import Place

from starverse.faces.cli import outputs
from starverse.model.errors import StarverseError

Submit = Callable[..., str]


@pytest.fixture
def job(submitted: Submit, place: Place) -> str:
    job = submitted("--name", "first", "--", "train.py")
    place.reach(job, "running")
    return job


def test_logs_are_printed_as_they_were_written(ada: Shell, job: str, place: Place) -> None:
    text = "".join(f"line {number} 训练 \x1b[31mred\x1b[2J\n" for number in range(100_000))
    place.writes(f"{job}.0", "stdout", text.encode())
    place.writes(f"{job}.0", "stderr", b"warning\n")
    assert ada("job", "logs", job).stdout == text
    assert ada("job", "logs", job, "--stderr").stdout == "warning\n"
    whole = ada.json("job", "logs", job)
    assert (whole["run"], whole["stream"], whole["more"]) == (f"{job}.0", "stdout", False)
    assert (whole["text"], whole["next_offset"]) == (text, len(text.encode()))


def test_a_crash_points_to_stderr_where_it_is_told(ada: Shell, job: str, place: Place) -> None:
    place.writes(f"{job}.0", "stdout", b"step 1\n")
    place.writes(f"{job}.0", "stderr", "警告\n".encode())
    assert ada("job", "logs", job).stderr == ""
    place.engine.end(f"{job}.0", code=1, text="ValueError: no data")
    place.until(lambda: f"{job}.1" in place.engine.alive)
    said = ada("job", "logs", job, "--run", "0")
    assert said.stdout == "step 1\n"
    assert said.stderr == f"It wrote to stderr, too: starverse job logs {job} --stderr --run 0\n"
    place.writes(f"{job}.1", "stderr", b"only this\n")
    said = ada("job", "logs", job)
    assert (said.stdout, said.stderr) == (
        "",
        f"It wrote to stderr, too: starverse job logs {job} --stderr\n",
    )


def test_a_run_that_is_over_and_left_nothing_says_so(ada: Shell, job: str, place: Place) -> None:
    said = ada("job", "logs", job)
    assert (said.stdout, said.stderr) == ("", "")
    place.engine.end(f"{job}.0")
    place.reach(job, "ended")
    said = ada("job", "logs", job)
    assert (said.stdout, said.stderr) == ("", "It wrote nothing, or that is not kept any more.\n")


def test_logs_of_another_run_are_named_by_its_number(ada: Shell, job: str, place: Place) -> None:
    place.writes(f"{job}.0", "stdout", b"first\n")
    place.engine.end(f"{job}.0", how="lost")
    place.until(lambda: f"{job}.1" in place.engine.alive)
    place.writes(f"{job}.1", "stdout", b"second\n")
    assert ada("job", "logs", job).stdout == "second\n"
    assert ada("job", "logs", job, "--run", "0").stdout == "first\n"
    assert ada("job", "logs", job, "--run", f"{job}.0").stdout == "first\n"
    assert "has no run" in ada("job", "logs", job, "--run", "7", code=4).stderr
    assert (
        "-f goes on"
        in ada("job", "logs", "-f", job, "--json", code=2).stderr
        + ada.json("job", "logs", "-f", job, code=2)["error"]["message"]
    )


def test_logs_go_on_until_the_job_ends(ada: Shell, job: str, place: Place, tmp_path: Path) -> None:
    place.writes(f"{job}.0", "stdout", b"one\n")
    into = tmp_path / "log"
    with into.open("wb") as out:
        process = ada.start("job", "logs", "-f", job, stdout=out)
        until(lambda: into.read_bytes() == b"one\n")
        place.writes(f"{job}.0", "stderr", b"not this\n")
        place.writes(f"{job}.0", "stdout", b"two\n")
        until(lambda: into.read_bytes() == b"one\ntwo\n")
        place.engine.end(f"{job}.0")
        assert process.wait(20) == 0
    assert ada("job", "logs", "-f", job).stdout == "one\ntwo\n"


def test_logs_that_go_on_point_to_stderr_when_the_job_has_crashed(
    ada: Shell, submitted: Submit, place: Place
) -> None:
    job = submitted("--retries", "0", "--", "train.py")
    place.reach(job, "running")
    process = ada.start("job", "logs", "-f", job, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    place.writes(f"{job}.0", "stdout", b"one\n")
    place.writes(f"{job}.0", "stderr", b"ValueError: no data\n")
    assert process.stdout
    assert process.stdout.readline() == b"one\n"
    place.engine.end(f"{job}.0", code=1, text="ValueError: no data")
    said = process.communicate(timeout=20)
    assert said == (b"", f"It wrote to stderr, too: starverse job logs {job} --stderr\n".encode())


def test_files_are_listed_and_fetched(ada: Shell, job: str, place: Place, code: Path) -> None:
    assert "No files yet." in ada("job", "files", job).stdout
    assert "no files yet" in ada("job", "get", job, code=4).stderr
    written = {"model.pt": b"m" * 70_000, "plots/loss.png": b"p", "plots/rate.png": b"r", "空 白.txt": b"x"}
    for path, content in written.items():
        place.output(job, path, content)
    listed = ada("job", "files", job).stdout
    assert "model.pt" in listed
    assert "70.0 kB" in listed
    assert {each["path"] for each in ada.json("job", "files", job)} == set(written)
    assert f"4 files, 70.0 kB, in {job}" in ada("job", "get", "last").stdout
    assert {path: (code / job / path).read_bytes() for path in written} == written


NAMED = [
    (["model.pt"], {"model.pt"}),
    (["./model.pt", "model.pt"], {"model.pt"}),
    (["plots"], {"plots/loss.png", "plots/rate.png"}),
    (["plots/"], {"plots/loss.png", "plots/rate.png"}),
    (["*.png"], {"plots/loss.png", "plots/rate.png"}),
    (["plots/l*", "model.pt"], {"plots/loss.png", "model.pt"}),
]


def test_files_are_named_by_path_folder_or_pattern(
    ada: Shell, job: str, place: Place, tmp_path: Path
) -> None:
    for path in ("model.pt", "plots/loss.png", "plots/rate.png"):
        place.output(job, path, b"x")
    for number, (named, fetched) in enumerate(NAMED):
        out = tmp_path / str(number)
        got = ada.json("job", "get", job, *named, "-o", str(out))
        assert {each["path"] for each in got} == fetched, named
        assert {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()} == fetched
    assert "written no file 'absent'" in ada("job", "get", job, "model.pt", "absent", code=4).stderr


def test_a_file_that_cannot_be_written_is_named(ada: Shell, job: str, place: Place, tmp_path: Path) -> None:
    place.output(job, "model.pt", b"x")
    (tmp_path / "taken").touch()
    said = ada("job", "get", job, "-o", str(tmp_path / "taken"), code=1).stderr
    assert said.startswith(f"{tmp_path}/taken: ")


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "", "."])
def test_a_path_that_leads_out_of_the_folder_is_refused(path: str) -> None:
    with pytest.raises(StarverseError, match="none below the output folder"):
        outputs._inside(path)
