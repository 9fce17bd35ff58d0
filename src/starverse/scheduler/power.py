"""What runs draw from each feed (busbar, rack, row, coolant loop), against the budgets of these feeds."""

from collections.abc import Sequence

import numpy as np
from numba import njit

from starverse.model.units import CARD
from starverse.scheduler.kernels import Ints
from starverse.scheduler.lot import Lot
from starverse.scheduler.space import Space


class Power:
    """Draws and budgets in milliwatts, mutable, owned by the state.

    Nothing is counted while no budget is set. Heat is power that a coolant loop must take away: its budget is
    one like the others.
    """

    def __init__(self) -> None:
        self.budgets: dict[str, int] = {}
        self.drawn: dict[str, int] = {}
        """What the runs draw from each feed that has a budget."""
        self._nodes: dict[str, tuple[tuple[str, ...], int]] = {}
        self._known: dict[Space, tuple[Ints, Ints, list[str]]] = {}

    def node(self, name: str, feeds: Sequence[str], card_mw: int) -> None:
        """A node hangs on these feeds, and a card of it in use draws so much."""
        if feeds and card_mw and name not in self._nodes:
            self._nodes[name] = tuple(feeds), card_mw
            self._known.clear()

    def set(self, feed: str, milliwatts: int) -> None:
        """Give a feed a budget; below 0 it has none any more. What runs draw is to be counted anew."""
        self.budgets.pop(feed, None)
        if milliwatts >= 0:
            self.budgets[feed] = milliwatts
        self.drawn = dict.fromkeys(self.budgets, 0)
        self._known.clear()

    def draws(self, space: Space, nodes: Ints, cards: Ints, milli: int = 0) -> dict[str, int]:
        """What so many cards in use on these nodes draw from each feed with a budget; with `milli`, so many
        milli-cards of each."""
        draws: dict[str, int] = {}
        for row, count in zip(nodes.tolist(), cards.tolist(), strict=True):
            feeds, card_mw = self._nodes.get(space.names[row], ((), 0))
            for feed in feeds:
                if feed in self.budgets:
                    draw = -(-card_mw * (milli or CARD) // CARD)  # a part of a milliwatt is one
                    draws[feed] = draws.get(feed, 0) + draw * count
        return draws

    def per_card(self, space: Space, feed: str) -> Ints:
        """What a card in use on each row draws from a feed with a budget."""
        feeds, card_mw, names = self._of(space)
        return np.asarray(np.where((feeds == names.index(feed)).any(axis=0), card_mw, 0), np.int64)

    def add(self, space: Space, lot: Lot, sign: int) -> None:
        """These cards are in use now (1), or no more (-1)."""
        cards = lot.counts
        for feed, milliwatts in self.draws(space, lot.nodes, cards, lot.milli).items():
            self.drawn[feed] += sign * milliwatts

    def allows(self, space: Space, nodes: Ints, cards: Ints, milli: int = 0) -> bool:
        """Whether every feed has enough left for so many cards there, or parts of them; see `draws`."""
        draws = self.draws(space, nodes, cards, milli).items()
        return all(self.drawn[feed] + milliwatts <= self.budgets[feed] for feed, milliwatts in draws)

    def over(self) -> dict[str, int]:
        """The feeds that give more than their budget, and how much more."""
        drawn = self.drawn
        return {feed: drawn[feed] - most for feed, most in self.budgets.items() if drawn[feed] > most}

    def cut(self, space: Space, milli: int, room: Ints, together: bool) -> int:
        """Lower `room` to the members of so many milli-cards that each node's feeds have power for; returns
        their sum.

        Each node by itself; or `together`, so that all of it can be had at once: first come, first served.
        """
        feeds, card_mw, names = self._of(space)
        left = np.array([self.budgets[name] - self.drawn[name] for name in names], np.int64)
        return int(cut(feeds, card_mw, left, milli, together, room))

    def _of(self, space: Space) -> tuple[Ints, Ints, list[str]]:
        """For the kernel: the feeds of each row by number (-1: none), what a card draws, and the names."""
        known = self._known.get(space)
        if known is not None and known[1].size == space.size:
            return known
        names = sorted(self.budgets)
        number = {name: at for at, name in enumerate(names)}
        rows = [
            [number[feed] for feed in self._nodes.get(node, ((), 0))[0] if feed in number]
            for node in space.names
        ]
        feeds = np.full((max(map(len, rows), default=0), space.size), -1, np.int64)
        for n, row in enumerate(rows):
            feeds[: len(row), n] = row
        card_mw = np.array([self._nodes.get(node, ((), 0))[1] for node in space.names], np.int64)
        known = self._known[space] = feeds, card_mw, names
        return known


@njit(cache=True)
def cut(feeds: Ints, card_mw: Ints, left: Ints, milli: int, together: bool, room: Ints) -> int:
    """See Power.cut; `left[f]` is used up when `together`."""
    total = 0
    for n in range(room.size):
        members = room[n]
        draw = -(-card_mw[n] * milli // CARD)
        for d in range(feeds.shape[0]):
            if feeds[d, n] >= 0 and draw:
                members = min(members, max(left[feeds[d, n]], 0) // draw)
        room[n] = members
        total += members
        if together:
            for d in range(feeds.shape[0]):
                if feeds[d, n] >= 0:
                    left[feeds[d, n]] -= members * draw
    return total
