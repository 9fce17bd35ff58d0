"""Max-min fair rates of flows that share links, exact, at the scale of a whole cluster."""

import numpy as np
from numba import njit

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
    rates, _ = _fair(routes.first, routes.link, routes.share, bytes_per_s, wanted)
    return rates


@njit(cache=True)
def _fair(
    first: Ints, link: Ints, share: Floats, bytes_per_s: Floats, most: Floats
) -> tuple[Floats, int]:  # fmt: skip
    """The rates, and the rounds it took."""
    flows, links = first.size - 1, bytes_per_s.size
    room = bytes_per_s.copy()
    load = np.zeros(links)
    for at in range(link.size):
        load[link[at]] += share[at]
    level = np.empty(links)  # the rate that would fill the link, all its flows growing alike
    blocked = np.full(links, -1)  # the last round in which a flow on the link had a tighter one elsewhere
    rates = most.copy()
    lowest = np.empty(flows)
    active = np.empty(flows, np.int64)
    count = 0
    for flow in range(flows):
        if first[flow + 1] > first[flow]:
            active[count] = flow
            count += 1
    rounds = 0
    while count:
        for at in range(links):
            level[at] = room[at] / load[at] if load[at] > 1e-9 else np.inf
        for place in range(count):
            flow = active[place]
            least = most[flow]
            for at in range(first[flow], first[flow + 1]):
                least = min(least, level[link[at]])
            lowest[flow] = least
            for at in range(first[flow], first[flow + 1]):
                if level[link[at]] > least * (1 + 1e-12):
                    blocked[link[at]] = rounds
        kept = 0
        for place in range(count):
            flow = active[place]
            rate = lowest[flow]
            frozen = rate >= most[flow]
            for at in range(first[flow], first[flow + 1]):
                one = link[at]
                if blocked[one] != rounds and level[one] <= rate * (1 + 1e-12):
                    frozen = True
                    break
            if not frozen:
                active[kept] = flow
                kept += 1
                continue
            rates[flow] = rate
            for at in range(first[flow], first[flow + 1]):
                room[link[at]] = max(room[link[at]] - rate * share[at], 0.0)
                load[link[at]] -= share[at]
        assert kept < count, "every round freezes the tightest link of all"
        count = kept
        rounds += 1
    return rates, rounds
