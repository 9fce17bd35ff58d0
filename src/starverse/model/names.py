"""Names as a person writes them: many at once, `r[1-3]-n[01-18]`, and those that are not known."""

import difflib
import re
from collections.abc import Iterable
from itertools import product
from math import prod
from typing import Any

from starverse.model.errors import BadInput

NAMES_MAX = 20_000
"""So many names at most come of one pattern."""

_RANGE = re.compile(r"\[(\d{1,6})-(\d{1,6})\]")


class Pattern:
    """A name with ranges: `r[1-3]-n[01-18]` is 54 names; `groups` are the numbers in each, as written."""

    def __init__(self, text: str, where: str) -> None:
        ranges = [(found[1], found[2]) for found in _RANGE.finditer(text)]
        spans = [range(int(low), int(high) + 1) for low, high in ranges]
        if not all(spans) or prod(map(len, spans)) > NAMES_MAX:
            raise BadInput(
                f"{where}: {shown(text)} is no range, or more than {NAMES_MAX:,} names.",
                "Write it like n[1-8], the smaller number first.",
            )
        widths = [len(low) if low.startswith("0") else 0 for low, _ in ranges]
        form = _RANGE.sub("\0", text).split("\0")
        self.names: list[str] = []
        self.groups: list[tuple[str, ...]] = []
        for numbers in product(*spans):
            words = tuple(str(n).zfill(width) for n, width in zip(numbers, widths, strict=True))
            self.names.append("".join(part + word for part, word in zip(form, (*words, ""), strict=True)))
            self.groups.append(words)


def shown(value: Any) -> str:
    """What a person wrote, fit to stand in a sentence."""
    text = "".join(c if c.isprintable() else " " for c in str(value)[:60])
    return f"'{text}'"


def nearest(word: str, known: Iterable[str]) -> str:
    """The remedy for an unknown word."""
    known = list(dict.fromkeys(known))
    near = difflib.get_close_matches(word, known, 1, 0.5)
    if near:
        return f"Did you mean '{near[0]}'?"
    listed = ", ".join(known[:20]) + ", …" * (len(known) > 20)
    return f"There are: {listed}." if known else "There is nothing of that sort here."
