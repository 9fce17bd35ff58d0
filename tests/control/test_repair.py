"""What becomes of a gang when nodes die under it: as few cards as can be are swapped, the rest stays."""

from tests.cluster import Cluster, Fate
from tests.control.laws import Auditor

from starverse.model import events as ev
from starverse.model.job import Shape
from starverse.model.units import CARD, MINUTE_MS

M = MINUTE_MS


def pod(racks: int, nodes: int = 4) -> Cluster:
    cluster = Cluster(Fate(600 * M), watch=Auditor())
    cluster.hear(ev.LayoutSet(("rack",)))
    for rack in range(racks):
        for node in range(nodes):
            cluster.hear(ev.NodeJoined(f"r{rack}n{node}", "cpu", 2, (f"r{rack}",)))
    cluster.tenant("ann", yuan=100_000)
    return cluster


def nodes_of(cluster: Cluster, run: str) -> set[str]:
    return {share.node for share in cluster.state.runs[run].shares}


def test_h3_two_nodes_die_at_once_and_only_they_are_swapped() -> None:
    cluster = pod(racks=3)
    cluster.submit("gang", cards=16, shape=Shape(member=2 * CARD))
    cluster.after(10 * M)
    before = nodes_of(cluster, "gang.0")
    dead = sorted(before)[2:4]
    for node in dead:
        cluster.hear(ev.NodeLost(node, cluster.now_ms))
    cluster.after(1 * M)
    after = nodes_of(cluster, "gang.1")
    assert after & before == before - set(dead), "the rest stays where it is"
    assert len(after) == 8


def test_d5_a_swapped_gang_counts_once() -> None:
    cluster = pod(racks=3)
    cluster.submit("gang", cards=16, shape=Shape(member=2 * CARD))
    cluster.after(10 * M)
    cluster.hear(ev.NodeLost(min(nodes_of(cluster, "gang.0")), cluster.now_ms))
    cluster.after(1 * M)
    assert cluster.state.view.shares.has == [16 * CARD]


def test_an_elastic_gang_shrinks_to_what_is_left_of_it() -> None:
    cluster = pod(racks=1)
    cluster.submit("gang", cards=(4, 8))
    cluster.after(10 * M)
    before = nodes_of(cluster, "gang.0")
    cluster.hear(ev.NodeLost("r0n3", cluster.now_ms))
    cluster.after(1 * M)
    assert nodes_of(cluster, "gang.1") == before - {"r0n3"}


def test_a_gang_that_cannot_be_made_whole_waits_at_the_head_and_comes_back() -> None:
    cluster = pod(racks=1)
    cluster.submit("gang", cards=8)
    cluster.after(10 * M)
    cluster.submit("late", cards=8)
    cluster.hear(ev.NodeLost("r0n3", cluster.now_ms))
    cluster.after(1 * M)
    assert not cluster.state.runs
    cluster.hear(ev.NodeJoined("r0n3", "cpu", 2, ("r0",)))
    cluster.after(1 * M)
    assert list(cluster.state.runs) == ["gang.1"]


def test_h5_cordon_is_not_failure() -> None:
    cluster = pod(racks=1)
    cluster.submit("gang", cards=8)
    cluster.after(10 * M)
    cluster.cordon("r0n0")
    cluster.after(10 * M)
    assert list(cluster.state.runs) == ["gang.0"]
