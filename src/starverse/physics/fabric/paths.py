"""Ways around links that failed, on any network."""

import numpy as np
from numba import njit

from starverse.physics.fabric.network import Flags, Ints, Network, Routes, joined


def with_detours(network: Network, routes: Routes, source: Ints, target: Ints, failed: Flags) -> Routes:
    """The routes with every flow that met a failed link on the shortest path that is left.

    A flow for which none is left is marked `cut` and has no links. Cards relay only where the network has no
    other way (a torus of cards, BCube), as its links say.
    """
    counts = np.diff(routes.first)
    owner = np.repeat(np.arange(routes.flows), counts)
    hit = np.zeros(routes.flows, np.bool_)
    hit[owner[failed[routes.link]]] = True
    if not hit.any():
        return routes
    order = np.argsort(network.tail, kind="stable")
    alive = order[~failed[order]]
    starts = np.searchsorted(network.tail[alive], np.arange(network.vertices + 1))
    first, link, cut = _shortest(source[hit], target[hit], starts, alive, network.head, network.vertices)
    detours = Routes(first, link, np.ones(link.size), cut)
    both = joined([routes.only(~hit), detours])
    place = np.empty(routes.flows, np.int64)
    place[~hit] = np.arange(np.count_nonzero(~hit))
    place[hit] = np.count_nonzero(~hit) + np.arange(np.count_nonzero(hit))
    return _ordered(both, place)


def _ordered(routes: Routes, place: Ints) -> Routes:
    """The routes in another order: flow f is the one that was at `place[f]`."""
    counts = np.diff(routes.first)[place]
    first = np.concatenate(([0], np.cumsum(counts)))
    inside = np.arange(first[-1]) - np.repeat(first[:-1] - routes.first[place], counts)
    return Routes(first, routes.link[inside], routes.share[inside], routes.cut[place])


@njit(cache=True)
def _shortest(
    source: Ints, target: Ints, starts: Ints, alive: Ints, head: Ints, vertices: int
) -> tuple[Ints, Ints, Flags]:  # fmt: skip
    """The shortest path of each flow over the links alive, breadth first; among equals the lowest links.

    The links out of vertex v are `alive[starts[v]:starts[v + 1]]`.
    """
    first = np.zeros(source.size + 1, np.int64)
    cut = np.zeros(source.size, np.bool_)
    found = np.empty(64, np.int64)
    count = 0
    by = np.empty(vertices, np.int64)  # the link a vertex was reached by
    above = np.empty(vertices, np.int64)  # and from which vertex
    seen = np.full(vertices, -1)
    queue = np.empty(vertices, np.int64)
    for flow in range(source.size):
        queue[0] = source[flow]
        seen[source[flow]] = flow
        low, high = 0, 1
        while low < high and seen[target[flow]] != flow:
            vertex = queue[low]
            low += 1
            for at in range(starts[vertex], starts[vertex + 1]):
                other = head[alive[at]]
                if seen[other] != flow:
                    seen[other] = flow
                    by[other] = alive[at]
                    above[other] = vertex
                    queue[high] = other
                    high += 1
        cut[flow] = seen[target[flow]] != flow
        length = 0
        vertex = target[flow]
        while not cut[flow] and vertex != source[flow]:
            length += 1
            vertex = above[vertex]
        if count + length > found.size:
            more = np.empty(2 * (count + length), np.int64)
            more[:count] = found[:count]
            found = more
        vertex = target[flow]
        for back in range(length):
            found[count + length - 1 - back] = by[vertex]
            vertex = above[vertex]
        count += length
        first[flow + 1] = count
    return first, found[:count], cut
