"""The integers everything is counted in, and how a person reads and writes them."""

import re

from starverse.model.errors import BadInput

CARD = 1000
"""Milli-cards in one card."""

SECOND_MS = 1000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

YUAN = 1_000_000
"""Micro-yuan in one yuan."""

TIME_LIMIT_MAX_MS = 366 * DAY_MS
CARDS_MAX = 1_000_000
"""More cards than any cluster has: what is above is a slip of the keyboard."""

DURATION_MAX_MS = 100 * 366 * DAY_MS
"""Longer than anybody waits: what is above is a slip of the keyboard."""

_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?", re.ASCII)

_PART = re.compile(r"0?\.(?=0*[1-9])(\d{1,3})0*", re.ASCII)
"""A part of one card, to the milli-card."""


def parse_duration_ms(text: str) -> int:
    """Milliseconds of a duration such as `90s`, `1h30m`, `2d` or `3600` (seconds).

    Raises BadInput, with the forms that are understood, for anything else.
    """
    text = text.strip()
    match = _DURATION.fullmatch(text + "s" if text.isdecimal() else text)
    if not match or not any(match.groups()) or len(text) > 40:
        raise BadInput(f"'{_shown(text)}' is not a duration.", "Write it like 90s, 30m, 1h30m or 2d.")
    units_ms = (DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, 1)
    ms = sum(int(n) * unit for n, unit in zip(match.groups(), units_ms, strict=True) if n)
    if ms > DURATION_MAX_MS:
        raise BadInput(
            f"{_shown(text)} is longer than a hundred years.", "Write it like 90s, 30m, 1h30m or 2d."
        )
    return ms


def format_duration(ms: int) -> str:
    """A duration as a person says it: `850 ms`, `12.3 s`, `4 min 05 s`, `2 h 30 min`, `3 d 4 h`."""
    if ms < SECOND_MS:
        return f"{ms} ms"
    if ms < MINUTE_MS:
        return f"{ms // SECOND_MS}.{ms % SECOND_MS // 100} s"
    if ms < HOUR_MS:
        return f"{ms // MINUTE_MS} min {ms % MINUTE_MS // SECOND_MS:02d} s"
    if ms < DAY_MS:
        return f"{ms // HOUR_MS} h {ms % HOUR_MS // MINUTE_MS:02d} min"
    return f"{ms // DAY_MS} d {ms % DAY_MS // HOUR_MS} h"


def format_yuan(micro_yuan: int, places: int = 4) -> str:
    """Micro-yuan as yuan, cut towards zero at `places` (1 to 6) digits: 1850000 → `¥1.8500`."""
    whole, rest = divmod(abs(micro_yuan), YUAN)
    digits = f"{whole:,}.{f'{rest:06d}'[:places]}"
    sign = "-" if micro_yuan < 0 and digits.strip("0.") else ""
    return f"{sign}¥{digits}"


def parse_cards(text: str) -> tuple[int, int]:
    """Milli-cards (least, most) of `4`, of `2:8`, or of a part of one card: `0.25`.

    Raises BadInput for zero, negative, huge, or non-numeric counts, for parts beside whole cards, or when the
    least exceeds the most.
    """
    fraction = _PART.fullmatch(text.strip())
    if fraction:
        return (int(fraction[1].ljust(3, "0")),) * 2
    low, colon, high = text.strip().partition(":")
    counts = []
    for part in (low, high) if colon else (low, low):
        if not (part.isascii() and part.isdigit()):
            raise BadInput(
                f"'{_shown(text)}' is not a number of cards.",
                "Write 2, 1:8 for an elastic job, or 0.25 for a part of one card (up to 0.999).",
            )
        count = int(part) if len(part) <= 9 else CARDS_MAX + 1
        if not 1 <= count <= CARDS_MAX:
            raise BadInput(f"{_shown(text)} cards cannot be had.", f"Ask for 1 to {CARDS_MAX:,} cards.")
        counts.append(count)
    if counts[0] > counts[1]:
        raise BadInput(
            f"{_shown(text)} asks for at least {counts[0]} and at most {counts[1]} cards.",
            "Write the smaller number first.",
        )
    return counts[0] * CARD, counts[1] * CARD


def format_cards(milli_cards: int) -> str:
    """A number of cards as a person says it: `8`, `0.25`."""
    whole, rest = divmod(milli_cards, CARD)
    return f"{whole}.{rest:03d}".rstrip("0") if rest else str(whole)


def in_cards(milli_cards: int) -> int | float:
    """Cards as a number: whole where they are, `0.25` for a part of one."""
    return milli_cards / CARD if milli_cards % CARD else milli_cards // CARD


def _shown(text: str) -> str:
    """What a person typed, fit to stand in a sentence: short, on one line, without control characters."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[:40])
