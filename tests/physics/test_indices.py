"""PUE and its relatives are ratios of sums, with their boundary beside them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starverse.model.errors import BadInput
from starverse.physics.indices import BOUNDARIES, Energy, indices

HOURS = 8760


def year(it_w: float = 1e6, **parts: float) -> Energy:
    names = ("cooling_w", "power_loss_w", "other_w", "fans_in_it_w", "conversion_in_it_w", "water_kg_per_s")
    return Energy(np.full(HOURS, it_w), *(np.full(HOURS, parts.get(name, 0.0)) for name in names))


def test_pue_is_all_over_it_and_says_where_it_was_read() -> None:
    found = indices(year(cooling_w=5e4, power_loss_w=3e4, other_w=1e4), 3)
    assert found.pue == pytest.approx(1.09)
    assert (found.ppue_cooling, found.ppue_power) == pytest.approx((1.05, 1.03))
    assert found.pue_by_month == pytest.approx([1.09] * 12)
    assert found.boundary == BOUNDARIES[3]
    assert "30134-2" in found.source


def test_an_idle_summer_weighs_little() -> None:
    """Energy-weighted 1.2 where the mean of the hours would say 1.55."""
    it = np.where(np.arange(HOURS) % 2, 1e6, 1e5)
    cooling = np.where(np.arange(HOURS) % 2, 1e5, 1e5)
    zero = np.zeros(HOURS)
    found = indices(Energy(it, cooling, zero, zero, zero, zero, zero), 2)
    assert found.pue == pytest.approx(1 + 2 / 11)
    assert found.pue_by_hour.mean() == pytest.approx(1.55)


def test_fans_in_the_server_hide_from_pue_but_not_from_tue() -> None:
    found = indices(year(cooling_w=1e5, fans_in_it_w=1e5), 3)
    assert (found.pue, found.tue) == pytest.approx((1.1, 1.1e6 / 0.9e6))


def test_a_litre_a_kilowatt_hour() -> None:
    assert indices(year(water_kg_per_s=1 / 3.6), 3).wue_l_per_kwh == pytest.approx(1.0)


@given(st.floats(1e3, 1e9), st.floats(0, 1e9), st.floats(0, 1e9))
def test_pue_is_never_below_one(it_w: float, cooling_w: float, loss_w: float) -> None:
    found = indices(year(it_w, cooling_w=cooling_w, power_loss_w=loss_w), 1)
    assert found.pue >= 1
    assert found.tue >= found.pue


def test_without_it_there_is_no_pue() -> None:
    with pytest.raises(BadInput, match="it_w"):
        year(0.0)
