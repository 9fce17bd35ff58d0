"""What would fit where, as a waiting job is told."""

import pytest
from tests.scheduler.placement.pictures import tree_of

from starverse.scheduler.placement.blocks import fits_by_level, largest_block, sentence


@pytest.mark.parametrize(
    ("picture", "want", "slices", "text"),
    [
        ("r1 3 3 0", 6, ((0, 6), (1, 2)), "0/1 slices fit on rack; 2/3 on node"),
        ("r1 7 4\nr2 7 3", 16, ((0, 8), (1, 4)), "1/2 slices fit on rack; 3/4 on node"),
        ("r1 4\nr2 4\nr3 4", 12, ((0, 6), (1, 2)), "0/2 slices fit on rack; 6/6 on node"),
        ("r1 8 8\nr2 8 8", 8, ((0, 4),), "2/2 slices fit on rack"),
    ],
)
def test_case_12_slices_are_counted_by_level(
    picture: str, want: int, slices: tuple[tuple[int, int], ...], text: str
) -> None:
    topology, room = tree_of(picture, "rack")
    assert sentence(topology, fits_by_level(topology, room, want, slices)) == text


def test_the_largest_block_of_each_level() -> None:
    topology, room = tree_of("p0/r0 2 1\np0/r1 2 2\np1/r0 4", "pod rack")
    assert [largest_block(topology, room, level) for level in (-1, 0, 1, 2)] == [11, 7, 4, 4]


def test_a_cluster_without_nodes_has_no_block() -> None:
    topology, room = tree_of("", "rack")
    assert largest_block(topology, room, 0) == 0
