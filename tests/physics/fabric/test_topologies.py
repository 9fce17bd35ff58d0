"""Networks and their ways: what holds for each of them, and what is known of some."""

from itertools import product

import numpy as np
import pytest

from starverse.model.errors import BadInput
from starverse.physics.fabric.dragonfly import Dragonfly
from starverse.physics.fabric.grid import Grid
from starverse.physics.fabric.network import NO_LINKS
from starverse.physics.fabric.topology import Nodes, Topology, latencies_ns
from starverse.physics.fabric.tree import FatTree, clos

SMALL: list[Topology] = [
    Grid((4, 3, 2)),
    Grid((5,)),
    Grid((4, 2), cards_each=2),
    Grid((4, 4), "hyperx"),
    Grid((4, 3), "hyperx", cards_each=3),
    FatTree((4, 3, 2), (1, 3, 2), (1.0, 1.0, 1.0)),
    FatTree((4, 3, 2), (2, 3, 2), (1.0, 1.0, 1.0), rails=2),
    FatTree((7,), (1,), (1.0,)),
    Dragonfly(9, 4, 2, 2, 1.0, 1.0, 1.0),
    Dragonfly(7, 4, 2, 2, 1.0, 1.0, 1.0),
    Nodes(FatTree((6, 4), (1, 3), (1.0, 1.0), rails=4), 4, 9.0, by_rail=True),
    Nodes(Grid((4, 4), cards_each=2), 2, 9.0),
]


@pytest.mark.parametrize("topology", SMALL, ids=str)
@pytest.mark.parametrize("spread", [False, True], ids=["one path", "spread"])
@pytest.mark.parametrize("failed", [False, True], ids=["well", "a vertex failed"])
def test_every_flow_leaves_its_source_and_arrives_whole(
    topology: Topology, spread: bool, failed: bool
) -> None:
    """On each vertex as much comes in as goes out, but for a flow's ends; nothing crosses what failed."""
    net = topology.network
    dead = net.links_at(net.vertices - 1) if failed else NO_LINKS
    source, target = (ends.ravel() for ends in np.meshgrid(*[np.arange(topology.cards)] * 2))
    routes = topology.route(source, target, spread=spread, failed=dead)
    excess = np.zeros((routes.flows, net.vertices))
    flow = np.repeat(np.arange(routes.flows), np.diff(routes.first))
    np.add.at(excess, (flow, net.tail[routes.link]), routes.share)
    np.add.at(excess, (flow, net.head[routes.link]), -routes.share)
    there = np.flatnonzero(~routes.cut)
    excess[there, source[there]] -= 1
    excess[there, target[there]] += 1
    assert np.abs(excess).max() < 1e-9
    assert not failed or not dead[routes.link].any()
    assert failed or not routes.cut.any()
    if not failed and not spread:
        assert routes.latency_ns(net)[source != target].min() > 0


@pytest.mark.parametrize("topology", [t for t in SMALL if not isinstance(t, Nodes)], ids=str)
def test_distances_are_those_of_the_ways(topology: Topology) -> None:
    source, target = (ends.ravel() for ends in np.meshgrid(*[np.arange(topology.cards)] * 2))
    links = np.diff(topology.route(source, target).first)[source != target]
    is_wired = isinstance(topology, Grid) and not topology.apart
    hops = links if is_wired and topology.kind == "torus" else links // 2 if is_wired else links - 1
    counts = np.bincount(hops)
    far, share = topology.distances()
    assert list(far) == list(np.flatnonzero(counts))
    assert share == pytest.approx(counts[far] / hops.size)


def test_no_torus_of_30_720_cards_has_all_pairs_three_tiers_apart() -> None:
    """N4: diameter 47, 23.5 hops on average; HyperX(32, 3) reaches every card over three switches."""
    hops, share = Grid((32, 32, 30)).distances()
    assert hops.max() == 47
    assert hops @ share == pytest.approx(23.5, abs=0.01)
    hyperx = Grid((32, 32, 32), "hyperx")
    assert hyperx.cards == 32_768
    assert hyperx.network.vertices - hyperx.cards == 3_072
    assert hyperx.distances()[0].max() == 3


def test_three_switches_take_about_2_8_us_and_a_torus_ten_times_that() -> None:
    """N4: unloaded, over leaf, spine and leaf, with network cards of 0.55 us at each end and 0.4 us a hop."""
    leaf_spine = clos(2_048, 64, 100e9, hop_ns=425)
    lag, share = latencies_ns(leaf_spine)
    assert lag.max() == pytest.approx(2_800)
    assert share[-1] > 0.95
    torus, share = latencies_ns(Grid((32, 32, 30), hop_ns=500))
    assert torus @ share == pytest.approx(1_100 + 23.5 * 500, rel=0.001)
    assert torus.max() == 1_100 + 47 * 500


def test_rails_reach_a_card_of_their_own_over_fewer_switches_than_the_others() -> None:
    rails = Nodes(FatTree((16, 8), (1, 16), (1.0, 1.0), rails=8), 8, 9.0, by_rail=True)
    hops, share = rails.distances()
    assert list(hops) == [1, 3]  # in the node, or over the leaf; else through a card of the node first
    far = rails.route(np.array([0, 0, 0]), np.array([8, 9, 1]))
    assert list(np.diff(far.first)) == [2, 4, 2]
    assert share[0] == pytest.approx((15 + 7) / 127)


def test_past_a_failed_switch_of_a_node_the_network_outside_has_a_way() -> None:
    """Rails: to the own rail as ever, to others of any node by the leaves and spines; nobody is cut off."""
    rails = Nodes(clos(64, 16, 1.0, rails=8), 8, 9.0, by_rail=True)
    net = rails.network
    failed = net.links_at(net.vertex("node 0"))
    source, target = np.array([0, 0, 0, 9]), np.array([8, 9, 1, 17])
    routes = rails.route(source, target, failed=failed)
    assert not routes.cut.any()
    assert not failed[routes.link].any()
    assert list(np.diff(routes.first)) == [2, 4, 4, 2]
    one = net.links_between(net.vertex("card 1"), net.vertex("node 0"))  # a port of the switch
    assert list(np.diff(rails.route(source, target, failed=one).first)) == [2, 4, 4, 2]
    every = failed | net.links_at(net.vertex("leaf 0"))
    assert list(rails.route(source, target, failed=every).cut) == [True, True, True, False]


def test_past_a_failed_leaf_of_the_target_s_rail_the_own_rail_has_a_way() -> None:
    rails = Nodes(clos(256, 16, 1.0, rails=8), 8, 9.0, by_rail=True)
    net = rails.network
    card, far = 0, 129
    first, second = rails.route(np.array([card]), np.array([far])).link[[0, 2]]
    assert net.link_name(first) == "card 0 → node 0"
    failed = net.links_at(int(net.head[second]))
    routes = rails.route(np.array([card]), np.array([far]), failed=failed)
    assert not routes.cut.any()
    assert net.link_name(routes.link[0]) == "card 0 → leaf 0"
    assert not failed[routes.link].any()


def test_the_cut_of_a_torus_is_that_of_tpu_v4() -> None:
    """A pod of 16 × 16 × 16: 24 TB/s across the middle, 1.1 PB/s in all (Google Cloud, TPU v4)."""
    pod = Grid((16, 16, 16), link_bytes_per_s=45e9)
    assert pod.bisection_bytes_per_s() == pytest.approx(24e12, rel=0.05)
    assert pod.network.bytes_per_s.sum() == pytest.approx(1.1e15, rel=0.05)


def test_an_axis_of_two_has_one_wire_and_an_axis_of_one_none() -> None:
    """ASTRA-sim's Ring of two keeps one link each way; slices of TPU v4 wrap no axis shorter than 4."""
    pair = Grid((1, 2), link_bytes_per_s=1e9)
    assert [pair.network.link_name(link) for link in range(pair.network.links)] == [
        "card (0,0) → card (0,1)",
        "card (0,1) → card (0,0)",
    ]
    assert pair.bisection_bytes_per_s() == 1e9
    assert Grid((4, 2, 3)).network.links == 24 * (2 + 1 + 2)


@pytest.mark.parametrize("torus", [Grid((4, 2, 2)), Grid((2, 6)), Grid((8,)), Grid((2, 2, 2))], ids=str)
def test_no_halving_of_a_torus_is_thinner_than_its_bisection(torus: Grid) -> None:
    """By trying all halvings of its cards."""
    net, cards = torus.network, torus.cards
    sides = np.array(
        [(False, *bits) for bits in product((False, True), repeat=cards - 1) if sum(bits) == cards // 2]
    )
    crossing = sides[:, net.tail] & ~sides[:, net.head]
    assert torus.bisection_bytes_per_s() == pytest.approx((crossing @ net.bytes_per_s).min())


TAPERED = [FatTree((2, 2, 2), (1, 1, 2), (1.0,) * 3), clos(128, 16, 1.0, 3), Grid((4, 4), "hyperx")]


@pytest.mark.parametrize("topology", TAPERED, ids=str)
def test_traffic_of_one_half_to_the_other_fills_the_bisection(topology: Topology) -> None:
    """Every card of the first half sends to all of the second, over all paths; nothing else holds them up."""
    half = topology.cards // 2
    source, target = np.repeat(np.arange(half), half), np.tile(np.arange(half, 2 * half), half)
    routes = topology.route(source, target, spread=True)
    load = routes.load(np.full(routes.flows, 1.0), topology.network.links)
    assert half * half / (load / topology.network.bytes_per_s).max() == pytest.approx(
        topology.bisection_bytes_per_s()
    )


def test_a_failed_leaf_cuts_off_single_homed_cards_only() -> None:
    """HPN (SIGCOMM 2024): with one top-of-rack switch its failure halts the job; with two it goes on."""
    source, target = np.arange(0, 4), np.arange(8, 12)
    for tors, cut in ((1, True), (2, False)):
        tree = FatTree((4, 4), (tors, 2), (1.0, 1.0))
        failed = tree.network.links_at(tree.network.vertex("leaf 0"))
        assert tree.route(source, target, failed=failed).cut.all() == cut


def test_the_smallest_clos_is_found() -> None:
    assert clos(48, 64, 1.0).tiers == 1
    two = clos(2_048, 64, 1.0)
    assert (two.tiers, two.cards) == (2, 2_048)
    assert clos(30_000, 64, 1.0).tiers == 3
    tapered = clos(1_000, 64, 1.0, oversubscription=3)
    assert tapered.down[0] / tapered.up[1] == 3
    assert tapered.bisection_bytes_per_s() == pytest.approx(tapered.cards / 2 / 3)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Grid((0, 3)), "0 × 3"),
        (lambda: Grid((3, 3), "ring"), "ring"),
        (lambda: FatTree((4, 4), (1,), (1.0, 1.0)), "as many entries"),
        (lambda: FatTree((4, 4), (1, 2), (1.0, 1.0), rails=3), "rails"),
        (lambda: Dragonfly(99, 4, 2, 2, 1.0, 1.0, 1.0), "99 groups"),
        (lambda: Nodes(Grid((5,)), 2, 1.0), "nodes of 2"),
        (lambda: Grid((3, 3)).network.vertex("spine 9"), "spine 9"),
        (lambda: Grid((9,)).network.links_between(0, 4), "No cable"),
    ],
)
def test_what_is_no_network_is_refused(make, what: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(BadInput, match=what):
        make()
