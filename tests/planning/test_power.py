"""A machine's and a rack's power as `plan power` says it."""

import pytest

from starverse.model.errors import BadInput
from starverse.planning.power import CHAINS, plan_power


@pytest.mark.parametrize(("load", "mw", "lost_mw"), [(0.0, 7.3065, 0.57), (1.0, 28.2279, 1.81)])
def test_frontier_draws_what_raps_says(load: float, mw: float, lost_mw: float) -> None:
    found = plan_power(load_share=load)
    assert found.total_mw == pytest.approx(mw, rel=1e-3)
    assert found.lost_mw == pytest.approx(lost_mw, abs=0.005)
    assert sum(stage.lost_kw for stage in found.by_stage) == pytest.approx(found.lost_mw * 1e3)


@pytest.mark.parametrize("chain", list(CHAINS))
def test_what_a_rack_draws_is_its_load_and_all_stages(chain: str) -> None:
    found = plan_power(chain, load_share=0.5, rack_w=20_000)
    assert found.total_mw * 1e6 == pytest.approx(10_000 + sum(s.lost_kw for s in found.by_stage) * 1e3)
    assert found.equation
    assert found.source


def test_a_chain_saves_nothing_against_itself() -> None:
    assert plan_power("ac", against="ac").saved_kw == 0
    saved = plan_power("busbar", against="ac").saved_kw
    assert saved is not None
    assert saved > 0
    assert plan_power("ac", against="busbar").saved_kw == pytest.approx(-saved)


def test_no_load_is_said_to_be_idle_or_off() -> None:
    """0 W of a rack, but an idling Frontier."""
    assert any("at 0 they idle" in note for note in plan_power(load_share=0).notes)
    off, idle = plan_power("busbar", 0), plan_power("busbar", 0, card="h100")
    assert any("at 0 all of it is off" in note for note in off.notes)
    assert off.total_mw == off.lost_mw
    assert any("which idle at a share" in note for note in idle.notes)
    assert idle.rack is not None
    assert idle.rack.card_w == pytest.approx(80)


def test_a_rack_is_made_of_cards_with_leakage_and_a_cap() -> None:
    """Four nodes of 8 × 700 W and 1.6 kW; 0.4 % a kelvin above 63 °C; a cap costs speed."""
    plain = plan_power("busbar", card="h100").rack
    assert plain is not None
    assert (plain.card_w, plain.speed_share, plain.node_w, plain.rack_w) == (700, 1, 7_200, 28_800)
    warm = plan_power("busbar", card="h100", temperature_c=73)
    assert warm.rack is not None
    assert warm.rack.card_w == pytest.approx(700 * 1.04)
    assert warm.total_mw > plan_power("busbar", card="h100").total_mw
    capped = plan_power("busbar", card="h100", cap_w=390)
    assert capped.rack is not None
    assert (capped.rack.card_w, capped.rack.speed_share) == pytest.approx((390, 0.5))
    assert capped.total_mw * 1e3 == pytest.approx(
        4 * (8 * 0.390 + 1.6) + sum(stage.lost_kw for stage in capped.by_stage)
    )
    assert plan_power("busbar", 0.5, card="h100", leakage_per_k=0).rack.card_w == 390  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"card": "h100"}, "Leave out `card`"),
        ({"system": "ac", "card": "h100", "rack_w": 10_000}, "both say"),
        ({"system": "ac", "cap_w": 500}, "Name one by `card`"),
        ({"system": "ac", "card": "h10"}, "no card 'h10'"),
        ({"system": "ac", "card": "h100", "cap_w": 50}, "below the idle power"),
        ({"system": "ac", "card": "h100", "leakage_per_k": 0.01}, "leakage_per_k"),
        ({"system": "frontier"}, "frontier-9472"),
        ({"against": "ac"}, "Leave out `against`"),
        ({"system": "ac", "against": "dc"}, "There is no power chain"),
        ({"load_share": 1.1}, "load_share"),
    ],
    ids=[
        "shelves",
        "twice",
        "no card",
        "which card",
        "low cap",
        "leaky",
        "system",
        "frontier",
        "chain",
        "load",
    ],
)
def test_nonsense_is_refused(asked: dict, says: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(BadInput, match=says):
        plan_power(**asked)
