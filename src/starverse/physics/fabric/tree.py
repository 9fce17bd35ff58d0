"""Fat trees: Clos networks of any tiers and oversubscription, rails, one or two top-of-rack switches."""

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import ClassVar

import numpy as np
from numba import njit

from starverse.model.errors import BadInput
from starverse.physics.fabric.network import NO_LINKS, Flags, Floats, Ints, Network, Routes

SPREAD_MAX = 64
"""Over so many paths at most is a flow spread: more would not even out any further what a run sees."""

TIERS = ("leaf", "spine", "core")


@dataclass(frozen=True)
class FatTree:
    """An extended generalised fat tree, XGFT(h; m_1 … m_h; w_1 … w_h).

    A switch of tier i has m_i = `down[i - 1]` below it, and what is on tier i - 1 (cards are tier 0) has
    w_i = `up[i - 1]` above it (Öhring et al., "On generalized fat trees", IPPS 1995). `down=(n,), up=(1,)` is
    a flat Ethernet of one switch; `up[0] = 2` gives each card two top-of-rack switches. Tier i is
    oversubscribed by m_i × speed below : w_{i+1} × speed above. `bytes_per_s[i - 1]` is what a link up to
    tier i carries each way, `hop_ns` the wire and the switch at its end. With `rails` = r, card c of a node
    of r cards hangs on the leaves of rail c mod r; the number of the cards stays by node.
    """

    down: tuple[int, ...]
    up: tuple[int, ...]
    bytes_per_s: tuple[float, ...]
    rails: int = 1
    hop_ns: float = 500
    detours: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse what is no tree."""
        if not len(self.down) == len(self.up) == len(self.bytes_per_s) or not self.down:
            raise BadInput(
                f"A fat tree has as many entries in down ({len(self.down)}) as in up ({len(self.up)}) and in "
                f"bytes_per_s ({len(self.bytes_per_s)}).",
                "Give each tier one of all three.",
            )
        if min(*self.down, *self.up) < 1 or min(self.bytes_per_s) <= 0 or self.hop_ns < 0:
            raise BadInput("A tier of a fat tree has nothing below or above it.", "Give counts of 1 or more.")
        if self.rails < 1 or self.cards % self.rails:
            raise BadInput(
                f"{self.cards} cards do not divide into {self.rails} rails.", "Make the rails a divisor."
            )

    @property
    def tiers(self) -> int:
        """How many tiers of switches there are."""
        return len(self.down)

    @property
    def cards(self) -> int:
        """How many cards hang on the tree."""
        return prod(self.down)

    def on_tier(self, tier: int) -> int:
        """How many switches are on a tier from 1; tier 0 are the cards."""
        return prod(self.up[:tier]) * prod(self.down[tier:])

    @cached_property
    def network(self) -> Network:
        """The links: for each tier those up to it, then those down from it, by what is below, then above."""
        starts = np.cumsum([0] + [self.on_tier(tier) for tier in range(self.tiers + 1)])
        tails, heads, rates = [], [], []
        for tier in range(1, self.tiers + 1):
            below = np.arange(self.on_tier(tier - 1))
            ways = self.up[tier - 1]
            inner = prod(self.up[: tier - 1])
            above = below // (inner * self.down[tier - 1]) * (inner * ways) + below % inner
            parent = starts[tier] + above[:, None] + inner * np.arange(ways)
            child = np.repeat(self._cards_at(below) if tier == 1 else starts[tier - 1] + below, ways)
            tails += [child, parent.reshape(-1)]
            heads += [parent.reshape(-1), child]
            rates += [np.full(2 * child.size, float(self.bytes_per_s[tier - 1]))]
        rate = np.concatenate(rates)
        lag = np.full(rate.size, float(self.hop_ns))
        ends = np.concatenate(tails), np.concatenate(heads)
        return Network(self.cards, int(starts[-1]), *ends, rate, lag, self._name)

    def _cards_at(self, leaf_port: Ints) -> Ints:
        """The card at each port of the lowest tier."""
        nodes = self.cards // self.rails
        return leaf_port % nodes * self.rails + leaf_port // nodes

    def _port_of(self, card: Ints) -> Ints:
        return card % self.rails * (self.cards // self.rails) + card // self.rails

    def _name(self, vertex: int) -> str:
        tier = 0
        while vertex >= self.on_tier(tier):
            vertex -= self.on_tier(tier)
            tier += 1
        if tier == 0:
            return f"card {vertex}"
        return f"{TIERS[tier - 1] if tier <= len(TIERS) else f'tier-{tier}'} {vertex}"

    def route(
        self, source: Ints, target: Ints, salt: int = 0, failed: Flags = NO_LINKS, spread: bool = False
    ) -> Routes:
        """The links of each flow from card to card, up as far as need be and down again.

        Each switch on the way up is chosen by a hash of source, target and `salt` (ECMP by flow); the way
        down is then given. A choice that meets a failed link is passed over for the next, as routing
        withdraws what is dead; a flow without any is `cut`. With `spread`, as an idealisation of adaptive
        routing, a flow is split evenly over all its paths, or over 64 of them.
        """
        paths = min(prod(self.up), SPREAD_MAX) if spread else 1
        dead = failed if failed.any() else NO_LINKS
        ports, shape = (
            (self._port_of(source), self._port_of(target)),
            (np.array(self.down), np.array(self.up)),
        )
        first, link, share, cut = _climb(*ports, *shape, salt, dead, paths)
        return Routes(first, link, share, cut)

    def distances(self) -> tuple[Ints, Floats]:
        """Switches passed between two different cards, and the share of ordered pairs that far apart."""
        under = np.cumprod((1, *self.down))
        return 2 * np.arange(1, self.tiers + 1) - 1, np.diff(under) / (self.cards - 1)

    def bisection_bytes_per_s(self) -> float:
        """What half of the cards can send to the other half: the thinnest tier that the cut crosses."""
        per_tier = [
            self.on_tier(tier - 1) * self.up[tier - 1] * self.bytes_per_s[tier - 1]
            for tier in range(1, self.tiers + 1)
        ]
        return min(per_tier) / 2


def clos(
    cards: int, radix: int, bytes_per_s: float, oversubscription: float = 1.0, rails: int = 1,
    hop_ns: float = 500, leaves_each: int = 1,
) -> FatTree:  # fmt: skip
    """The smallest folded Clos of switches of `radix` ports that holds so many cards, whole leaves filled.

    `oversubscription` is of the leaf: what comes from the cards over what goes up. The upper tiers are
    non-blocking; the topmost gives all its ports down. With `leaves_each` = 2 every card has a port on two
    leaves, each with half of its speed (dual top-of-rack: HPN, SIGCOMM 2024); a flow on one path uses one.
    """
    if radix < 2 or cards < 2 or oversubscription <= 0 or leaves_each < 1:
        raise BadInput(f"No Clos has {cards} cards on switches of {radix} ports.", "Give 2 or more of each.")
    port = bytes_per_s / leaves_each
    if cards <= radix:
        return FatTree((cards,), (leaves_each,), (port,), rails, hop_ns)
    ups = max(1, round(radix / (1 + oversubscription)))
    down, up, rates = [radix - ups], [leaves_each], [port]
    groups = -(-cards // (radix - ups))
    ways = ups
    while groups > radix:
        down, up, rates = [*down, radix // 2], [*up, ways], [*rates, port]
        groups = -(-groups // (radix // 2))
        ways = radix // 2
    return FatTree((*down, groups), (*up, ways), (*rates, port), rails, hop_ns)


@njit(cache=True)
def _climb(
    source: Ints, target: Ints, down: Ints, up: Ints, salt: int, failed: Flags, paths: int
) -> tuple[Ints, Ints, Floats, Flags]:  # fmt: skip
    """The links of all flows from port to port, and which flows are cut off."""
    inner, outer, base = _tiers(down, up)
    first = np.zeros(source.size + 1, np.int64)
    cut = np.zeros(source.size, np.bool_)
    link = np.empty(int(source.size * 2 * down.size * paths), np.int64)
    share = np.empty(link.size)
    at = 0
    for flow in range(source.size):
        first[flow + 1] = at
        here, there = source[flow], target[flow]
        if here == there:
            continue
        top = 0
        while here // outer[top] != there // outer[top]:
            top += 1
        ways = inner[top]
        wanted = min(paths, ways)
        drawn = _hash(here, there, salt)
        begin, got = at, 0
        step = ways // wanted
        while ways % step:
            step -= 1
        for turn in range(ways):
            far = turn * step
            pick = (drawn + far % ways + far // ways) % ways
            # The digits of the pick are which switch above is taken on each tier.
            alive = True
            for tier in range(1, top + 1):
                choice = pick % inner[tier] // inner[tier - 1]
                lower, below, parents = pick % inner[tier - 1], inner[tier - 1], up[tier - 1]
                half = inner[tier] * (outer[-1] // outer[tier - 1])
                rise = base[tier - 1] + (here // outer[tier - 1] * below + lower) * parents + choice
                fall = base[tier - 1] + half + (there // outer[tier - 1] * below + lower) * parents + choice
                link[at + tier - 1] = rise
                link[at + 2 * top - tier] = fall
                if failed.size and (failed[rise] or failed[fall]):
                    alive = False
                    break
            if alive:
                at += 2 * top
                got += 1
                if got == wanted:
                    break
        cut[flow] = got == 0
        for place in range(begin, at):
            share[place] = 1.0 / got
        first[flow + 1] = at
    return first, link[:at].copy(), share[:at].copy(), cut


@njit(cache=True, inline="always")
def _tiers(down: Ints, up: Ints) -> tuple[Ints, Ints, Ints]:
    """Of each tier: how many switches have the same cards below, how many those are, the first link up to it.

    All from tier 0, the cards, whose links up to tier 1 come first.
    """
    tiers = down.size
    inner, outer = np.ones(tiers + 1, np.int64), np.ones(tiers + 1, np.int64)
    for tier in range(tiers):
        inner[tier + 1] = inner[tier] * up[tier]
        outer[tier + 1] = outer[tier] * down[tier]
    base = np.zeros(tiers + 1, np.int64)
    for tier in range(tiers):
        base[tier + 1] = base[tier] + 2 * inner[tier + 1] * (outer[tiers] // outer[tier])
    return inner, outer, base


@njit(cache=True)
def _hash(one: int, other: int, salt: int) -> int:
    """A number drawn from three, as even as chance (the finaliser of SplitMix64, Steele et al., 2014)."""
    mixed = np.uint64(one) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(other) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed += np.uint64(salt) * np.uint64(0x165667B19E3779F9)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(2))
