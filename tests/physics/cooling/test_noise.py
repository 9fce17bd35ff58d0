"""Fans: quieter by the fifth power of their speed, by the first of their number."""

import numpy as np
import pytest

from starverse.model.errors import BadInput
from starverse.physics.cooling.noise import fans_db, number_share_for, speed_share_for


def test_half_the_speed_is_15_db_less_and_half_the_number_3() -> None:
    """ASHRAE Handbook, HVAC Systems and Equipment, ch. 21: 50 log10 2 and 10 log10 2."""
    assert float(fans_db(82, 0.5)) == pytest.approx(82 - 15.05, abs=0.01)
    assert float(fans_db(82, 1, 0.5)) == pytest.approx(82 - 3.01, abs=0.01)


def test_levels_come_in_the_shape_of_speeds_and_numbers() -> None:
    levels = fans_db(82, np.array([[0.1], [1.0]]), np.array([1.0, 0.1, 0.01]))
    assert levels.tolist() == [pytest.approx([32, 22, 12]), pytest.approx([82, 72, 62])]


def test_what_a_change_takes_gives_the_change() -> None:
    change = np.linspace(-60, 10, 8)
    assert fans_db(0, speed_share_for(change)).tolist() == pytest.approx(change.tolist())
    assert fans_db(0, 1, number_share_for(change)).tolist() == pytest.approx(change.tolist())


@pytest.mark.parametrize("shares", [(0.0, 1.0), (1.0, -1.0), (np.array([1.0, np.nan]), 1.0)])
def test_fans_that_stand_have_no_level(shares: tuple[float, float]) -> None:
    with pytest.raises(BadInput, match="no level"):
        fans_db(82, *shares)
