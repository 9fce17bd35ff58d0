"""Dragonfly: groups of switches that know each other, and one cable between every two groups."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numba import njit

from starverse.model.errors import BadInput
from starverse.physics.fabric.network import NO_LINKS, Flags, Floats, Ints, Network, Routes
from starverse.physics.fabric.paths import with_detours


@dataclass(frozen=True)
class Dragonfly:
    """Groups of `switches` switches, each with `cards_each` cards and `global_each` cables to other groups.

    Kim et al., "Technology-driven, highly-scalable dragonfly topology", ISCA 2008 (p, a, h, g there). The
    cables of a group go to the groups after it in turn, `global_each` from each switch. Links inside a group
    carry `local_bytes_per_s` each way, those between groups `global_bytes_per_s`.
    """

    groups: int
    switches: int
    cards_each: int
    global_each: int
    card_bytes_per_s: float
    local_bytes_per_s: float
    global_bytes_per_s: float
    hop_ns: float = 500
    detours: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse what cannot be wired."""
        if min(self.groups - 1, self.switches, self.cards_each, self.global_each) < 1:
            raise BadInput("A dragonfly has 2 groups or more, and of all else one.", "Correct the counts.")
        if self.groups - 1 > self.switches * self.global_each:
            reach = self.switches * self.global_each + 1
            raise BadInput(
                f"{self.groups} groups are too many for {self.switches} × {self.global_each} cables each.",
                f"Give at most {reach} groups, or more global_each.",
            )

    @property
    def cards(self) -> int:
        """How many cards there are."""
        return self.groups * self.switches * self.cards_each

    @cached_property
    def network(self) -> Network:
        """The links: two of each card, then inside the groups, then between them."""
        every = self.groups * self.switches
        card = np.arange(self.cards)
        home = self.cards + card // self.cards_each
        tails, heads = [card, home], [home, card]
        one, other = np.meshgrid(np.arange(every), np.arange(self.switches), indexing="ij")
        mate = one // self.switches * self.switches + other
        tails.append(self.cards + one.reshape(-1))
        heads.append(self.cards + mate.reshape(-1))
        group, step = np.meshgrid(np.arange(self.groups), np.arange(self.groups - 1), indexing="ij")
        near, far = _ends(group, step, self.groups, self.switches, self.global_each)
        tails.append(self.cards + near.reshape(-1))
        heads.append(self.cards + far.reshape(-1))
        sizes = (2 * self.cards, every * self.switches, self.groups * (self.groups - 1))
        rates = (self.card_bytes_per_s, self.local_bytes_per_s, self.global_bytes_per_s)
        rate = np.repeat(np.array(rates, float), sizes)
        lag = np.full(rate.size, float(self.hop_ns))
        ends = np.concatenate(tails), np.concatenate(heads)
        return Network(self.cards, self.cards + every, *ends, rate, lag, self._name)

    def _name(self, vertex: int) -> str:
        if vertex < self.cards:
            return f"card {vertex}"
        group, switch = divmod(vertex - self.cards, self.switches)
        return f"switch {switch} of group {group}"

    def route(
        self, source: Ints, target: Ints, salt: int = 0, failed: Flags = NO_LINKS, spread: bool = False
    ) -> Routes:
        """The links of each flow: to the switch with the cable to the target's group, over it, and on.

        With `spread`, a flow between groups is split evenly over the direct way and those through every other
        group (Valiant, SIAM J. Computing 1982), which takes up to twice the links: `adaptive` says when to.
        `salt` changes nothing here.
        """
        del salt
        first, link, share = _walk(
            source, target, self.groups, self.switches, self.cards_each, self.global_each, spread
        )
        routes = Routes(first, link, share, np.zeros(source.size, np.bool_))
        return with_detours(self.network, routes, source, target, failed) if failed.any() else routes

    def distances(self) -> tuple[Ints, Floats]:
        """Switches passed between two different cards by the direct way, and the share of ordered pairs."""
        card = np.arange(0, self.cards, self.cards_each)
        source, target = (
            ends.reshape(-1) for ends in np.meshgrid(card[: self.switches], card, indexing="ij")
        )
        hops = np.diff(self.route(source, target).first) - 1
        hops[source == target] = 1
        weight = np.where(source == target, self.cards_each - 1.0, self.cards_each)
        counts = np.bincount(hops, weight)
        seen = np.flatnonzero(counts)
        return seen, counts[seen] / counts.sum()

    def bisection_bytes_per_s(self) -> float:
        """What the cables between one half of the groups and the other carry one way."""
        half = self.groups // 2
        return half * (self.groups - half) * self.global_bytes_per_s


def _ends(group: Ints, step: Ints, groups: int, switches: int, each: int) -> tuple[Ints, Ints]:
    """The switches at the ends of the cable from a group to the one `step + 1` after it."""
    goal = (group + step + 1) % groups
    back = groups - 2 - step
    return group * switches + step // each, goal * switches + back // each


@njit(cache=True)
def _walk(
    source: Ints, target: Ints, groups: int, switches: int, each: int, per: int, spread: bool
) -> tuple[Ints, Ints, Floats]:  # fmt: skip
    cards = groups * switches * each
    locals_at = 2 * cards
    globals_at = locals_at + groups * switches * switches
    first = np.zeros(source.size + 1, np.int64)
    ways = groups - 1 if spread else 1
    link = np.empty(source.size * (2 + 5 * ways), np.int64)
    share = np.ones(link.size)
    at = 0
    for flow in range(source.size):
        if source[flow] != target[flow]:
            here, goal = source[flow] // each, target[flow] // each
            link[at] = source[flow]
            link[at + 1] = cards + target[flow]
            share[at] = share[at + 1] = 1.0
            at += 2
            apart = here // switches != goal // switches
            for way in range(ways if apart else 1):
                start = at
                now = here
                via = (here // switches + 1 + way) % groups
                stops = (via, goal // switches)
                for stop in range(2):
                    group = stops[stop] if spread and apart else goal // switches
                    if now // switches == group:
                        continue
                    step = (group - now // switches - 1) % groups
                    near = now // switches * switches + step // per
                    if now != near:
                        link[at] = locals_at + now * switches + near % switches
                        at += 1
                    link[at] = globals_at + now // switches * (groups - 1) + step
                    at += 1
                    now = group * switches + (groups - 2 - step) // per
                if now != goal:
                    link[at] = locals_at + now * switches + goal % switches
                    at += 1
                share[start:at] = 1.0 / (ways if apart else 1)
        first[flow + 1] = at
    return first, link[:at].copy(), share[:at].copy()
