"""What would fit where: the numbers behind the reason why a gang has no place."""

from collections.abc import Sequence
from typing import NamedTuple

from starverse.scheduler.placement import ANYWHERE, Ints, Rule
from starverse.scheduler.placement.tree import rooms
from starverse.scheduler.topology import Topology


class Fit(NamedTuple):
    """How many of the slices that are wanted fit in the domains of a level, together."""

    level: int
    fits: int
    wanted: int


def largest_block(topology: Topology, room: Ints, level: int, rule: Rule = ANYWHERE) -> int:
    """The most members that one domain of a level could take by the rule; 0 without a domain."""
    return int(rooms(topology, room, level, rule).max(initial=0))


def fits_by_level(topology: Topology, room: Ints, want: int, slices: Sequence[tuple[int, int]]) -> list[Fit]:
    """For each kind of slice, outermost first, how many of those that `want` members need would fit.

    Of inner slices all count; of outer ones those that can be made of inner ones.
    """
    fits: list[Fit] = []
    for place, (level, members) in enumerate(slices):
        rule = Rule(slices=tuple(slices[place:]))
        there = int(rooms(topology, room, level, rule).sum()) // members
        fits.append(Fit(level, there, want // members))
    return fits


def sentence(topology: Topology, fits: Sequence[Fit]) -> str:
    """The counts in words: "0/1 slices fit on rack; 2/3 on host"."""
    names = (*topology.levels, "node")
    words = [f"{min(fit.fits, fit.wanted)}/{fit.wanted} on {names[fit.level]}" for fit in fits]
    return "; ".join(words).replace(" on", " slices fit on", 1)
