"""The console's sentences in each language, catalogue files with the same keys for each."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Literal

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")

CATALOGUES = Path(__file__).parent / "words"


@cache
def catalogue(language: Language) -> dict[str, str]:
    """Every sentence of a language, by dotted key such as `job.stop`."""
    files = sorted(CATALOGUES.glob(f"{language}.*toml"))
    tables = [tomllib.loads(file.read_text(encoding="utf-8")) for file in files]
    return dict(row for table in tables for row in _flat(table, ""))


@cache
def _translations(language: Language) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Sentences of the server, which speaks English, as patterns with their translations."""
    files = sorted(CATALOGUES.glob(f"server.{language}.*toml"), reverse=True)
    rows = [row for file in files for row in tomllib.loads(file.read_text(encoding="utf-8"))["sentence"]]
    return tuple((re.compile(row["en"]), row["is"]) for row in rows)


def translate(language: Language, sentence: str) -> str:
    """What the server said, in the reader's language where that is known, else as it was said.

    A part that a pattern leaves open is translated in turn: `Waits again: its lease ran out.`
    """
    for pattern, template in _translations(language):
        match = pattern.fullmatch(sentence)
        if match:
            return template.format(*(translate(language, part or "") for part in match.groups()))
    return sentence


def _flat(table: dict[str, Any], above: str) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for key, value in table.items():
        name = f"{above}{key}"
        rows += _flat(value, f"{name}.") if isinstance(value, dict) else [(name, str(value))]
    return rows
