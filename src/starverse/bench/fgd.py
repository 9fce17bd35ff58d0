"""FGD, the best published packer of shared cards, as its authors' code does it: what we measure against.

Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent",
USENIX ATC'23, and its artifact (hkust-adsl/kubernetes-scheduler-simulator): the score of a node is the floor
of 100 × sigmoid(fall in fragmentation / 1000); the highest wins, of those alike the first by name. Memory
must fit and is no part of the score.
"""

from collections.abc import Mapping

import numpy as np
from numba import njit

from starverse.scheduler.placement.mix import Ints, Request

POPULAR = 0.95
"""The mix of FGD: the most frequent requests that make up this part of all (the artifact's scripts)."""


def typical(counts: Mapping[Request, int]) -> tuple[Ints, Ints]:
    """The typical pods, rows (cards, share, milli-CPU), and how often each is asked."""
    merged: dict[tuple[int, int, int], int] = {}
    for request, count in counts.items():
        merged[request[:3]] = merged.get(request[:3], 0) + count
    # the artifact's order: most frequent first; of those alike the larger by CPU, share, cards
    ranked = sorted(merged, key=lambda pod: (-merged[pod], -pod[2], -pod[1], -pod[0]))
    kept, covered = [], 0
    for pod in ranked:
        if covered >= POPULAR * sum(merged.values()):
            break
        kept.append(pod)
        covered += merged[pod]
    kept.sort()
    return np.array(kept, np.int64).reshape(-1, 3), np.array([merged[pod] for pod in kept], np.int64)


@njit(cache=True)
def fragments(card_free: Ints, cpu: int, pods: Ints, counts: Ints) -> int:
    """The free milli-cards that a typical pod cannot use, times how often it is asked, summed."""
    free = 0
    for there in card_free:
        free += there
    lost: int = free * counts.sum()
    cards = share = -1
    fitting = usable = 0
    for row in range(counts.size):
        if pods[row, 0] != cards or pods[row, 1] != share:
            cards, share = pods[row, 0], pods[row, 1]
            fitting = usable = 0
            for there in card_free:
                if there >= share:
                    fitting += 1
                    usable += there
        if cards and fitting >= cards and cpu >= pods[row, 2]:
            lost -= counts[row] * usable
    return lost


@njit(cache=True)
def _grade(before: int, after: int, total: int) -> int:
    return int(100 / (1 + np.exp(-(before - after) / total / 1000)))


@njit(cache=True)
def _score(
    card_free: Ints, cpu: int, cards: int, share: int, before: int, pods: Ints, counts: Ints, total: int
) -> tuple[int, int]:
    """The score and, for a part of a card, the card; -1 where it does not fit. `cpu` is what is left."""
    fitting = 0
    for there in card_free:
        fitting += there >= share
    if fitting < cards:
        return -1, -1
    best, best_card = -1, -1
    if cards == 1 and share < 1000:
        for card in range(card_free.size):
            if card_free[card] >= share:
                after = card_free.copy()
                after[card] -= share
                grade = _grade(before, fragments(after, cpu, pods, counts), total)
                if grade > best:
                    best, best_card = grade, card
        return best, best_card
    after = card_free.copy()
    after[np.flatnonzero(after == 1000)[:cards]] = 0
    return _grade(before, fragments(after, cpu, pods, counts), total), -1


@njit(cache=True)
def run(
    card_free: Ints, cpu_free: Ints, memory_free: Ints, asks: Ints, kind: Ints, pods: Ints, counts: Ints
) -> int:
    """Place requests one by one; returns the milli-cards given. The arrays of the nodes, by name, change.

    `asks` are rows (cards, share, milli-CPU, memory MB); `kind` numbers those alike but for memory.
    """
    shape = (kind.max() + 1, cpu_free.size)
    score, card, seen = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.full(shape, -1, np.int64)
    version = np.zeros(cpu_free.size, np.int64)
    before = np.zeros(cpu_free.size, np.int64)
    total, given = counts.sum(), 0
    for node in range(cpu_free.size):
        before[node] = fragments(card_free[node], cpu_free[node], pods, counts)
    for pod in range(kind.size):
        cards, share, cpu, memory = asks[pod]
        row, best = kind[pod], -1
        for node in range(cpu_free.size):
            if cpu_free[node] < cpu or memory_free[node] < memory:
                continue
            if seen[row, node] != version[node]:
                seen[row, node] = version[node]
                score[row, node], card[row, node] = _score(
                    card_free[node], cpu_free[node] - cpu, cards, share, before[node], pods, counts, total
                )
            if score[row, node] >= 0 and (best < 0 or score[row, node] > score[row, best]):
                best = node
        if best < 0:
            continue
        if card[row, best] >= 0:
            card_free[best, card[row, best]] -= share
        else:
            card_free[best][np.flatnonzero(card_free[best] == 1000)[:cards]] = 0
        cpu_free[best] -= cpu
        memory_free[best] -= memory
        given += cards * share
        version[best] += 1
        before[best] = fragments(card_free[best], cpu_free[best], pods, counts)
    return given
