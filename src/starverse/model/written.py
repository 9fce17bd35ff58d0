"""Reads a TOML file that a person wrote into structs: each error names the key and the remedy."""

import tomllib
from difflib import get_close_matches
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import Struct, ValidationError, convert

from starverse.model.errors import BadInput
from starverse.model.names import nearest

T = TypeVar("T", bound=Struct)

UNITS = (
    "_w", "_c", "_k", "_pa", "_yuan", "_yuan_per_kw", "_yuan_per_kwh", "_years", "_share", "_gbps", "_ns",
)  # fmt: skip
"""How keys end that have a unit."""


def parsed(text: str, file: str) -> dict[str, Any]:
    """The tables of a TOML text. Raises BadInput with the line of what is none."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as wrong:
        raise BadInput(f"{file} is no TOML: {wrong}.", "Correct that line.") from None


def as_struct(given: dict[str, Any], shape: type[T], file: str) -> T:
    """The struct that tables describe.

    Raises BadInput with the key: for an unknown one, naming the nearest known; for one without its unit,
    naming how it is written; for a value of the wrong kind. A struct among several is told by its `kind`.
    """
    check_keys(given, shape, "", file)
    try:
        return convert(given, shape)
    except ValidationError as wrong:
        what, _, where = str(wrong).partition(" - at ")
        key = where.strip("`$.") or "it"
        words = _words(shape, key, given)
        remedy = f"Give {' or '.join(words)}." if words else "Give that kind of value."
        raise BadInput(f"{file}: `{key}`: {what[0].lower()}{what[1:]}.", remedy) from None


def check_keys(given: dict[str, Any], shape: type[Struct], path: str, file: str) -> None:
    """Raise BadInput for a key that the struct under `path` (with its dot) lacks, as `as_struct` does."""
    hints = get_type_hints(shape)
    known = {name: hints[name] for name in shape.__struct_fields__}
    tag = shape.__struct_config__.tag_field
    for key, value in given.items():
        if key not in known and key != tag:
            raise _unknown(key, path, list(known), file)
        inner = _struct(known.get(key), value, f"{path}{key}", file)
        if inner and isinstance(value, dict):
            check_keys(value, inner, f"{path}{key}.", file)


def _struct(hint: Any, value: Any, key: str, file: str) -> type[Struct] | None:
    """The struct that a table under this key is, if any: of several, the one of its `kind`."""
    if isinstance(hint, type) and issubclass(hint, Struct):
        return hint
    if get_origin(hint) not in (Union, UnionType) or not isinstance(value, dict):
        return None
    shapes: list[type[Struct]] = [one for one in get_args(hint) if issubclass(one, Struct)]
    kinds = {str(one.__struct_config__.tag): one for one in shapes}
    kind = value.get("kind")
    if kind is None:
        near = get_close_matches("kind", value, 1, 0.7)
        if near:
            raise _unknown(near[0], f"{key}.", ["kind"], file)
        raise BadInput(f"{file}: `{key}.kind` must be said.", f"Give {', '.join(kinds)}.")
    if kind not in kinds:
        raise BadInput(f"{file}: `{key}.kind`: there is no '{kind}'.", nearest(str(kind), kinds))
    return kinds[kind]


def _unknown(key: str, path: str, known: list[str], file: str) -> BadInput:
    with_unit = [k for k in known if any(k == key + unit for unit in UNITS)]
    if with_unit:
        return BadInput(f"{file}: `{path}{key}` has no unit.", f"Write `{path}{with_unit[0]}`.")
    near = get_close_matches(key, known, 1, 0.5)
    remedy = f"Did you mean `{path}{near[0]}`?" if near else f"Known are {', '.join(known)}."
    return BadInput(f"{file}: there is no key `{path}{key}`.", remedy)


def _words(shape: type[Struct], key: str, given: dict[str, Any]) -> tuple[str, ...]:
    """The words that a key may have, if it takes words."""
    hint: Any = shape
    value: Any = given
    for part in key.split("."):
        if not (isinstance(hint, type) and issubclass(hint, Struct) and isinstance(value, dict)):
            return ()
        value = value.get(part)
        hint = get_type_hints(hint).get(part)
    return get_args(hint) if get_origin(hint) is Literal else ()
