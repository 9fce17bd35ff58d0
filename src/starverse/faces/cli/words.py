"""Facts in the words of people: how long ago, how large, how many cards, how it stands."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import pairwise

from starverse.model.units import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, format_yuan
from starverse.train.contract import EXIT_SAVED

# Colours stay; anything else could move the cursor, rename the window or type into the shell.
_CONTROL = re.compile(
    r"(\x1b\[[0-9;:]*m)"
    r"|\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"
    r"|\x1b."
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]",
    re.DOTALL,
)

_SPARKS = "▁▂▃▄▅▆▇█"
MARK = "╎"


def harmless(text: str) -> str:
    """Text that a job wrote, fit for a terminal: its colours are kept, other control codes are not."""
    return _CONTROL.sub(lambda match: match[1] or "", text)


def one_line(text: str) -> str:
    """Text from elsewhere as one plain line of a table."""
    return " ".join("".join(c if c.isprintable() else " " for c in _CONTROL.sub("", text)).split())


def ago(at_ms: int, now_ms: int) -> str:
    """A moment as seen from now: `just now`, `3 min ago`, `in 2 h`."""
    distance_ms = abs(now_ms - at_ms)
    if distance_ms < 2 * SECOND_MS:
        return "just now"
    for unit_ms, name in ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min"), (SECOND_MS, "s")):
        if distance_ms >= unit_ms:
            amount = f"{distance_ms // unit_ms} {name}"
            return f"{amount} ago" if now_ms >= at_ms else f"in {amount}"
    raise AssertionError("two seconds are longer than one")


def clock(at_ms: int) -> str:
    """A moment as the clock on the wall here shows it: `2026-12-02 18:00`."""
    return datetime.fromtimestamp(at_ms / SECOND_MS, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def size(count: float) -> str:
    """Bytes in decimal units: `999 B`, `1.2 MB`."""
    if count < 1000:
        return f"{count:.0f} B"
    for unit in ("kB", "MB", "GB"):
        count /= 1000
        if count < 999.95:
            return f"{count:.1f} {unit}"
    return f"{count / 1000:,.1f} TB"


def many(count: float, noun: str) -> str:
    """A count and its noun: `1 file`, `1,204 files`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def cards(least: float, most: float) -> str:
    """How many cards: `8`, `1–8` for an elastic job, `0.25` for a part of one."""
    return f"{least:,}" if least == most else f"{least:,}–{most:,}"


def gain(micro_yuan: int) -> str:
    """A movement of money, with its sign; nothing for none."""
    if not micro_yuan:
        return ""
    return f"{'+' if micro_yuan > 0 else ''}{format_yuan(micro_yuan)}"


def standing(phase: str, outcome: str) -> str:
    """How a job stands, in a word: its phase, or how it ended."""
    return outcome if phase == "ended" and outcome else phase


def has_saved(how: str, code: int) -> bool:
    """Whether a run ended as it was asked to: saved, and left."""
    return (how, code) == ("exit", EXIT_SAVED)


def ending(how: str, code: int, rank: int) -> str:
    """How a run ended, as a part of a sentence."""
    who = f"rank {rank} " if rank >= 0 else ""
    match how:
        case "exit":
            if has_saved(how, code):
                return "saved and left"
            return "finished" if code == 0 else f"{who}ended with exit code {code}"
        case "signal":
            return f"{who}killed by signal {code}"
        case "lease":
            return "its lease ran out"
        case "lost":
            return "vanished"
        case "unstarted":
            return "could not be started"
        case _:
            return how


def number(value: float | None) -> str:
    """A loss or a rate with the digits that mean something."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def spark(values: list[float], width: int, marks: Iterable[int] = ()) -> str:
    """A curve in at most `width` characters, each the mean of as many values; `╎` at each mark (an index)."""
    if not values or width < 1:
        return ""
    width = min(width, len(values))
    edges = [i * len(values) // width for i in range(width + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    low, high = min(means), max(means)
    scale = (len(_SPARKS) - 1) / (high - low) if high > low else 0.0
    drawn = [_SPARKS[round((mean - low) * scale)] for mean in means]
    for mark in marks:
        drawn[min(mark * width // len(values), width - 1)] = MARK
    return "".join(drawn)
