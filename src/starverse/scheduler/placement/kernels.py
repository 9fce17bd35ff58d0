"""The loops of placement over the row of all domains (`Tree`), compiled.

Arrays over the row: `room`, how many members a domain could take by the rules, and `share`, how many it is
given. `grain` and `limit` are by level, the cluster first: what a domain is given is a multiple of the one
and no more than the other. A grain divides those of the levels above it, a limit is no more than theirs. With
`left`, over the row, each domain has a limit of its own instead, no more than its parent's.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]

UNLIMITED = 1 << 62
"""The limit of a level without one."""


@njit(cache=True)
def rooms(
    starts: Ints, first: Ints, nodes: Ints, free: Ints, grain: Ints, limit: Ints, left: Ints
) -> Ints:  # fmt: skip
    """The room of each domain, by the room of the nodes: `free`, by number."""
    room = np.empty(starts[-1], np.int64)
    leaves = room[starts[-2] :]
    for leaf in range(nodes.size):
        held = min(free[nodes[leaf]], left[starts[-2] + leaf] if left.size else limit[-1])
        leaves[leaf] = held if grain[-1] == 1 else held - held % grain[-1]
    for level in range(starts.size - 3, -1, -1):
        below = starts[level + 1]
        children = room[below:]
        ends = first[starts[level] + 1 : below + 1]
        child = 0
        for domain in range(ends.size):
            held = 0
            end = ends[domain] - below
            for other in range(child, end):
                held += children[other]
            child = end
            held = min(held, left[starts[level] + domain] if left.size else limit[level])
            room[starts[level] + domain] = held if grain[level] == 1 else held - held % grain[level]
    return room


@njit(cache=True)
def place(
    starts: Ints, first: Ints, above: Ints, nodes: Ints, free: Ints,
    want: int, require: int, grain: Ints, limit: Ints, left: Ints, balanced: bool,
) -> tuple[Ints, Ints]:  # fmt: skip
    """The nodes, by number, and the members of each; both empty when there is no place.

    The innermost domain that holds all, not outside one of the level `require` (the cluster is 0); in it as
    few domains of each level as possible, from the outermost level to the innermost.
    """
    room = rooms(starts, first, nodes, free, grain, limit, left)
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
    block = room[low:high]
    least = UNLIMITED
    for place in range(block.size):
        least = min(least, block[place] if block[place] >= want else UNLIMITED)
    if least == UNLIMITED:
        return -1
    tied = np.empty(block.size, np.int64)  # the first of each parent
    parents = np.empty(block.size, np.int64)
    over = above[low:high]
    count, last = 0, -2
    for place in range(block.size):
        if block[place] == least and over[place] != last:
            last = over[place]
            tied[count] = low + place
            parents[count] = last
            count += 1
    while count > 1:
        least = UNLIMITED
        for place in range(count):
            least = min(least, room[parents[place]])
        kept, last = 0, -2
        for place in range(count):
            parent = parents[place]
            if room[parent] == least and above[parent] != last:
                last = above[parent]
                tied[kept] = tied[place]
                parents[kept] = last
                kept += 1
        count = kept
    return int(tied[0])


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


@njit(cache=True)
def box(grid: Ints, sizes: Ints, costs: Ints, want: int, start: int) -> tuple[int, tuple[int, int, int], int]:
    """The first of the sizes of box (from `start`) that holds `want` somewhere on the torus `grid`.

    Returns which size, the lowest corner and what it holds: of sizes that cost the same, and of corners, the
    one that holds least. The size is -1 when there is none.
    """
    sums = _sums(grid)
    most = np.sort(grid.ravel())[::-1].cumsum()
    best, corner, least = -1, (0, 0, 0), UNLIMITED
    for size in range(start, costs.size):
        if best >= 0 and costs[size] > costs[best]:
            break
        a, b, c = sizes[size]
        if most[a * b * c - 1] < want:
            continue
        for x in range(grid.shape[0] if a < grid.shape[0] else 1):
            for y in range(grid.shape[1] if b < grid.shape[1] else 1):
                for z in range(grid.shape[2] if c < grid.shape[2] else 1):
                    held = (
                        (sums[x + a, y + b, z + c] - sums[x, y + b, z + c])
                        - (sums[x + a, y, z + c] - sums[x, y, z + c])
                        - (sums[x + a, y + b, z] - sums[x, y + b, z])
                        + (sums[x + a, y, z] - sums[x, y, z])
                    )
                    if want <= held < least:
                        best, corner, least = size, (x, y, z), held
    return best, corner, least


@njit(cache=True)
def _sums(grid: Ints) -> Ints:
    """The sums over all boxes from the origin, of the torus laid out twice along each axis."""
    dx, dy, dz = grid.shape
    sums = np.zeros((2 * dx + 1, 2 * dy + 1, 2 * dz + 1), np.int64)
    for x in range(2 * dx):
        for y in range(2 * dy):
            line = 0
            for z in range(2 * dz):
                line += grid[x % dx, y % dy, z % dz]
                sums[x + 1, y + 1, z + 1] = (
                    line + sums[x, y + 1, z + 1] + sums[x + 1, y, z + 1] - sums[x, y, z + 1]
                )
    return sums
