"""One question about a collective, as typed in a shell."""

import numpy as np
import pytest

from starverse.model.errors import BadInput
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
    assert 0 < answer.timing.efficiency_share <= 1 + 1e-9 or words.startswith(("torus", "hyperx"))
    assert answer.timing.bottleneck.count("→") == 1
    assert answer.equation
    assert answer.source
    assert answer.hops_mean <= answer.hops_most
    assert 1_100 < answer.message_mean_ns <= answer.message_most_ns
    assert 0 < answer.bisection_bytes_per_s <= topology.network.bytes_per_s.sum() / 2


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
