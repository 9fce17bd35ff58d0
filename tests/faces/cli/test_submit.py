"""Submitting: what is refused before anything is sent, what it would cost, and what then is sent."""

from pathlib import Path

import pytest
from tests.faces.cli.served import Shell
from tests.service.place import Place


def sent(place: Place) -> list[Path]:
    """The contents the server has got."""
    return [path for path in (place.home / "blobs").rglob("*") if path.is_file()]


def test_a_script_is_submitted_with_its_directory(ada: Shell, place: Place) -> None:
    said = ada("submit", "--cards", "1:2", "--name", "first", "--", "train.py", "--steps", "400").stdout
    lines = said.splitlines()
    assert lines[0] == "1–2 × cpu at ¥3,600.0000 a card-hour; starts now"
    assert lines[1].startswith(
        "¥3,600.0000 to ¥7,200.0000 an hour, at most ¥1,209,602.0000 for its time limit"
    )
    assert lines[2] == "the wallet (¥1,010.0000) lasts 8 min 25 s"
    assert lines[3] == "2 files, 21 B, 21 B new"
    assert lines[4].startswith("Submitted j-")
    job = ada.json("job", "show", "last")["job"]
    assert job["command"] == ["train.py", "--steps", "400"]
    assert (job["launch"], job["name"], job["cards_min"], job["cards_max"]) == ("per-card", "first", 1, 2)
    place.reach(job["job"], "running")


def test_what_is_there_already_is_not_sent_again(ada: Shell, code: Path) -> None:
    ada("submit", "--", "train.py")
    (code / "more.py").write_text("x = 1\n")
    assert "3 files, 27 B, 6 B new" in ada("submit", "--", "train.py").stdout


def test_with_json_the_job_is_the_one_document(ada: Shell) -> None:
    made = ada.json("submit", "--env", "LR=0.1", "--env", "A=b=c", "--retries", "0", "--", "train.py")
    assert made["environment"] == {"LR": "0.1", "A": "b=c"}
    assert ada.json("job", "show", made["job"])["job"]["command"] == ["train.py"]


def test_a_dry_run_only_says_what_it_would_cost(ada: Shell, place: Place) -> None:
    preview = ada.json("submit", "--dry-run", "--time-limit", "1h", "--cards", "2", "--", "train.py")
    assert preview["for_time_limit_max"] == 7_202_000_000, "an hour, and a second to save"
    assert preview["cards_total"] == 2
    assert "an hour" in ada("submit", "--dry-run", "--", "train.py").stdout
    assert ada.json("jobs")["items"] == []
    assert sent(place) == []


REFUSED: list[tuple[list[str], int, str]] = [
    (["--", "absent.py"], 2, "There is no absent.py in this directory. Name one that is there"),
    (["--", "./run.sh"], 2, "There is no ./run.sh in this directory."),
    (["--directory", "data", "--", "../train.py"], 2, "lies outside data"),
    (["--directory", "absent", "--", "train.py"], 2, "absent is not a directory."),
    (["--cards", "0", "--", "train.py"], 2, "0 cards cannot be had."),
    (["--cards", "-1", "--", "train.py"], 2, "'-1' is not a number of cards."),
    (["--cards", "two", "--", "train.py"], 2, "'two' is not a number of cards."),
    (["--cards", "9999999999", "--", "train.py"], 2, "9999999999 cards cannot be had."),
    (["--cards", "3", "--", "train.py"], 2, "This cluster has 2 cpu cards; you asked for 3."),
    (["--kind", "h800", "--", "train.py"], 2, "This cluster has no 'h800' cards. It has: cpu."),
    (["--time-limit", "soon", "--", "train.py"], 2, "'soon' is not a duration."),
    (["--time-limit", "0", "--", "train.py"], 2, "leaves no time to run"),
    (["--env", "LR", "--", "train.py"], 2, "'LR' sets no variable."),
    (["--env", "STARVERSE_JOB=x", "--", "train.py"], 2, "is set by the platform"),
    (["--priority", "urgent", "--", "train.py"], 2, "'urgent' is no priority class."),
    (["--retries", "-1", "--", "train.py"], 2, "'--retries'"),
    (["--project", "absent", "--", "train.py"], 4, "There is no project 'absent'."),
    (
        ["train.py", "--steps", "3"],
        2,
        "`submit` has no option --steps. What is the script's own stands behind",
    ),
    ([], 2, "Missing argument"),
    (["job.toml"], 2, "There is no file job.toml."),
]


def test_nothing_is_sent_of_what_makes_no_sense(ada: Shell, place: Place) -> None:
    for words, exit_code, said in REFUSED:
        result = ada("submit", *words, code=exit_code)
        assert said in result.stderr, words
        assert result.stdout == "", words
    assert sent(place) == []
    assert ada.json("jobs")["items"] == []


def test_a_secret_that_was_never_set_is_named(ada: Shell) -> None:
    assert (
        "There is no secret 'HF_TOKEN'"
        in ada("submit", "--secret", "HF_TOKEN", "--", "train.py", code=2).stderr
    )
    ada("secret", "set", "HF_TOKEN", typed="hf_x")
    assert ada.json("submit", "--secret", "HF_TOKEN", "--", "train.py")["secrets"] == ["HF_TOKEN"]


def test_a_script_that_is_ignored_is_named(ada: Shell, code: Path) -> None:
    (code / "data" / "hidden.py").touch()
    assert "Is it named in .gitignore?" in ada("submit", "--", "data/hidden.py", code=2).stderr


def test_who_has_too_little_money_hears_how_much_is_missing(stranger: Shell, code: Path) -> None:
    stranger("register", "poor@example.com", "--password-stdin", typed="correct horse battery")
    stranger.json("submit", "--cards", "2", "--", "sleep", "60")  # takes what there is
    refused = stranger.json("submit", "--cards", "2", "--", "train.py", code=5)["error"]
    assert refused["kind"] == "refused"
    assert "Top up" in refused["remedy"]


def test_a_command_that_is_no_script_runs_once(ada: Shell, code: Path) -> None:
    (code / "run.sh").write_text("echo hello\n")
    for command in (["nvidia-smi", "-L"], ["python", "train.py"], ["./run.sh"], ["/bin/sh", "-c", "exit 3"]):
        job = ada.json("submit", "--", *command)
        assert (job["command"], job["launch"]) == (command, "once")


def test_a_script_is_named_from_the_directory_that_is_sent(ada: Shell, code: Path) -> None:
    (code / "src").mkdir()
    (code / "src" / "go.py").touch()
    for words in (["src/go.py"], [str(code / "src" / "go.py")], ["./src/go.py"]):
        assert ada.json("submit", "--", *words)["command"] == ["src/go.py"]
    assert ada.json("submit", "--directory", "src", "--", "go.py")["command"] == ["go.py"]


def test_a_job_file_says_the_same(ada: Shell, code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code / "job.toml").write_text(
        'command = "train.py --steps 4"\ncards = "1:2"\n'
        'name = "训练"\ntime_limit = "2h"\nenvironment = {A = "b"}\n'
    )
    by_file = ada.json("submit", "job.toml")
    options = ["--cards", "1:2", "--name", "训练", "--time-limit", "2h", "--env", "A=b"]
    by_options = ada.json("submit", *options, "--", "train.py", "--steps", "4")
    own = {"job", "submitted_ms", "phase", "run", "runs", "started_ms", "cost", "why"}
    assert {k: v for k, v in by_file.items() if k not in own} == {
        k: v for k, v in by_options.items() if k not in own
    }
    monkeypatch.chdir("/")
    other = ada.json("submit", str(code / "job.toml"), "--cards", "1", "--env", "A=c", "--", "train.py")
    assert (other["command"], other["cards_max"], other["environment"]) == (["train.py"], 1, {"A": "c"})
    assert other["snapshot"] == by_file["snapshot"]


def test_a_directory_beyond_the_limit_is_refused_with_its_largest_folders(
    ada: Shell, code: Path, place: Place
) -> None:
    limit = place.platform.blobs.limits.bytes
    (code / "weights").mkdir()
    with (code / "weights" / "huge.bin").open("wb") as file:
        file.truncate(limit + 1)
    refused = ada("submit", "--", "train.py", code=2).stderr
    assert "weights/" in refused
    assert ".starverseignore" in refused
    assert sent(place) == []


def test_an_array_is_one_line_of_the_list_and_stopped_as_one(ada: Shell, code: Path, place: Place) -> None:
    said = ada("submit", "--array", "0-3%1", "--", "sleep", "9").stdout.splitlines()
    assert said[0] == "an array of 4 jobs, each:"
    array = said[-3].removeprefix("Submitted ")
    assert said[-2:] == [
        f"  starverse jobs --array {array}   how each stands",
        f"  starverse job stop {array}      end all of them",
    ]
    place.reach(f"{array}_0", "running")
    place.until(lambda: "1 running, 3 waiting" in ada("jobs").stdout)
    assert ada("jobs").stdout.count("j-") == 1
    assert ada("jobs", "--array", array).stdout.count("j-") == 4
    (code / "job.toml").write_text(f'command = "sleep 9"\nafter_any = ["{array}"]\narray = "7"\n')
    made = ada.json("submit", "job.toml", "--after", "last")
    assert made["after_any"] == [array]
    assert made["after"][0].startswith(array)
    assert made["array_index"] == 7
    assert ada("job", "stop", array).stdout == f"{array}: all of it is asked to end, 4 jobs.\n"
    place.reach(f"{array}_3", "ended")
    assert "An array is many jobs" in ada("submit", "-f", "--array", "0-3", "--", "sleep", "9", code=2).stderr


def test_a_file_with_roles_is_a_gang_of_them(ada: Shell, code: Path, place: Place) -> None:
    (code / "job.toml").write_text(
        '[[role]]\nname = "serve"\ncommand = "sleep 9"\n[[role]]\nname = "train"\ncommand = "./train.py"\n'
    )
    made = ada.json("submit", "job.toml")
    assert [(role["name"], role["command"]) for role in made["roles"]] == [
        ("serve", ["sleep", "9"]), ("train", ["train.py"]),
    ]  # fmt: skip
    shown = ada("job", "show", made["job"]).stdout
    assert "role serve  1 × sleep 9" in shown
    assert "role train  1 × train.py" in shown
    (code / "job.toml").write_text('[[role]]\nname = "serve"\ncomand = "x"\n')
    assert "a role has no key 'comand'" in ada("submit", "job.toml", code=2).stderr
    (code / "job.toml").write_text('[[role]]\nname = "serve"\ncommand = "absent.py"\n')
    assert "There is no absent.py" in ada("submit", "job.toml", code=2).stderr
