"""What the exit code of a command says, and which error leads to which."""

from typing import Any

from starverse.model.errors import StarverseError

OK = 0
FAILED = 1
USAGE = 2
NOT_ALLOWED = 3
NOT_FOUND = 4
REFUSED = 5
NO_SERVER = 6
INTERRUPTED = 130

MEANING: dict[int, str] = {
    OK: "ok",
    FAILED: "failed; of a job that was followed: it did not end well",
    USAGE: "bad usage or input",
    NOT_ALLOWED: "not signed in, or not allowed",
    NOT_FOUND: "no such thing, or not yours to see",
    REFUSED: "not now: no money, wrong state, name taken",
    NO_SERVER: "no server, or it stopped answering",
    INTERRUPTED: "interrupted",
}
"""For scripts: these numbers never change their meaning."""

# By name, so that a command that never calls the server need not load the client to fail.
_OF_ERROR: dict[str, tuple[int, str]] = {
    "BadInput": (USAGE, "bad-input"),
    "NotSignedIn": (NOT_ALLOWED, "not-signed-in"),
    "NotAllowed": (NOT_ALLOWED, "not-allowed"),
    "NotFound": (NOT_FOUND, "not-found"),
    "Conflict": (REFUSED, "conflict"),
    "Refused": (REFUSED, "refused"),
    "Unreachable": (NO_SERVER, "unreachable"),
    "PortTaken": (FAILED, "port-taken"),
    "JournalDamaged": (FAILED, "journal-damaged"),
    "StarverseError": (FAILED, "failed"),
}


def exit_of(error: StarverseError) -> tuple[int, str]:
    """The exit code and the kind, for programs, of an error: that of the nearest class that has one."""
    return next(_OF_ERROR[shape.__name__] for shape in type(error).__mro__ if shape.__name__ in _OF_ERROR)


def document_of(what: str, remedy: str, kind: str, code: int) -> dict[str, Any]:
    """An error as `--json` prints it."""
    return {"error": {"kind": kind, "message": what, "remedy": remedy, "exit_code": code}}
