"""The compiled loops that look ahead: when cards are free for long enough, and who has a claim on them.

The arrays are those of `kernels.py`; `busy[n, c]` is the moment from which a card is free for good (`Ahead`).
"""

import numpy as np
from numba import njit

from starverse.scheduler.kernels import (
    ENDS,
    FIRST,
    FREE,
    FROM,
    HEALTHY,
    MASK,
    NEVER,
    OPEN,
    TO,
    USED,
    WHOSE,
    Ints,
    bits,
)


@njit(cache=True)
def free_from(
    node: Ints, card: Ints, slot: Ints, n: int, c: int, from_ms: int, length_ms: int, below: int
) -> int:
    """The earliest moment from `from_ms` on at which one card is free for so long."""
    bit = 1 << c
    if not node[OPEN, n] or not node[HEALTHY, n] & bit:
        return int(NEVER)
    at_ms = max(from_ms, card[ENDS, n, c] if node[USED, n] & bit else 0)
    moved = True
    while moved:
        moved = False
        for k in range(slot.shape[2]):
            if not slot[WHOSE, n, k]:
                break
            is_minded = slot[MASK, n, k] & bit and slot[WHOSE, n, k] < below
            if is_minded and at_ms < slot[TO, n, k] and slot[FROM, n, k] < at_ms + length_ms:
                at_ms = slot[TO, n, k]
                moved = True
    return at_ms


@njit(cache=True)
def moments(
    node: Ints,
    card: Ints,
    slot: Ints,
    busy: Ints,
    size: int,
    member: int,
    from_ms: int,
    length_ms: int,
    below: int,
    most_ms: int,
    times: Ints,
) -> int:
    """When members could start, those of these moments up to `most_ms` into `times`, which has room for one
    more than all; returns how many.

    On a node without reservations claims stand one after the other, so that `busy` says all; on one with
    reservations each card is looked at for the gap it would lie in.
    """
    cards = busy.shape[1]
    found = 0
    row = np.empty(cards, np.int64)
    for n in range(size):
        if node[FIRST, n] >= 0:
            if member == 1:
                for c in range(cards):  # without a branch: what is written too much is written over
                    times[found] = max(busy[n, c], from_ms)
                    found += busy[n, c] <= most_ms
                continue
            if member == cards:
                last = from_ms
                for c in range(cards):
                    last = max(last, busy[n, c])
                if last <= most_ms:
                    times[found] = last
                    found += 1
                continue
        for c in range(cards):
            if node[FIRST, n] < 0:
                at_ms = free_from(node, card, slot, n, c, from_ms, length_ms, below)
            else:
                at_ms = busy[n, c]
            place = c  # put in order at once: a call to sort costs more than all the rest
            while place and row[place - 1] > at_ms:
                row[place] = row[place - 1]
                place -= 1
            row[place] = at_ms
        for c in range(member - 1, cards, member):
            if row[c] > most_ms:
                break
            times[found] = max(row[c], from_ms)
            found += 1
    return found


@njit(cache=True)
def room_at(
    node: Ints,
    card: Ints,
    slot: Ints,
    busy: Ints,
    size: int,
    member: int,
    at_ms: int,
    length_ms: int,
    below: int,
    out: Ints,
) -> int:
    """How many members of so many cards each node could take then for so long; returns their sum."""
    total = 0
    cards = busy.shape[1]
    for n in range(size):
        count = 0
        if node[FIRST, n] < 0:
            for c in range(cards):
                if free_from(node, card, slot, n, c, at_ms, length_ms, below) == at_ms:
                    count += 1
        else:
            for c in range(cards):
                count += busy[n, c] <= at_ms
        out[n] = count // member if member > 1 else count
        total += out[n]
    return total


@njit(cache=True)
def pick_at(
    node: Ints,
    card: Ints,
    slot: Ints,
    busy: Ints,
    nodes: Ints,
    counts: Ints,
    at_ms: int,
    length_ms: int,
    below: int,
    masks: Ints,
) -> None:
    """Choose cards that are free then for so long, those that come free last first, into `masks`."""
    cards = busy.shape[1]
    when = np.empty(cards, np.int64)
    for i in range(nodes.size):
        n = nodes[i]
        for c in range(cards):
            when[c] = busy[n, c]
            if node[FIRST, n] < 0:
                is_free = free_from(node, card, slot, n, c, at_ms, length_ms, below) == at_ms
                when[c] = _busy_before(node, card, slot, n, c, at_ms) if is_free else NEVER
        mask = 0
        for _ in range(counts[i]):
            best = -1
            for c in range(cards):
                if when[c] <= at_ms and not mask >> c & 1 and (best < 0 or when[c] > when[best]):
                    best = c
            mask |= 1 << best
        masks[i] = mask


@njit(cache=True)
def _busy_before(node: Ints, card: Ints, slot: Ints, n: int, c: int, at_ms: int) -> int:
    """When a card comes free that is free at a moment."""
    busy_ms = card[ENDS, n, c] if node[USED, n] >> c & 1 else 0
    for k in range(slot.shape[2]):
        if not slot[WHOSE, n, k]:
            break
        if slot[MASK, n, k] >> c & 1 and slot[TO, n, k] <= at_ms:
            busy_ms = max(busy_ms, slot[TO, n, k])
    return int(busy_ms)


@njit(cache=True)
def free_in(
    node: Ints, card: Ints, slot: Ints, member: int, from_ms: int, to_ms: int, free: Ints, room: Ints
) -> int:
    """The cards of each node that are free from one moment to another, all claims minded, as bit sets, and
    how many members they hold; returns the sum of these. A node that holds none counts as one without any."""
    total = 0
    for n in range(free.size):
        left = node[HEALTHY, n] if node[OPEN, n] else 0
        later = 0
        for c in range(card.shape[2]):
            later |= (card[ENDS, n, c] > from_ms) << c
        left &= ~(node[USED, n] & later)
        free[n] = room[n] = 0
        if bits(left) < member:
            continue
        for k in range(slot.shape[2]):
            if not slot[WHOSE, n, k]:
                break
            if slot[FROM, n, k] < to_ms and from_ms < slot[TO, n, k]:
                left &= ~slot[MASK, n, k]
        if bits(left) >= member:
            free[n], room[n] = left, bits(left) // member
            total += room[n]
    return total


@njit(cache=True)
def members_before(node: Ints, card: Ints, size: int, member: int, at_ms: int) -> int:
    """How many members could start before then if no promise stood in the way."""
    count = 0
    for n in range(size):
        takes = node[HEALTHY, n] if node[OPEN, n] else 0
        used = node[USED, n]
        free = 0
        for c in range(card.shape[2]):
            if takes >> c & 1 and (not used >> c & 1 or card[ENDS, n, c] < at_ms):
                free += 1
        count += free // member
    return count


@njit(cache=True)
def members_instead(
    node: Ints,
    card: Ints,
    slot: Ints,
    busy: Ints,
    size: int,
    member: int,
    at_ms: int,
    one: int,
    other: int,
    taken: Ints,
    to_ms: int,
) -> int:
    """How many members could start by then if two claimants had no claims, and somebody had the cards `taken`
    (a bit set for each node) until `to_ms` instead; all other claims are minded, as in
    `busy`. No node is booked."""
    count = 0
    cards = card.shape[2]
    for n in range(size):
        differs = taken[n] != 0
        for k in range(slot.shape[2]):
            whose = slot[WHOSE, n, k]
            if not whose:
                break
            differs = differs or whose in (one, other)
        if not differs:
            free = 0
            for c in range(cards):
                free += busy[n, c] <= at_ms
            count += free // member
            continue
        free = 0
        takes = node[HEALTHY, n] if node[OPEN, n] else 0
        for c in range(cards):
            if not takes >> c & 1:
                continue
            busy_ms = card[ENDS, n, c] if node[USED, n] >> c & 1 else 0
            if taken[n] >> c & 1:
                busy_ms = max(busy_ms, to_ms)
            for k in range(slot.shape[2]):
                whose = slot[WHOSE, n, k]
                if not whose:
                    break
                if whose not in (one, other) and slot[MASK, n, k] >> c & 1:
                    busy_ms = max(busy_ms, slot[TO, n, k])
            if busy_ms <= at_ms:
                free += 1
        count += free // member
    return count


@njit(cache=True)
def claimants(slot: Ints, nodes: Ints, masks: Ints, from_ms: int, to_ms: int, found: Ints) -> int:
    """Who has promises on these cards in that time, into `found`, each once; returns how many."""
    count = 0
    for i in range(nodes.size):
        for k in range(slot.shape[2]):
            whose = slot[WHOSE, nodes[i], k]
            if not whose:
                break
            if whose < 0 or not slot[MASK, nodes[i], k] & masks[i]:
                continue
            if slot[FROM, nodes[i], k] < to_ms and from_ms < slot[TO, nodes[i], k]:
                known = False
                for j in range(count):
                    known = known or found[j] == whose
                if not known and count < found.size:
                    found[count] = whose
                    count += 1
    return count


@njit(cache=True)
def awaiting(node: Ints, slot: Ints, nodes: Ints, found: Ints) -> int:
    """Who has promises on these nodes and finds all its cards there free, into `found`, each once; returns
    how many. Whoever lacks one there need not be looked at elsewhere."""
    count = 0
    for n in nodes:
        for k in range(slot.shape[2]):
            whose = slot[WHOSE, n, k]
            if not whose:
                break
            if whose < 0 or slot[MASK, n, k] & ~node[FREE, n]:
                continue
            known = False
            for j in range(count):
                known = known or found[j] == whose
            if not known:
                found[count] = whose
                count += 1
    return count


@njit(cache=True)
def is_ready(node: Ints, slot: Ints, nodes: Ints, masks: Ints, whose: int, until_ms: int) -> bool:
    """Whether all cards of a claim are free now, and nobody else's claim on them begins before then."""
    for i in range(nodes.size):
        n = nodes[i]
        if masks[i] & ~node[FREE, n]:
            return False
        for k in range(slot.shape[2]):
            if not slot[WHOSE, n, k]:
                break
            if slot[WHOSE, n, k] != whose and slot[MASK, n, k] & masks[i] and slot[FROM, n, k] < until_ms:
                return False
    return True
