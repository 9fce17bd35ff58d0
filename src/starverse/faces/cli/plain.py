"""Reads the values of options and arguments without pydantic, which takes twice as long to load as typer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer

WHOLE_DIGITS_MAX = 18


def lightened(params: list[Any]) -> list[Any]:
    """Let parameters of text, paths, whole numbers, flags, given words, or lists of these read themselves.

    Others stay as typer made them.
    """
    for param in params:
        annotation = param.type_descriptor.annotation
        element = get_args(annotation)[0] if get_origin(annotation) is list else annotation
        read: Callable[[str], Any] | None = None
        if element is str:
            read = str
        elif element is Path:
            read = Path
        elif element is int:
            read = _whole(param)
        elif element is bool and param.is_flag:  # given or None: there is nothing to read
            read = bool
        elif get_origin(element) is Literal:
            read = _one_of(get_args(element))
        if read:
            param.get_runtime_param = _Plain(read).itself
    return params


class _Plain:
    """In the place of typer's reader of one parameter."""

    def __init__(self, read: Callable[[str], Any]) -> None:
        self._read = read

    def itself(self) -> "_Plain":
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as the command takes it. Raises BadParameter, naming the parameter."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        try:
            return [self._read(each) for each in value] if several else self._read(value)
        except ValueError as error:
            raise typer.BadParameter(str(error), ctx=ctx, param=param) from None


def _whole(param: Any) -> Callable[[str], int]:
    def read(value: str | int) -> int:
        text = str(value).strip()
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit()):
            raise ValueError(f"'{text[:40]}' is not a whole number.")
        number = int(text) if len(digits) <= WHOLE_DIGITS_MAX else None
        low, high = param.min, param.max
        if number is None or (low is not None and number < low) or (high is not None and number > high):
            bounds = f"{low:,} or more" if high is None else f"{low:,} to {high:,}"
            raise ValueError(f"{text[:40]} is out of bounds: give {bounds}.")
        return number

    return read


def _one_of(words: tuple[str, ...]) -> Callable[[str], str]:
    def read(value: str) -> str:
        if value not in words:
            raise ValueError(f"'{value[:40]}' is not one of {', '.join(words)}.")
        return value

    return read
