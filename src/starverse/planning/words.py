"""A model and a layout as words: `layers=96 hidden=12288 heads=96`, `tensor=8 pipeline=6 data=96`."""

from dataclasses import fields
from typing import Any, TypeVar

from starverse.model.errors import BadInput
from starverse.model.names import nearest, shown
from starverse.physics.training.layout import Layout
from starverse.physics.training.transformer import Transformer

Shape = TypeVar("Shape", Transformer, Layout)
SIZE_MAX = 10**9


def model_of(words: str, sequence: int, vocabulary: int = 128_000) -> Transformer:
    """The model that words describe, of a given sequence unless they say one; raises BadInput."""
    return _made(Transformer, words, {"sequence": sequence, "vocabulary": vocabulary})


def layout_of(words: str, batch: int) -> Layout:
    """The layout that words describe, of a given batch unless they say one; raises BadInput."""
    return _made(Layout, words, {"batch": batch})


def _made(shape: type[Shape], words: str, given: dict[str, Any]) -> Shape:
    """A model or layout from words like `key=value`, a flag being `key` alone."""
    kinds: dict[str, Any] = {one.name: one.type for one in fields(shape)}
    said: dict[str, Any] = {}
    for word in words.replace(",", " ").split():
        key, equals, value = word.partition("=")
        if key not in kinds:
            raise BadInput(f"A {shape.__name__.lower()} has no {shown(key)}.", nearest(key, kinds))
        if key in said:
            raise BadInput(f"{key} is said twice.", "Say it once.")
        said[key] = _value(kinds[key], key, value if equals else "yes")
    missing = [one for one in ("layers", "hidden", "heads") if one in kinds and one not in said]
    if missing:
        raise BadInput(f"The model has no {missing[0]}.", f"Add {missing[0]}=….")
    return shape(**{**given, **said})


def _value(kind: Any, key: str, text: str) -> Any:
    try:
        if kind is bool:
            return {"yes": True, "true": True, "no": False, "false": False}[text]
        if kind is int and not 0 <= int(text) <= SIZE_MAX:
            raise ValueError
        return kind(text)
    except (KeyError, ValueError):
        what = {
            bool: "yes or no",
            int: f"a whole number up to {SIZE_MAX:,}",
            float: "a number",
            str: "a word",
        }
        raise BadInput(f"{key} is {shown(text)}.", f"Give {what[kind]}.") from None
