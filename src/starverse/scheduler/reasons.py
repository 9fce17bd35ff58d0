"""Why a job waits: every cause with its counts, and the smallest change that would start it now."""

from msgspec import Struct

from starverse.model.units import CARD, SECOND_MS, format_yuan
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
    """The reason for a waiting job; reads the view only.

    A change is offered only when it alone is enough.
    """
    spec = view.jobs[job].spec
    terms = view.terms
    space = view.spaces.get(spec.kind)
    free = space.free if space else 0
    need = spec.cards_min // CARD
    queue = view.queues.get(spec.kind, ())
    ahead = next((place for place, other in enumerate(queue) if other == job), 0)
    money = view.accounts.get(WALLET + spec.tenant, 0)
    short = hold_for(spec.price, spec.cards_min, terms.least_ms) - money
    causes: list[Cause] = []
    if not_before_ms > now_ms:
        asked = not_before_ms == spec.earliest_start_ms
        text = "It was asked to start" if asked else "It failed and is tried again"
        wait_s = -(-(not_before_ms - now_ms) // SECOND_MS)
        causes.append(Cause("earliest-start" if asked else "backoff", f"{text} in {wait_s} s."))
    if ahead:
        causes.append(Cause("queue", f"{_counted(ahead, 'job stands', 'jobs stand')} before it."))
    is_free = not causes and not queue and need <= free
    change = ""
    if need > free:
        needed, there = _counted(need, f"{spec.kind} card"), f"{free} {'is' if free == 1 else 'are'} free"
        causes.append(Cause("cards", f"It needs {needed} at once; {there}."))
        if queue and queue[0] == job and free and hold_for(spec.price, free * CARD, terms.least_ms) <= money:
            change = f"It would start now with {_counted(free, 'card')}."
    if short > 0:
        amount = format_yuan(-(-short // _SHOWN) * _SHOWN)
        causes.append(Cause("wallet", f"The wallet is {amount} short of the shortest lease."))
        if is_free:
            change = f"Top up {amount} or more."
    return Reason(tuple(causes), change)


_SHOWN = 100
"""Micro-yuan in the last digit that is shown: what is asked for is rounded up to it, so that it is enough."""


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
