"""When a gang could start, if all that runs now stays as long as it may: the cards, and the moment."""

from typing import NamedTuple

import numpy as np

from starverse.scheduler import kernels as k
from starverse.scheduler import later
from starverse.scheduler.bookings import lowest
from starverse.scheduler.kernels import Ints
from starverse.scheduler.line import Request
from starverse.scheduler.lot import Lot
from starverse.scheduler.placement import Chosen, torus, tree
from starverse.scheduler.space import Space

_LONGER = 2
"""Moments are looked at up to so many times the wait of the last request like it: what is far off is left
out, unless too few are found so."""


class Slot(NamedTuple):
    """Cards that are free for long enough from `at_ms` on."""

    at_ms: int
    lot: Lot


def place(space: Space, room: Ints, want: int, request: Request) -> Chosen | None:
    """The nodes for so many members of a request, None when they do not fit by its rule."""
    topology = space.topology
    if topology.torus_level >= 0:
        return torus.place(topology, room, want, request.rule)
    return tree.place(topology, room, want, request.rule)


def earliest(space: Space, request: Request, from_ms: int, below: int) -> Slot | None:
    """The earliest moment from `from_ms` on at which the least of a request can start, and where, minding the
    claims of those numbered `below`.

    None if it never can: too few healthy cards on open nodes, or none that lie as they must.
    """
    like = request.member, request.least.bit_length()
    guess_ms = from_ms + _LONGER * (space.starts_ms.get(like, from_ms) - from_ms)
    times = _moments(space, request, from_ms, below, guess_ms)
    if times.size < request.least:
        times = _moments(space, request, from_ms, below)
        if times.size < request.least:
            return None
    at_ms = int(np.partition(times, request.least - 1)[request.least - 1])
    space.starts_ms[like] = at_ms
    slot = _at(space, request, at_ms, below)
    if slot:
        return slot
    times = _moments(space, request, from_ms, below)
    ends = space.slot[k.TO, : space.size][space.slot[k.WHOSE, : space.size] != 0]
    rest = np.concatenate([times, space.card[k.ENDS, : space.size].ravel(), ends])
    return _first(space, request, np.unique(rest[rest > at_ms]), below)


def instead(space: Space, request: Request, slot: Slot) -> Slot | None:
    """The same start with other cards for those of a claim that are not free any more, if there are some that
    nobody has a claim on in that time."""
    free, room = np.empty((2, space.size), np.int64)
    span = slot.at_ms, slot.at_ms + request.length_ms
    total = later.free_in(space.node, space.card, space.slot, request.member, *span, free, room)
    nodes, masks = slot.lot.nodes, slot.lot.masks
    keeps = masks & ~free[nodes] == 0
    nodes, masks = nodes[keeps], masks[keeps]
    missing = request.least - int((np.bitwise_count(masks) // request.member).sum())
    if missing <= 0:
        return slot
    if total - int(room[nodes].sum()) < missing:
        return None
    room[nodes] = 0
    chosen = place(space, room, missing, request)
    if chosen is None:
        return None
    cards = zip(free[chosen.nodes].tolist(), (chosen.members * request.member).tolist(), strict=True)
    nodes = np.concatenate([nodes, chosen.nodes])
    masks = np.concatenate([masks, np.array([lowest(mask, count) for mask, count in cards], np.int64)])
    order = nodes.argsort()
    return Slot(slot.at_ms, Lot(nodes[order], masks[order]))


def _moments(
    space: Space, request: Request, from_ms: int, below: int, most_ms: int = int(k.NEVER) - 1
) -> Ints:
    """When members of a request could start, in no order; none of them after `most_ms`."""
    times = np.empty(space.size * space.card.shape[2] + 1, np.int64)
    args = space.size, request.member, from_ms, request.length_ms, below, most_ms, times
    return times[: later.moments(space.node, space.card, space.slot, space.busy(below), *args)]


def _first(space: Space, request: Request, times: Ints, below: int) -> Slot | None:
    """The first of these moments, in order, at which it fits: found by doubling steps, then halving them.

    What comes free stays free, reservations excepted; there the answer may be later than the very first.
    """
    low, step = -1, 1
    slot = None
    while low + 1 < times.size:
        at = min(low + step, times.size - 1)
        slot = _at(space, request, int(times[at]), below)
        if slot:
            break
        low, step = at, 2 * step
    if slot is None:
        return None
    high = at
    while high - low > 1:
        middle = (low + high) // 2
        found = _at(space, request, int(times[middle]), below)
        if found:
            high, slot = middle, found
        else:
            low = middle
    return slot


def _at(space: Space, request: Request, at_ms: int, below: int) -> Slot | None:
    """The place of the least of a request at a moment."""
    room = np.empty(space.size, np.int64)
    args = space.size, request.member, at_ms, request.length_ms, below
    arrays = space.node, space.card, space.slot, space.busy(below)
    if later.room_at(*arrays, *args, room) < request.least:
        return None
    chosen = place(space, room, request.least, request)
    if chosen is None:
        return None
    masks = np.empty_like(chosen.nodes)
    cards = chosen.members * request.member
    span = at_ms, request.length_ms, below
    later.pick_at(*arrays, chosen.nodes, cards, *span, masks)
    return Slot(at_ms, Lot(chosen.nodes, masks))
