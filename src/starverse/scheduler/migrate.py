"""Small runs that move to other cards, so that a job which needs a whole domain does not wait for them."""

from collections.abc import Callable

import numpy as np

from starverse.model.units import CARD, HOUR_MS, MINUTE_MS
from starverse.scheduler import kernels as k
from starverse.scheduler.book import Book
from starverse.scheduler.calendar import Slot, place
from starverse.scheduler.kept import KEPT
from starverse.scheduler.kernels import NEVER, Ints
from starverse.scheduler.line import Line, Request
from starverse.scheduler.lot import Lot
from starverse.scheduler.moves import Moves
from starverse.scheduler.plan import Move
from starverse.scheduler.preempt import HEADS, InVain, Running, Victims, evict
from starverse.scheduler.space import NOTHING_ELSE, Space
from starverse.scheduler.view import View

MOVES_MOST = 4
"""So many runs at most move for one job."""

NODES_MOST = 2
"""A run on more nodes than these is not moved."""

REST_MS = HOUR_MS
"""A run is not moved before it has been where it is for so long."""

FAR_MS = 10 * MINUTE_MS
"""Nobody moves for a job that would gain less."""

_DOMAINS = 4
"""So many domains are looked at closely for one job: those that lack fewest members."""


def is_wanted(view: View, kind: str) -> bool:
    """Whether somebody among the first in line needs a domain of its own."""
    line, order = view.lines.get(kind), view.order.get(kind, ())
    if line is None or not line.bound:
        return False
    stands = (line.stands.get(view.promised[number]) for number in order[:HEADS])
    return any(line.requests[stand.number].rule.require >= 0 for stand in stands if stand)


def clear(
    view: View,
    kind: str,
    space: Space,
    line: Line,
    book: Book,
    moves: Moves,
    can_pay: Callable[[str, Request], bool],
) -> None:
    """Have small runs move out of a domain for the first in line that requires one and starts far later.

    All that move are placed again at once, on idle cards that are kept for them. What is gained, the cards of
    the job (milli-cards) times the time that it starts earlier, must be more than what is lost: for each run
    that moves, its cards times what it loses (`Moves.lost_ms`).
    """
    for promise in book.in_order(HEADS):
        request = line.requests[line.stands[promise.job].number]
        starts_ms = moves.now_ms + view.terms.grace_ms
        gains_ms = promise.at_ms - starts_ms
        if request.rule.require < 0 or promise.lot is None or gains_ms < FAR_MS:
            continue
        if view.limits.binds(request) or not can_pay(promise.job, request):
            continue
        mark = book.drop(promise)
        number = -(KEPT | line.stands[promise.job].order)
        lot = _cleared(moves, kind, space, request, gains_ms, number)
        if lot is not None:
            book.keep(promise, request, Slot(starts_ms, lot))
            return
        book.take_back(mark)


def _cleared(
    moves: Moves, kind: str, space: Space, request: Request, gains_ms: int, number: int
) -> Lot | None:
    """The cards of a domain that few runs stand in the way of, once these have moved; None for none."""
    until_ms = moves.now_ms + moves.view.terms.grace_ms + request.length_ms
    room = _room(space, request, until_ms, request.below)
    if room.sum() < request.least:
        return None
    level, topology = request.rule.require, space.topology
    domains = np.arange(space.size) if level == len(topology.levels) else topology.domain[level, : space.size]
    lacks = request.least - np.bincount(domains, room).astype(np.int64)
    nearest = np.argsort(lacks, kind="stable")[:_DOMAINS].tolist()
    nearest = [domain for domain in nearest if 0 < lacks[domain] <= request.least // 2]
    if not nearest:
        return None
    standing = _standing(moves, kind, domains, set(nearest))
    for domain in nearest:
        runs, shape_of = standing.get(domain, ()), moves.view.limits.shape_of
        found = evict(space, request, until_ms, Victims.among(runs, moves.now_ms), shape_of)
        if isinstance(found, InVain) or len(found.runs) > MOVES_MOST:
            continue
        leave = [moves.view.small[kind][name][0] for name in found.runs]
        lost = sum(moves.lost_ms(run) * run.milli_cards for run in leave)
        if lost < request.milli_cards * gains_ms and _moved(moves, space, leave, found.lot, until_ms, number):
            return found.lot
    return None


def _standing(
    moves: Moves, kind: str, domains: Ints, wanted: set[int]
) -> dict[int, list[tuple[Running, Lot]]]:
    """The runs that may move, by the domain they stand in."""
    found: dict[int, list[tuple[Running, Lot]]] = {}
    for run, lot in moves.view.small[kind].values():
        domain = int(domains[lot.nodes[0]])
        if domain in wanted and not run.stop_why and run.run not in moves:
            if moves.now_ms < run.placed_ms + REST_MS:
                moves.later(run.placed_ms + REST_MS)
            else:
                found.setdefault(domain, []).append((run, lot))
    return found


def _moved(moves: Moves, space: Space, runs: list[Running], lot: Lot, until_ms: int, number: int) -> bool:
    """Have all of these go on elsewhere than on this lot, or none of them."""
    space.claim(lot, 0, until_ms, number)
    for done, run in enumerate(runs):
        other = elsewhere(moves, run, space, moves.request(run, space), run.milli_cards)
        if other is None:
            for before in runs[:done]:
                moves.drop(before.run)
            break
        moves.keep(run, space, other, Move(run.run, space.shares(other), "migrate"))
    space.forget(lot, number)
    return runs[-1].run in moves


def elsewhere(moves: Moves, run: Running, space: Space, request: Request, milli_cards: int) -> Lot | None:
    """So many idle cards for a run, within all budgets, that are nobody's before it would be over."""
    if request.shape.apart:
        return None
    until_ms = moves.until_ms(run)
    room = _room(space, request, until_ms, int(NEVER))
    if moves.view.limits.power.budgets:
        moves.view.limits.power.cut(space, request.member_milli, room, together=True)
    want = milli_cards // (request.member * CARD)
    chosen = place(space, room, want, request) if want <= room.sum() else None
    if chosen is None:
        return None
    masks = np.zeros_like(chosen.nodes)
    counts = chosen.members * request.member
    k.pick(space.node, space.card, space.slot, chosen.nodes, counts, until_ms, int(NEVER), masks)
    return Lot(chosen.nodes, masks)


def _room(space: Space, request: Request, until_ms: int, below: int) -> Ints:
    need = np.array(request.need, np.int64) if request.need else NOTHING_ELSE
    room = np.zeros(space.size, np.int64)
    args = space.node, space.card, space.slot, space.stock, need, space.size, request.member
    k.room(*args, until_ms, below, room)
    return room
