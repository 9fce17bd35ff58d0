"""Several jobs that belong together: arrays, one job many times over, told apart by an index."""

import re

from starverse.model.errors import BadInput

ARRAY_MAX = 10_000
"""So many jobs at most are submitted as one array."""

INDEX_MAX = 1_000_000_000

AFTER_MAX = 100
"""A job may come after so many others at most; an array is one of them."""

_PART = re.compile(r"(\d{1,10})(?:-(\d{1,10})(?::(\d{1,10}))?)?")
_REMEDY = "Write it like 0-99, 0-99%10 (ten at once), 0-99:5 or 1,4,7-9."


def parse_array(text: str) -> tuple[tuple[int, ...], int]:
    """The indices that a text such as `0-99%10` names, and how many of their jobs may run at once (0: any).

    Raises BadInput for what cannot be read, an index that is named twice, and more of them than can be had.
    """
    parts, percent, limit = text.replace(" ", "").partition("%")
    if percent and not (limit.isascii() and limit.isdecimal() and 0 < len(limit) < 10 and int(limit)):
        raise BadInput(f"'{limit[:40]}' is no number of jobs that may run at once.", _REMEDY)
    indices: list[int] = []
    for part in parts.split(","):
        found = _PART.fullmatch(part)
        if not found or not part.isascii():
            raise BadInput(f"'{part[:40]}' names no indices of an array.", _REMEDY)
        low, high, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
        if high < low or high > INDEX_MAX or not step:
            raise BadInput(f"'{part[:40]}' names no indices of an array.", _REMEDY)
        span = range(low, high + 1, step)
        if len(indices) + len(span) > ARRAY_MAX:
            raise BadInput(f"An array has {ARRAY_MAX:,} jobs at most.", "Submit several arrays.")
        indices += span
    if len(set(indices)) < len(indices):
        raise BadInput(f"'{text[:40]}' names an index twice.", "Name each once.")
    return tuple(indices), int(limit or 0)
