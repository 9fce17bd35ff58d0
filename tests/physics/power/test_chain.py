"""Converters lose what their curves say, a chain adds up, and nothing is read outside a curve."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starverse.model.errors import BadInput
from starverse.physics.power.chain import (
    AC_CHAIN,
    BUSBAR_CHAIN,
    SUPPLY_TITANIUM,
    TRANSFORMER,
    UPS_DOUBLE,
    UPS_ECO,
    busbar_loss_w,
    chain_losses,
    loss_share,
)

TITANIUM = [(0.1, 0.90), (0.2, 0.94), (0.5, 0.96), (1.0, 0.91)]


@pytest.mark.parametrize(("load", "efficiency"), TITANIUM)
def test_a_titanium_supply_keeps_within_a_point_of_its_certificate(load: float, efficiency: float) -> None:
    lost = float(SUPPLY_TITANIUM.loss_w(load * 1000, 1000))
    assert load * 1000 / (load * 1000 + lost) == pytest.approx(efficiency, abs=0.015)


def test_eco_mode_loses_less_at_every_load() -> None:
    loads = np.linspace(0, 1, 11) * 1e6
    assert (UPS_ECO.loss_w(loads, 1e6) < UPS_DOUBLE.loss_w(loads, 1e6)).all()


@given(st.floats(0, 1), st.integers(1, 1000))
def test_a_chain_takes_in_what_it_delivers_and_loses(share: float, racks: int) -> None:
    peak = 30_000.0 * racks
    losses = chain_losses(BUSBAR_CHAIN, share * peak, peak, racks)
    assert losses.input_w == pytest.approx(share * peak + losses.lost_w, rel=1e-12)


def test_a_busbar_loses_39_w_of_30_kw() -> None:
    """30 kW at 48 V are 625 A; over 0.1 mΩ 39 W."""
    assert float(busbar_loss_w(30_000, 48, 1e-4)) == pytest.approx(39.06, abs=0.01)


def test_the_busbar_saves_against_double_conversion() -> None:
    ac = loss_share(chain_losses(AC_CHAIN, 30_000, 30_000))
    dc = loss_share(chain_losses(BUSBAR_CHAIN, 30_000, 30_000))
    assert 0.03 < float(ac - dc) < 0.06


def test_a_loaded_transformer_wastes_a_smaller_share_than_an_idle_one() -> None:
    assert TRANSFORMER.loss_w(1e3, 1e6) / 1e3 > TRANSFORMER.loss_w(1e6, 1e6) / 1e6


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: TRANSFORMER.loss_w(2e6, 1e6), "overload"),
        (lambda: TRANSFORMER.loss_w(1.0, 0.0), "rated_w"),
        (lambda: chain_losses(AC_CHAIN, 2.0, 1.0), "peak_load_w"),
        (lambda: busbar_loss_w(1.0, 0.0, 1.0), "volts"),
    ],
    ids=["overload", "no rating", "above peak", "no volts"],
)
def test_nothing_is_read_outside_a_curve(call: object, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        call()  # type: ignore[operator]
