"""Why a job waits: every cause with its counts, and the smallest change that would start it now."""

from msgspec import Struct

from starverse.model.units import CARD, format_yuan
from starverse.money.ledger import WALLET
from starverse.money.meter import hold_for
from starverse.scheduler.view import View


class Cause(Struct, frozen=True):
    """One cause: a code for programs, a sentence for people."""

    code: str
    text: str


class Reason(Struct, frozen=True):
    """All causes why a job waits, and what would start it now ("" if nothing small would)."""

    causes: tuple[Cause, ...]
    change: str = ""


def why_waiting(view: View, job: str, now_ms: int, not_before_ms: int = 0) -> Reason:
    """The reason for a waiting job; reads the view only."""
    spec = view.jobs[job].spec
    space = view.spaces.get(spec.kind)
    free = space.free if space else 0
    need = spec.cards_min // CARD
    causes: list[Cause] = []
    change = ""
    if not_before_ms > now_ms:
        wait_s = -(-(not_before_ms - now_ms) // 1000)
        causes.append(Cause("backoff", f"It failed and is tried again in {wait_s} s."))
    queue = view.queues.get(spec.kind, ())
    ahead = 0
    for ahead, other in enumerate(queue):  # noqa: B007
        if other == job:
            break
    if ahead:
        causes.append(Cause("queue", f"{ahead} job{'s' * (ahead > 1)} stand{'s' * (ahead == 1)} before it."))
    if need > free:
        causes.append(Cause("cards", f"It needs {need} {spec.kind} cards at once; {free} are free."))
        if free and not ahead:
            change = f"It would start now with {free} card{'s' * (free > 1)}."
    money = view.accounts.get(WALLET + spec.tenant, 0)
    needs = hold_for(spec.price, spec.cards_min, view.terms.least_ms)
    if needs > money:
        short = format_yuan(needs - money)
        causes.append(Cause("wallet", f"The wallet is {short} short of the shortest lease."))
        change = change or f"Top up {short} or more."
    return Reason(tuple(causes), change)
