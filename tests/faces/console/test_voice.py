"""Money, times and counts as readers of each language write them."""

from datetime import UTC

import pytest

from starverse.faces.console.voice import Voice, zone_of

SHANGHAI = zone_of("Asia/Shanghai|480")
EN, ZH = Voice("en", SHANGHAI), Voice("zh", SHANGHAI)
NOON_MS = 1_796_184_180_000  # 2026-12-02 04:03:00 UTC


@pytest.mark.parametrize(
    ("ms", "english", "chinese"),
    [
        (850, "850 ms", "850 毫秒"),
        (12_300, "12.3 s", "12.3 秒"),
        (245_000, "4 min 05 s", "4 分 05 秒"),
        (240_000, "4 min", "4 分"),
        (9_000_000, "2 h 30 min", "2 小时 30 分"),
        (7_200_000, "2 h", "2 小时"),
        (7 * 86_400_000, "7 d", "7 天"),
        (None, "–", "–"),
        (-5, "0 ms", "0 毫秒"),
        (10_000, "10.0 s", "10.0 秒"),
    ],
)
def test_durations(ms: int | None, english: str, chinese: str) -> None:
    assert EN.lasts(ms) == english
    assert ZH.lasts(ms) == chinese


def test_money_is_cut_and_signed() -> None:
    assert EN.money(1_850_000) == "¥1.8500"
    assert EN.money(1_234_567_891) == "¥1,234.5678"
    assert EN.gained(-15_134, 6) == "−¥0.015134"
    assert EN.gained(10_000_000) == "+¥10.0000"
    assert ZH.rate(800_000) == "¥0.8000/小时"


def test_times_are_in_the_zone_of_the_browser() -> None:
    assert ZH.when(NOON_MS) == "2026-12-02 12:03"
    assert EN.when(NOON_MS, seconds=True) == "2026-12-02 12:03:00"
    assert EN.when(None) == "–"


@pytest.mark.parametrize(
    ("cookie", "hours"),
    [
        ("Asia/Shanghai|480", 8),
        ("Nowhere/Else|-300", -5),
        ("../../etc/passwd|60", 1),
        ("", 0),
        ("|9999999", 14),
    ],
)
def test_a_zone_that_is_not_known_is_taken_by_its_offset(cookie: str, hours: int) -> None:
    at = Voice("en", zone_of(cookie)).when(NOON_MS)
    assert at == Voice("en", UTC).when(NOON_MS + hours * 3_600_000)


def test_sizes_and_counts() -> None:
    assert [EN.bytes(size) for size in (0, 999, 1_300_000, 5 * 10**12)] == [
        "0 B",
        "999 B",
        "1.3 MB",
        "5.0 TB",
    ]
    assert EN.cards(1, 8) == "1–8"
    assert EN.count("submit.files", 1) == "1 file:"
    assert EN.count("submit.files", 12_000) == "12,000 files:"
