"""The loops over nodes and cards, compiled: each looks at flat arrays of integers and nothing else.

`node[field, n]` holds one number a node, `card[field, n, c]` one a card. `slot[field, n, k]` are the claims
on a node: a bit set of cards, from when to when, and whose (0 marks an empty slot; negative numbers are
reservations). `stock[r, n]` is what is left of CPU (0), memory (1) and the named resources. Times are UTC
milliseconds. "Node" is a row of these arrays: the whole node, or a part of one with very many cards.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]

NEVER = np.int64(1 << 62)

OPEN, HEALTHY, USED, FREE, COUNT, SOONEST, LATEST, FIRST, LAST = range(9)
"""Of a node: takes new runs; bit sets of cards: healthy, used, free on an open node; how many are free; when
the first of these is claimed, and when the last is (NEVER and 0 without any); the lowest and the highest
number of those who have claims (likewise), the lowest below 0 where a reservation stands in a slot."""

ENDS, CLAIMED, LEFT = range(3)
"""Of a card: when the runs on it end at the latest (0 without one); when the earliest claim on it begins; the
milli-cards that nobody has of one that runs share (0 of any other)."""

FROM, TO, MASK, WHOSE = range(4)

ORDER_BITS = 48
"""A claimant's number is its rank and, in so many bits below it, its place in the order of submission."""


@njit(cache=True)
def bits(mask: int) -> int:
    """How many bits are set."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@njit(cache=True)
def refresh(node: Ints, card: Ints, slot: Ints, n: int) -> None:
    """Bring all that is derived of one node up to date."""
    takes = node[HEALTHY, n] if node[OPEN, n] else 0
    free = takes & ~node[USED, n]
    for c in range(card.shape[2]):
        card[CLAIMED, n, c] = NEVER
    first, last = NEVER, 0
    for k in range(slot.shape[2]):
        whose = slot[WHOSE, n, k]
        if not whose:
            break
        first, last = min(first, whose), max(last, whose)
        from_ms, mask = slot[FROM, n, k], slot[MASK, n, k]
        for c in range(card.shape[2]):
            if mask >> c & 1 and card[CLAIMED, n, c] > from_ms:
                card[CLAIMED, n, c] = from_ms
    soonest, latest = NEVER, 0
    count = 0
    for c in range(card.shape[2]):
        if free >> c & 1:
            count += 1
            soonest = min(soonest, card[CLAIMED, n, c])
            latest = max(latest, card[CLAIMED, n, c])
    node[FIRST, n] = first
    node[LAST, n] = last
    node[FREE, n] = free
    node[COUNT, n] = count
    node[SOONEST, n] = soonest
    node[LATEST, n] = latest


@njit(cache=True)
def take(node: Ints, card: Ints, slot: Ints, nodes: Ints, masks: Ints, ends_ms: int) -> int:
    """Mark cards as used until then; returns the place of the first share that was used already, or -1."""
    for i in range(nodes.size):
        n = nodes[i]
        if node[USED, n] & masks[i]:
            return i
        node[USED, n] |= masks[i]
        for c in range(card.shape[2]):
            if masks[i] >> c & 1:
                card[ENDS, n, c] = ends_ms
        refresh(node, card, slot, n)
    return -1


@njit(cache=True)
def give(node: Ints, card: Ints, slot: Ints, nodes: Ints, masks: Ints) -> int:
    """Mark cards as no longer used; returns the place of the first share that was not, or -1."""
    for i in range(nodes.size):
        n = nodes[i]
        if node[USED, n] & masks[i] != masks[i]:
            return i
        node[USED, n] ^= masks[i]
        refresh(node, card, slot, n)
    return -1


@njit(cache=True)
def until(node: Ints, card: Ints, slot: Ints, nodes: Ints, masks: Ints, ends_ms: int) -> None:
    """Say anew when the run on these cards ends at the latest."""
    for i in range(nodes.size):
        for c in range(card.shape[2]):
            if masks[i] >> c & 1:
                card[ENDS, nodes[i], c] = ends_ms
        refresh(node, card, slot, nodes[i])


@njit(cache=True)
def claim(
    node: Ints,
    card: Ints,
    slot: Ints,
    nodes: Ints,
    masks: Ints,
    from_ms: int,
    to_ms: int,
    whose: int,
) -> bool:
    """Put a claim into a free slot of each node; False, and nothing done, when a node has none left."""
    slots = slot.shape[2]
    for i in range(nodes.size):
        if slot[WHOSE, nodes[i], slots - 1]:
            return False
    for i in range(nodes.size):
        n = nodes[i]
        k = 0
        while slot[WHOSE, n, k]:
            k += 1
        slot[FROM, n, k] = from_ms
        slot[TO, n, k] = to_ms
        slot[MASK, n, k] = masks[i]
        slot[WHOSE, n, k] = whose
        refresh(node, card, slot, n)
    return True


@njit(cache=True)
def unclaim(node: Ints, card: Ints, slot: Ints, nodes: Ints, whose: int) -> None:
    """Empty the slots of one claimant on these nodes; those behind move up."""
    for i in range(nodes.size):
        n = nodes[i]
        kept = 0
        for k in range(slot.shape[2]):
            other = slot[WHOSE, n, k]
            if not other:
                break
            slot[WHOSE, n, k] = 0
            if other != whose:
                for field in (FROM, TO, MASK):
                    slot[field, n, kept] = slot[field, n, k]
                slot[WHOSE, n, kept] = other
                kept += 1
        refresh(node, card, slot, n)


@njit(cache=True)
def room(
    node: Ints,
    card: Ints,
    slot: Ints,
    stock: Ints,
    need: Ints,
    size: int,
    member: int,
    until_ms: int,
    below: int,
    out: Ints,
) -> int:
    """How many members of so many cards each node can take now until then, into `out`; returns their sum.

    Claims of those numbered `below` are minded, here and in what follows; `NEVER` means all.
    """
    total = 0
    plain = not need.any()
    for n in range(size):  # a branch that is hard to foresee, or a call, costs more than all the rest
        members = 0
        is_any = node[SOONEST, n] >= until_ms or node[FIRST, n] >= below
        is_none = node[LATEST, n] < until_ms and node[LAST, n] < below
        if node[COUNT, n] >= member:
            if plain and (is_any or is_none):
                count = node[COUNT, n] if is_any else 0
                members = count // member if member > 1 else count
            else:
                members = fits(node, card, slot, stock, need, n, member, until_ms, below)
        out[n] = members
        total += members
    return total


@njit(cache=True)
def fits(
    node: Ints,
    card: Ints,
    slot: Ints,
    stock: Ints,
    need: Ints,
    n: int,
    member: int,
    until_ms: int,
    below: int,
) -> int:
    """How many members of so many cards one node can take now until then."""
    members = bits(unclaimed(node, card, slot, n, until_ms, below)) // member
    for r in range(need.size):
        if need[r] and members:
            members = min(members, stock[r, n] // need[r])
    return int(members)


@njit(cache=True)
def is_unclaimed(card: Ints, slot: Ints, n: int, c: int, until_ms: int, below: int) -> bool:
    """Whether no claim on a card that is minded begins before then."""
    if card[CLAIMED, n, c] >= until_ms:
        return True
    for k in range(slot.shape[2]):
        if not slot[WHOSE, n, k]:
            break
        if slot[MASK, n, k] >> c & 1 and slot[FROM, n, k] < until_ms and slot[WHOSE, n, k] < below:
            return False
    return True


@njit(cache=True)
def unclaimed(node: Ints, card: Ints, slot: Ints, n: int, until_ms: int, below: int) -> int:
    """The free cards of a node on which no claim that is minded begins before then, as a bit set."""
    free = node[FREE, n]
    if node[SOONEST, n] >= until_ms or node[FIRST, n] >= below:
        return int(free)
    if node[LAST, n] < below:  # all are minded: their slots need not be looked at
        for c in range(card.shape[2]):
            if card[CLAIMED, n, c] < until_ms:
                free &= ~(1 << c)
        return int(free)
    for k in range(slot.shape[2]):
        if not slot[WHOSE, n, k]:
            break
        if slot[FROM, n, k] < until_ms and slot[WHOSE, n, k] < below:
            free &= ~slot[MASK, n, k]
    return int(free)


@njit(cache=True)
def pick(
    node: Ints, card: Ints, slot: Ints, nodes: Ints, counts: Ints, until_ms: int, below: int, masks: Ints
) -> None:
    """Choose free cards on each node into `masks`: those whose claim comes soonest after `until_ms` first,
    and those whose claim is not minded last."""
    for i in range(nodes.size):
        n = nodes[i]
        mask, left = 0, unclaimed(node, card, slot, n, until_ms, below)
        if counts[i] == bits(left):
            mask = left
        while bits(mask) < counts[i]:
            best = -1
            for c in range(card.shape[2]):
                if not left >> c & 1:
                    continue
                if best < 0:
                    best = c
                    continue
                mine, other = card[CLAIMED, n, c], card[CLAIMED, n, best]
                if (mine < until_ms, mine) < (other < until_ms, other):
                    best = c
            mask |= 1 << best
            left &= ~(1 << best)
        masks[i] = mask


@njit(cache=True)
def open_classes(lack: Ints, jobs: Ints, out: Ints) -> int:
    """The classes, of as many as `out` has room for, that have jobs and lack nothing known, into it; returns
    how many."""
    count = 0
    for q in range(out.size):
        if lack[q] <= 0 and jobs[q] > 0:
            out[count] = q
            count += 1
    return count


@njit(cache=True)
def loosen(
    node: Ints,
    card: Ints,
    slot: Ints,
    stock: Ints,
    classes: Ints,
    needs: Ints,
    lack: Ints,
    now_ms: int,
    nodes: Ints,
) -> None:
    """Take from what each class lacks the members that these nodes could take of it now.

    `classes[:, q]`: a member's cards, how long it stays, whose claims it minds, its least, and whether it has
    needs beside cards (see `line.py`).
    """
    for q in range(lack.size):
        if lack[q] <= 0:
            continue
        member = classes[0, q]
        until_ms = now_ms + classes[1, q]
        plain = not classes[4, q]
        for n in nodes:
            if node[COUNT, n] < member:
                continue
            if plain and node[SOONEST, n] >= until_ms:
                lack[q] -= node[COUNT, n] // member
            else:
                lack[q] -= fits(node, card, slot, stock, needs[q], n, member, until_ms, classes[2, q])
