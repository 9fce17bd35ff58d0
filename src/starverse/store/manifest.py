"""What a submitted directory is: its files by path, each with digest, size and mode, and what is refused."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from starverse.model.errors import BadInput

MODE = 0o777
"""The bits of a file's mode that are kept; never setuid and its like."""


class Entry(Struct, frozen=True, forbid_unknown_fields=True, order=True):
    """One file: `path` is relative with `/` between its parts, `digest` the sha256 of the content.

    A link has no place here: whoever makes the manifest stores what it leads to, or leaves it out.
    """

    path: str
    digest: str
    size: int
    mode: int = 0o644


class Limits(Struct, frozen=True):
    """What one submission may have."""

    files: int = 20_000
    bytes: int = 512_000_000
    path_bytes: int = 1024
    name_bytes: int = 255


def decoded(body: bytes) -> list[Entry]:
    """A manifest from JSON: a list of objects. Raises BadInput."""
    try:
        return msgspec.json.decode(body, type=list[Entry])
    except msgspec.MsgspecError as error:
        shape = "Send a list of {path, digest, size, mode}."
        raise BadInput(f"That is not a manifest: {error}.", shape) from error


def encoded(entries: Sequence[Entry]) -> bytes:
    """The same bytes for the same directory; their sha256 is its snapshot id."""
    return msgspec.json.encode(entries)


def checked(entries: Iterable[Entry], limits: Limits) -> list[Entry]:
    """The entries sorted by path, modes without what isn't kept. Raises BadInput for what is refused."""
    sound = sorted(msgspec.structs.replace(entry, mode=entry.mode & MODE | 0o400) for entry in entries)
    if not sound:
        raise BadInput("The directory has no files.", "Submit from where the script is.")
    if len(sound) > limits.files:
        largest = _largest(sound, by_count=True)
        raise BadInput(f"{len(sound):,} files are more than {limits.files:,}.", largest)
    folders: set[str] = set()
    paths: set[str] = set()
    for entry in sound:
        wrong = _wrong(entry, limits)
        if wrong:
            raise BadInput(f"'{entry.path[:200]}' {wrong}.", "Leave it out, or rename it.")
        if entry.path in paths:
            raise BadInput(f"'{entry.path}' is there twice.", "Name each file once.")
        paths.add(entry.path)
        parts = entry.path.split("/")
        folders.update("/".join(parts[:depth]) for depth in range(1, len(parts)))
    total = sum(entry.size for entry in sound)
    if total > limits.bytes:
        raise BadInput(f"{total:,} bytes are more than {limits.bytes:,}.", _largest(sound))
    both = sorted(folders & paths)
    if both:
        raise BadInput(f"'{both[0]}' is a file and a folder.", "Name each file once.")
    return sound


def _wrong(entry: Entry, limits: Limits) -> str:
    """What is wrong with an entry, "" if nothing is."""
    path = entry.path
    parts = path.split("/")
    if path.startswith("/"):
        return "is an absolute path"
    if ".." in parts:
        return "leads out of the directory"
    if "" in parts or "." in parts or "\0" in path:
        return "is not a plain path"
    if not path.isascii() and any("\ud800" <= sign <= "\udfff" for sign in path):
        return "is not UTF-8"
    longest = max(len(part.encode()) for part in parts)
    if longest > limits.name_bytes or len(path.encode()) > limits.path_bytes:
        return "is too long a path"
    if entry.size < 0:
        return "has a negative size"
    return ""


def _largest(entries: Sequence[Entry], *, by_count: bool = False) -> str:
    """Which folders make it large: what to leave out."""
    weights: Counter[str] = Counter()
    for entry in entries:
        folder, slash, _ = entry.path.partition("/")
        weights[folder + slash] += 1 if by_count else entry.size
    unit = "files" if by_count else "bytes"
    most = ", ".join(f"{name} ({weight:,} {unit})" for name, weight in weights.most_common(3))
    return f"The largest: {most}. Name in .gitignore what the job doesn't need, or put it on a volume."
