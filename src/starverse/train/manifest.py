"""The manifest of a checkpoint: written last, it alone makes a directory a checkpoint."""

import hashlib
import json
import os
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FORMAT = 1
NAME = "manifest.json"
PARTIAL = ".partial"  # suffixes of a checkpoint that is being written, and of one that turned out damaged
DAMAGED = ".damaged"


@dataclass(frozen=True, slots=True)
class Seal:
    """The size and the BLAKE2b digest that a file must have."""

    size_bytes: int
    blake2b: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a checkpoint is: the step it was taken after, that step's loss, its writers, its files."""

    step: int
    loss: float | None
    world_size: int
    starverse: str
    files: dict[str, Seal]


def directory_name(step: int) -> str:
    """The name of the checkpoint taken after a step: sorted by name is sorted by step."""
    return f"step-{step:08d}"


def seal(path: Path) -> Seal:
    """Read a file and seal it. Raises OSError."""
    with path.open("rb") as file:
        return Seal(os.fstat(file.fileno()).st_size, hashlib.file_digest(file, "blake2b").hexdigest())


def publish(partial: Path, manifest: Manifest) -> Path:
    """Make the files in `partial` a checkpoint, durably and at once; give its place. Raises OSError."""
    body = {"format": FORMAT, **asdict(manifest)}
    text = json.dumps({"manifest": body, "blake2b": _digest(body)}, indent=1)
    with (partial / NAME).open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    _sync_directory(partial)
    final = partial.with_name(directory_name(manifest.step))
    shutil.rmtree(
        final, ignore_errors=True
    )  # only ever a damaged one: a good one would have been gone on from
    partial.rename(final)
    _sync_directory(final.parent)
    return final


def read(checkpoint: Path) -> Manifest:
    """The manifest of a checkpoint. Raises ValueError, saying what is wrong with it, or OSError."""
    try:
        document = json.loads((checkpoint / NAME).read_bytes())
        body: dict[str, Any] = dict(document["manifest"])
        intact = document["blake2b"] == _digest(body)
    except FileNotFoundError:
        raise ValueError("it has no manifest") from None
    except (ValueError, KeyError, TypeError):
        intact = False
    if not intact:
        raise ValueError("its manifest is damaged")
    if body.pop("format") != FORMAT:
        raise ValueError(f"its format is not {FORMAT}, the one that this version of starverse reads")
    if checkpoint.name != directory_name(body["step"]):
        raise ValueError(f"its manifest is that of step {body['step']}")
    return Manifest(**{**body, "files": {name: Seal(**seal) for name, seal in body["files"].items()}})


def check(checkpoint: Path, files: dict[str, Seal]) -> None:
    """Raise ValueError if one of the files isn't what was written, or OSError if it can't be read."""
    for name, expected in files.items():
        try:
            found = seal(checkpoint / name)
        except FileNotFoundError:
            raise ValueError(f"its file {name} is missing") from None
        if found.size_bytes != expected.size_bytes:
            raise ValueError(f"its file {name} has {found.size_bytes} bytes, not {expected.size_bytes}")
        if found != expected:
            raise ValueError(f"its file {name} is damaged (its checksum is another)")


def newest_first(directory: Path) -> list[Path]:
    """The places of checkpoints, valid or not, the newest first; neither the partial nor the condemned."""
    steps = {int(match[1]): path for path, match in _ours(directory) if not match[2]}
    return [steps[step] for step in sorted(steps, reverse=True)]


def condemn(checkpoint: Path) -> None:
    """Set a damaged checkpoint aside, so that it never counts as one again; the next prune deletes it."""
    aside = checkpoint.with_name(checkpoint.name + DAMAGED)
    shutil.rmtree(aside, ignore_errors=True)
    checkpoint.rename(aside)


def sweep(directory: Path) -> None:
    """Delete the checkpoints that were never finished."""
    for path, match in _ours(directory):
        if match[2] == PARTIAL:
            shutil.rmtree(path, ignore_errors=True)


def prune(directory: Path, keep: int) -> None:
    """Delete all but the `keep` newest checkpoints, and with them what is partial or condemned."""
    kept = newest_first(directory)[:keep]
    for path, _ in _ours(directory):
        if path not in kept:
            shutil.rmtree(path, ignore_errors=True)


def _ours(directory: Path) -> list[tuple[Path, re.Match[str]]]:
    """The places in a directory with names of this file's making; nothing else is ever touched."""
    named = [
        (path, re.fullmatch(rf"step-(\d{{8,}})({PARTIAL}|{DAMAGED})?", path.name))
        for path in directory.iterdir()
    ]
    return [(path, match) for path, match in named if match]


def _digest(body: dict[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
