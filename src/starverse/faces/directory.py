"""What `submit` takes along: the files of a directory, without the ignored ones, hashed and sent once."""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2

from starverse.faces import transport
from starverse.faces.schemas import FileEntry
from starverse.model.errors import BadInput, Refused

BytesSent = Callable[[int, int], None]
"""Called with (bytes sent, bytes to send)."""

IGNORE_FILES = (".gitignore", ".starverseignore")
ALWAYS_IGNORED = (".git/", ".git", "__pycache__/", ".venv/")
ANY_FOLDER = "(?P<ps_d>/)"
"""What pathspec makes of the rule `*/`."""

LARGEST_NAMED = 3
WALK_MAX = 200_000
"""Files looked at before one gives up counting."""


def read_directory(root: Path, bytes_max: int, files_max: int) -> list[FileEntry]:
    """Every file to be submitted, by path; links are followed only as far as files inside.

    Raises BadInput when it is no directory, or holds more than `bytes_max`, naming the largest folders.
    """
    if not root.is_dir():
        raise BadInput(f"{root} is not a directory.", "Name the one that holds your code.")
    root = root.resolve()
    sizes: dict[str, int] = {}
    for path in _walk(root, root, []):
        sizes[path] = (root / path).stat().st_size
        if len(sizes) > WALK_MAX:
            break
    if len(sizes) > files_max:
        more = "more than " * (len(sizes) > WALK_MAX)
        what = f"{root} holds {more}{len(sizes):,} files; a job may bring {files_max:,}."
        raise BadInput(what, _remedy(dict.fromkeys(sizes, 1), "files"))
    total = sum(sizes.values())
    if total > bytes_max:
        what = f"{root} holds {_size(total)}; a job may bring {_size(bytes_max)}."
        raise BadInput(what, _remedy(sizes))
    return [_entry(root, path) for path in sorted(sizes)]


IGNORE = "Name what the job does not need in .gitignore or .starverseignore."


def send_blob(http: httpx2.Client, root: Path, file: FileEntry, query: dict[str, Any]) -> None:
    """Send one file's content, piece by piece. Raises Refused when it has changed since it was hashed."""
    headers = {"content-length": str(file.size), "content-type": "application/octet-stream"}
    path = root / file.path
    if path.stat().st_size != file.size:
        raise Refused(f"{file.path} changed while it was being sent.", "Submit again.")
    with path.open("rb") as content:
        pieces = iter(lambda: content.read(transport.CHUNK_BYTES), b"")
        url = f"/v1/blobs/{file.digest}"
        response = http.put(url, params=query, content=pieces, headers=headers)
    transport.read(response, None)


def _walk(root: Path, folder: Path, rules: "list[tuple[str, Any]]") -> Iterator[str]:
    """Paths below `folder`, relative to `root`; `rules` are the ignore files of the folders above."""
    from pathspec import GitIgnoreSpec

    here = folder.relative_to(root).as_posix()
    lines: list[str] = list(ALWAYS_IGNORED) if folder == root else []
    for name in IGNORE_FILES:
        try:
            lines += (folder / name).read_text(errors="replace").splitlines()
        except OSError:
            continue
    if lines:
        rules = [*rules, (here, GitIgnoreSpec.from_lines(lines))]
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path = (folder / entry.name).relative_to(root).as_posix()
        if not _is_text(path):
            raise BadInput(f"The name {path!r} is not UTF-8.", "Rename it, or move it away.")
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name == ".git" or _ignored(path + "/" * is_folder, rules):
            continue
        if is_folder:
            yield from _walk(root, folder / entry.name, rules)
        elif entry.is_file(follow_symlinks=False) or _leads_inside(root, Path(entry.path)):
            yield path


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _leads_inside(root: Path, link: Path) -> bool:
    """Whether a link leads to a file of the directory: what lies outside was not meant to be sent."""
    return link.is_file() and link.resolve().is_relative_to(root)


def _ignored(path: str, rules: "list[tuple[str, Any]]") -> bool:
    """As git does: the last rule that says anything decides, and a deeper ignore file comes later."""
    for here, spec in reversed(rules):
        below = path if here == "." else path[len(here) + 1 :]
        for pattern in reversed(spec.patterns):
            if pattern.include is not None and _names(pattern.regex, below):
                return bool(pattern.include)
    return False


def _names(regex: "re.Pattern[str]", path: str) -> bool:
    """Whether a rule means the path itself, not just a folder it lies in: those were asked about before.

    pathspec's own answer covers both, so that a rule for a folder would overrule others for what is inside.
    """
    match = regex.search(path)
    if match is None:
        return False
    if "ps_d" in regex.groupindex:  # pathspec's mark for the end of a folder's name
        return match.end() == len(path) or (regex.pattern == ANY_FOLDER and path.endswith("/"))
    return not regex.pattern.endswith("/") or match.end() < len(path)  # `x/**` is all in x, not x


def _entry(root: Path, path: str) -> FileEntry:
    with (root / path).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        info = os.fstat(file.fileno())
    return FileEntry(path, digest, info.st_size, 0o755 if info.st_mode & 0o100 else 0o644)


def _remedy(sizes: dict[str, int], unit: str = "bytes") -> str:
    folders: Counter[str] = Counter()
    for path, size in sizes.items():
        folders[path.partition("/")[0] + "/" * ("/" in path)] += size
    most = folders.most_common(LARGEST_NAMED)
    shown = [(name, _size(size) if unit == "bytes" else f"{size:,} files") for name, size in most]
    largest = ", ".join(f"{name} ({amount})" for name, amount in shown)
    return f"Largest: {largest}. {IGNORE}"


def _size(size: float) -> str:
    if size < 1000:
        return f"{size:.0f} bytes"
    for unit in ("KB", "MB"):
        size /= 1000
        if size < 1000:
            return f"{size:.1f} {unit}"
    return f"{size / 1000:.1f} GB"
