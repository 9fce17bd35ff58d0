"""Collectives in closed form, against simulators that take minutes and machines that exist."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starverse.model.errors import BadInput
from starverse.physics.fabric import collectives as closed
from starverse.physics.fabric import loss, measured
from starverse.physics.fabric.bucket import flow_shop, torus_bucket_s
from starverse.physics.fabric.collectives import Timing, Wire

GIB = 1 << 30
ASTRA = Wire(100 * GIB, 510, 1600e9)
"""Links of 100 GiB/s and 500 ns, 10 ns an endpoint, a memory of 1,600 GB/s."""


@pytest.mark.parametrize(
    ("dims", "chunks", "astra_ms"),
    [
        ((4, 4, 4), 1, 21.678530),
        ((4, 4, 4), 4, 16.522268),
        ((8, 8, 16), 4, 19.290204),
        ((8, 8, 16), 16, 19.375872),
        ((8, 8, 16), 64, 19.718656),
        ((16, 16, 16), 4, 20.698580),
        ((27, 27, 27), 4, 21.303752),
        ((32, 32, 30), 1, 22.105195),
        ((32, 32, 30), 4, 21.451584),
        ((1024,), 4, 26.152),
        ((2048,), 4, 30.320),
    ],
)
def test_a_torus_reduces_as_in_astra_sim(dims: tuple[int, ...], chunks: int, astra_ms: float) -> None:
    """The gate is 0.1 %; 1 GiB, ASTRA-sim 518bd51, analytical, which takes 217 s for the largest."""
    assert torus_bucket_s("all-reduce", dims, GIB, ASTRA, chunks) * 1e3 == pytest.approx(astra_ms, rel=1e-4)


@given(st.integers(1, 9), st.lists(st.integers(1, 50), min_size=1, max_size=4))
def test_a_flow_shop_is_as_long_as_its_busiest_server_or_one_chunk(chunks: int, times: list[int]) -> None:
    stages = [*enumerate(times), *reversed(list(enumerate(times)))]
    length = flow_shop(stages, chunks)
    assert max(2 * max(times) * chunks, 2 * sum(times)) <= length <= 2 * sum(times) * chunks


@pytest.mark.parametrize(
    ("fabric", "gate"), [("h200-node", 0.05), ("b200-node", 0.10), ("b200-4-nodes", 0.10)]
)
@pytest.mark.parametrize("odd", [0, 1], ids=["fit on even", "fit on odd"])
def test_half_of_a_measured_sweep_tells_the_other_half(fabric: str, gate: float, odd: int) -> None:
    """Geometric mean of the error on the sizes not fitted on, whichever half is fitted."""
    bytes_, seconds = measured.sweep(fabric)
    fitted = np.arange(bytes_.size) % 2 == odd
    curve = measured.fit(bytes_[fitted], seconds[fitted])
    wide = replace(curve, least_bytes=bytes_[0], most_bytes=bytes_[-1])
    computed = np.array([wide.time_s(b) for b in bytes_[~fitted]])
    assert np.exp(np.abs(np.log(computed / seconds[~fitted])).mean()) - 1 <= gate


def test_nothing_is_read_off_a_curve_beyond_its_ends() -> None:
    with pytest.raises(BadInput, match="outside what was measured"):
        measured.measured("h200-node").time_s(1 << 40)


@pytest.mark.parametrize("cards", [2, 8, 64, 1000])
def test_every_all_reduce_moves_at_least_what_it_must(cards: int) -> None:
    wire = Wire(50e9, 0)
    for form in (closed.ring_allreduce_s, closed.halving_doubling_allreduce_s, closed.tree_allreduce_s):
        timing = Timing("all-reduce", cards, GIB, form(cards, GIB, wire), wire.bytes_per_s)
        assert timing.efficiency_share <= 1 + 1e-12
    ring = Timing("all-reduce", cards, GIB, closed.ring_allreduce_s(cards, GIB, wire), wire.bytes_per_s)
    assert ring.bus_bytes_per_s == pytest.approx(50e9)


def test_trees_win_when_little_is_sent_and_rings_lose_at_size() -> None:
    """With 5.1 us a step a flat ring of 30,720 cards is half efficient only at 52 GB or more."""
    wire = Wire(8 * 48.5e9, 5_100)
    assert closed.tree_allreduce_s(1024, 1 << 20, wire) < closed.ring_allreduce_s(1024, 1 << 20, wire)
    half = Timing("all-reduce", 30_720, 52e9, closed.ring_allreduce_s(30_720, 52e9, wire), wire.bytes_per_s)
    assert half.efficiency_share == pytest.approx(0.5, abs=0.1)


def test_a_flat_ring_loses_with_nodes_what_simai_tabulates() -> None:
    """SimAI's nic_ratio.csv, 16 to 1,024 GPUs: one constant fits all, 5.1 us a step (calibrated)."""
    table = {
        16 << 20: (0.32, 0.24, 0.13, 0.05, 0.044, 0.021, 0.0087),
        256 << 20: (0.85, 0.77, 0.69, 0.57, 0.387, 0.209, 0.103),
        1 << 30: (0.92, 0.93, 0.90, 0.76, 0.74, 0.563, 0.315),
        4 << 30: (0.95, 0.95, 0.95, 0.95, 0.923, 0.755, 0.740),
        16 << 30: (0.96, 0.96, 0.96, 0.96, 0.957, 0.958, 0.919),
    }
    wire = Wire(8 * 48.5e9, 5_100)
    errors = []
    for bytes_, row in table.items():
        for nodes, share in enumerate(row):
            cards = 16 << nodes
            time_s = closed.ring_allreduce_s(cards, bytes_, wire)
            ring = Timing("all-reduce", cards, bytes_, time_s, wire.bytes_per_s)
            errors.append(abs(0.972 * ring.efficiency_share / share - 1))
    assert np.mean(errors) < 0.10


def test_an_all_to_all_on_a_ring_is_its_bisection() -> None:
    """kS/8B = 320 ms for 256 cards, 1 GiB and 100 GiB/s, and 128 hops of 0.5 us."""
    time_s = closed.torus_alltoall_s((256,), GIB, Wire(100 * GIB, 500))
    assert time_s == pytest.approx(0.320 + 128 * 500e-9, rel=1e-9)


@pytest.mark.parametrize(
    ("gbit_per_s", "round_trip_s", "stretch", "exposed", "longer"),
    [(100, 10e-6, 1.31, 0.137, 0.042), (100, 10e-6, 1.31, 0.267, 0.082), (800, 5.6e-6, 2.38, 0.267, 0.369),
     (800, 10e-6, 3.47, 0.137, 0.338), (800, 10e-6, 3.47, 0.267, 0.658)],
)  # fmt: skip
def test_what_one_percent_of_loss_costs_depends_on_the_window(
    gbit_per_s: float, round_trip_s: float, stretch: float, exposed: float, longer: float
) -> None:
    """N2, by go-back-N; the windows are 31, 137 and 244 packets."""
    window = loss.window_packets(gbit_per_s / 8 * 1e9, round_trip_s)
    stretched = 1 / loss.goodput_share(0.01, window, "go-back-n")
    assert stretched == pytest.approx(stretch, rel=0.01)
    assert loss.step_stretch(exposed, stretched) - 1 == pytest.approx(longer, abs=0.003)
    assert 1 / loss.goodput_share(0.01, window, "selective-repeat") == pytest.approx(1.01, abs=1e-3)


def test_the_last_of_many_messages_waits_for_a_timeout() -> None:
    """Against the mean of the greatest of so many geometric counts, drawn."""
    chance = np.random.default_rng(7)
    drawn = (chance.geometric(1 - 0.01, size=(4_000, 1_000)) - 1).max(1).mean()
    assert loss.tail_s(0.01, 1_000, 1e-3) == pytest.approx(drawn * 1e-3, rel=0.02)
    assert loss.tail_s(0, 1_000, 1e-3) == 0


def test_what_nobody_knows_is_refused() -> None:
    wire = Wire(1e9)
    for ask in (
        lambda: closed.closed_form_s("all-reduce", "magic", 8, 1, wire),
        lambda: closed.closed_form_s("gossip", "ring", 8, 1, wire),
        lambda: closed.closed_form_s("all-reduce", "ring", 8, 0, wire),
        lambda: Wire(0),
        lambda: loss.goodput_share(1.5, 9, "go-back-n"),
        lambda: loss.goodput_share(0.1, 9, "hope"),
        lambda: loss.step_stretch(2, 1),
        lambda: torus_bucket_s("all-reduce", (4, 4), 1, wire, chunks=0),
        lambda: measured.sweep("mine"),
    ):
        with pytest.raises(BadInput):
            ask()
