"""The calendar of bookings: which cards one can have, what could be had instead, and what replaces a loss."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from starverse.model.job import JobSpec
from starverse.model.reservation import AHEAD_MAX_MS, Reservation, Window, windows_of
from starverse.model.units import CARD
from starverse.scheduler import kernels as k
from starverse.scheduler.bookings import Booking, lowest
from starverse.scheduler.calendar import place
from starverse.scheduler.kept import KEPT
from starverse.scheduler.kernels import Ints
from starverse.scheduler.line import Request, request_of
from starverse.scheduler.lot import Lot
from starverse.scheduler.space import Space
from starverse.scheduler.view import View

_TRIES = 64
"""So many smaller sizes are tried for a counter-offer."""


class Booked(NamedTuple):
    """The cards, the same each time, and all the times."""

    lot: Lot
    windows: tuple[Window, ...]


class Offer(NamedTuple):
    """What could be had instead: all of it from `at_ms` on (0: never), or `milli_cards` at the time asked."""

    at_ms: int
    milli_cards: int


def book(view: View, ask: Reservation, now_ms: int) -> Booked | Offer:
    """The cards for a booking that nobody else has then, or a counter-offer. Raises BadInput (windows_of)."""
    windows = windows_of(ask, now_ms)
    space = view.spaces.get(ask.kind)
    if space is None:
        return Offer(0, 0)
    request = _request(ask, space)
    lot = _lot(view, space, request, request.least, windows, now_ms)
    if lot:
        return Booked(lot, windows)
    at_ms = 0 if ask.repeat else _nearest(view, space, request, windows[0], now_ms)
    return Offer(at_ms, _largest(view, space, request, windows, now_ms) * request.member * CARD)


def _request(ask: Reservation, space: Space) -> Request:
    spec = JobSpec(
        "", ask.tenant, ask.milli_cards, ask.milli_cards, ask.kind, priority="reserved", shape=ask.shape
    )
    return request_of(spec, ask.to_ms - ask.from_ms, False, space)


def _lot(
    view: View, space: Space, request: Request, members: int, windows: Sequence[Window], now_ms: int
) -> Lot | None:
    """The cards for so many members at all these times."""
    masks = free_masks(view, space, windows, now_ms)
    room = np.bitwise_count(masks).astype(np.int64) // request.member
    if not members or room.sum() < members:
        return None
    chosen = place(space, room, members, request)
    if chosen is None:
        return None
    cards = (chosen.members * request.member).tolist()
    picked = [lowest(mask, count) for mask, count in zip(masks[chosen.nodes].tolist(), cards, strict=True)]
    return Lot(chosen.nodes, np.array(picked, np.int64))


def _nearest(view: View, space: Space, request: Request, window: Window, now_ms: int) -> int:
    """The nearest later start at which it fits, 0 for none: found by doubling steps, then halving them, since
    what comes free mostly stays free."""
    length_ms = window[1] - window[0]
    size = space.size
    ends = [space.card[k.ENDS, :size].ravel(), space.slot[k.TO, :size].ravel()]
    ends += [np.array([to_ms for _, to_ms in booking.windows]) for booking in view.bookings.values()]
    times = np.unique(np.concatenate(ends))
    last_ms = now_ms + AHEAD_MAX_MS - length_ms
    times = times[(times > window[0]) & (times <= last_ms)]

    def fits(at: int) -> bool:
        at_ms = int(times[at])
        return _lot(view, space, request, request.least, [(at_ms, at_ms + length_ms)], now_ms) is not None

    low, step = -1, 1
    while low + 1 < times.size:
        high = min(low + step, times.size - 1)
        if fits(high):
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if fits(middle) else (middle, high)
            return int(times[high])
        low, step = high, 2 * step
    return 0


def _largest(view: View, space: Space, request: Request, windows: Sequence[Window], now_ms: int) -> int:
    """The most members that fit at these times, among the first so many that are tried."""
    masks = free_masks(view, space, windows, now_ms)
    most = min(int((np.bitwise_count(masks) // request.member).sum()), request.least - 1)
    for members in range(most, max(0, most - _TRIES), -1):
        if _lot(view, space, request, members, windows, now_ms):
            return members
    return 0


def free_masks(
    view: View, space: Space, windows: Sequence[Window], now_ms: int, besides: Booking | None = None
) -> Ints:
    """The healthy cards of each open node that no run, promise or booking (but one) has at these times."""
    size = space.size
    windows = [window for window in windows if window[1] > now_ms]
    froms = np.array([max(from_ms, now_ms) for from_ms, _ in windows], np.int64)
    tos = np.array([to_ms for _, to_ms in windows], np.int64)
    busy = np.zeros(size, np.int64)
    for c in range(space.card.shape[2]):
        bit = space.node[k.USED, :size] & np.int64(1 << c)
        busy |= np.where(space.card[k.ENDS, :size, c] > froms[0], bit, 0)
    for s in range(space.slot.shape[2]):
        slot = space.slot[:, :size, s]
        at = np.searchsorted(tos, slot[k.FROM], side="right")
        meets = ((slot[k.WHOSE] > 0) | (slot[k.WHOSE] <= -KEPT)) & (at < tos.size)
        meets &= froms[np.minimum(at, tos.size - 1)] < slot[k.TO]
        busy |= np.where(meets, slot[k.MASK], 0)
    for other in view.bookings.values():
        if other.space is space and other is not besides and other.meets(froms, tos):
            np.bitwise_or.at(busy, other.lot.nodes, other.lot.masks)
    open_ = np.where(space.node[k.OPEN, :size] != 0, space.node[k.HEALTHY, :size], 0)
    return np.asarray(open_ & ~busy, np.int64)


def mend(view: View, booking: Booking, now_ms: int) -> tuple[Lot, int]:
    """The cards of a booking with equal nodes for those that were lost, and how many cards are missing still.

    What is lost of a node is replaced on one other node, by the same count of cards; where the shape asks for
    one domain, within it.
    """
    space, lot = booking.space, booking.lot
    whole = np.where(space.node[k.OPEN, lot.nodes] != 0, space.node[k.HEALTHY, lot.nodes], 0)
    kept = (lot.masks & ~whole) == 0
    spare = free_masks(view, space, booking.windows, now_ms, booking)
    spare[lot.nodes] = 0
    level = space.topology.level(booking.reservation.shape.require)
    if 0 <= level < len(space.topology.levels) and kept.any():
        domains = space.topology.domain[level, : space.size]
        spare[domains != domains[lot.nodes[kept][0]]] = 0
    nodes, masks, missing = lot.nodes.copy(), lot.masks.copy(), 0
    counts = np.bitwise_count(spare).astype(np.int64)
    for i in np.flatnonzero(~kept).tolist():
        count = int(lot.masks[i]).bit_count()
        fitting = np.flatnonzero(counts >= count)
        if not fitting.size:
            missing += count - (int(lot.masks[i]) & int(whole[i])).bit_count()
            continue
        best = int(fitting[np.argmin(counts[fitting])])
        nodes[i], masks[i] = best, lowest(int(spare[best]), count)
        counts[best] = 0
    return Lot(nodes, masks), missing
