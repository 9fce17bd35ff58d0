"""A cluster's file becomes its network; a placement becomes its cards."""

from itertools import product
from math import prod

import numpy as np
import pytest

from starverse.model.errors import BadInput
from starverse.model.events import LayoutSet, NodeJoined
from starverse.model.spec import Cluster, Torus, parse_cluster, preset, presets
from starverse.physics.fabric.closed import allreduce_in_box_ns
from starverse.physics.fabric.traffic import Conditions
from starverse.planning.collective import plan_collective
from starverse.planning.network import link_of, network_of, topology_of
from starverse.planning.placement import cards_at, cards_of, in_place

GIB = 1 << 30


@pytest.mark.parametrize("name", presets())
def test_every_preset_is_laid_out_and_reduces(name: str) -> None:
    cluster = preset(name)
    topology = network_of(cluster)
    assert topology.cards == cluster.cards
    assert plan_collective(topology, "all-reduce", GIB, cluster.cards).timing.time_s > 0


def test_published_clusters_have_their_published_cuts() -> None:
    """TPU v4: 24 TB/s (Google Cloud). Frontier: a group sends 58.4 Tbit/s to 73 others. Llama 3: 1 : 7."""
    assert network_of(preset("tpu-v4")).bisection_bytes_per_s() == pytest.approx(24e12, rel=0.05)
    group = network_of(preset("frontier")).bisection_bytes_per_s() / 37**2 * 73
    assert group * 8 == pytest.approx(58.4e12, rel=0.001)
    inside = 24_576 * 50e9 / 2
    assert inside / network_of(preset("llama3-24k")).bisection_bytes_per_s() == pytest.approx(7, rel=0.03)


@pytest.mark.parametrize(
    ("net", "words"),
    [
        ('kind = "torus"\nof = "node"\nsize = [4, 4]\ncard_gbps = 800', "torus:4x4/8"),
        ('kind = "hyperx"\nsize = [16, 8]', "hyperx:16x8"),
        ('kind = "ethernet"', "ethernet:128"),
        ('kind = "clos"\nradix = 16\noversubscription = 3', "clos:128/16/3"),
        (
            'kind = "dragonfly"\ngroups = 8\nswitches = 4\ncards_each = 4\nglobal_each = 2',
            "dragonfly:8/4/4/2",
        ),
    ],
)
def test_a_file_says_the_same_as_words(net: str, words: str) -> None:
    cluster = parse_cluster(f"[levels]\nnode = 16\n[network]\n{net}")
    of_file, of_words = network_of(cluster).network, topology_of(words).network
    assert np.array_equal(of_file.tail, of_words.tail)
    assert np.array_equal(of_file.bytes_per_s, of_words.bytes_per_s)


def test_a_network_too_large_to_lay_out_is_refused() -> None:
    with pytest.raises(BadInput, match="at most 65,536"):
        network_of(Cluster(levels={"node": 10_000}, network=Torus(of="node", size=(10_000,))))


NODES = [f"node{n}" for n in range(4)]


def test_words_name_cards_and_whole_nodes() -> None:
    assert cards_at("0-2,5", NODES, 4, 16) == (0, 1, 2, 5)
    assert cards_at("node[2-3], 0", NODES, 4, 16) == (*range(8, 16), 0)


@pytest.mark.parametrize(
    ("words", "says"),
    [("0-99", "numbered 0 to 15"), ("nod1", "Did you mean 'node1'"), ("0-3,3", "twice"), ("1", "two or more"),
     ("", "two or more"), ("3-1", "There are no cards")],
)  # fmt: skip
def test_a_placement_that_is_none_is_refused(words: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        cards_at(words, NODES, 4, 16)


def test_nodes_lie_along_the_torus_whatever_order_they_joined_in() -> None:
    layout = LayoutSet(("rack",), "rack", (2, 1))
    joined = [NodeJoined(f"n{n}", "h200", 4, (f"r{n % 2}",), (1 - n % 2, 0)) for n in range(4)]
    assert in_place(layout, joined) == ["n1", "n3", "n0", "n2"]
    assert cards_of({"n0": (0, 3), "n1": (1,)}, in_place(layout, joined), 4, 16) == (1, 8, 11)
    with pytest.raises(BadInput, match="nodes of 2"):
        cards_of({"n0": (0, 3)}, in_place(layout, joined), 2, 8)


def test_a_placement_is_priced_by_the_links_of_its_cluster() -> None:
    """Eight cables make one link; and what the scheduler takes for a link finds the same cheapest boxes."""
    cluster = preset("xiamen-30k")
    link = link_of(cluster)
    assert link == (8 * 100_000_000_000, 500)
    assert isinstance(cluster.network, Torus)
    torus, racks = cluster.network.size, cluster.count("rack")
    sizes = list(product(*(range(1, length + 1) for length in torus)))

    def cheapest(*asked: int) -> list[tuple[int, ...]]:
        priced = [(prod(size) * allreduce_in_box_ns(size, torus, *asked), size) for size in sizes]
        return [min(each for each in priced if prod(each[1]) >= count)[1] for count in range(2, racks + 1)]

    assert cheapest(GIB, *link) == cheapest()
    with pytest.raises(BadInput, match="has no torus"):
        link_of(preset("frontier"))


def test_a_box_by_the_closed_form_takes_as_long_as_by_flows() -> None:
    """A whole torus of racks, ring by ring between their switches, by the same link of the same file."""
    text = "[levels]\nrack = 60\nnode = 1\n[node]\ncards = 1\n"
    text += '[network]\nkind = "torus"\nof = "rack"\nsize = [5, 4, 3]\ncables = 8\nlink_gbps = 800\n'
    cluster = parse_cluster(text)
    wires = Conditions(ends_ns=0)
    found = plan_collective(network_of(cluster), "all-reduce", GIB, algorithm="bucket", conditions=wires)
    closed_s = allreduce_in_box_ns((5, 4, 3), (5, 4, 3), GIB, *link_of(cluster)) / 1e9
    assert closed_s == pytest.approx(found.timing.time_s, rel=1e-3)
