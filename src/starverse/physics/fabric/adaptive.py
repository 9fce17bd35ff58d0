"""Adaptive routing where ways differ in length: how much of a flow leaves the direct way."""

import numpy as np

from starverse.physics.fabric.network import Floats, Routes, end_to_end

HALVINGS = 30


def spread_share(direct_s: Floats, around_s: Floats) -> float:
    """The share of each flow to spread, so that the fullest link has least to do; the least of equal ones.

    What each link has to do when all flows go directly and when all are spread, both (links,), in seconds.
    Universal globally adaptive load balancing, idealised: packets go around as far as the direct way is full
    (UGAL: Singh, "Load-balanced routing in interconnection networks", Stanford 2005; on dragonflies Kim et
    al., ISCA 2008).
    """
    more = around_s - direct_s

    def gains(share: float) -> bool:
        """Whether the fullest link has less to do when more is spread."""
        load_s = direct_s + share * more
        fullest = int(np.argmax(load_s))
        return bool(more[fullest] < -1e-9 * load_s[fullest])

    low, high = 0.0, 1.0
    if not direct_s.size or not gains(low):
        return low
    if gains(high):
        return high
    for _ in range(HALVINGS):  # the fullest link's load is convex in the share
        share = (low + high) / 2
        low, high = (share, high) if gains(share) else (low, share)
    return high


def mixed(direct: Routes, around: Routes, share: float) -> Routes:
    """The same flows with `share` of each on the ways around and the rest on the direct one."""
    if share in {0.0, 1.0}:
        return around if share else direct
    return end_to_end(_scaled(direct, 1 - share), _scaled(around, share))


def _scaled(routes: Routes, share: float) -> Routes:
    return Routes(routes.first, routes.link, routes.share * share, routes.cut)
