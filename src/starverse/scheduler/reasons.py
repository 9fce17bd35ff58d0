"""Why a job waits: every cause with its counts, and the smallest change that would start it now."""

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from starverse.model.units import SECOND_MS, format_yuan
from starverse.money.ledger import WALLET
from starverse.money.meter import hold_for
from starverse.scheduler import kernels as k
from starverse.scheduler import limits
from starverse.scheduler.calendar import place
from starverse.scheduler.kernels import NEVER, Ints
from starverse.scheduler.line import Line, Request, Stand
from starverse.scheduler.space import NOTHING_ELSE, Space
from starverse.scheduler.view import View


class Cause(Struct, frozen=True):
    """One cause: a code for programs, a sentence for people."""

    code: str
    text: str


class Reason(Struct, frozen=True):
    """All causes why a job waits, what would start it now ("" if nothing small would), and when it starts at
    the latest (0 if no start is promised)."""

    causes: tuple[Cause, ...]
    change: str = ""
    promised_ms: int = 0


def why_waiting(view: View, job: str, now_ms: int, not_before_ms: int = 0) -> Reason:
    """The reason for a waiting job; the view is the same afterwards.

    A change is offered only when it alone is enough.
    """
    spec = view.jobs[job].spec
    causes: list[Cause] = []
    change = ""
    if not_before_ms > now_ms:
        asked = not_before_ms == spec.earliest_start_ms
        text = "It was asked to start" if asked else "It failed and is tried again"
        wait_s = -(-(not_before_ms - now_ms) // SECOND_MS)
        causes.append(Cause("earliest-start" if asked else "backoff", f"{text} in {wait_s} s."))
    line, space = view.lines.get(spec.kind), view.spaces.get(spec.kind)
    stand = line.stands.get(job) if line else None
    if line and stand:
        ahead = _ahead(line, stand)
        if ahead:
            causes.append(Cause("queue", f"{_counted(ahead, 'job stands', 'jobs stand')} before it."))
    if space is None:
        causes.append(Cause("cards", f"There is no node with {spec.kind} cards."))
    elif line and stand:
        sight = _Sight(space, line.requests[stand.number], now_ms)
        if not sight.fits():
            causes += sight.causes(spec.kind)
            change = sight.change()
    short = hold_for(spec.price, spec.cards_min, view.terms.least_ms) - view.accounts.get(
        WALLET + spec.tenant, 0
    )
    if short > 0:
        amount = format_yuan(-(-short // _SHOWN) * _SHOWN)
        change = "" if causes else f"Top up {amount} or more."
        causes.append(Cause("wallet", f"The wallet is {amount} short of the shortest lease."))
    if line and stand:
        found = limits.causes(
            view.limits, view.bookings, space, spec.tenant, line.requests[stand.number], now_ms
        )
        causes += [Cause(*cause) for cause in found]
    promise = view.promises.get(job)
    return Reason(tuple(causes), change, promise.at_ms if promise else 0)


class _Sight:
    """The cluster as one request sees it now."""

    def __init__(self, space: Space, request: Request, now_ms: int) -> None:
        self.space = space
        self.request = request
        self.now_ms = now_ms

    def room(self, request: Request) -> Ints:
        """How many members of a request each node could take now."""
        space = self.space
        room = np.zeros(space.size, np.int64)
        need = np.array(request.need, np.int64) if request.need else NOTHING_ELSE
        args = space.node, space.card, space.slot, space.stock, need, space.size, request.member
        k.room(*args, self.now_ms + request.length_ms, request.below, room)
        return room

    def fits(self, request: Request | None = None) -> bool:
        """Whether it could start now."""
        request = request or self.request
        room = self.room(request)
        return bool(room.sum() >= request.least and place(self.space, room, request.least, request))

    def causes(self, kind: str) -> list[Cause]:
        """What is there, what is missing, and what the rest is doing."""
        space, request = self.space, self.request
        size = space.size
        node = space.node[:, :size]
        need = request.least * request.member
        free = int(node[k.COUNT].sum())
        whole = int(np.bitwise_count(node[k.HEALTHY]).sum())
        closed = int(np.bitwise_count(node[k.HEALTHY] & ~node[k.USED])[node[k.OPEN] == 0].sum())
        kept = free - int(self.room(replace(request, member=1, need=())).sum())
        parts = [f"{free} {'is' if free == 1 else 'are'} free"]
        if closed:
            nodes = _counted(int((node[k.OPEN] == 0).sum()), "node")
            parts.append(f"{closed} more on {nodes} closed to new runs")
        if kept:
            parts.append(f"{kept} of them kept for jobs that were promised a start")
        causes = [Cause("cards", f"It needs {_counted(need, f'{kind} card')} at once; {', '.join(parts)}.")]
        room = self.room(request)
        if need <= free - kept and request.member > 1:
            most = int(room.max(initial=0)) * request.member
            text = f"Each {request.member} must lie on one node; the most on one is {most}."
            causes.append(Cause("block", text))
        elif need <= free - kept:
            causes.append(Cause("shape", "The free cards do not lie as it asks."))
        if need > whole:
            text = f"Only {whole} healthy cards are here, so no start can be promised."
            causes.append(Cause("never", text))
        return causes

    def change(self) -> str:
        """The smallest single change that would start it now: fewer cards, a shorter limit, a wider level."""
        request = self.request
        room = self.room(request)
        for least in range(min(request.least - 1, int(room.sum())), 0, -1):
            if self.fits(replace(request, least=least, most=least)):
                return f"It would start now with {_counted(least * request.member, 'card')}."
            if request.least - least > _TRIES:
                break
        if request.rule.require >= 0:
            looser = replace(request, rule=request.rule._replace(require=-1))
            if self.fits(looser):
                return f"It would start now without `require={request.shape.require}`."
        claims = self.space.node[k.SOONEST, : self.space.size]
        for until_ms in np.unique(claims[(claims > self.now_ms) & (claims < NEVER)])[::-1][:_TRIES].tolist():
            shorter = replace(request, length_ms=until_ms - self.now_ms)
            if self.fits(shorter):
                minutes = (until_ms - self.now_ms) // (60 * SECOND_MS)
                limit = _counted(minutes, "minute")
                return f"It would start now with a time limit of {limit}." if minutes else ""
        return ""


def _ahead(line: Line, stand: Stand) -> int:
    rank = line.requests[stand.number].rank
    return sum(
        (line.requests[other.number].rank, other.order) < (rank, stand.order)
        for other in line.stands.values()
    )


_TRIES = 64
"""So many smaller counts, or shorter limits, are tried."""

_SHOWN = 100
"""Micro-yuan in the last digit that is shown: what is asked for is rounded up to it, so that it is enough."""


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
