"""When flows that share a network have arrived, each at its fair rate until others end."""

import numpy as np

from starverse.model.errors import BadInput
from starverse.physics.fabric.maxmin import fair_rates
from starverse.physics.fabric.network import Floats, Network, Routes, joined

TOGETHER = 1e-3
"""Flows that end within this share of the time of each other are taken to end together."""

ALIKE = 1e-6
"""Rates and loads that differ by less are one."""


def finish_s(network: Network, routes: Routes, bytes_each: Floats, others: Routes | None = None) -> Floats:
    """When each flow has arrived, all starting at 0: seconds, shape (flows,); infinity for those cut off.

    Rates are max-min fair (`fair_rates`), taken anew whenever flows end; the time of the way is added.
    `others` are flows of other jobs that go on all the while. Optimistic where packets wait in line behind
    others: see `lossless.finish_s`.
    """
    if bytes_each.shape != (routes.flows,) or (bytes_each < 0).any():
        raise BadInput(f"{routes.flows} flows carry {bytes_each.size} amounts.", "Give each flow its bytes.")
    done_s = np.where(routes.cut, np.inf, 0.0)
    left = bytes_each.astype(float)
    going = np.flatnonzero((left > 0) & (np.diff(routes.first) > 0))
    now_s = 0.0
    while going.size:
        keep = np.zeros(routes.flows, np.bool_)
        keep[going] = True
        rates = _beside(network, routes.only(keep), others)
        need_s = left[going] / rates
        step_s = need_s.min() * (1 + TOGETHER)
        ends = need_s <= step_s
        done_s[going[ends]] = now_s + need_s[ends]
        now_s += step_s
        left[going] -= rates * step_s
        going = going[~ends]
    return done_s + np.where(bytes_each > 0, routes.latency_ns(network) * 1e-9, 0.0)


def tightest(network: Network, routes: Routes, rates: Floats, flows: int) -> int:
    """The link that holds up the slowest of the first so many flows: -1 when none crosses a link.

    Of the full links on its way the one where no other is quicker (Bertsekas and Gallager, Data Networks,
    6.5.2: at max-min fair rates each flow has such a bottleneck). `rates` are of all routes, bytes/s.
    """
    crossing = np.flatnonzero(np.diff(routes.first[: flows + 1]))
    if not crossing.size:
        return -1
    slow = crossing[np.argmin(rates[crossing])]
    way = routes.link[routes.first[slow] : routes.first[slow + 1]]
    fill = routes.load(rates, network.links)[way] / network.bytes_per_s[way]
    full = way[fill >= fill.max() * (1 - ALIKE)]
    on = np.zeros(network.links, np.bool_)
    on[full] = True
    inside = on[routes.link]
    quickest = np.zeros(network.links)
    np.maximum.at(quickest, routes.link[inside], np.repeat(rates, np.diff(routes.first))[inside])
    return int(full[np.argmax(quickest[full] <= rates[slow] * (1 + ALIKE))])


def _beside(network: Network, routes: Routes, others: Routes | None) -> Floats:
    if others is None or not others.flows:
        return fair_rates(routes, network.bytes_per_s)
    return fair_rates(joined([routes, others]), network.bytes_per_s)[: routes.flows]
