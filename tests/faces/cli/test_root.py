"""The frame around every command: rearranged words, errors in a sentence, exit codes."""

from pathlib import Path
from typing import Annotated

import pytest
import typer

from starverse.faces.cli import exits, root
from starverse.faces.cli.app import build
from starverse.model import errors


@pytest.mark.parametrize(
    ("words", "rearranged"),
    [
        ("jobs", "jobs"),
        ("jobs --server http://x --json", "--server http://x jobs --json"),
        ("jobs --server=http://x", "--server=http://x jobs"),
        ("--server http://x jobs", "--server http://x jobs"),
        ("jobs --server", "--server jobs"),
        ("submit -- train.py --server http://x", "submit -- train.py --server http://x"),
        ("job show -1", "job show last"),
        ("why -1", "why last"),
        ("--server http://x job show -1", "--server http://x job show last"),
        ("submit --retries -1 -- x", "submit --retries -1 -- x"),
        ("job show -- -1", "job show -- -1"),
        ("", ""),
    ],
)
def test_server_and_the_newest_job_may_stand_anywhere(words: str, rearranged: str) -> None:
    assert root.rearranged(words.split()) == rearranged.split()


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (errors.BadInput("x"), 2, "bad-input"),
        (errors.NotSignedIn("x"), 3, "not-signed-in"),
        (errors.NotFound("x"), 4, "not-found"),
        (errors.Refused("x"), 5, "refused"),
        (errors.Conflict("x"), 5, "conflict"),
        (errors.PortTaken("x"), 1, "port-taken"),
        (errors.JournalDamaged("x"), 1, "journal-damaged"),
        (errors.StaleEpoch("x"), 1, "failed"),
        (type("NotAllowed", (errors.Refused,), {})("x"), 3, "not-allowed"),
        (type("Unreachable", (errors.StarverseError,), {})("x"), 6, "unreachable"),
    ],
)
def test_each_error_has_its_exit_code(error: errors.StarverseError, code: int, kind: str) -> None:
    assert exits.exit_of(error) == (code, kind)
    assert code in exits.MEANING


def fails(error: BaseException) -> None:
    raise error


BROKEN = (
    "The command line itself broke (ValueError: oops). "
    "Please report it; with STARVERSE_DEBUG=1 it says where.\n"
)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (errors.NotFound("There is no job.", "List them."), 4, "There is no job. List them.\n"),
        (typer.Exit(7), 7, ""),
        (KeyboardInterrupt(), 130, "Interrupted.\n"),
        (EOFError(), 130, "Interrupted.\n"),
        (OSError(28, "No space left on device", "/tmp/x"), 1, "/tmp/x: No space left on device.\n"),
        (OSError("odd"), 1, "odd.\n"),
        (
            ValueError("oops"),
            1,
            BROKEN,
        ),
    ],
)
def test_what_goes_wrong_is_a_sentence_on_stderr(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert root.outcome(lambda: fails(error), as_json=False) == code
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", said)


def test_with_json_an_error_is_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    code = root.outcome(lambda: fails(errors.Refused("No money.", "Top up.")), as_json=True)
    printed = capsys.readouterr()
    assert (code, printed.err) == (5, "")
    assert printed.out == (
        '{\n  "error": {\n    "kind": "refused",\n    "message": "No money.",\n'
        '    "remedy": "Top up.",\n    "exit_code": 5\n  }\n}\n'
    )


@pytest.mark.parametrize(
    ("words", "as_document"),
    [(["jobs", "--json"], True), (["measure", "--json", "x"], False), (["nothing", "--json"], True)],
)
def test_a_file_named_by_json_is_no_wish_for_a_document(
    words: list[str], as_document: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(json: Annotated[Path | None, typer.Option("--json")] = None) -> None:
        raise errors.PortTaken("Port 1 is taken.", "Choose another.")

    monkeypatch.setenv("STARVERSE_URL", "http://127.0.0.1:1")
    app = build()
    app.command()(measure)
    with pytest.raises(SystemExit):
        app(words)
    assert capsys.readouterr().out.startswith("{") == as_document


def test_a_traceback_is_shown_only_where_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STARVERSE_DEBUG", "1")
    with pytest.raises(ValueError, match="oops"):
        root.outcome(lambda: fails(ValueError("oops")), as_json=False)
