"""A cluster's file is read whole, or refused with the key and the remedy."""

import numpy as np
import pytest

from starverse.model.errors import BadInput
from starverse.model.spec import parse_cluster, preset, presets

GOOD = """
[levels]
rack = 8
node = 2
[network]
kind = "torus"
of = "rack"
size = [4, 2]
link_gbps = 400
"""


def test_levels_multiply_and_racks_lie_on_the_torus() -> None:
    cluster = parse_cluster(GOOD)
    assert (cluster.nodes, cluster.cards) == (16, 128)
    laid = cluster.laid_out()
    assert (laid.levels, laid.torus_level, laid.torus) == (("rack",), "rack", (4, 2))
    assert laid.domain.tolist() == [list(np.arange(16) // 2)]
    assert laid.at[5].tolist() == [1, 0]
    assert cluster.node_names()[5] == "rack3-node2"


def test_the_reference_cluster_is_that_of_the_article() -> None:
    cluster = preset("xiamen-30k")
    assert cluster.cards == 30_000
    assert list(cluster.levels.values()) == [30, 25, 5]
    assert cluster.laid_out().torus == (10, 15, 5)


@pytest.mark.parametrize("name", presets())
def test_every_preset_is_sound_and_says_where_it_comes_from(name: str) -> None:
    cluster = preset(name)
    assert cluster.name == name
    assert cluster.about
    assert len(set(cluster.node_names())) == cluster.nodes


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("link_gbps = 400", "link = 400", r"`network.link` has no unit. Write `network.link_gbps`"),
        ("link_gbps = 400", "lnk_gbps = 400", r"no key `network.lnk_gbps`. Did you mean `network.link_gbps`"),
        ("[4, 2]", "[4, 3]", r"`network.size`: 4 × 3 is 12, but there are 8 racks. Give sizes whose"),
        ('"torus"', '"torsu"', "Did you mean 'torus'"),
        ('kind = "torus"', "", "`network.kind` must be said"),
        ('"rack"\n', '"rak"\n', "Did you mean 'rack'"),
        ("node = 2", "node = 2\nblade = 2", "Make `node` the last level"),
        ("rack = 8", "rack = 0", "`levels.rack` = 0"),
        ("rack = 8", 'rack = "8"', "`levels"),
        ("400", "nan", "`network.link_gbps` = nan"),
        ("400", "-1", "`network.link_gbps` = -1"),
        ("[levels]", "[levls]", "no key `levls`. Did you mean `levels`"),
        ("[network]", "[netwrok]", "no key `netwrok`. Did you mean `network`"),
        ('kind = "torus"', 'knd = "torus"', "no key `network.knd`. Did you mean `network.kind`"),
        ("[levels]", "[levels", "is no TOML"),
        ("[network]", "[node]\ncards = 9999\n[network]", "`node.cards` = 9999"),
        ("[network]", '[node]\nkind = "b200"\n[network]', "no key `node.kind`"),
    ],
)  # fmt: skip
def test_a_slip_is_named_with_its_remedy(old: str, new: str, says: str) -> None:
    assert old in GOOD
    with pytest.raises(BadInput, match=says):
        parse_cluster(GOOD.replace(old, new))


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(BadInput, match="Did you mean 'xiamen-30k'"):
        preset("xiamen-30")
