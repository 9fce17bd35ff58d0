"""What a job is asked for with, from the options of `submit` and from a file that says the same."""

import difflib
import re
import shlex
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from starverse.faces.cli import shapes
from starverse.model.array import parse_array
from starverse.model.errors import BadInput
from starverse.model.units import SECOND_MS, parse_cards, parse_duration_ms

if TYPE_CHECKING:
    from starverse.faces.schemas import JobAsk, RoleAsk

FILE_BYTES_MAX = 1 << 20


@dataclass(frozen=True, slots=True)
class Wish:
    """A job as it was written down, by options or in a file; None is left to the next one asked."""

    command: tuple[str, ...] | None = None
    cards: str | None = None
    kind: str | None = None
    name: str | None = None
    time_limit_ms: int | None = None
    environment: dict[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    directory: Path | None = None
    priority: str | None = None
    retries: int | None = None
    project: str | None = None
    after: tuple[str, ...] | None = None
    after_any: tuple[str, ...] | None = None
    array: str | None = None
    roles: "tuple[RoleAsk, ...] | None" = None
    shape: dict[str, Any] = field(default_factory=dict)
    earliest_start_ms: int | None = None
    reservation: str | None = None
    stays: bool | None = None

    def over(self, other: "Wish") -> "Wish":
        """This one, and where it says nothing, the other; variables and secrets of both."""
        said = {name: value for name in _PLAIN if (value := getattr(self, name)) is not None}
        return replace(
            other,
            **said,
            environment={**other.environment, **self.environment},
            secrets=tuple(dict.fromkeys((*other.secrets, *self.secrets))),
            shape={**other.shape, **self.shape},
        )

    def ask(self, snapshot: str = "") -> "JobAsk":
        """As the API takes it; what nobody said is left to it. Raises BadInput when there is no command."""
        from starverse.faces.schemas import JobAsk, ShapeAsk

        if not self.command and not self.roles:
            raise BadInput("There is nothing to run.", "`starverse submit -- train.py`, or name a job file.")
        names = set(_PLAIN) - {"command", "directory"}
        said: dict[str, Any] = {name: value for name in names if (value := getattr(self, name)) is not None}
        return JobAsk(
            self.command or (),
            snapshot=snapshot,
            environment=self.environment,
            secrets=self.secrets,
            shape=ShapeAsk(**self.shape),
            **said,
        )


_PLAIN = (
    "command", "cards", "kind", "name", "time_limit_ms", "directory", "priority", "retries", "project",
    "after", "after_any", "array", "roles", "earliest_start_ms", "reservation", "stays",
)  # fmt: skip


def read(path: Path) -> Wish:
    """The job in a TOML file. Raises BadInput, naming key and remedy, for what it does not understand."""
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise BadInput(f"{path} is too large for a job file.", "Is it the right file?")
        return parse(path.read_text(), path)
    except FileNotFoundError:
        raise BadInput(f"There is no file {path}.", "Name a job file, or a script behind `--`.") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not text.", "Write it in UTF-8.") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.", "Name a job file.") from error


def parse(text: str, path: Path) -> Wish:
    """The job that the text of the file at `path` says; folders are meant from where the file is."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path} is no valid TOML: {error}.", 'Text stands in "quotes".') from None
    for key in found:
        if key not in KEYS and key not in SHAPE_KEYS:
            known = [*KEYS, *SHAPE_KEYS]
            near = difflib.get_close_matches(key, known, 1)
            remedy = f"Did you mean '{near[0]}'?" if near else f"There are: {', '.join(known)}."
            raise BadInput(f"{path} has a key '{key[:60]}', which is not known.", remedy)
    wish = Wish(directory=path.parent)
    for key, value in found.items():
        try:
            if key in SHAPE_KEYS:
                wish = replace(wish, shape={**wish.shape, key: SHAPE_KEYS[key](value)})
                continue
            name, read_value = KEYS[key]
            wish = replace(wish, **{name: read_value(value)})
        except BadInput as error:
            raise BadInput(f"{path}, {key}: {error.what}", error.remedy) from None
    assert wish.directory is not None
    return replace(wish, directory=path.parent / wish.directory) if "directory" in found else wish


def cards_of(text: str) -> str:
    """A count, MIN:MAX, or a part of one card, checked before anything is sent."""
    parse_cards(text)
    return text.strip()


def time_limit_of(text: str) -> int:
    """Milliseconds of a time limit. Raises BadInput for none at all."""
    limit_ms = parse_duration_ms(text)
    if not limit_ms:
        raise BadInput(
            "A time limit of nothing leaves no time to run.", "Write it like 90s, 30m, 1h30m or 2d."
        )
    return limit_ms


def environment_of(pairs: Iterable[str]) -> dict[str, str]:
    """Variables written as NAME=VALUE."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise BadInput(f"'{pair[:60]}' sets no variable.", "Write it like NAME=VALUE.")
        found[name] = value
    return found


def array_of(text: str) -> str:
    """The indices of an array, checked before anything is sent."""
    parse_array(text)
    return text.strip()


def afters_of(text: str) -> tuple[str, ...]:
    """Jobs with commas between."""
    return tuple(name for part in text.split(",") if (name := part.strip()))


def priority_of(text: str) -> str:
    """A priority class."""
    from starverse.model.job import Priority

    known = get_args(Priority)
    if text not in known:
        raise BadInput(f"'{text[:60]}' is no priority class.", f"There are: {', '.join(known)}.")
    return text


_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""")
_OF_SHELLS = re.compile(r"\|\|?|&&|&?\d*[<>]+|;(?=\s|$)|(?<=\s)&(?=\s|$)")
"""What a shell would take for a pipe, a redirection or the end of a command."""


# -- values in a file -----------------------------------------------------------------------------------


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise BadInput(f"{_shown(value)} is not text.", 'Put it in "quotes".')
    return value


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise BadInput(f"{_shown(value)} is not a whole number.", "Write it like 2.")
    return value


def _cards(value: Any) -> str:
    return cards_of(str(value) if type(value) in (int, float) else _text(value))


def _time_limit(value: Any) -> int:
    if type(value) is int and 0 < value < 10**11:
        return value * SECOND_MS
    return time_limit_of(str(value) if type(value) is int else _text(value))


def _command(value: Any) -> tuple[str, ...]:
    if not isinstance(value, str):
        return _texts(value)
    try:
        words = tuple(shlex.split(value))
    except ValueError as error:
        raise BadInput(
            f"the command cannot be read ({error}).", "Close the quotes, or write a list."
        ) from None
    if sign := _OF_SHELLS.search(_QUOTED.sub("_", value)):
        remedy = 'Write ["sh", "-c", "..."] to have one, or a list where the sign is meant as it is.'
        raise BadInput(f"no shell reads the command, so '{sign[0]}' in it means nothing.", remedy)
    return words


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise BadInput(f"{_shown(value)} is not a list.", 'Write it like ["one", "two"].')
    return tuple(_text(each) for each in value)


def _afters(value: Any) -> tuple[str, ...]:
    return afters_of(value) if isinstance(value, str) else _texts(value)


def _roles(value: Any) -> "tuple[RoleAsk, ...]":
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise BadInput("roles are tables.", "Write [[role]] above each.")
    return tuple(_role(each) for each in value)


def _role(found: dict[str, Any]) -> "RoleAsk":
    from starverse.faces.schemas import RoleAsk

    known: dict[str, Any] = {"name": _text, "command": _command, "cards": _whole}
    known |= {"launch": _text, "environment": _environment}
    for key in found:
        if key not in known:
            raise BadInput(f"a role has no key '{key[:60]}'.", f"There are: {', '.join(known)}.")
    for key in ("name", "command"):
        if key not in found:
            raise BadInput(f"a role has no {key}.", "Give each a name and a command.")
    return RoleAsk(**{key: known[key](value) for key, value in found.items()})


def _environment(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise BadInput(f"{_shown(value)} is no table.", 'Write it like {LR = "0.1"}.')
    for name, each in value.items():
        if type(each) not in (str, int, float):
            raise BadInput(f"{name} is neither text nor a number.", 'Put it in "quotes".')
    return {name: str(each) for name, each in value.items()}


def _retries(value: Any) -> int:
    if _whole(value) < 0:
        raise BadInput(f"{value} retries cannot be had.", "Write 0 or more.")
    return _whole(value)


def _shown(value: Any) -> str:
    return f"'{str(value)[:60]}'"


KEYS: dict[str, tuple[str, Any]] = {
    "command": ("command", _command),
    "cards": ("cards", _cards),
    "kind": ("kind", _text),
    "name": ("name", _text),
    "time_limit": ("time_limit_ms", _time_limit),
    "environment": ("environment", _environment),
    "secrets": ("secrets", _texts),
    "directory": ("directory", lambda value: Path(_text(value))),
    "priority": ("priority", lambda value: priority_of(_text(value))),
    "retries": ("retries", _retries),
    "project": ("project", _text),
    "after": ("after", _afters),
    "after_any": ("after_any", _afters),
    "array": ("array", lambda value: array_of(_text(value))),
    "role": ("roles", _roles),
    "earliest_start": ("earliest_start_ms", shapes.moment_of),
    "reservation": ("reservation", _text),
    "stays": ("stays", shapes.flag),
}
"""The keys of a job file: the part of a wish that each is, and how its value is read."""

SHAPE_KEYS: dict[str, Any] = {
    **dict.fromkeys(("member", "memory_mb"), shapes.count),
    "cpu": shapes.number,
    **dict.fromkeys(("resources", "slices", "spread", "licences"), shapes.counts),
    **dict.fromkeys(("require", "prefer", "apart", "apart_level"), _text),
    "balanced": shapes.flag,
}
"""The keys of a job file that say how its cards lie and what it needs beside them, as in a case."""
