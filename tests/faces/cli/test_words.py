"""Facts in the words of people."""

import pytest

from starverse.faces.cli import words

MIN, H, D = 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("distance_ms", "said"),
    [
        (0, "just now"),
        (1_999, "just now"),
        (2_000, "2 s ago"),
        (59_999, "59 s ago"),
        (3 * MIN, "3 min ago"),
        (H - 1, "59 min ago"),
        (5 * H + 30 * MIN, "5 h ago"),
        (3 * D, "3 d ago"),
        (-90 * D, "in 90 d"),
        (-20_000, "in 20 s"),
    ],
)
def test_a_moment_is_told_as_seen_from_now(distance_ms: int, said: str) -> None:
    assert words.ago(10**12 - distance_ms, 10**12) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (1_249, "1.2 kB"), (999_949, "999.9 kB"),
        (999_950, "1.0 MB"), (3 * 10**9, "3.0 GB"), (4_200 * 10**12, "4,200.0 TB"),
    ],
)  # fmt: skip
def test_a_size_has_three_digits_or_so(count: int, said: str) -> None:
    assert words.size(count) == said


@pytest.mark.parametrize(
    ("values", "width", "marks", "drawn"),
    [
        ([], 5, [], ""),
        ([1.0], 5, [], "▁"),
        ([2.0, 2.0], 5, [], "▁▁"),
        ([8.0, 7, 6, 5, 4, 3, 2, 1], 8, [], "█▇▆▅▄▃▂▁"),
        ([8.0, 8, 1, 1], 2, [], "█▁"),
        ([8.0, 7, 6, 5, 4, 3, 2, 1], 8, [4], "█▇▆▅╎▃▂▁"),
        ([1.0, 2.0], 2, [2], "▁╎"),
        ([1.0, 2.0], 0, [], ""),
    ],
)
def test_a_curve_is_drawn_in_as_much_room_as_there_is(
    values: list[float], width: int, marks: list[int], drawn: str
) -> None:
    assert words.spark(values, width, marks) == drawn


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
        ("a\x1b[2Jb\x1b[1;1Hc", "abc"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]52;c;c2VjcmV0\x1b\\x", "x"),
        ("bell\x07back\x08\x7f\x9bend", "bellbackend"),
        ("tab\tline\r\n", "tab\tline\r\n"),
        ("训练 ✓", "训练 ✓"),
    ],
)
def test_what_a_job_writes_cannot_harm_the_terminal(written: str, shown: str) -> None:
    assert words.harmless(written) == shown


def test_a_name_is_one_plain_line() -> None:
    assert words.one_line("a\nb\x1b[31mc\u202e\td") == "a bc d"
    assert words.one_line("大模型 训练") == "大模型 训练"


@pytest.mark.parametrize(
    ("how", "code", "rank", "said"),
    [
        ("exit", 0, -1, "finished"),
        ("exit", 3, 1, "rank 1 ended with exit code 3"),
        ("signal", 9, 0, "rank 0 killed by signal 9"),
        ("lost", 0, -1, "vanished"),
        ("lease", 0, -1, "its lease ran out"),
        ("unstarted", 0, -1, "could not be started"),
    ],
)
def test_how_a_run_ended(how: str, code: int, rank: int, said: str) -> None:
    assert words.ending(how, code, rank) == said


def test_money_gained_and_lost_has_its_sign() -> None:
    assert (words.gain(10_000_000), words.gain(-1_500_000), words.gain(0)) == ("+¥10.0000", "-¥1.5000", "")
