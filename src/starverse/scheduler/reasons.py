"""Why a job waits: every cause with its counts, and the smallest change that would start it now."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from starverse.model.events import ASKED_TO_GO_ON, PLATFORM_FAULT
from starverse.model.job import JobSpec
from starverse.model.reservation import say_time
from starverse.model.units import SECOND_MS, format_cards, format_duration, format_yuan
from starverse.money.ledger import WALLET
from starverse.money.meter import hold_for
from starverse.scheduler import changes, limits
from starverse.scheduler.placement.blocks import fits_by_level, largest_block, sentence
from starverse.scheduler.sight import Sight
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
    """The reason for a waiting job; nothing of the view is touched.

    A change is offered only when it alone is enough, as far as nobody who stands before the job would gain
    by it as well.
    """
    spec = view.jobs[job].spec
    if job in view.lacks or job in view.full:
        return Reason(tuple(_outside(view, job, spec)))
    causes = list(_of_time(spec, view.jobs[job].why, now_ms, not_before_ms))
    change = ""
    line, space = view.lines.get(spec.kind), view.spaces.get(spec.kind)
    stand = line.stands.get(job) if line else None
    promise = view.promises.get(job)
    promised_ms = promise.at_ms if promise else 0
    has = view.accounts.get(WALLET + spec.tenant, 0)

    def lacks(milli_cards: int) -> int:
        return max(hold_for(spec.price, milli_cards, view.terms.least_ms) - has, 0)

    if line and stand:
        rank = line.requests[stand.number].rank
        ahead = line.standing.before(rank, stand.tenant, stand.order, view.shares.key)
        if ahead:
            causes.append(Cause("queue", f"{_counted(ahead, 'job stands', 'jobs stand')} before it."))
    if space is None:
        causes.append(Cause("cards", f"There is no node with {spec.kind} cards."))
    elif line and stand and not spec.reservation:
        sight = Sight(space, line.requests[stand.number], now_ms, promise)
        if not sight.fits():
            causes += _of_cards(view, spec, sight, promised_ms)
            change = changes.smallest(view, spec, sight, lambda milli_cards: not lacks(milli_cards))
    short = lacks(spec.cards_min)
    if short:
        amount = format_yuan(-(-short // _SHOWN) * _SHOWN)
        change = change if causes else f"Top up {amount} or more."
        causes.append(Cause("wallet", f"The wallet is {amount} short of the shortest lease."))
    if line and stand and space:
        request = line.requests[stand.number]
        found = limits.causes(view.limits, view.bookings, space, spec.tenant, request, now_ms)
        causes += [Cause(*cause) for cause in found]
        change = change if all(code == "resources" for code, _ in found) else ""
        if not causes:
            causes.append(
                Cause("promise", "Its cards are not kept together for it before its promised start.")
            )
    return Reason(tuple(causes), change, promised_ms)


def why_paused(spec: JobSpec, code: str, why: str, has_room: bool) -> Reason:
    """The reason for a paused job: what a person is to do, and the limit of its array, where that has no room
    for it, so that it would wait on all the same."""
    causes = [Cause(code or "paused", why)]
    if not has_room:
        limit = _counted(spec.array_limit, "job")
        causes.append(Cause("array", f"Its array is full as well: of it at most {limit} may run at once."))
    return Reason(tuple(causes))


def _outside(view: View, job: str, spec: JobSpec) -> Iterator[Cause]:
    """Of a job that does not stand in line yet."""
    for after in spec.after:
        if after.job in view.lacks.get(job, ()):
            what = "job" if after.job in view.jobs else "array"
            ended = "ended well" if after.ok else "ended"
            yield Cause("after", f"It comes after {what} {after.job}, which has not {ended} yet.")
    if job in view.full:
        limit = spec.array_limit
        yield Cause("array", f"Of its array at most {_counted(limit, 'job')} may run at once.")


def _of_time(spec: JobSpec, why: str, now_ms: int, not_before_ms: int) -> Iterator[Cause]:
    """Of a job that may not start yet; `why` it waits again."""
    if not_before_ms > now_ms:
        asked = not_before_ms == spec.earliest_start_ms
        if asked:
            text = "It was asked to start"
        elif why.startswith(PLATFORM_FAULT):
            text = "The platform failed it, again and again; it is tried again"
        elif why == ASKED_TO_GO_ON:
            text = "It saved nothing new before it asked to go on; it goes on"
        else:
            text = "It failed and is tried again"
        wait_s = -(-(not_before_ms - now_ms) // SECOND_MS)
        yield Cause("earliest-start" if asked else "backoff", f"{text} in {wait_s} s.")


# -- cards ------------------------------------------------------------------------------------------------


def _of_cards(view: View, spec: JobSpec, sight: Sight, promised_ms: int) -> Iterator[Cause]:
    """What is there, what the rest is doing, how it lies, and what else is lacking."""
    request = sight.request
    need = request.least * request.member
    free = sight.cards()
    if request.part:
        what = f"It needs {format_cards(request.part)} of one {spec.kind} card"
        most = view.spaces[spec.kind].most_left
        there = f"at most {format_cards(most)} of one is free"
        if sight.most_left() < min(most, request.part):
            there += ", kept for promised or reserved starts"
    else:
        what = f"It needs {_counted(need, f'{spec.kind} card')} at once"
        there = f"{free} {'is' if free == 1 else 'are'} free"
    rest = ", ".join([there, *_others(view, spec, sight)])
    yield Cause("cards", f"{what}; {rest}{_block(sight)}.")
    if free >= need and not sight.fits(replace(request, need=())):
        yield _of_shape(sight)
    whole = view.whole(spec.kind)
    never = whole.never(request) if whole else ""
    if never:
        yield Cause("never", f"It can never start on the nodes there are. {never}")
    elif not promised_ms and sight.at_best() < need:
        best = f"Even when all that runs has ended, only {sight.at_best()} could be had"
        until_ms = _rested_ms(_resting(view, spec, sight), need - sight.at_best())
        so = f"before {say_time(until_ms)}; no start is promised until then" if until_ms else ""
        yield Cause("no-start", f"{best} {so}." if so else f"{best}, so no start is promised.")


def _others(view: View, spec: JobSpec, sight: Sight) -> Iterator[str]:
    """The cards that it cannot have now, by why."""
    cordoned = lost = 0
    resting = _resting(view, spec, sight)
    for name, cards in sight.closed():
        node = view.nodes.get(name)
        if node and node.kind == spec.kind and node.lost:
            lost += cards
        elif node and node.kind == spec.kind and node.cordoned:
            cordoned += cards
    nodes = view.nodes.values()
    broken = sum(node.broken.bit_count() for node in nodes if node.broken and node.kind == spec.kind)
    kept, reserved = sight.kept()
    for count, words in ((cordoned, "cordoned"), (lost, "lost"), (broken, "broken")):
        if count:
            yield f"{count} {words}"
    if resting:
        yield f"{sum(resting.values())} resting until {say_time(min(resting))}"
    for count, words in ((reserved, "reserved"), (kept, "kept for promised starts")):
        if count:
            in_ms = sight.claimed_in_ms(is_reserved=words == "reserved")
            yield f"{count} {words} {'in ' + format_duration(in_ms) if in_ms else 'by now'}"


def _resting(view: View, spec: JobSpec, sight: Sight) -> dict[int, int]:
    """The cards of nodes that only rest, by when the rest is over."""
    found: dict[int, int] = {}
    for name, cards in sight.closed():
        node = view.nodes.get(name)
        if node and node.kind == spec.kind and not (node.lost or node.cordoned):
            found[node.rests_until_ms] = found.get(node.rests_until_ms, 0) + cards
    return found


def _rested_ms(resting: dict[int, int], cards: int) -> int:
    """When so many cards have rested, 0 where so many never do."""
    for until_ms in sorted(resting):
        cards -= resting[until_ms]
        if cards <= 0:
            return until_ms
    return 0


def _block(sight: Sight) -> str:
    """The most cards in one of the domains that it must lie in."""
    request, topology = sight.request, sight.space.topology
    if request.part:
        return ""
    level = request.rule.require
    room = sight.room(request)
    if level >= 0:
        most = largest_block(topology, room, level, request.rule) * request.member
        return f"; largest block {most} in one {(*topology.levels, 'node')[level]}"
    if request.member > 1:
        cards = sight.room(replace(request, member=1, need=()))
        return f"; largest block {int(cards.max(initial=0))} on one node"
    return ""


def _of_shape(sight: Sight) -> Cause:
    """Cards enough, but not as it asks."""
    request, topology = sight.request, sight.space.topology
    room, rule = sight.room(request), request.rule
    names = (*topology.levels, "node")
    if int(room.sum()) < request.least:
        return Cause("block", f"Each {request.member} must lie on one node.")
    if rule.slices:
        fits = sentence(topology, fits_by_level(topology, room, request.least, rule.slices))
        return Cause("shape", f"The free cards lie apart: {fits}.")
    if rule.require >= 0:
        return Cause("block", f"All must lie in one {names[rule.require]}.")
    return Cause("shape", "The free cards do not lie as it asks.")


_SHOWN = 100
"""Micro-yuan in the last digit that is shown: what is asked for is rounded up to it, so that it is enough."""


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
