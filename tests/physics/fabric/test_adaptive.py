"""Routing that adapts where the ways around are longer: a dragonfly's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starverse.physics.fabric import traffic
from starverse.physics.fabric.adaptive import mixed, spread_share
from starverse.physics.fabric.dragonfly import Dragonfly
from starverse.physics.fabric.traffic import Conditions, collective

FLY = Dragonfly(9, 4, 2, 2, 100e9, 100e9, 100e9)
ADAPTIVE = Conditions(spread=True)
loads = st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), min_size=1, max_size=6)


@given(loads)
def test_no_other_share_leaves_the_fullest_link_less_to_do(pairs: list[tuple[float, float]]) -> None:
    """Nor does a lesser one leave it as little."""
    direct, around = np.array(pairs).T
    share = spread_share(direct, around)

    def fullest(at: float) -> float:
        return float((direct + at * (around - direct)).max())

    least = min(fullest(at) for at in np.linspace(0, 1, 101))
    assert 0 <= share <= 1
    assert fullest(share) <= least * (1 + 1e-6)
    if share > 0.01:
        assert fullest(share - 0.01) > fullest(share)


def test_all_to_all_of_the_whole_goes_directly() -> None:
    """Ways around would take nearly twice the links (Kim et al., ISCA 2008: minimal is best for it)."""
    every = np.arange(FLY.cards)
    assert collective(FLY, "all-to-all", "direct", every, 1e9, ADAPTIVE).time_s == pytest.approx(
        collective(FLY, "all-to-all", "direct", every, 1e9).time_s
    )


@pytest.mark.parametrize("pairs_max", [0, 100_000], ids=["by shifts", "by pairs"])
def test_two_groups_go_around_the_only_cable_between_them(
    monkeypatch: pytest.MonkeyPatch, pairs_max: int
) -> None:
    """Half of 8 + 8 cards' bytes cross one cable: 4 times what a card sends; through 7 others it is half."""
    monkeypatch.setattr(traffic, "PAIRS_MAX", pairs_max)
    two = np.arange(16)
    direct, around = (
        collective(FLY, "all-to-all", "direct", two, 16e9, each) for each in (Conditions(), ADAPTIVE)
    )
    assert direct.time_s == pytest.approx(8 * 8 / 100, rel=1e-4)
    assert direct.bottleneck == "switch 0 of group 0 → switch 3 of group 1"
    assert around.time_s == pytest.approx(15 / 100, rel=1e-4)


def test_what_is_asked_goes_around_other_jobs() -> None:
    """Others fill the direct cable; the job takes those that lead around."""
    one, other = np.array([0, 8]), (np.array([1] * 4), np.array([9] * 4))
    alone, beside = (
        collective(FLY, "broadcast", "ring", one, 1e9, ADAPTIVE._replace(others=each))
        for each in (None, other)
    )
    stuck = collective(FLY, "broadcast", "ring", one, 1e9, Conditions(others=other))
    assert alone.time_s < beside.time_s < stuck.time_s


@given(st.lists(st.tuples(st.integers(0, 71), st.integers(0, 71)), min_size=1, max_size=30), st.floats(0, 1))
def test_mixed_ways_carry_every_flow_whole(ends: list[tuple[int, int]], share: float) -> None:
    """Of each flow one whole leaves its source and one arrives, whatever goes around."""
    source, target = np.array(ends).T
    failed = FLY.network.links_between(72, 73)
    found = [FLY.route(source, target, failed=failed, spread=spread) for spread in (False, True)]
    routes = mixed(found[0], found[1], share)
    amounts = np.ones(routes.flows)
    net = FLY.network
    load = routes.load(amounts, net.links)
    moving = source != target
    assert np.bincount(net.tail, load, net.vertices)[:72] == pytest.approx(
        np.bincount(source[moving], minlength=72)
    )
    assert np.bincount(net.head, load, net.vertices)[:72] == pytest.approx(
        np.bincount(target[moving], minlength=72)
    )
    assert not load[failed].any()
