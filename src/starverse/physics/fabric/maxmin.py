"""Max-min fair rates of flows that share links, exact, at the scale of a whole cluster."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from starverse.model.errors import BadInput
from starverse.physics.fabric.network import Floats, Ints, Routes

Places = NDArray[np.uint32]
"""Without a sign, which spares the compiled loops looking for one at every access."""
Shares = NDArray[np.int32] | Floats


def fair_rates(routes: Routes, bytes_per_s: Floats, most: Floats | None = None) -> Floats:
    """The max-min fair rate of each flow in bytes per second; shape (flows,).

    `bytes_per_s` is what each link carries (links,), `most` what each flow wants at most (flows,). A flow at
    rate r puts r × share on each of its links. No rate can grow without another that is no greater becoming
    smaller (Bertsekas and Gallager, "Data Networks", 2nd ed., 6.5.2). Textbook filling saturates one link a
    round; here every round freezes all links that are the tightest of every flow on them (Ros-Giralt et al.,
    "On the bottleneck structure of congestion-controlled networks", 2019), which gives the same rates in a
    handful of rounds. A flow without links gets what it wants, infinity if that is not said.
    """
    wanted = np.full(routes.flows, np.inf) if most is None else most
    dead = bytes_per_s <= 0
    if dead.any() and dead[routes.link].any():
        raise BadInput("A flow crosses a link that carries nothing.", "Route around links that failed.")
    share = routes.share if (routes.share != 1).any() else None
    size = bytes_per_s.size
    agree: Shares = np.empty(size, np.int32) if share is None else np.empty(size)
    return _fair(routes.first, routes.link.astype(np.uint32), share, bytes_per_s, wanted, agree)


ROOM, LOAD = 0, 1
"""Of a link: what it can still carry, and the shares of their rates that its flows put on it, added up."""

ALIKE = 1 + 1e-12
"""Levels this close are one."""

NONE = 1e-9
"""A load this small is none: what is left of shares that were added and taken away again."""


@njit(cache=True)
def _fair(
    first: Ints, link: Places, share: Floats | None, bytes_per_s: Floats, most: Floats, agree: Shares
) -> Floats:  # fmt: skip
    """The rates; `share` is none where it is 1 throughout, and `agree` has whole numbers then.

    A link's level is the rate that would fill it, all its flows growing alike; levels only rise. A flow's
    lowest link freezes it when it is the lowest of all flows on it: when the shares of those agree with its
    load.
    """
    links, level = _links(link, share, bytes_per_s)
    rates, lowest, tight = most.copy(), np.empty(most.size), np.full(most.size, -1, np.int32)
    active = np.flatnonzero(first[1:] > first[:-1]).astype(np.uint32)
    ready = np.empty(active.size, np.uint32)
    left = active.size
    while left:
        agree[:] = 0
        _look(active[:left], first, link, share, level, most, lowest, tight, agree)
        kept = 0
        for place in range(left):
            flow = active[place]
            stays = tight[flow] >= 0 and agree[tight[flow]] < links[tight[flow], LOAD] - NONE
            active[kept], ready[place - kept] = flow, flow
            kept += stays
        assert kept < left, "every round freezes the flows of the lowest link of all"
        _freeze(ready[: left - kept], first, link, share, links, level, rates, lowest)
        left = kept
    return rates


@njit(cache=True)
def _links(link: Places, share: Floats | None, bytes_per_s: Floats) -> tuple[Floats, Floats]:
    """Each link's room and load, side by side in memory, which saves a miss of the cache; and its level."""
    links, level = np.zeros((bytes_per_s.size, 2)), np.full(bytes_per_s.size, np.inf)
    links[:, ROOM] = bytes_per_s
    for at in range(link.size):
        links[link[at], LOAD] += 1 if share is None else share[at]
    for at in range(level.size):
        if links[at, LOAD] > NONE:
            level[at] = bytes_per_s[at] / links[at, LOAD]
    return links, level


@njit(cache=True)
def _look(
    active: Places, first: Ints, link: Places, share: Floats | None, level: Floats, most: Floats,
    lowest: Floats, tight: NDArray[np.int32], agree: Shares,
) -> None:  # fmt: skip
    """Find each flow's lowest link and its level, and add up for each link the flows it is the lowest of."""
    for place in range(active.size):
        flow = active[place]
        least, second, where = most[flow], np.inf, -1
        for at in range(first[flow], first[flow + 1]):
            here = level[link[at]]
            if here < least:
                least, second, where = here, least, at
            else:
                second = min(second, here)
        lowest[flow], tight[flow] = least, link[where] if where >= 0 else -1
        if second > least * ALIKE:  # one alone is lowest
            if where >= 0:
                agree[link[where]] += 1 if share is None else share[where]
            continue
        for at in range(first[flow], first[flow + 1]):
            part = 1 if share is None else share[at]
            agree[link[at]] += part if level[link[at]] <= least * ALIKE else 0


@njit(cache=True)
def _freeze(
    ready: Places, first: Ints, link: Places, share: Floats | None, links: Floats, level: Floats,
    rates: Floats, lowest: Floats,
) -> None:  # fmt: skip
    """Give flows their rates and take them off their links."""
    for place in range(ready.size):
        flow = ready[place]
        rates[flow] = lowest[flow]
        for at in range(first[flow], first[flow + 1]):
            on, part = link[at], 1 if share is None else share[at]
            room, load = max(links[on, ROOM] - lowest[flow] * part, 0.0), links[on, LOAD] - part
            links[on, ROOM], links[on, LOAD] = room, load
            level[on] = room / load if load > NONE else np.inf
