"""Max-min fair rates of flows that share links, exact, at the scale of a whole cluster."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from starverse.model.errors import BadInput
from starverse.physics.fabric.network import Floats, Ints, Routes


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
    if (bytes_per_s[routes.link] <= 0).any():
        raise BadInput("A flow crosses a link that carries nothing.", "Route around links that failed.")
    share = routes.share if (routes.share != 1).any() else np.empty(0)
    return _fair(routes.first, routes.link.astype(np.int32), share, bytes_per_s, wanted)


@njit(cache=True)
def _fair(first: Ints, link: NDArray[np.int32], share: Floats, bytes_per_s: Floats, most: Floats) -> Floats:
    """The rates; `share` is empty where it is 1 throughout.

    A link's level is the rate that would fill it, all its flows growing alike. A flow's lowest link freezes
    it when no flow on that link has a lower one elsewhere.
    """
    room, load = bytes_per_s.copy(), np.zeros(bytes_per_s.size)
    for at in range(link.size):
        load[link[at]] += share[at] if share.size else 1.0
    level = np.full(room.size, np.inf)
    blocked = np.full(room.size, -1)  # the last round in which a flow on the link had a lower one elsewhere
    rates = most.copy()
    lowest, tight = np.empty(most.size), np.empty(most.size, np.int32)
    active, used = np.flatnonzero(first[1:] > first[:-1]), np.flatnonzero(load > 0)
    count, filled, rounds = active.size, used.size, 0
    while count:
        filled = _levels(used[:filled], room, load, level)
        for place in range(count):
            flow = active[place]
            least, where = most[flow], -1
            for at in range(first[flow], first[flow + 1]):
                if level[link[at]] < least:
                    least, where = level[link[at]], link[at]
            lowest[flow], tight[flow] = least, where
            least *= 1 + 1e-12
            for at in range(first[flow], first[flow + 1]):
                if level[link[at]] > least:
                    blocked[link[at]] = rounds
        kept = 0
        for place in range(count):
            flow = active[place]
            if tight[flow] >= 0 and blocked[tight[flow]] == rounds:
                active[kept] = flow
                kept += 1
                continue
            rates[flow] = lowest[flow]
            for at in range(first[flow], first[flow + 1]):
                part = share[at] if share.size else 1.0
                room[link[at]] = max(room[link[at]] - lowest[flow] * part, 0.0)
                load[link[at]] -= part
        assert kept < count, "every round freezes the flows of the lowest link of all"
        count, rounds = kept, rounds + 1
    return rates


@njit(cache=True)
def _levels(used: Ints, room: Floats, load: Floats, level: Floats) -> int:
    """Set the level of each link that still has flows, keep those in front, and say how many they are."""
    kept = 0
    for place in range(used.size):
        at = used[place]
        if load[at] > 1e-9:
            level[at] = room[at] / load[at]
            used[kept] = at
            kept += 1
        else:
            level[at] = np.inf
    return kept
