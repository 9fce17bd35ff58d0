"""What a job and the platform say to each other: environment, exit codes, report file.

Standard library only, for it is loaded by every shim and every client.
`docs/job-contract.md` tells it to people; a test keeps the two in step.
"""

import json
import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

EXIT_DONE = 0
EXIT_SAVED = (
    85  # asked to stop, saved a checkpoint: run me again. Clear of shells (126+) and sysexits (64-78)
)
EXIT_NO_SPACE = 86  # no room to write a checkpoint; the one before is still valid
EXIT_CODES = {"EXIT_DONE": EXIT_DONE, "EXIT_SAVED": EXIT_SAVED, "EXIT_NO_SPACE": EXIT_NO_SPACE}

LINE_BYTES_MAX = 4096  # a line this short is appended whole by one write on every local file system
READ_BYTES_MAX = 256 * 1024
WHOLE_MAX = 2**53 - 1  # the largest whole number every JSON reader agrees on

# kind of record -> its fields beside `kind` and `at_ms`, and what each may be
FIELDS: dict[str, dict[str, str]] = {
    "started": {"world_size": "whole", "resumed_from": "whole?"},
    "step": {
        "step": "whole",
        "steps": "whole?",
        "loss": "number?",
        "finite": "bool",
        "tokens_per_s": "number?",
    },
    "checkpoint": {"step": "whole", "seconds": "number"},
    "saved": {"step": "whole"},
    "no_space": {"step": "whole", "text": "text"},
    "done": {"step": "whole"},
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where one rank runs, as the platform tells it by environment variables (`VARIABLES` names them).

    A field left at None is a variable not set: outside Starverse all but torchrun's are.
    """

    job: str | None = None
    run: str | None = None
    attempt: int | None = None
    cards: int | None = None
    card_kind: str | None = None
    checkpoints: str | None = None
    output: str | None = None
    report: str | None = None
    rendezvous: str | None = None
    grace_s: float | None = None
    array: str | None = None
    array_index: int | None = None
    role: str | None = None
    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    local_world_size: int = 1
    role_rank: int | None = None
    role_world_size: int | None = None
    master_addr: str | None = None
    master_port: int | None = None

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> "Place":
        """Take the place from an environment. Raises ValueError naming a malformed variable."""
        given = {name: environ[variable] for name, variable in VARIABLES.items() if environ.get(variable)}
        place = cls(**{name: _parse(name, text) for name, text in given.items()})
        if not 0 <= place.rank < place.world_size:
            raise ValueError(
                f"RANK={place.rank} is not a rank of WORLD_SIZE={place.world_size}: "
                "start one process per rank, numbered from 0"
            )
        return place

    def variables(self) -> dict[str, str]:
        """The environment variables that tell a rank this place; None is left out."""
        values = {variable: getattr(self, name) for name, variable in VARIABLES.items()}
        return {variable: str(value) for variable, value in values.items() if value is not None}


# torchrun's own variables keep the names that every training script already reads
_RANKS = ("rank", "world_size", "local_rank", "local_world_size", "role_rank", "role_world_size")
_TORCHRUN = (*_RANKS, "master_addr", "master_port")
VARIABLES = {
    f.name: f.name.upper() if f.name in _TORCHRUN else f"STARVERSE_{f.name.upper()}" for f in fields(Place)
}
_WHOLE = ("attempt", "cards", "array_index", *_RANKS, "master_port")


def _parse(name: str, text: str) -> Any:
    try:
        return int(text) if name in _WHOLE else float(text) if name == "grace_s" else text
    except ValueError:
        raise ValueError(f"{VARIABLES[name]}={text!r} is not a number: set it to one, or unset it") from None


def encode(kind: str, at_ms: int, **values: Any) -> bytes:
    """One line of the report file, at most LINE_BYTES_MAX bytes. Asserts that the record is valid."""
    record = {"kind": kind, "at_ms": at_ms, **values}
    assert _read_record(record) is not None, f"not a record of the job contract: {record}"
    line = json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    assert len(line) <= LINE_BYTES_MAX, f"a report line of {len(line)} bytes is longer than {LINE_BYTES_MAX}"
    return line


def read_reports(path: str | os.PathLike[str], offset: int = 0) -> tuple[list[dict[str, Any]], int]:
    """Read the records after byte `offset` of a report file; give them and the offset to read from next.

    The file belongs to the job, so nothing in it is trusted: damaged lines are skipped, unknown fields
    dropped, at most READ_BYTES_MAX bytes are read a call (call again while the offset moves), and a line
    without its end stays for the next call. A file that isn't there (yet), or isn't a plain file, has no
    records. Raises other OSErrors.
    """
    chunk = _read_chunk(Path(path), offset)
    end = chunk.rfind(b"\n") + 1
    if end == 0 and len(chunk) >= LINE_BYTES_MAX:
        return [], offset + len(chunk)  # no line of ours is that long
    records = [_decode(line) for line in chunk[:end].split(b"\n")]
    return [record for record in records if record is not None], offset + end


def _read_chunk(path: Path, offset: int) -> bytes:
    try:  # a job could put a pipe or a link in its place: never wait for the one, never follow the other
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    except OSError:
        if path.is_symlink():
            return b""
        raise
    try:
        plain = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return os.pread(descriptor, READ_BYTES_MAX, offset) if plain else b""
    finally:
        os.close(descriptor)


def _decode(line: bytes) -> dict[str, Any] | None:
    """The record on a line, or None for a line that holds none."""
    if not 0 < len(line) < LINE_BYTES_MAX:
        return None
    try:
        return _read_record(json.loads(line))
    except (ValueError, RecursionError):  # not JSON, not UTF-8, a number beyond reason, brackets without end
        return None


def _read_record(record: Any) -> dict[str, Any] | None:
    """The record with the fields of its kind alone, or None if one is missing or wrong."""
    if (
        not isinstance(record, dict)
        or not isinstance(record.get("kind"), str)
        or record["kind"] not in FIELDS
    ):
        return None
    wanted = {"at_ms": "whole", **FIELDS[record["kind"]]}
    if not all(name in record and _is_a(shape, record[name]) for name, shape in wanted.items()):
        return None
    return {"kind": record["kind"], **{name: record[name] for name in wanted}}


def _is_a(shape: str, value: Any) -> bool:
    if value is None:
        return shape.endswith("?")
    match shape.rstrip("?"):
        case "whole":
            return type(value) is int and 0 <= value <= WHOLE_MAX
        case "number":  # the bounds leave out the infinities, and NaN, that Python's JSON lets in
            return type(value) in (int, float) and -sys.float_info.max <= value <= sys.float_info.max
        case "bool":
            return type(value) is bool
        case _:  # printable: one line, without the NULs and lone surrogates that databases choke on
            return type(value) is str and value.isprintable()
