"""The loops of placement over the row of all domains (`Tree`), compiled.

Arrays over the row: `room`, how many members a domain could take by the rules, and `share`, how many it is
given. `grain` and `limit` are by level, the cluster first: what a domain is given is a multiple of the one
and no more than the other. A grain divides those of the levels above it, a limit is no more than theirs.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@njit(cache=True)
def rooms(starts: Ints, first: Ints, nodes: Ints, free: Ints, grain: Ints, limit: Ints) -> Ints:
    """The room of each domain, by the room of the nodes: `free`, by number."""
    leaves = starts[-2]
    room = np.empty(starts[-1], np.int64)
    for leaf in range(nodes.size):
        room[leaves + leaf] = min(free[nodes[leaf]], limit[-1])
    if grain[-1] > 1:
        for leaf in range(leaves, starts[-1]):
            room[leaf] -= room[leaf] % grain[-1]
    for level in range(starts.size - 3, -1, -1):
        for domain in range(starts[level], starts[level + 1]):
            held = 0
            for child in range(first[domain], first[domain + 1]):
                held += room[child]
            held = min(held, limit[level])
            room[domain] = held if grain[level] == 1 else held - held % grain[level]
    return room


@njit(cache=True)
def place(
    starts: Ints, first: Ints, above: Ints, nodes: Ints, free: Ints,
    want: int, require: int, grain: Ints, limit: Ints, balanced: bool,
) -> tuple[Ints, Ints]:  # fmt: skip
    """The nodes, by number, and the members of each; both empty when there is no place.

    The innermost domain that holds all, not outside one of the level `require` (the cluster is 0); in it as
    few domains of each level as possible, from the outermost level to the innermost.
    """
    room = rooms(starts, first, nodes, free, grain, limit)
    top = -1
    level = starts.size - 2
    while top < 0 and level >= require:
        top = _tightest(room, above, starts[level], starts[level + 1], want)
        level -= 1
    if top < 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    level += 1
    share = np.zeros(room.size, np.int64)
    share[top] = want
    low, high = top, top + 1
    while level < starts.size - 2:
        for domain in range(low, high):
            if share[domain]:
                _hand_down(room, share, first, above, domain, level, starts.size - 2, grain, balanced)
        low, high = first[low], first[high]
        level += 1
    return _chosen(share, nodes, low, high, starts[-2])


@njit(cache=True)
def _tightest(room: Ints, above: Ints, low: int, high: int, want: int) -> int:
    """The domain among low..high that holds `want` with least room, -1 without one.

    Among equals the one whose parents have least room, so that what is whole stays whole; then the first.
    """
    best = -1
    for domain in range(low, high):
        if room[domain] < want or (best >= 0 and room[domain] > room[best]):
            continue
        if best >= 0 and room[domain] == room[best]:
            mine, other = above[domain], above[best]
            while mine != other and room[mine] == room[other]:
                mine, other = above[mine], above[other]
            if mine == other or room[mine] > room[other]:
                continue
        best = domain
    return best


@njit(cache=True)
def _hand_down(
    room: Ints, share: Ints, first: Ints, above: Ints, domain: int,
    level: int, leaves: int, grain: Ints, balanced: bool,
) -> None:  # fmt: skip
    """Give the share of a domain to domains inside it: to one if one holds it, else to some children."""
    low, high = first[domain], first[domain + 1]
    held = 0
    for child in range(low, high):
        held += room[child]
    want = share[domain]
    if held == want:
        for child in range(low, high):
            share[child] = room[child]
        return
    inner = _innermost(room, first, above, low, high, want, leaves - level - 1)
    if inner >= 0:
        share[inner] = want
    elif balanced:
        _split_evenly(room, share, low, high, want, grain[level + 1])
    else:
        _split(room, share, above, low, high, want)


@njit(cache=True)
def _innermost(room: Ints, first: Ints, above: Ints, low: int, high: int, want: int, deeper: int) -> int:
    """The tightest domain of the innermost level that holds `want` inside the siblings low..high, or -1."""
    best = -1
    for _ in range(deeper + 1):
        inner = _tightest(room, above, low, high, want)
        if inner < 0:
            break
        best = inner
        low, high = first[low], first[high]
    return best


@njit(cache=True)
def _split(room: Ints, share: Ints, above: Ints, low: int, high: int, want: int) -> None:
    """Share `want` among siblings, none of which holds it: as few as possible, the last a tight one.

    They are used up from the most spacious down (all of one size in one pass), until one holds the rest.
    """
    size = want
    while want:
        smaller = 0
        for child in range(low, high):
            if room[child] < size:
                smaller = max(smaller, room[child])
        assert smaller > 0, "less room than was counted"
        size = smaller
        for child in range(low, high):
            if room[child] != size:
                continue
            if want <= size:
                last = child
                for other in range(low, high):
                    if want <= room[other] < room[last]:
                        last = other
                share[last] = want
                return
            share[child] = size
            want -= size


@njit(cache=True)
def _split_evenly(room: Ints, share: Ints, low: int, high: int, want: int, grain: int) -> None:
    """Share `want` among as few siblings as possible, the most spacious, evenly as far as their room goes."""
    order = np.argsort(-room[low:high], kind="mergesort")
    count, held = 0, 0
    while held < want:
        held += room[low + order[count]]
        count += 1
    while count:
        count -= 1
        child = low + order[count]
        even = want // (count + 1)
        share[child] = min(even - even % grain if count else want, room[child])
        want -= share[child]


@njit(cache=True)
def _chosen(share: Ints, nodes: Ints, low: int, high: int, leaves: int) -> tuple[Ints, Ints]:
    """What the leaves low..high were given, without those that were given nothing."""
    count = 0
    for leaf in range(low, high):
        count += share[leaf] > 0
    chosen = np.empty(count, np.int64)
    members = np.empty(count, np.int64)
    count = 0
    for leaf in range(low, high):
        if share[leaf]:
            chosen[count] = nodes[leaf - leaves]
            members[count] = share[leaf]
            count += 1
    return chosen, members
