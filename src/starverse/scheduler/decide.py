"""First come, first served, gangs whole: who starts now."""

from collections import deque

from starverse.model.allocation import Share
from starverse.model.job import JobSpec
from starverse.model.units import CARD
from starverse.money.lease import lease_for
from starverse.money.ledger import WALLET
from starverse.money.meter import hold_for
from starverse.scheduler.plan import NOTHING, Memo, Place, Plan, Unpaid
from starverse.scheduler.space import Space
from starverse.scheduler.view import View


def decide(view: View, memo: Memo, now_ms: int) -> tuple[Plan, Memo]:
    """The plan for this instant, and what was proven on the way.

    In each kind of card, jobs start in order of submission; one that doesn't fit holds up those behind it, so
    that nothing starves. An elastic job starts with all that is free, up to its most. A job whose wallet
    cannot pay steps aside. The view is the same afterwards: cards are taken only to be given back.
    """
    cycle = None
    for kind, queue in view.queues.items():
        if not queue:
            continue
        space = view.spaces.get(kind)
        if space is None or memo.get(kind) == (queue[0], space.changes):
            continue
        cycle = cycle or _Cycle(view)
        blocked = cycle.serve(queue, space)
        if blocked:
            memo = {**memo, kind: (blocked, space.changes)}
    if cycle is None or not (cycle.places or cycle.unpaid):
        return NOTHING, memo
    return Plan(tuple(cycle.places), tuple(cycle.unpaid)), memo


class _Cycle:
    """The scratch space of one decision: what it has given away so far."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.places: list[Place] = []
        self.unpaid: list[Unpaid] = []
        self.spent: dict[str, int] = {}

    def serve(self, queue: deque[str], space: Space) -> str:
        """Serve one queue in order; returns the job that does not fit, "" if none. The space is unchanged."""
        tried: list[Share] = []
        last: tuple[Share, ...] = ()
        blocked = ""
        for job in queue:
            for share in last:  # taken only when another job comes after, which is seldom
                space.take(share.node, share.mask)
                tried.append(share)
            last = ()
            spec = self.view.jobs[job].spec
            if spec.cards_min > space.free * CARD:
                blocked = job
                break
            last = self._place(job, spec, space)
        for share in tried:
            space.undo(share.node, share.mask)
        return blocked

    def _place(self, job: str, spec: JobSpec, space: Space) -> tuple[Share, ...]:
        tenant = spec.tenant
        terms = self.view.terms
        money = self.view.accounts.get(WALLET + tenant, 0) - self.spent.get(tenant, 0)
        milli_cards = min(spec.cards_max, space.free * CARD)
        lease_ms, hold = lease_for(money, spec.price, milli_cards, terms)
        if not lease_ms and milli_cards > spec.cards_min:
            milli_cards = spec.cards_min
            lease_ms, hold = lease_for(money, spec.price, milli_cards, terms)
        if not lease_ms:
            self.unpaid.append(Unpaid(job, hold_for(spec.price, spec.cards_min, terms.least_ms), money))
            return ()
        shares = space.find(milli_cards // CARD)
        if hold:
            self.spent[tenant] = self.spent.get(tenant, 0) + hold
        self.places.append(Place(job, shares, milli_cards, lease_ms, hold))
        return shares
