"""What a job must pass besides cards: quotas, licences, power and heat, CPU and memory, neighbours."""

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from starverse.model.job import Shape
from starverse.model.reservation import say_time
from starverse.model.units import CARD, format_cards
from starverse.scheduler import kernels as k
from starverse.scheduler import parts
from starverse.scheduler.bookings import Booking
from starverse.scheduler.calendar import place
from starverse.scheduler.kernels import Ints
from starverse.scheduler.line import Request
from starverse.scheduler.lot import Lot
from starverse.scheduler.placement import Chosen
from starverse.scheduler.power import Power
from starverse.scheduler.quotas import Quota, Quotas
from starverse.scheduler.space import CPU, MEMORY, NOTHING_ELSE, Space

Seek = Callable[[Ints, int], Chosen | None]
"""Finds the nodes for so many members in what room there is."""


class Charge(Struct, frozen=True, gc=False):
    """What a run has of all that is limited."""

    tenant: str
    shape: Shape
    space: Space
    lot: Lot

    @property
    def cards(self) -> Ints:
        """How many cards it has on each node of its lot."""
        return self.lot.counts

    @property
    def milli_cards(self) -> int:
        """How many milli-cards it has."""
        return int(self.cards.sum()) * (self.lot.milli or CARD)


class Limits:
    """All limits and what runs use of them, mutable: owned by the state, and by `decide` for a plan.

    What is not set does not limit, except that a licence nobody set is not there. `loosened` counts the times
    that a class of request could fit that did not before.
    """

    def __init__(self) -> None:
        self.quotas = Quotas()
        self.power = Power()
        self.licences: dict[str, int] = {}
        self.lent: dict[str, int] = {}
        """How many of each licence runs have."""
        self.runs: dict[str, Charge] = {}
        self.loosened = 0
        self._apart: dict[tuple[str, str], Counter[tuple[Space, str, int]]] = {}
        """By tenant and name: the rows of jobs that lie apart, and the level they do so at."""
        self._tried: list[Charge] = []

    # -- setting them -------------------------------------------------------------------------------------

    def set_quota(self, tenant: str, quota: Quota) -> None:
        """Give a tenant a quota."""
        self.loosened += 1
        self.quotas.set(tenant, quota, [(run.tenant, run.milli_cards) for run in self.runs.values()])

    def remove_quota(self, tenant: str) -> None:
        """Nothing limits a tenant any more but what limits all."""
        self.loosened += 1
        self.quotas.remove(tenant, [(run.tenant, run.milli_cards) for run in self.runs.values()])

    def set_licences(self, name: str, count: int) -> None:
        """There are so many of a licence."""
        self.loosened += 1
        self.licences[name] = count

    def set_budget(self, feed: str, milliwatts: int) -> None:
        """A feed gives so much at most; below 0, any."""
        self.loosened += 1
        self.power.set(feed, milliwatts)
        for run in self.runs.values():
            self.power.add(run.space, run.lot, 1)

    # -- asking them --------------------------------------------------------------------------------------

    def members(self, tenant: str, request: Request) -> int:
        """How many members of a request its tenant may start, whatever cards there are."""
        for name, count in request.shape.licences:
            if self.lent.get(name, 0) + count > self.licences.get(name, 0):
                return 0
        if not self.quotas.places:
            return request.most
        return min(request.most, self.quotas.available(tenant) // max(request.member_milli, 1))

    def cuts(self, request: Request) -> bool:
        """Whether it matters for a request beside its own needs which nodes it is given."""
        return bool(self.power.budgets or request.shape.apart)

    def binds(self, request: Request, beside_needs: bool = False) -> bool:
        """Whether a request may have to wait for something that is no card, and (`beside_needs`) none of what
        its members need of their nodes."""
        need = () if beside_needs else request.need
        return bool(self.quotas.places or request.shape.licences or need or self.cuts(request))

    def shape_of(self, run: str) -> Shape:
        """What a run asked for."""
        return self.runs[run].shape

    def choose(
        self, space: Space, tenant: str, request: Request, room: Ints, want: int, seek: Seek
    ) -> tuple[Chosen | None, int]:
        """The nodes for up to so many members, and how many are missing for all tenants alike (0: unknown).

        `room` is lowered to what may be taken together. Each node's feeds are looked at by themselves first:
        that is enough unless the nodes chosen ask for too much of one of them.
        """
        total = self.power.cut(space, request.member_milli, room, together=False)
        if total < request.least:
            return None, request.least - total
        self._keep_apart(space, tenant, request.shape, room)
        chosen = _placed(room, want, request, seek)
        if chosen and not self.power.allows(
            space, chosen.nodes, chosen.members * request.member, request.part
        ):
            self.power.cut(space, request.member_milli, room, together=True)
            chosen = _placed(room, want, request, seek)
        if chosen:
            room[:] = 0
            room[chosen.nodes] = chosen.members
        return chosen, 0

    def allows(self, space: Space, tenant: str, request: Request, lot: Lot) -> bool:
        """Whether a request may have these very cards now, be they free or not."""
        charge = Charge(tenant, request.shape, space, lot)
        members = charge.cards // max(request.member, 1)
        for resource, amount in enumerate(request.need):
            if amount and (space.stock[resource, lot.nodes] < amount * members).any():
                return False
        room = np.ones(space.size, np.int64)
        self._keep_apart(space, tenant, request.shape, room)
        return bool(room[lot.nodes].all()) and self.power.allows(space, lot.nodes, charge.cards, request.part)

    def _keep_apart(self, space: Space, tenant: str, shape: Shape, room: Ints) -> None:
        """Leave no room where jobs lie that want to be apart from this one, or it from them."""
        for other, level, row in self._apart.get((tenant, shape.apart), ()) if shape.apart else ():
            if other is space:
                for name in (level, shape.apart_level):
                    room[_domain(space, name, row)] = 0

    # -- counting -----------------------------------------------------------------------------------------

    def take(self, run: str, charge: Charge) -> None:
        """A run has this."""
        self.runs[run] = charge
        self._count(charge, 1)

    def give(self, run: str) -> None:
        """A run is over: what it had is free."""
        self._count(self.runs.pop(run), -1)
        self.loosened += 1

    def attempt(self, charge: Charge) -> None:
        """Count what a plan gives away, until it is taken back."""
        self._tried.append(charge)
        self._count(charge, 1)

    def take_back(self) -> None:
        """Undo all that was tried."""
        while self._tried:
            self._count(self._tried.pop(), -1)

    def _count(self, charge: Charge, sign: int) -> None:
        shape, space, lot = charge.shape, charge.space, charge.lot
        if self.quotas.places:
            self.quotas.add(charge.tenant, sign * charge.milli_cards)
        if self.power.budgets:
            self.power.add(space, lot, sign)
        for name, count in shape.licences:
            self.lent[name] = self.lent.get(name, 0) + sign * count
        if shape.milli_cpu or shape.memory_mb or shape.needs:
            needs = ((CPU, shape.milli_cpu), (MEMORY, shape.memory_mb), *shape.needs)
            space.use(lot, max(1, shape.member // CARD), needs, sign)
        if shape.apart:
            rows = self._apart.setdefault((charge.tenant, shape.apart), Counter())
            for row in lot.nodes.tolist():
                rows[space, shape.apart_level, row] += sign
                if not rows[space, shape.apart_level, row]:
                    del rows[space, shape.apart_level, row]

    def over(self) -> dict[str, list[str]]:
        """The feeds that give more than their budget, each with the runs that draw from it, oldest first."""
        feeds = self.power.over()
        return {
            feed: [
                name for name, run in self.runs.items()
                if feed in self.power.draws(run.space, run.lot.nodes, run.cards, run.lot.milli)
            ]
            for feed in feeds
        }  # fmt: skip


def _placed(room: Ints, want: int, request: Request, seek: Seek) -> Chosen | None:
    """The nodes for so many members of a request, or for its least."""
    total = int(room.sum())
    if total < request.least:
        return None
    want = min(want, total)
    chosen = seek(room, want)
    return chosen if chosen or want == request.least else seek(room, request.least)


def _domain(space: Space, level: str, row: int) -> Ints | slice:
    """The rows of the domain at a level that a row lies in."""
    topology = space.topology
    number = topology.level(level)
    if number < 0:
        return slice(None)
    if number == len(topology.levels):
        return np.array(space.rows[space.names[row]], np.int64)
    domains = topology.domain[number, : space.size]
    return np.flatnonzero(domains == domains[row])


# -- saying why -------------------------------------------------------------------------------------------


def causes(
    limits: Limits,
    bookings: Mapping[str, Booking],
    space: Space | None,
    tenant: str,
    request: Request,
    now_ms: int,
) -> list[tuple[str, str]]:
    """Every limit that keeps a request from starting now, as a code and a sentence."""
    found = [*_quota_causes(limits, tenant, request), *_licence_causes(limits, request)]
    if request.inside:
        return [*found, ("reservation", _inside(bookings.get(request.inside), request, now_ms))]
    if space is None or not (request.need or limits.cuts(request)):
        return found
    bare = _room(space, replace(request, need=()), now_ms)
    room = _room(space, request, now_ms)
    if room.sum() < request.least <= bare.sum():
        found.append(("resources", _short_of(space, request, bare)))

    def seek(room: Ints, want: int) -> Chosen | None:
        return place(space, room, want, request)

    if limits.cuts(request) and _placed(room, request.least, request, seek):
        powered = room.copy()
        limits.power.cut(space, request.member_milli, powered, together=True)
        if not _placed(powered, request.least, request, seek):
            found += _power_causes(limits, space, request, room)
        elif not limits.choose(space, tenant, request, room, request.least, seek)[0]:
            text = f"It must share no {request.shape.apart_level} with other jobs apart as"
            found.append(("apart", f"{text} `{request.shape.apart}`."))
    return found


def _quota_causes(limits: Limits, tenant: str, request: Request) -> list[tuple[str, str]]:
    if not limits.quotas.places:
        return []
    left = limits.quotas.available(tenant)
    if left >= request.milli_cards:
        return []
    place = limits.quotas.places[tenant]
    needs, used, nominal = map(format_cards, (request.milli_cards, place.used, place.nominal))
    has = f"{tenant} uses {used} cards and is guaranteed {nominal}"
    return [
        ("quota", f"It needs {needs} of its quota; {has}: {format_cards(max(left, 0))} are left to it now.")
    ]


def _licence_causes(limits: Limits, request: Request) -> list[tuple[str, str]]:
    found = []
    for name, count in request.shape.licences:
        total = limits.licences.get(name, 0)
        left = max(0, total - limits.lent.get(name, 0))
        if left < count:
            found.append(("licence", f"It needs {count} of the licence {name}; {left} of {total} are free."))
    return found


def _inside(booking: Booking | None, request: Request, now_ms: int) -> str:
    window = booking.window(now_ms) if booking else None
    if booking is None or window is None:
        return f"Its reservation {request.inside} is over."
    if now_ms < window[0]:
        return f"Its reservation {request.inside} begins at {say_time(window[0])}."
    free = int(booking.room(request, now_ms, 0).sum()) * request.member
    needs = request.least * request.member
    until = say_time(window[1])
    return f"Of reservation {request.inside} {free} cards are free for it until {until}; it needs {needs}."


def _short_of(space: Space, request: Request, room: Ints) -> str:
    names = {row: name for name, row in space.stocks.items()}
    short = []
    for row, amount in enumerate(request.need):
        if amount:
            members = int(np.minimum(space.stock[row, : space.size] // amount, room).sum())
            if members < request.least:
                short.append(f"of {names[row]} there is enough for {members} of its {request.least} members")
    return f"Where cards are free, {'; '.join(short) or 'not all that it needs is left on one node'}."


def _power_causes(limits: Limits, space: Space, request: Request, room: Ints) -> list[tuple[str, str]]:
    power = limits.power
    cards = room * request.member
    rows = np.flatnonzero(cards)
    found = []
    for feed, draw in sorted(power.draws(space, rows, cards[rows], request.part).items()):
        left = max(0, power.budgets[feed] - power.drawn[feed])
        if left < draw:
            of = f"{_kw(left)} of {_kw(power.budgets[feed])} kW are left"
            found.append(("power", f"Power of {feed}: {of}; the free cards on it would draw {_kw(draw)} kW."))
    return found


def _room(space: Space, request: Request, now_ms: int) -> Ints:
    room = np.zeros(space.size, np.int64)
    need = np.array(request.need, np.int64) if request.need else NOTHING_ELSE
    args = space.node, space.card, space.slot, space.stock, need, space.size
    span = now_ms + request.length_ms, request.below
    if request.shares:
        parts.room(*args, request.part, *span, room)
    else:
        k.room(*args, request.member, *span, room)
    return room


def _kw(milliwatts: int) -> str:
    return f"{milliwatts / 1_000_000:g}"
