"""Units as people write and read them: what is understood, what is refused, and in which words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starverse.model.errors import BadInput
from starverse.model.units import (
    CARD,
    CARDS_MAX,
    DAY_MS,
    DURATION_MAX_MS,
    HOUR_MS,
    MINUTE_MS,
    SECOND_MS,
    TIME_LIMIT_MAX_MS,
    YUAN,
    format_cards,
    format_duration,
    format_yuan,
    in_cards,
    parse_cards,
    parse_duration_ms,
)

NONSENSE = [
    "",
    " ",
    "x",
    "-1",
    "+1",
    "1.5",
    "1e3",
    "1,000",
    "1_000",
    "0x10",
    "1 h",
    "one",
    "١",
    "１",
    "²",
    "∞",
    "nan",
    "9" * 5_000,
]
"""Refused by every parser: signs, fractions, digits that are not ASCII, and floods."""


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("90s", 90 * SECOND_MS),
        ("30m", 30 * MINUTE_MS),
        ("1h30m", 90 * MINUTE_MS),
        ("2d", 2 * DAY_MS),
        ("3600", HOUR_MS),
        ("250ms", 250),
        ("5m5ms", 5 * MINUTE_MS + 5),
        (" 1d2h3m4s5ms ", DAY_MS + 2 * HOUR_MS + 3 * MINUTE_MS + 4 * SECOND_MS + 5),
        ("90m", 90 * MINUTE_MS),
        ("007s", 7 * SECOND_MS),
        ("0", 0),
    ],
)
def test_a_duration_is_read_as_it_is_written(text: str, ms: int) -> None:
    assert parse_duration_ms(text) == ms


@pytest.mark.parametrize(
    "text", [*NONSENSE, "h", "1h1h", "30m1h", "1w", "1H", "s1", "1s2", "1m s", "5s\n5s", "1d" * 30]
)
def test_what_is_no_duration_is_refused_in_one_clear_sentence(text: str) -> None:
    with pytest.raises(BadInput) as refusal:
        parse_duration_ms(text)
    reads_well(refusal.value)
    assert "90s, 30m, 1h30m or 2d" in refusal.value.remedy


@pytest.mark.parametrize("text", ["99999999999", "36601d", "9" * 30 + "d"])
def test_a_duration_that_nobody_lives_to_see_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="longer than a hundred years") as refusal:
        parse_duration_ms(text)
    reads_well(refusal.value)


def test_every_time_limit_can_be_written() -> None:
    assert TIME_LIMIT_MAX_MS <= DURATION_MAX_MS
    assert parse_duration_ms(f"{TIME_LIMIT_MAX_MS}ms") == TIME_LIMIT_MAX_MS


@given(st.integers(0, DURATION_MAX_MS))
def test_a_duration_comes_back_as_it_was_however_it_is_cut(ms: int) -> None:
    days, rest = divmod(ms, DAY_MS)
    hours, rest = divmod(rest, HOUR_MS)
    minutes, rest = divmod(rest, MINUTE_MS)
    seconds, millis = divmod(rest, SECOND_MS)
    assert parse_duration_ms(f"{days}d{hours}h{minutes}m{seconds}s{millis}ms") == ms
    assert parse_duration_ms(f"{ms}ms") == ms


@given(st.text(max_size=60))
def test_any_text_is_a_duration_or_bad_input(text: str) -> None:
    try:
        assert 0 <= parse_duration_ms(text) <= DURATION_MAX_MS
    except BadInput as refusal:
        reads_well(refusal)


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (850, "850 ms"),
        (999, "999 ms"),
        (1_000, "1.0 s"),
        (12_345, "12.3 s"),
        (59_999, "59.9 s"),
        (60_000, "1 min 00 s"),
        (245_000, "4 min 05 s"),
        (3_599_999, "59 min 59 s"),
        (9_000_000, "2 h 30 min"),
        (HOUR_MS, "1 h 00 min"),
        (DAY_MS - 1, "23 h 59 min"),
        (76 * HOUR_MS, "3 d 4 h"),
    ],
)
def test_a_duration_is_said_as_a_person_would(ms: int, text: str) -> None:
    assert format_duration(ms) == text


@given(st.integers(0, DURATION_MAX_MS))
def test_what_is_said_of_a_duration_is_never_more_than_it_is(ms: int) -> None:
    unit_ms = {"ms": 1, "s": SECOND_MS, "min": MINUTE_MS, "h": HOUR_MS, "d": DAY_MS}
    words = format_duration(ms).split()
    said_ms = sum(float(n) * unit_ms[unit] for n, unit in zip(words[::2], words[1::2], strict=True))
    last_ms = 100 if "." in words[0] else unit_ms[words[-1]]
    assert 0 <= ms - said_ms < last_ms + 1e-6
    assert all(float(n) < 60 for n, unit in zip(words[::2], words[1::2], strict=True) if unit in {"s", "min"})


@pytest.mark.parametrize(
    ("micro_yuan", "text"),
    [
        (0, "¥0.0000"),
        (1_850_000, "¥1.8500"),
        (99, "¥0.0000"),
        (-99, "¥0.0000"),
        (-100, "-¥0.0001"),
        (999_999, "¥0.9999"),
        (1_234_567_890_123, "¥1,234,567.8901"),
        (-1_850_000, "-¥1.8500"),
    ],
)
def test_yuan_are_cut_never_rounded_up(micro_yuan: int, text: str) -> None:
    assert format_yuan(micro_yuan) == text


@given(st.integers(-(10**18), 10**18))
def test_yuan_with_all_their_digits_come_back_as_they_were(micro_yuan: int) -> None:
    text = format_yuan(micro_yuan, places=6)
    assert int(re.sub(r"[¥,.]", "", text)) == micro_yuan


@given(st.integers(-(10**18), 10**18), st.integers(1, 6))
def test_yuan_with_fewer_digits_are_the_same_ones_cut_short(micro_yuan: int, places: int) -> None:
    assert format_yuan(micro_yuan, 6).lstrip("-").startswith(format_yuan(micro_yuan, places).lstrip("-"))


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [("4", 4, 4), ("2:8", 2, 8), (" 1 ", 1, 1), ("8:8", 8, 8), ("1000000", CARDS_MAX, CARDS_MAX)],
)
def test_cards_are_a_number_or_a_range(text: str, least: int, most: int) -> None:
    assert parse_cards(text) == (least * CARD, most * CARD)


@pytest.mark.parametrize(
    ("text", "milli_cards"), [("0.25", 250), (".5", 500), ("0.999", 999), ("0.001", 1), (" 0.3000 ", 300)]
)
def test_less_than_a_card_is_a_part_of_one(text: str, milli_cards: int) -> None:
    assert parse_cards(text) == (milli_cards, milli_cards)
    assert parse_cards(format_cards(milli_cards)) == (milli_cards, milli_cards)
    assert in_cards(milli_cards) * CARD == milli_cards


@pytest.mark.parametrize("text", ["1.5", "0.25:1", "0.0001", "0.000", "0.", "1.0", "1e-1", "-0.5", "nan"])
def test_parts_are_of_one_card_and_to_the_milli_card(text: str) -> None:
    with pytest.raises(BadInput, match=r"0\.25 for a part of one card"):
        parse_cards(text)


@pytest.mark.parametrize(
    ("milli_cards", "text"),
    [(8_000, "8"), (250, "0.25"), (1_500, "1.5"), (0, "0"), (30_001, "30.001")],
)
def test_cards_are_written_as_people_do(milli_cards: int, text: str) -> None:
    assert format_cards(milli_cards) == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        *((text, "") for text in [*NONSENSE, ":", "1:", ":1", "1:2:3", "1 : 2", "a:b", "4\n5", "\x1b[31m4"]),
        ("0", "cannot be had"),
        ("0:4", "cannot be had"),
        ("1000001", "1 to 1,000,000 cards"),
        ("1:99999999999999999999", "1 to 1,000,000 cards"),
        ("8:2", "smaller number first"),
    ],
)
def test_what_is_no_number_of_cards_is_refused_in_one_clear_sentence(text: str, says: str) -> None:
    with pytest.raises(BadInput) as refusal:
        parse_cards(text)
    reads_well(refusal.value)
    assert says in str(refusal.value)


@given(st.integers(1, CARDS_MAX), st.integers(1, CARDS_MAX))
def test_a_range_of_cards_comes_back_as_it_was(one: int, other: int) -> None:
    least, most = sorted((one, other))
    assert parse_cards(f"{least}:{most}") == (least * CARD, most * CARD)
    assert parse_cards(f"{least}") == (least * CARD, least * CARD)


@given(st.text(max_size=60))
def test_any_text_is_a_number_of_cards_or_bad_input(text: str) -> None:
    try:
        least, most = parse_cards(text)
        assert least >= CARD or least == most > 0
        assert least <= most <= CARDS_MAX * CARD
    except BadInput as refusal:
        reads_well(refusal)


def test_a_yuan_is_a_million_micro_yuan() -> None:
    assert format_yuan(YUAN) == "¥1.0000"


def reads_well(refusal: BadInput) -> None:
    """One sentence of what is wrong and one of what to do, short, on one line, fit for a terminal."""
    assert refusal.what.endswith(".")
    assert refusal.remedy.endswith(".")
    assert str(refusal).isprintable(), f"{str(refusal)!r} has control characters or more than one line"
    assert len(str(refusal)) < 200
