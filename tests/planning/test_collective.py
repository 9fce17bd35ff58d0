"""One question about a collective, as typed in a shell."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from starverse.model.errors import BadInput
from starverse.physics.fabric.loss import tail_s
from starverse.physics.fabric.measured import sweep
from starverse.physics.fabric.steps import AS_FLOWS
from starverse.physics.fabric.traffic import Conditions
from starverse.planning.collective import plan_collective
from starverse.planning.network import topology_of

GIB = 1 << 30


@pytest.mark.parametrize(
    ("words", "cards"),
    [("torus:4x4x2", 32), ("torus:3x2/4", 24), ("hyperx:4x4", 16), ("ethernet:16", 16), ("clos:64/8", 64),
     ("clos:64/8/3", 72), ("dragonfly:9/4/2/2", 72)],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast"])
def test_every_network_answers_every_question(words: str, cards: int, kind: str) -> None:
    topology = topology_of(words)
    assert topology.cards == cards
    answer = plan_collective(topology, kind, GIB)
    assert 0 < answer.timing.efficiency_share <= 1 + 1e-9
    assert answer.timing.bottleneck.count("→") == 1
    assert answer.equation
    assert answer.source
    assert answer.hops_mean <= answer.hops_most
    assert 1_100 < answer.message_mean_ns <= answer.message_most_ns
    assert 0 < answer.bisection_bytes_per_s <= topology.network.bytes_per_s.sum() / 2


NODES = ["rail:64/16", "clos:64/16", "clos:64/8/3", "ethernet:64", "torus:8x8", "torus:4x2/8", "hyperx:8x8",
         "torus:4x4/4", "dragonfly:8/4/2/2"]  # fmt: skip


@pytest.mark.parametrize("words", NODES)
@pytest.mark.parametrize("inside_bytes_per_s", [20e9, 450e9, 50e12])
@pytest.mark.parametrize(
    "cards",
    [64, 8, 3, tuple(range(0, 64, 8)), tuple(range(0, 64, 9)), (0, 1, 2, 8), tuple(range(4, 28))],
    ids=str,
)
def test_nothing_is_quicker_than_the_wires_that_leave_the_nodes(
    words: str, inside_bytes_per_s: float, cards: int | tuple[int, ...]
) -> None:
    """By every algorithm, on one path or spread, whatever is inside the nodes, and which cards take part."""
    topology = topology_of(words, 50e9, node_cards=8, node_bytes_per_s=inside_bytes_per_s)
    for spread in (False, True):
        for kind in AS_FLOWS:
            found = plan_collective(topology, kind, GIB, cards, conditions=Conditions(spread=spread))
            assert 0 < found.timing.efficiency_share <= 1 + 1e-9, (kind, found.algorithm)


@pytest.mark.parametrize("words", ["torus:8x8x8", "torus:2x2x2", "torus:5", "hyperx:8x8x8", "clos:64/8/1/2"])
def test_nothing_is_quicker_than_all_wires_of_a_card(words: str) -> None:
    for kind, algorithms in AS_FLOWS.items():
        for algorithm in set(algorithms) - {"hierarchical", "halving-doubling"}:
            if algorithm != "bucket" or words.startswith("torus"):
                found = plan_collective(topology_of(words), kind, GIB, algorithm=algorithm).timing
                assert 0 < found.efficiency_share <= 1 + 1e-9, (kind, algorithm)


def test_bounds_count_the_wires_that_leave() -> None:
    """Eight of 50 GB/s out of each node; in a node its link; of a torus, two an axis, one on an axis of 2."""

    def bound_s(words: str, kind: str, cards: int = 0, node_cards: int = 1) -> float:
        topology = topology_of(words, 50e9, node_cards=node_cards)
        return plan_collective(topology, kind, 1e9, cards).timing.bound_s

    assert bound_s("clos:64/16", "all-reduce") == pytest.approx(2 * 63 / 64 / 50)
    assert bound_s("rail:64/16", "all-reduce", node_cards=8) == pytest.approx(2 * 7 / 8 / 400)
    assert bound_s("rail:64/16", "all-to-all", node_cards=8) == pytest.approx(8 * 7 / 8 / 400)
    assert bound_s("rail:64/16", "all-gather", 12, node_cards=8) == pytest.approx(11 / 12 / (450 + 50))
    assert bound_s("rail:64/16", "broadcast", node_cards=8) == pytest.approx(1 / 400)
    assert bound_s("rail:64/16", "all-reduce", 8, node_cards=8) == pytest.approx(2 * 7 / 8 / 450)
    assert bound_s("torus:8x8", "all-to-all") == pytest.approx(63 / 64 / 200)
    assert bound_s("torus:8x2", "all-to-all") == pytest.approx(15 / 16 / 150)
    assert bound_s("hyperx:8x8x8", "all-to-all") == pytest.approx(511 / 512 / 150)


@pytest.mark.parametrize("words", ["rail:64/16", "clos:64/16"])
def test_a_ring_that_leaves_its_nodes_goes_at_the_speed_of_a_wire_out(words: str) -> None:
    """Whatever the switch in the nodes: the same wires without it lose and take as much."""
    lossy = Conditions(loss_share=0.01, recovery="go-back-n", round_trip_s=10e-6)
    inside, outside = topology_of(words, 50e9, node_cards=8), topology_of("clos:64/16", 50e9)
    stretched = [  # of so many bytes that ways do not count
        plan_collective(network, "all-reduce", 1e15, 0, "ring", (), lossy).timing.loss_stretch_mean
        for network in (inside, outside)
    ]
    assert stretched == pytest.approx([1 + 0.01 * 50e9 * 10e-6 / 4096 / 0.99] * 2)
    nodes = plan_collective(inside, "all-reduce", GIB, 0, "ring", (), lossy)
    flat = plan_collective(outside, "all-reduce", GIB, 0, "ring", (), lossy)
    for found in (nodes, flat):
        assert found.alone
        ways_s = 126 * found.message_most_ns * 1e-9
        assert found.alone.time_s == pytest.approx(2 * 63 / 64 * GIB / 50e9 + ways_s)
    assert nodes.timing.wire_share == pytest.approx(flat.timing.wire_share, rel=0.01)


def test_in_one_node_the_link_inside_is_the_wire() -> None:
    topology = topology_of("rail:64/16", 50e9, node_cards=8)
    lossy = Conditions(loss_share=0.01, recovery="go-back-n", round_trip_s=10e-6)
    found = plan_collective(topology, "all-reduce", 1e15, 8, "ring", conditions=lossy).timing
    assert found.loss_stretch_mean == pytest.approx(1 + 0.01 * 450e9 * 10e-6 / 4096 / 0.99)
    well = plan_collective(topology, "all-reduce", GIB, 8, "ring")
    assert well.alone
    assert well.alone.time_s == pytest.approx(well.timing.time_s, rel=1e-3)
    assert well.timing.efficiency_share == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    ("words", "node_cards", "kind", "algorithm"),
    [("rail:64/16", 8, "all-reduce", "halving-doubling"), ("hyperx:8x8", 1, "all-to-all", "direct"),
     ("torus:3x2/4", 1, "all-to-all", "direct"), ("clos:64/16", 8, "broadcast", "tree")],
)  # fmt: skip
def test_no_form_is_given_where_cards_are_not_equals(
    words: str, node_cards: int, kind: str, algorithm: str
) -> None:
    """Some in one node, with wires of two speeds; or sending to several at once, on several wires."""
    found = plan_collective(topology_of(words, node_cards=node_cards), kind, GIB, algorithm=algorithm)
    assert found.alone is None


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_a_congested_network_is_never_quicker_than_an_idle_one(data: st.DataObject) -> None:
    """Whatever is asked, by whichever algorithm, and whatever else goes on."""
    words = data.draw(st.sampled_from([*NODES, "torus:4x4", "torus:5x2x3", "clos:64/8/1/2", "hyperx:4x4x2"]))
    node_cards = data.draw(st.sampled_from([1, 4, 8] if topology_of(words).cards == 64 else [1]))
    topology = topology_of(words, 50e9, node_cards=node_cards)
    kind = data.draw(st.sampled_from(list(AS_FLOWS)))
    cards = data.draw(st.permutations(range(topology.cards)))[: data.draw(st.integers(2, topology.cards))]
    row = np.arange(0, topology.cards, 3)
    conditions = Conditions(
        spread=data.draw(st.booleans()),
        others=(row, np.roll(row, 1)) if data.draw(st.booleans()) else None,
        loss_share=data.draw(st.sampled_from([0.0, 0.01])),
        memory_bytes_per_s=data.draw(st.sampled_from([np.inf, 1e12])),
    )
    asked = data.draw(st.sampled_from([0, cards]))
    bytes_ = data.draw(st.sampled_from([1.0, 1e4, 1e6, 1e9]))
    for algorithm in AS_FLOWS[kind]:
        try:
            found = plan_collective(topology, kind, bytes_, asked, algorithm, conditions=conditions)
        except BadInput:
            continue  # not of so many cards
        assert found.alone is None or found.timing.time_s >= found.alone.time_s * (1 - 1e-9), algorithm


@pytest.mark.parametrize("words", ["clos:30720/64", "torus:4x4", "dragonfly:74/32/16/4"])
def test_trees_fill_a_pipeline_on_the_way(words: str) -> None:
    """They took less than the idle form, and less than rings that are quicker."""
    found = plan_collective(topology_of(words), "all-reduce", GIB)
    assert found.alone is None or found.timing.time_s >= found.alone.time_s


def test_no_collective_is_quicker_than_a_message() -> None:
    """However little it carries: each step has its ends and its way."""
    for words in ("torus:8x8x8", "hyperx:8x8x8", "clos:64/8", "dragonfly:9/4/2/2"):
        for kind in AS_FLOWS:
            found = plan_collective(topology_of(words), kind, 1.0)
            nearest_ns = min(time_ns for time_ns, _ in found.message_ns)
            assert found.timing.time_s * 1e9 > nearest_ns
            assert found.alone is None or found.alone.time_s * 1e9 > nearest_ns
    broadcast = plan_collective(topology_of("torus:8x8x8"), "broadcast", 1.0)
    assert broadcast.timing.time_s * 1e9 > broadcast.message_mean_ns


@pytest.mark.parametrize("recovery", ["go-back-n", "selective-repeat"])
def test_what_loss_adds_is_read_off_the_same_time(recovery: str) -> None:
    """The mean, then the slowest: both over the time without loss; by the round trips of the steps."""
    torus = topology_of("torus:16x8x8")
    well = plan_collective(torus, "all-reduce", GIB, algorithm="bucket").timing
    lossy = Conditions(loss_share=0.01, recovery=recovery)
    ill = plan_collective(torus, "all-reduce", GIB, algorithm="bucket", conditions=lossy).timing
    assert ill.kept_s == pytest.approx(well.time_s)
    assert ill.loss_stretch_slowest == pytest.approx(ill.time_s / well.time_s)
    assert ill.loss_stretch_mean == pytest.approx((ill.mean_s or 0) / well.time_s)
    assert ill.time_s - (ill.mean_s or 0) == pytest.approx(3 * tail_s(0.01, 1024, 1e-3))
    window = 100e9 * 2 * 1.6e-6 / 4096  # a step goes one hop: 1.1 us of ends and 0.5 of way
    stretch = 1 + 0.01 * window / 0.99 if recovery == "go-back-n" else 1 / 0.99
    assert ill.loss_stretch_mean == pytest.approx(stretch, rel=0.01)


@pytest.mark.parametrize(("bytes_", "about"), [(1 << 30, 0.30), (1 << 34, 0.325)])
def test_a_hierarchy_beside_32_cards_as_measured(bytes_: int, about: float) -> None:
    """B200 × 4 over 8 × 400 Gbit/s (stas00/ml-engineering): nothing is fitted, NVLink 900 GB/s.

    NCCL's rings are bound by the 400 GB/s that leave a node; the phases by less than that.
    """
    rails = topology_of("rail:32/64", 50e9, node_cards=8, node_bytes_per_s=900e9)
    found = plan_collective(rails, "all-reduce", bytes_, algorithm="hierarchical").timing
    sizes, seconds = sweep("b200-4-nodes")
    bus = 2 * 31 / 32 * sizes / seconds
    measured = bus[np.argmin(abs(sizes - bytes_))]
    assert found.bus_bytes_per_s / measured - 1 == pytest.approx(about, abs=0.02)


def test_on_a_switch_the_network_adds_nothing_to_the_closed_form() -> None:
    answer = plan_collective(topology_of("ethernet:64"), "all-reduce", GIB, algorithm="ring")
    assert answer.alone is not None
    assert answer.alone.time_s == pytest.approx(answer.timing.time_s, rel=1e-2)


def test_the_quickest_algorithm_is_taken() -> None:
    rails = topology_of("rail:256/32", 50e9, node_cards=8)
    best = plan_collective(rails, "all-reduce", GIB)
    each = [
        plan_collective(rails, "all-reduce", GIB, algorithm=name).timing.time_s
        for name in ("ring", "halving-doubling", "hierarchical")
    ]
    assert best.timing.time_s == min(each)
    assert best.algorithm == "hierarchical"


def test_a_failed_switch_by_name_slows_what_crosses_it() -> None:
    tree, cards = topology_of("clos:64/8"), list(range(0, 64, 3))
    well = plan_collective(tree, "all-to-all", GIB, cards)
    spines = ["spine 0", "spine 1", "spine 2"]
    ill = plan_collective(tree, "all-to-all", GIB, cards, failed=spines)
    assert ill.timing.time_s > well.timing.time_s
    cable = plan_collective(tree, "all-to-all", GIB, cards, failed=["leaf 0 -> spine 0"])
    assert well.timing.time_s <= cable.timing.time_s
    with pytest.raises(BadInput, match="cut off"):
        plan_collective(tree, "all-to-all", GIB, cards, failed=["leaf 0"])


def test_with_two_leaves_a_card_a_failed_one_halves_its_speed_and_no_more() -> None:
    """HPN, SIGCOMM 2024: a single top-of-rack switch that fails halts the job; of two, one carries on."""
    spread = Conditions(spread=True)
    two = topology_of("clos:32/8/1/2", 50e9)
    well = plan_collective(two, "all-reduce", GIB, algorithm="ring", conditions=spread).timing.time_s
    ill = plan_collective(two, "all-reduce", GIB, 0, "ring", ["leaf 0"], spread).timing.time_s
    assert ill == pytest.approx(2 * well, rel=0.01)
    one = topology_of("clos:32/8", 50e9)
    assert plan_collective(one, "all-reduce", GIB, algorithm="ring").timing.time_s == pytest.approx(
        well, rel=0.01
    )
    with pytest.raises(BadInput, match="cut off"):
        plan_collective(one, "all-reduce", GIB, failed=["leaf 0"])


def test_loss_and_other_jobs_are_part_of_the_question() -> None:
    torus = topology_of("torus:8x8")
    row = np.arange(8)
    well = plan_collective(torus, "all-reduce", GIB, 8).timing.time_s
    beside = Conditions(others=(row, (row + 2) % 8))
    assert plan_collective(torus, "all-reduce", GIB, 8, conditions=beside).timing.time_s > 1.5 * well
    lossy = Conditions(loss_share=0.01)
    assert plan_collective(torus, "all-reduce", GIB, 8, conditions=lossy).timing.time_s > well


@pytest.mark.parametrize(
    ("ask", "what"),
    [
        (lambda: topology_of("torsu:4x4"), "Did you mean 'torus'"),
        (lambda: topology_of("torus:4xx"), "like torus:32x32x30"),
        (lambda: topology_of("torus:99x99x99"), "at most 65,536"),
        (lambda: plan_collective(topology_of("ethernet:4"), "all-reduse", 1), "Did you mean 'all-reduce'"),
        (lambda: plan_collective(topology_of("ethernet:4"), "all-reduce", 0), "0 bytes"),
        (lambda: plan_collective(topology_of("ethernet:4"), "all-reduce", 1, 9), "0 to 3"),
        (
            lambda: plan_collective(topology_of("ethernet:4"), "all-reduce", 1, 4, "rink"),
            "mean 'ring'",
        ),
        (lambda: plan_collective(topology_of("ethernet:4"), "all-reduce", 1, failed=["spine 9"]), "spine 9"),
    ],
)
def test_what_cannot_be_answered_says_what_can(ask, what: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(BadInput, match=what):
        ask()


@pytest.mark.parametrize("words", ["ethernet:512", "rail:512/64", "rail:512/128"])
def test_all_to_all_of_many_stays_within_the_wires_of_a_node(words: str) -> None:
    """504 of 512 parts leave the node: 504/512 of the bytes over the card's 50 GB/s, and no less."""
    found = plan_collective(topology_of(words, 50e9, 500.0, 8), "all-to-all", 2.0**30, 512)
    bound_s = 504 / 512 * 2**30 / 50e9
    assert bound_s <= found.timing.time_s == pytest.approx(bound_s, rel=0.01)
    assert found.timing.efficiency_share <= 1
