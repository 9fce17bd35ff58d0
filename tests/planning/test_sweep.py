"""A measured all-reduce: the gate by one line, and a person's own file."""

import pytest

from starverse.model.errors import BadInput
from starverse.planning.sweep import plan_sweep

START_S, BYTE_S = 30e-6, 4e-12


def printed(sizes: list[int]) -> list[str]:
    """What all_reduce_perf prints of a fabric of 30 µs and 250 GB/s."""
    rows = [
        f"{size} {size // 4} float sum -1 {(START_S + size * BYTE_S) * 1e6:.2f} 1 1 0 9 9 9 0"
        for size in sizes
    ]
    return ["# nThread 1 nGpus 1", "#       size         count", *rows, "# Avg bus bandwidth    : 100"]


SIZES = [1 << power for power in range(10, 34)]


@pytest.mark.parametrize(("name", "gate"), [("h200-node", 0.05), ("b200-node", 0.10), ("b200-4-nodes", 0.10)])
def test_half_of_a_published_sweep_tells_the_rest(name: str, gate: float) -> None:
    found = plan_sweep(name, None, None, None)
    assert 0 < found.held_out_even_share <= gate
    assert 0 < found.held_out_odd_share <= gate


def test_a_file_of_ones_own_gives_back_its_fabric() -> None:
    found = plan_sweep("mine.txt", printed(SIZES), 16, 1000.0)
    assert found.least_bytes == 1 << 17
    assert found.sizes == 17
    assert found.start_us == pytest.approx(30, rel=0.01)
    assert found.bus_bytes_per_s_most == pytest.approx(2 * 15 / 16 / BYTE_S, rel=0.01)
    assert found.time_s == pytest.approx(START_S + 1e9 * BYTE_S, rel=0.01)
    assert found.bus_bytes_per_s == pytest.approx(2 * 15 / 16 * 1e9 / found.time_s)
    assert "mine.txt" in found.source


@pytest.mark.parametrize(
    ("words", "lines", "cards", "megabytes", "said"),
    [
        ("h200-nod", None, None, None, "Did you mean 'h200-node'"),
        ("h200-node", None, 8, None, "Leave out --cards"),
        ("mine", printed(SIZES), None, None, "Give --cards"),
        ("mine", printed(SIZES), 1, None, "cards"),
        ("mine", printed(SIZES[:9]), 8, None, "2 sizes|0 sizes|3 sizes"),
        ("mine", [*printed(SIZES), "8388608 oops"], 8, None, "line 28"),
        ("mine", [*printed(SIZES), "8388608 1 float sum -1 -3 1"], 8, None, "no time"),
        ("h200-node", None, None, 1e6, "outside what was measured"),
    ],
)
def test_what_is_no_sweep_is_refused(
    words: str, lines: list[str] | None, cards: int | None, megabytes: float | None, said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        plan_sweep(words, lines, cards, megabytes)
