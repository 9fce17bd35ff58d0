"""Dated prices: what a card-hour of a kind costs from when on."""

from bisect import bisect_right

from starverse.model.units import YUAN

EXAMPLE_PRICES: dict[str, int] = {
    "cpu": 500_000,
    "nvidia-rtx-4090": 1_850_000,
    "nvidia-h200": 15 * YUAN,
}
"""Example list prices in micro-yuan per card-hour, for a first start; the operator sets real ones.
4090: the article's claim. H200-class: 15 yuan a card-hour, an estimate of 2026."""

EXAMPLE_PRICE_OTHER = 5 * YUAN
"""Example list price of a kind of card that has none above."""


def price_at(dated: list[tuple[int, int]], at_ms: int) -> int:
    """The price in force at `at_ms`, of (from_ms, price) sorted by time; 0 before the first."""
    index = bisect_right(dated, at_ms, key=lambda row: row[0])
    return dated[index - 1][1] if index else 0
