"""Room for those that wait: who gives up cards, or leaves, for the first in line, who then has them kept."""

from collections.abc import Callable

from starverse.scheduler.book import Book
from starverse.scheduler.calendar import Slot
from starverse.scheduler.line import Line, Request
from starverse.scheduler.moves import Moves
from starverse.scheduler.plan import Evict, Proven
from starverse.scheduler.preempt import HEADS, YIELDS, InVain, Victims, evict
from starverse.scheduler.resize import Shrinking
from starverse.scheduler.space import Space
from starverse.scheduler.view import View

_FOR_EVER_MS = 1 << 38
"""Who is promised no start gains so much by one: nine years."""


def make_room(
    view: View,
    kind: str,
    space: Space,
    line: Line,
    proven: Proven,
    book: Book,
    moves: Moves,
    can_pay: Callable[[str, Request], bool],
) -> list[Evict]:
    """Have runs shrink or leave for the first in line that would else start later than these can be gone.

    Elastic runs give up cards first; only where that is not enough do others leave. What they free is
    promised to the one they leave for, who so never asks for more of them.
    """
    yielding = view.yielding.get(kind, {})
    shrinking = Shrinking(moves, kind, space)
    evictions: list[Evict] = []
    if not yielding and not shrinking.runs:
        return evictions
    now_ms, grace_ms = moves.now_ms, view.terms.grace_ms
    victims: Victims | None = None
    moved = 0
    for promise in book.in_order(HEADS):
        stand = line.stands[promise.job]
        request = line.requests[stand.number]
        may_evict = (
            bool(yielding)
            and request.rank < YIELDS - 1
            and not _is_vain(proven, space, stand.number, request, now_ms)
        )
        if not may_evict and not shrinking.runs:
            continue
        if promise.lot is None and view.limits.binds(request, beside_needs=True):
            continue  # it may lack something that nobody's leaving gives
        if 0 < promise.at_ms <= now_ms + grace_ms or not can_pay(promise.job, request):
            continue
        mark = book.drop(promise)
        until_ms = now_ms + grace_ms + request.length_ms
        gains_ms = promise.at_ms - now_ms - grace_ms if promise.at_ms else _FOR_EVER_MS
        lot = shrinking.make_room(request, until_ms, gains_ms)
        if lot is None and may_evict:
            if victims is None:
                victims = Victims.among(yielding.values(), now_ms)
            if moves.count > moved:
                victims, moved = victims.without(moves), moves.count
            eviction = evict(space, request, until_ms, victims, view.limits.shape_of)
            if isinstance(eviction, InVain):
                proven.vain[stand.number] = eviction
            else:
                lot = eviction.lot
                victims = victims.without(frozenset(eviction.runs))
                shrinking.leave(eviction.runs)
                evictions += [Evict(run, promise.job) for run in eviction.runs]
        if lot is None:
            book.take_back(mark)
        else:
            book.keep(promise, request, Slot(now_ms + grace_ms, lot))
    return evictions


def _is_vain(proven: Proven, space: Space, number: int, request: Request, now_ms: int) -> bool:
    """Whether nobody's leaving would help a job of this class, by what was proven before."""
    proof = proven.vain.get(number)
    if proof is None or now_ms >= proof.ripe_ms:
        return False
    return space.freed - proof.freed < max(proof.members * request.member, 1)
