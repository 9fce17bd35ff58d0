"""Flows that share links: fair rates, who waits for whom, and collectives on networks that are not well."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from starverse.model.errors import BadInput
from starverse.physics.fabric import flows, lossless
from starverse.physics.fabric.bucket import torus_bucket_s
from starverse.physics.fabric.collectives import Wire, closed_form_s, pipelined_s, torus_alltoall_s
from starverse.physics.fabric.grid import Grid
from starverse.physics.fabric.maxmin import fair_rates
from starverse.physics.fabric.network import Floats, Ints, Routes
from starverse.physics.fabric.steps import AS_FLOWS, steps
from starverse.physics.fabric.topology import Nodes
from starverse.physics.fabric.traffic import WELL, Conditions, collective
from starverse.physics.fabric.tree import FatTree, clos

GIB = 1 << 30


def routes_of(ways: list[list[int]], share: list[float] | None = None) -> Routes:
    link = np.array([one for way in ways for one in way], np.int64)
    first = np.cumsum([0] + [len(way) for way in ways])
    return Routes(first, link, np.array(share or np.ones(link.size)), np.zeros(len(ways), np.bool_))


def filled(routes: Routes, bytes_per_s: Floats) -> Floats:
    """Textbook progressive filling: all rates grow alike until a link is full."""
    rates = np.zeros(routes.flows)
    growing = np.diff(routes.first) > 0
    while growing.any():
        load = routes.load(growing.astype(float), bytes_per_s.size)
        room = bytes_per_s - routes.load(rates, bytes_per_s.size)
        step = np.min(room[load > 0] / load[load > 0])
        rates[growing] += step
        full = (bytes_per_s - routes.load(rates, bytes_per_s.size) <= 1e-9 * bytes_per_s) & (load > 0)
        flow = np.repeat(np.arange(routes.flows), np.diff(routes.first))
        growing[flow[full[routes.link]]] = False
    return rates


@settings(deadline=None)
@given(st.data())
def test_rates_are_those_of_textbook_filling(data: st.DataObject) -> None:
    links = data.draw(st.integers(1, 8))
    way = st.lists(st.integers(0, links - 1), min_size=1, max_size=4, unique=True)
    routes = routes_of(data.draw(st.lists(way, min_size=1, max_size=12)))
    rates = st.integers(1, 50).map(float)
    bytes_per_s = np.array(data.draw(st.lists(rates, min_size=links, max_size=links)))
    assert fair_rates(routes, bytes_per_s) == pytest.approx(filled(routes, bytes_per_s), rel=1e-9)


@settings(deadline=None)
@given(st.data())
def test_rates_of_flows_that_are_split_are_those_of_textbook_filling(data: st.DataObject) -> None:
    links = data.draw(st.integers(1, 8))
    way = st.lists(st.integers(0, links - 1), min_size=1, max_size=4, unique=True)
    ways = data.draw(st.lists(way, min_size=1, max_size=12))
    hops = sum(map(len, ways))
    share = st.lists(st.sampled_from((1, 1 / 2, 1 / 3, 1 / 64)), min_size=hops, max_size=hops)
    routes = routes_of(ways, data.draw(share))
    bytes_per_s = np.array(data.draw(st.lists(st.integers(1, 50).map(float), min_size=links, max_size=links)))
    assert fair_rates(routes, bytes_per_s) == pytest.approx(filled(routes, bytes_per_s), rel=1e-9)


def test_the_rates_of_a_whole_torus_leave_nobody_anything_to_gain() -> None:
    """Each flow has a full link on which none is faster, and no link carries more than it can."""
    torus = Grid((32, 32, 15))
    target = np.random.default_rng(7).permutation(torus.cards)
    routes, speeds = torus.route(np.arange(torus.cards), target), torus.network.bytes_per_s
    rates = fair_rates(routes, speeds)
    flow = np.repeat(np.arange(routes.flows), np.diff(routes.first))
    load = routes.load(np.where(np.isfinite(rates), rates, 0), speeds.size)
    assert (load <= speeds * (1 + 1e-9)).all()
    fastest = np.zeros(speeds.size)
    np.maximum.at(fastest, routes.link, rates[flow])
    full = (load >= speeds * (1 - 1e-9))[routes.link] & (rates[flow] >= fastest[routes.link] * (1 - 1e-9))
    held = np.zeros(routes.flows, np.bool_)
    held[flow[full]] = True
    assert held[np.diff(routes.first) > 0].all()


def test_a_flow_takes_no_more_than_it_wants() -> None:
    routes = routes_of([[0], [0], []])
    rates = fair_rates(routes, np.array([10.0]), most=np.array([2.0, np.inf, np.inf]))
    assert list(rates) == [2, 8, np.inf]
    with pytest.raises(BadInput, match="carries nothing"):
        fair_rates(routes, np.array([0.0]))


def test_who_ends_first_leaves_room_for_the_others() -> None:
    wire = FatTree((3,), (1,), (10.0,), hop_ns=0)
    routes = wire.route(np.array([0, 0]), np.array([1, 2]))
    assert flows.finish_s(wire.network, routes, np.array([10.0, 30.0])) == pytest.approx([2, 4], rel=1e-2)


def test_an_all_to_all_on_a_ring_is_held_up_by_its_bisection() -> None:
    """The bound is 320 ms; ASTRA-sim, congestion-aware, says 322.48, its other backend 0.295."""
    ring = Grid((256,), link_bytes_per_s=100 * GIB)
    timing = collective(ring, "all-to-all", "direct", np.arange(256), GIB)
    assert 0.320 <= timing.time_s <= 0.3225


@pytest.mark.parametrize("dims", [(2,), (2, 2), (3, 2), (4, 2, 2), (2, 1, 5), (8,), (7,)])
@pytest.mark.parametrize("spread", [False, True], ids=["one path", "spread"])
def test_an_all_to_all_on_a_torus_takes_as_long_as_in_closed_form(
    dims: tuple[int, ...], spread: bool
) -> None:
    """With an axis of 2, too, whose places have one wire between them: S/2B, whichever way it is routed."""
    torus = Grid(dims, link_bytes_per_s=50e9)
    well = Conditions(spread=spread, ends_ns=0)
    timing = collective(torus, "all-to-all", "direct", np.arange(torus.cards), GIB, well)
    assert timing.time_s == pytest.approx(torus_alltoall_s(dims, GIB, Wire(50e9, 500)), rel=1e-9)


def test_an_all_to_all_through_a_switch_fills_every_port() -> None:
    """ASTRA-sim, congestion-aware: 10.002 ms; all pairs stand for themselves or one for several."""
    switch = FatTree((1024,), (1,), (100.0 * GIB,))
    timing = collective(switch, "all-to-all", "direct", np.arange(1024), GIB)
    assert timing.time_s == pytest.approx(10.002e-3, rel=0.01)


def permutation(tree: FatTree, seed: int) -> tuple[Ints, Ints]:
    source = np.arange(tree.cards)
    target = np.random.default_rng(seed).permutation(tree.cards)
    return source[source != target], target[source != target]


def fat_tree(cards: int) -> FatTree:
    """Three tiers of switches of k ports, k³/4 cards at 100 Gbit/s."""
    half = round((4 * cards) ** (1 / 3)) // 2
    return FatTree((half, half, 2 * half), (1, half, half), (12.5e9,) * 3)


def test_a_permutation_on_a_fat_tree_takes_as_long_as_in_htsim() -> None:
    """The gate: mean within 10 %, p99 within 15 % of htsim's RoCE with PFC, 533 and 1,108 us (one draw).

    1,024 cards, 2 MB each, a path a flow by hash; the mean of eight draws. Max-min alone is 20 % optimistic.
    """
    tree = fat_tree(1024)
    mean_us, p99_us, fair_us = [], [], []
    for seed in range(8):
        ends = permutation(tree, seed)
        routes = tree.route(*ends, salt=seed)
        sizes = np.full(routes.flows, 2e6)
        took_us = lossless.finish_s(tree.network, routes, sizes) * 1e6
        mean_us.append(took_us.mean())
        p99_us.append(np.percentile(took_us, 99))
        fair_us.append(flows.finish_s(tree.network, routes, sizes).mean() * 1e6)
    assert np.mean(mean_us) == pytest.approx(533, rel=0.10)
    assert np.mean(p99_us) == pytest.approx(1_108, rel=0.15)
    assert np.mean(fair_us) < 0.9 * 533


@pytest.mark.parametrize(
    ("cards", "megabytes", "mean_us", "p99_us"),
    [(128, 2, 457, 868), (432, 2, 498, 916), (1024, 2, 518, 969), (1024, 8, 2013, 4310)],
)
def test_other_sizes_take_as_long_as_in_htsim(
    cards: int, megabytes: int, mean_us: float, p99_us: float
) -> None:
    """csg-htsim 841d9e7, four draws each, packets of 9,000 bytes: held out, as nothing was fitted on any."""
    tree = fat_tree(cards)
    draws = 4 if cards == 1024 else 12
    took_us = []
    for seed in range(draws):
        routes = tree.route(*permutation(tree, seed), salt=seed)
        sizes = np.full(routes.flows, megabytes * 1e6)
        took_us.append(lossless.finish_s(tree.network, routes, sizes, mtu_bytes=9000) * 1e6)
    assert np.mean([took.mean() for took in took_us]) == pytest.approx(mean_us, rel=0.10)
    assert np.mean([np.percentile(took, 99) for took in took_us]) == pytest.approx(p99_us, rel=0.15)


def test_a_free_way_waits_behind_a_blocked_one() -> None:
    """Two flows leave one leaf by the same cable, one of them for a card that three others send to."""
    tree = FatTree((4, 4), (1, 1), (1e9, 1e9))
    source = np.array([0, 1, 9, 10, 11])
    target = np.array([4, 8, 8, 8, 8])
    routes = tree.route(source, target)
    sizes = np.full(5, 4e6)
    fair_s = flows.finish_s(tree.network, routes, sizes)[0]
    assert lossless.finish_s(tree.network, routes, sizes)[0] > 1.05 * fair_s


def test_spread_flows_meet_no_one() -> None:
    """NDP spreads packets over all paths: 208 us on average for 2 MB, 160 us of them the wire."""
    tree = fat_tree(128)
    source, target = permutation(tree, 3)
    rates = fair_rates(tree.route(source, target, spread=True), tree.network.bytes_per_s)
    assert rates == pytest.approx(12.5e9)
    with pytest.raises(BadInput, match="one path"):
        lossless.finish_s(tree.network, tree.route(source, target, spread=True), np.full(source.size, 1.0))


RAILS = Nodes(FatTree((8, 16), (1, 8), (50e9, 50e9), rails=8), 8, 450e9, by_rail=True)


def test_a_hierarchy_of_rails_leaves_the_network_an_eighth() -> None:
    cards = np.arange(128)
    flat = collective(RAILS, "all-reduce", "ring", cards, GIB)
    levels = collective(RAILS, "all-reduce", "hierarchical", cards, GIB, node_cards=8, chunks=1)
    across = 2 * 15 * (GIB / 128 / 50e9)
    inside = 2 * 7 * (GIB / 8 / 450e9)
    ways = 30 * 3.1e-6 + 14 * 1.6e-6  # ends of 1.1 us, over leaf, spine and leaf, or two links in the node
    assert levels.time_s == pytest.approx(across + inside + ways, rel=1e-4)
    assert flat.time_s > 4 * levels.time_s
    assert "leaf" in levels.bottleneck


@pytest.mark.parametrize("nodes", [2, 4, 16])
def test_a_hierarchy_keeps_the_network_busy_while_nodes_reduce(nodes: int) -> None:
    """Chunks overlap the phases: no quicker than either alone, and a third of the other fills and drains."""
    cards, levels = np.arange(8 * nodes), [0.0, 0.0]
    rails = Nodes(FatTree((8, nodes), (1, 8), (50e9, 50e9), rails=8), 8, 450e9, by_rail=True)
    for at, chunks in enumerate((1, 0)):
        levels[at] = collective(rails, "all-reduce", "hierarchical", cards, GIB, WELL, 8, (), chunks).time_s
    across, inside = 2 * (nodes - 1) / nodes * GIB / 8 / 50e9, 2 * 7 / 8 * GIB / 450e9
    assert max(across, inside) < levels[1] < 0.9 * levels[0]
    assert levels[0] == pytest.approx(across + inside, rel=0.02)
    assert levels[1] < max(across, inside) + 0.35 * min(across, inside)


def test_between_nodes_the_better_of_ring_and_tree_is_taken() -> None:
    """A ring of 64 nodes takes 126 steps, two trees 13 hops."""
    rails = Nodes(clos(512, 64, 50e9, rails=8), 8, 450e9, by_rail=True)
    took_s = collective(rails, "all-reduce", "hierarchical", np.arange(512), 1e5, WELL, 8).time_s
    assert took_s < 60 * 2e-6 < 126 * 2e-6


def test_what_is_wrong_with_the_network_makes_it_slower() -> None:
    """Each ill alone: half a cable, another job on it, loss, a way around what failed."""
    ring, cards = Grid((16, 16)), np.arange(0, 256, 2)
    net = ring.network
    half = np.where(net.links_between(0, 1), 0.5, 1.0)
    well = collective(ring, "all-reduce", "ring", cards, GIB).time_s
    for ill in (
        Conditions(speed_share=half),
        Conditions(others=(np.arange(1, 256, 2), np.roll(np.arange(1, 256, 2), -3))),
        Conditions(loss_share=0.01, recovery="go-back-n"),
        Conditions(failed=net.links_at(5)),
    ):
        assert collective(ring, "all-reduce", "ring", cards, GIB, ill).time_s > 1.005 * well
    named = collective(ring, "all-reduce", "ring", cards, GIB, Conditions(speed_share=half))
    assert named.bottleneck == "card (0,0) → card (0,1)"
    with pytest.raises(BadInput, match="cut off"):
        collective(ring, "all-reduce", "ring", cards, GIB, Conditions(failed=net.links_at(4)))


@pytest.mark.parametrize("algorithm", ["ring", "halving-doubling", "bucket", "hierarchical"])
def test_the_steps_of_an_all_reduce_move_what_they_must(algorithm: str) -> None:
    """Each card sends 2(1 - 1/n) of its buffer, by whatever algorithm."""
    sent = np.zeros(16)
    for step in steps("all-reduce", algorithm, np.arange(16), 1.0, node_cards=4, dims=(2, 2, 4)):
        np.add.at(sent, step.source, step.bytes_each * step.times)
    assert sent == pytest.approx(2 * 15 / 16)


@pytest.mark.parametrize("ranks", [2, 3, 8, 13, 64])
def test_two_trees_reach_all_and_load_no_card_twice(ranks: int) -> None:
    """Each card receives half of the buffer from a parent in both trees; none sends to more than three."""
    (step,) = steps("broadcast", "tree", np.arange(ranks), 1.0)
    received, sent = np.bincount(step.target, minlength=ranks), np.bincount(step.source, minlength=ranks)
    assert received[0] == 1  # from the one tree that it is not the root of
    assert list(received[1:]) == [2] * (ranks - 1)
    assert sent.max() <= 3
    down = {(int(a), int(b)) for a, b in zip(step.source, step.target, strict=True)}
    reached = {0}
    for _ in range(step.fill + 1):
        reached |= {b for a, b in down if a in reached}
    assert reached == set(range(ranks))


FLAT = [(kind, name) for kind, names in AS_FLOWS.items() for name in names if name != "hierarchical"]


@pytest.mark.parametrize(("kind", "algorithm"), FLAT)
def test_on_an_idle_switch_flows_take_the_time_of_the_closed_form(kind: str, algorithm: str) -> None:
    """A step: 1.1 us at both ends and two links of 0.5."""
    switch, wire = FatTree((64,), (1,), (50e9,), hop_ns=500), Wire(50e9, 2_100)
    found_s = collective(switch, kind, algorithm, np.arange(64), GIB, dims=(4, 4, 4)).time_s
    if algorithm == "bucket":
        assert found_s == pytest.approx(torus_bucket_s(kind, (4, 4, 4), GIB, wire), rel=1e-4)
    elif (kind, algorithm) == ("broadcast", "ring"):
        assert found_s == pytest.approx(pipelined_s(63, GIB, wire), rel=1e-4)
    elif algorithm == "halving-doubling":
        whole_s = closed_form_s("all-reduce", algorithm, 64, GIB, wire)
        assert found_s == pytest.approx(whole_s if kind == "all-reduce" else whole_s / 2, rel=1e-4)
    else:
        expected_s = closed_form_s(kind, algorithm, 64, GIB, wire)
        assert found_s == pytest.approx(expected_s, rel=1e-4)


@pytest.mark.parametrize("algorithm", AS_FLOWS["reduce-scatter"])
def test_scattering_and_gathering_are_the_halves_of_reducing(algorithm: str) -> None:
    """In bytes sent, (n - 1)/n buffers a card each, and in time, the reduction in memory with the first."""
    switch, well = FatTree((32,), (1,), (50e9,)), Conditions(memory_bytes_per_s=400e9)
    cards, inside = np.arange(32), {"node_cards": 4, "dims": (4, 4, 2)}
    times_s = {}
    for kind in ("all-reduce", "reduce-scatter", "all-gather"):
        sent = np.zeros(32)
        for step in steps(kind, algorithm, cards, 1.0, **inside):
            np.add.at(sent, step.source, step.bytes_each * step.times)
        assert sent == pytest.approx((2 if kind == "all-reduce" else 1) * 31 / 32)
        times_s[kind] = collective(switch, kind, algorithm, cards, GIB, well, 4, (4, 4, 2), 1).time_s
    added_s = 3 * GIB * 31 / 32 / 400e9
    assert times_s["reduce-scatter"] + times_s["all-gather"] == pytest.approx(times_s["all-reduce"])
    assert times_s["reduce-scatter"] - times_s["all-gather"] == pytest.approx(added_s)


@pytest.mark.parametrize("dims", [(16, 16, 8), (64, 8), (512,)])
def test_an_all_to_all_among_many_is_the_bisection_of_their_torus(dims: tuple[int, ...]) -> None:
    """Some shifts between ranks stand for all, within a tenth of the closed form."""
    torus = Grid(dims, link_bytes_per_s=100 * GIB)
    timing = collective(torus, "all-to-all", "direct", np.arange(torus.cards), GIB)
    assert timing.time_s == pytest.approx(torus_alltoall_s(dims, GIB, Wire(100 * GIB, 500)), rel=0.1)


def test_what_no_collective_is_made_of_is_refused() -> None:
    for kind, algorithm, cards in (
        ("all-reduce", "magic", np.arange(4)),
        ("all-reduce", "ring", np.array([1, 1])),
        ("all-reduce", "halving-doubling", np.arange(6)),
        ("all-reduce", "hierarchical", np.arange(6)),
    ):
        with pytest.raises(BadInput):
            steps(kind, algorithm, cards, 1.0, node_cards=4)


def test_flows_of_other_jobs_go_on_until_ours_have_arrived() -> None:
    """Two into one port: beside one that never ends, however small, ours has half of it all the while."""
    tree = FatTree((4,), (1,), (1e9,))
    routes = tree.route(np.array([0, 1]), np.array([2, 2]))
    sizes = np.array([4e6, 4e3])
    ends = lossless.finish_s(tree.network, routes, sizes, wire_s=0.0)
    endless = lossless.finish_s(tree.network, routes, sizes, wire_s=0.0, endless=np.array([False, True]))
    assert endless[0] == pytest.approx(2 * ends[0], rel=0.01)
