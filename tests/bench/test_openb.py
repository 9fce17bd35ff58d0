"""The packing bench: what is drawn, what is given, and FGD beside it, on a cut of the trace."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.control.laws import cards_are_where_they_are_said_to_be

from starverse.bench import openb
from starverse.bench.fgd import fragments, typical
from starverse.model.errors import NotFound
from starverse.scheduler.placement.mix import Request

POD = Request(1, 500, 4000, 1024)


def small() -> openb.Cluster:
    """Forty nodes: with 8 cards, with 2 and plenty of CPU, with 1."""
    card_free = np.zeros((40, 8), np.int64)
    for node in range(40):
        card_free[node, : (8, 2, 8, 1)[node % 4]] = 1000
    cpu = np.array([96_000, 104_000, 96_000, 8_000] * 10, np.int64)
    return openb.Cluster(card_free, cpu, np.full(40, 400_000, np.int64))


WORKLOAD = [POD] * 20 + [Request(1, 1000, 11_000, 30_000)] * 30 + [Request(0, 0, 12_500, 9_000)] * 5
WORKLOAD += [Request(8, 1000, 64_000, 100_000)] * 2 + [Request(1, 810, 3152, 8192)] * 15


def test_pods_are_drawn_until_so_much_is_asked() -> None:
    for capacity in (20_000, 190_000):
        drawn = openb.arrivals(WORKLOAD, capacity, 1)
        asked = sum(pod.cards * pod.share for pod in drawn)
        assert 1.3 * capacity - 8000 <= asked <= 1.3 * capacity + 8000
        assert not Counter(drawn).keys() - set(WORKLOAD)
        assert drawn == openb.arrivals(WORKLOAD, capacity, 1) != openb.arrivals(WORKLOAD, capacity, 2)


def test_fgd_gives_nothing_twice() -> None:
    before, nodes = small(), small()
    drawn = openb.arrivals(WORKLOAD, int(before.card_free.sum()), 1)
    given = openb.pack_fgd(nodes, drawn, WORKLOAD)
    assert given == before.card_free.sum() - nodes.card_free.sum() > 0
    assert min(part.min() for part in nodes) >= 0
    assert openb.pack_fgd(small(), drawn, WORKLOAD) == given


def test_the_scheduler_gives_each_pod_what_it_asks_for_and_nothing_twice() -> None:
    nodes = small()
    drawn = openb.arrivals(WORKLOAD, int(nodes.card_free.sum()), 1)
    state, seconds = openb.fill(nodes, drawn)
    assert seconds > 0
    cards_are_where_they_are_said_to_be(state)
    assert not any(job.phase == "waiting" for job in state.jobs.values())
    cpu, memory = nodes.cpu_free.tolist(), nodes.memory_free.tolist()
    for run in state.runs.values():
        pod = drawn[int(run.job[1:])]
        assert run.milli_cards == pod.cards * pod.share
        (share,) = run.shares
        cpu[int(share.node[1:])] -= pod.milli_cpu
        memory[int(share.node[1:])] -= pod.memory_mb
    assert min(*cpu, *memory) >= 0
    assert list(openb.fill(nodes, drawn)[0].runs.values()) == list(state.runs.values())


def test_fgd_knows_the_popular_only_and_counts_what_they_cannot_use() -> None:
    counts = Counter([Request(1, 500)] * 50 + [Request(1, 1000, 9_000)] * 46 + [Request(1, 300)] * 4)
    pods, weights = typical(counts)
    assert pods.tolist() == [[1, 500, 0], [1, 1000, 9_000]]
    assert weights.tolist() == [50, 46]
    cards = np.array([400, 600, 1000], np.int64)
    assert fragments(cards, 9_000, pods, weights) == 50 * 400 + 46 * 1000
    assert fragments(cards, 8_999, pods, weights) == 50 * 400 + 46 * 2000


def test_a_trace_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"openb_node_list_gpu_node\.csv is not in .*STARVERSE_TRACES"):
        openb.measure([0], tmp_path)


@pytest.mark.skipif(not (openb.traces() / openb.FOLDER).exists(), reason="the traces are not here")
def test_one_seed_on_a_cut_of_the_trace_gives_all_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = openb.cluster(openb.traces())
    assert whole.card_free.shape == (1213, 8)
    assert whole.card_free.sum() == 6_212_000
    cut = openb.Cluster(*(part[::40] for part in whole))
    monkeypatch.setattr(openb, "cluster", lambda folder: cut.copy())
    figures = {figure.id: figure for figure in openb.measure([3], workloads=["default"])}
    assert 50 < figures["openb_default"].value <= 100
    assert 50 < figures["openb_default_fgd"].value <= 100
    assert figures["openb_decision"].value > 0
    assert figures.keys() >= {"openb_default_ahead", "openb_default_seeds"}
