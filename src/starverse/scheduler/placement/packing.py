"""Which node takes one member where nodes differ and cards are shared: the one that leaves least unusable.

After FGD (Weng et al., "Beware of Fragmentation", USENIX ATC'23): what a node has free is weighed by the
requests that are expected, the *mix*. Of each, FGD counts the free cards that are too small for it, or all of
them where CPU is lacking. Here a quarter of the measure counts instead how many such requests the node could
still take, so that CPU running out is felt before it has. As in FGD's code small differences are ties, which
fill the nodes in order. Of the cards in openb (`bench/openb.py`) the quarter is worth 0.35 and 0.7 points of
a hundred on two of four workloads and costs 0.1 on one; the ties are worth 0.2 on one.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from starverse.scheduler.placement.mix import Mix, Request

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

BUCKET = 60
"""Milli-cards: savings in one bucket are a tie. On openb 40 to 60 is best, and 1 to 80 is ahead of FGD."""
CLASSES_MOST = 256
"""Classes of request whose scores are kept; one more, and all are worked out anew."""

_NO = -(1 << 62)


class Room(NamedTuple):
    """What is free, by number of node; the arrays are their owner's, who changes them and says so.

    `card_free` is milli-cards by node and card, 0 where a node has fewer cards; `order` is the node's place
    in the tree of domains, the least first, no two the same.
    """

    card_free: Ints
    cpu_free: Ints
    memory_free: Ints
    order: Ints


class Choice(NamedTuple):
    """A node, and the numbers of the cards on it that the member gets its share of."""

    node: int
    cards: tuple[int, ...]


class _Scores(NamedTuple):
    """For one class of request, by node: the score, what would be left, the card, and when it was so."""

    gain: Ints
    left: Ints
    card: Ints
    seen: Ints


class Packer:
    """Chooses nodes for members; mutable: keeps the scores of each class of request on each node.

    Scores are worked out again only for nodes whose room has `changed` since. They never change a choice: a
    fresh packer on the same room chooses the same.
    """

    def __init__(self, room: Room, mix: Mix) -> None:
        self._room = room
        nodes = room.cpu_free.size
        self.version: Ints = np.zeros(nodes, np.int64)
        """How often the room of each node changed; who owns the room may count here, as `changed` does."""
        self._waste: Ints = np.zeros(nodes, np.int64)
        self._all: Mask = np.ones(nodes, np.bool_)
        self._mix = mix
        self._forget()

    def expect(self, mix: Mix) -> None:
        """Weigh what is left by this mix from now on; all scores are forgotten unless it is the same."""
        if mix is not self._mix:
            self._mix = mix
            self._forget()

    def _forget(self) -> None:
        self._scores: dict[Request, _Scores] = {}
        self._waste_seen: Ints = np.full(self.version.size, -1, np.int64)

    def changed(self, node: int) -> None:
        """What this node has free has changed."""
        self.version[node] += 1

    def choose(self, request: Request, allowed: Mask | None = None) -> Choice | None:
        """The best node, of those allowed, and its cards; None where no node has room. Takes nothing."""
        mix, room, scores = self._mix, self._room, self._scores.get(request)
        if scores is None:
            if len(self._scores) == CLASSES_MOST:
                self._scores.clear()
            gain, left, card = np.zeros((3, self.version.size), np.int64)
            scores = self._scores[request] = _Scores(gain, left, card, np.full_like(card, -1))
        node = _choose(
            room.card_free, room.cpu_free, room.memory_free, room.order,
            self._all if allowed is None else allowed,
            request.cards, request.share, request.milli_cpu, request.memory_mb,
            mix.asks, mix.weight, mix.total, self.version, self._waste, self._waste_seen,
            scores.gain, scores.left, scores.card, scores.seen,
        )  # fmt: skip
        if node < 0:
            return None
        if request.cards == 1:
            return Choice(node, (int(scores.card[node]),))
        return Choice(node, tuple(_tightest(room.card_free[node], request.cards, request.share).tolist()))


@njit(cache=True)
def waste(card_free: Ints, cpu: int, memory: int, asks: Ints, weight: Ints) -> int:
    """Four times the free milli-cards that a request of the mix cannot use, times its weight, summed.

    `asks` are rows of the mix (`Mix.asks`), in order, so that those alike in cards follow each other.
    """
    free = 0
    for there in card_free:
        free += there
    if not free:
        return 0
    lost = 0
    cards = share = -1
    fitting = usable = times = 0
    for row in range(weight.size):
        if asks[row, 0] != cards or asks[row, 1] != share:
            cards, share = asks[row, 0], asks[row, 1]
            fitting = usable = times = 0
            for there in card_free:
                if cards and there >= share:
                    fitting += 1
                    usable += there
                    times += there // share
            if cards > 1:
                times = fitting // cards
            if fitting < cards:
                usable = times = 0
        held = times
        if held and asks[row, 2]:
            held = min(held, cpu // asks[row, 2])
        if held and asks[row, 3]:
            held = min(held, memory // asks[row, 3])
        used = 3 * usable + held * cards * share if held else 0
        lost += weight[row] * (4 * free - used)
    return lost


@njit(cache=True)
def _tightest(card_free: Ints, cards: int, share: int) -> Ints:
    """The cards with least free that hold a share each, in order; the first of those alike."""
    taken = np.zeros(card_free.size, np.bool_)
    for _ in range(cards):
        best = -1
        for card in range(card_free.size):
            fits = not taken[card] and card_free[card] >= share
            if fits and (best < 0 or card_free[card] < card_free[best]):
                best = card
        taken[best] = True
    return np.flatnonzero(taken)


@njit(cache=True)
def _score(
    card_free: Ints, cpu: int, memory: int, cards: int, share: int, before: int, alone: bool,
    asks: Ints, weight: Ints, total: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Of the member on the node: buckets of waste saved, milli-cards left, and the card where it has one.

    `cpu` and `memory` are what is left. What is left counts only for a member that needs cards `alone`.
    """
    fitting = 0
    for there in card_free:
        fitting += there >= share
    if fitting < cards:
        return _NO, 0, -1
    after = card_free.copy()
    best, best_left, best_card = _NO, 0, -1
    for card in range(card_free.size if cards == 1 else 1):
        if cards == 1:
            if card_free[card] < share or np.any(card_free[:card] == card_free[card]):
                continue
            after[:] = card_free
            after[card] -= share
        elif cards:
            after[_tightest(card_free, cards, share)] -= share
        saved = (before - waste(after, cpu, memory, asks, weight)) // (4 * BUCKET * max(total, 1))
        left = after.sum() * 1_000 + after[card] if alone else 0
        if saved > best or (saved == best and left < best_left):
            best, best_left, best_card = saved, left, card
    return best, best_left, best_card


@njit(cache=True)
def _choose(
    card_free: Ints, cpu_free: Ints, memory_free: Ints, order: Ints, allowed: Mask,
    cards: int, share: int, cpu: int, memory: int, asks: Ints, weight: Ints, total: int,
    version: Ints, wasted: Ints, wasted_seen: Ints, gain: Ints, left: Ints, card: Ints, seen: Ints,
) -> int:  # fmt: skip
    """The node, -1 where none has room; brings the scores up to date on the way."""
    best = -1
    for node in range(order.size):
        if not allowed[node]:
            continue
        if seen[node] != version[node]:
            seen[node] = version[node]
            gain[node] = _NO
            if cpu_free[node] >= cpu and memory_free[node] >= memory:
                if wasted_seen[node] != version[node]:
                    wasted_seen[node] = version[node]
                    wasted[node] = waste(card_free[node], cpu_free[node], memory_free[node], asks, weight)
                gain[node], left[node], card[node] = _score(
                    card_free[node], cpu_free[node] - cpu, memory_free[node] - memory, cards, share,
                    wasted[node], not (cpu or memory), asks, weight, total,
                )  # fmt: skip
        if gain[node] == _NO:
            continue
        rank = (-gain[node], left[node], order[node])
        if best < 0 or rank < (-gain[best], left[best], order[best]):
            best = node
    return best
