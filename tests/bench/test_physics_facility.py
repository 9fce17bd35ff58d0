"""The facility's figures have the rows that are promised, measured on the smallest of them."""

from starverse.bench.physics_facility import PARTS, year_of_pue


def test_a_year_of_pue_is_a_row_with_its_target() -> None:
    (row,) = year_of_pue()
    assert (row.id, row.target, row.unit) == ("facility.pue", 1.0, "s")
    assert row.value > 0


def test_three_figures_are_promised() -> None:
    assert len(PARTS) == 3
