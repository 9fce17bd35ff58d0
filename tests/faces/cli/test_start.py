"""What comes before any command: help, version, completion, and how long it takes to be there."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.faces.cli.served import COMMAND, Shell

import starverse
from starverse.faces.cli import exits

HEAVY = {
    "httpx2",
    "msgspec",
    "pydantic",
    "rich",
    "starverse.faces.client",
    "starverse.faces.schemas",
    "fastapi",
}


@pytest.fixture
def alone(tmp_path: Path) -> Shell:
    """Somebody without a server."""
    return Shell(tmp_path, "http://127.0.0.1:1")


def test_alone_it_shows_its_commands_by_section_and_its_exit_codes(alone: Shell) -> None:
    said = alone("--help").stdout
    assert alone().stdout == alone("-h").stdout == said
    for section in ("Jobs:", "Money:", "Account:", "Cluster:", "Setup:", "Options:", "Exit codes:"):
        assert f"\n{section}\n" in said
    for code, meaning in exits.MEANING.items():
        assert str(code) in said
        assert meaning.split(";")[0] in said
    assert "completion" in said
    assert "--install-completion" not in said


@pytest.mark.parametrize("group", ["job", "node", "token", "secret", "project", "config"])
def test_a_group_alone_shows_its_commands(alone: Shell, group: str) -> None:
    assert "Commands:" in alone(group).stdout


def test_the_help_of_a_command_names_its_arguments_plainly(alone: Shell) -> None:
    said = alone("job", "get", "--help").stdout
    assert "starverse job get [OPTIONS] JOB [PATH]..." in said
    assert "<str>" not in said
    assert "JOBFILE | -- SCRIPT [ARG]..." in alone("submit", "--help").stdout


def test_the_version_is_told(alone: Shell) -> None:
    assert alone("version").stdout == f"starverse {starverse.__version__}\n"
    assert alone.json("version")["version"] == starverse.__version__


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed_for_each_shell(alone: Shell, shell: str) -> None:
    assert "_STARVERSE_COMPLETE" in alone("completion", shell).stdout


def test_the_shell_completes_commands_and_options(alone: Shell) -> None:
    asked = {"_STARVERSE_COMPLETE": "complete_bash", "COMP_WORDS": "starverse job re", "COMP_CWORD": "2"}
    done = subprocess.run(COMMAND, env=alone.environment(asked), check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["resume"]


def test_a_letter_the_terminal_lacks_is_no_reason_to_fail(alone: Shell) -> None:
    env = alone.environment({"PYTHONIOENCODING": "ascii"})
    done = subprocess.run([*COMMAND, "job", "show", "训练"], env=env, check=False, capture_output=True)
    assert done.returncode == exits.NOT_ALLOWED
    assert b"Traceback" not in done.stderr


def test_a_reader_that_has_seen_enough_is_no_failure(alone: Shell) -> None:
    process = alone.start("--help", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout
    process.stdout.close()
    assert process.wait(20) == 0
    assert process.stderr
    assert process.stderr.read() == b""
    process.stderr.close()


def loaded(words: list[str], alone: Shell) -> set[str]:
    """The heavy modules that a command loads."""
    code = (
        "import sys\nfrom starverse.faces.cli.app import build\n"
        f"sys.argv = ['starverse', *{words!r}]\n"
        "try:\n    build()()\n"
        f"finally:\n    print('loaded', *({HEAVY!r} & set(sys.modules)))"
    )
    env = alone.environment()
    done = subprocess.run([sys.executable, "-c", code], env=env, check=False, capture_output=True, text=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize(
    "words", [["version"], ["--help"], ["submit", "--help"], ["jobs"], ["config", "show"]]
)
def test_what_needs_no_server_loads_nothing_heavy(alone: Shell, words: list[str]) -> None:
    assert loaded(words, alone) == set()


def test_a_command_loads_no_server(alone: Shell) -> None:
    alone.env["STARVERSE_TOKEN"] = "svt_x"
    assert loaded(["jobs"], alone) <= HEAVY - {"pydantic", "fastapi"}


def test_how_long_it_takes_to_start_is_printed(alone: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    took = {}
    for words in (["version"], ["--help"]):
        began_s = time.perf_counter()
        subprocess.run([*COMMAND, *words], env=alone.environment(), check=True, capture_output=True)
        took[words[0]] = round(time.perf_counter() - began_s, 3)
    with capsys.disabled():
        sys.stderr.write(f"\ncold start of the command line: {took} s\n")
