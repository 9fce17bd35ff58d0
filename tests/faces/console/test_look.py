"""The palette: what is read stands out from what it stands on (WCAG AA, 4.5 to 1), in dark and in light."""

import re
from pathlib import Path

import pytest

from starverse.faces.console import pages

CSS = (pages.LOOK / "console.css").read_text()
LIGHT, DARK = (
    dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block)) for block in re.findall(r"\{[^}]*\}", CSS)[:2]
)

TEXTS = ("ink", "muted", "link", "run", "wait", "start", "pause", "bad", "calm")
GROUNDS = ("bg", "surface", "raised", "code")
PAIRS = [(text, ground) for text in TEXTS for ground in GROUNDS] + [
    ("brand-ink", "brand"), ("bad-ink", "bad"), ("night-ink", "night"),
]  # fmt: skip


def luminance(colour: str) -> float:
    """Of a colour of the web, as WCAG 2.2 defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("palette", [LIGHT, LIGHT | DARK], ids=["light", "dark"])
def test_texts_can_be_read(palette: dict[str, str]) -> None:
    def contrast(a: str, b: str) -> float:
        low, high = sorted((luminance(palette[a]), luminance(palette[b])))
        return (high + 0.05) / (low + 0.05)

    assert {(a, b): round(contrast(a, b), 2) for a, b in PAIRS if contrast(a, b) < 4.5} == {}


def test_nothing_is_fetched_from_elsewhere() -> None:
    files = [*pages.LOOK.iterdir(), *Path(pages.__file__).parent.glob("*.py")]
    addresses = {url for file in files for url in re.findall(r"https?://[\w.]+", file.read_text())}
    assert addresses <= {"http://127.0.0.1", "http://www.w3.org"}
