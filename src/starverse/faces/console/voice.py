"""How the console speaks to one reader: their language, with money, times and counts as they write them."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from starverse.faces.console.words import Language, catalogue, translate
from starverse.model.units import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, format_duration, format_yuan

NOTHING = "–"
"""Shown where there is no value (yet)."""

_NOUGHT = re.compile(r"(?<=[^\d\s.]) 0?0 \S+$")


@dataclass(frozen=True)
class Voice:
    """A language and a time zone."""

    language: Language = "en"
    zone: tzinfo = UTC

    def say(self, key: str, **values: object) -> str:
        """The sentence of that key, with the values in their places."""
        text = catalogue(self.language)[key]
        return text.format(**values) if values else text

    def count(self, key: str, n: float, **values: object) -> str:
        """The sentence for one or for many: `key.one` or `key.many`, with {n}."""
        return self.say(f"{key}.{'one' if n == 1 else 'many'}", n=self.cards(n, n), **values)

    def server(self, sentence: str) -> str:
        """A sentence of the server's."""
        return translate(self.language, sentence.strip())

    def error(self, what: str, remedy: str) -> str:
        """What went wrong and what to do, in one line."""
        return (" " if self.language == "en" else "").join(filter(None, map(self.server, (what, remedy))))

    # -- money --------------------------------------------------------------------------------------------

    def money(self, micro_yuan: int, places: int = 4) -> str:
        """¥1.8500; cut, never rounded up."""
        return format_yuan(micro_yuan, places)

    def gained(self, micro_yuan: int, places: int = 4) -> str:
        """With its sign: +¥1.8500 or −¥1.8500."""
        sign = "+" if micro_yuan > 0 else "−" if micro_yuan < 0 else ""
        return f"{sign}{format_yuan(abs(micro_yuan), places)}"

    def rate(self, micro_yuan: int) -> str:
        """Money an hour."""
        return self.say("unit.per_hour", money=self.money(micro_yuan))

    # -- time ---------------------------------------------------------------------------------------------

    def when(self, ms: int | None, seconds: bool = False) -> str:
        """A moment in the reader's zone: 2026-12-02 12:03."""
        if ms is None:
            return NOTHING
        return self._local(ms).strftime("%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M")

    def clock(self, ms: int) -> str:
        """The time of day alone: 12:03:45."""
        return self._local(ms).strftime("%H:%M:%S")

    def lasts(self, ms: int | None) -> str:
        """A duration: 850 ms, 12.3 s, 4 min 05 s, 2 h 30 min, 3 d; what is nought is left out at its end."""
        if ms is None:
            return NOTHING
        ms = max(ms, 0)
        text = format_duration(ms) if self.language == "en" else _duration_zh(ms)
        return _NOUGHT.sub("", text)

    def _local(self, ms: int) -> datetime:
        return datetime.fromtimestamp(ms / 1000, UTC).astimezone(self.zone)

    # -- counts -------------------------------------------------------------------------------------------

    def number(self, n: float, places: int = 0) -> str:
        """Digits in groups of three: 26,214."""
        return f"{n:,.{places}f}"

    def bytes(self, size: int) -> str:
        """A size of a file: 1.3 MB."""
        if size < 1000:
            return f"{size} B"
        units = ("kB", "MB", "GB", "TB")
        power = next((n for n in range(1, len(units)) if size < 1000 ** (n + 1)), len(units))
        return f"{size / 1000**power:.1f} {units[power - 1]}"

    def cards(self, least: float, most: float) -> str:
        """How many cards: 2, 1 to 8, or 0.25 of one."""
        if least % 1:
            return f"{least:g}"
        return self.number(least) if least == most else f"{self.number(least)}–{self.number(most)}"


def zone_of(cookie: str) -> tzinfo:
    """The zone a browser told as `Asia/Shanghai|480` (name, and minutes east of UTC as it is now)."""
    name, _, east = cookie.partition("|")
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # a machine without zone files, or nonsense
        pass
    try:
        return timezone(timedelta(minutes=max(-840, min(840, int(east)))))
    except ValueError:
        return UTC


def _duration_zh(ms: int) -> str:
    if ms < SECOND_MS:
        return f"{ms} 毫秒"
    if ms < MINUTE_MS:
        return f"{ms / SECOND_MS:.1f} 秒"
    if ms < HOUR_MS:
        return f"{ms // MINUTE_MS} 分 {ms % MINUTE_MS // SECOND_MS:02d} 秒"
    if ms < DAY_MS:
        return f"{ms // HOUR_MS} 小时 {ms % HOUR_MS // MINUTE_MS:02d} 分"
    return f"{ms // DAY_MS} 天 {ms % DAY_MS // HOUR_MS} 小时"
