"""Collectives in closed form, against simulators that take minutes."""

from math import prod

import numpy as np
import pytest

from starverse.physics.fabric.closed import allreduce_in_box_ns
from starverse.physics.fabric.grid import Grid
from starverse.physics.fabric.traffic import Conditions, collective

GIB = 1 << 30


@pytest.mark.parametrize(
    ("torus", "astra_ms"), [((4, 4, 4), 21.678530), ((32, 32, 30), 22.105195)], ids=["4x4x4", "32x32x30"]
)
def test_a_whole_torus_takes_as_long_as_in_astra_sim(torus: tuple[int, ...], astra_ms: float) -> None:
    """One chunk of 1 GiB over links of 100 GiB/s and 0.5 us, 10 ns an endpoint; ASTRA-sim 518bd51.

    ASTRA adds the reduction itself: three times each byte through a memory of 1,600 GB/s.
    """
    ring_ns = allreduce_in_box_ns(torus, torus, GIB, 100 * GIB, 510)
    cards = torus[0] * torus[1] * torus[2]
    reduce_ns = 3 * GIB / 1600 * (1 - 1 / cards)
    assert (ring_ns + reduce_ns) / 1e6 == pytest.approx(astra_ms, rel=1e-4)


@pytest.mark.parametrize(
    ("dims", "torus"),
    [
        *(((length,), (8,)) for length in range(2, 9)),
        *(((length, 1), (5, 3)) for length in range(2, 6)),
        ((2, 3), (4, 6)), ((3, 4), (4, 6)), ((4, 5), (4, 6)), ((3, 2, 2), (5, 4, 3)), ((5, 4, 3), (5, 4, 3)),
    ],
)  # fmt: skip
def test_a_box_takes_as_long_as_its_rings_do_as_flows(dims: tuple[int, ...], torus: tuple[int, ...]) -> None:
    """An open axis sends back in the other direction of its wires: as quick as a ring, but for the hops."""
    grid = Grid(torus, link_bytes_per_s=100e9, hop_ns=500)
    box = np.arange(grid.cards).reshape(torus)[tuple(slice(length) for length in dims)]
    wires = Conditions(ends_ns=0)
    flows_s = collective(grid, "all-reduce", "bucket", box.reshape(-1), GIB, wires, dims=dims).time_s
    closed_ns = allreduce_in_box_ns(dims, torus, GIB, 100_000_000_000, 500)
    assert closed_ns / 1e9 == pytest.approx(flows_s, rel=1e-6)


def test_an_open_axis_costs_a_ring_and_the_hops_back() -> None:
    """Three hops from the last of four to the first, in each of six steps."""
    ring_ns = allreduce_in_box_ns((4, 1), (4, 1), hop_ns=500)
    assert allreduce_in_box_ns((4, 1), (8, 1), hop_ns=500) - ring_ns == 2 * 3 * (3 - 1) * 500


def test_a_box_of_more_domains_always_takes_longer() -> None:
    """At the bytes of a gradient; of equal ones, what spans an axis or is compact is quicker."""
    torus = (10, 15, 5)
    price = {dims: allreduce_in_box_ns(dims, torus) for dims in np.ndindex(*torus) if min(dims) > 0}
    small = [dims for dims in price if prod(dims) <= 8]
    for one in small:
        assert all(price[one] < price[other] for other in small if prod(other) > prod(one))
    assert allreduce_in_box_ns((1, 1, 5), torus) < allreduce_in_box_ns((5, 1, 1), torus)
    assert price[2, 2, 1] < price[4, 1, 1]


def test_one_domain_costs_nothing() -> None:
    assert allreduce_in_box_ns((1, 1, 1), (4, 4, 4)) == 0
