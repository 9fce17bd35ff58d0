"""The jobs that wait for cards of one kind: equal requests are one class, each tenant's stand in order."""

from collections import deque
from collections.abc import Container

import numpy as np
from msgspec import Struct

from starverse.model.job import JobSpec, Shape
from starverse.model.units import CARD
from starverse.scheduler.kernels import ORDER_BITS, Ints
from starverse.scheduler.lot import Lot
from starverse.scheduler.owed import Owed, Queue, Turn, put
from starverse.scheduler.placement import Rule
from starverse.scheduler.shares import Shares
from starverse.scheduler.space import Space
from starverse.scheduler.standing import Standing

RANKS = {"reserved": 2, "on-demand": 4, "preemptible": 6}
"""The order of the classes of priority; a job that ran before stands one place higher in its own."""


class Request(Struct, frozen=True, gc=False):
    """What equal jobs ask for: `least` to `most` members of `member` cards, for `length_ms`, by the rule."""

    rank: int
    member: int
    least: int
    most: int
    length_ms: int
    shape: Shape
    rule: Rule
    need: tuple[int, ...] = ()
    inside: str = ""
    """The booking whose cards it takes, and no others."""
    part: int = 0
    """The milli-cards it asks for where that is less than a card; then `member` is one card."""

    @property
    def member_milli(self) -> int:
        """The milli-cards of a member."""
        return self.part or self.member * CARD

    @property
    def milli_cards(self) -> int:
        """The least it asks for."""
        return self.least * self.member_milli

    @property
    def shares(self) -> bool:
        """Whether it needs no card of its own: only a part of one, or none at all."""
        return self.part > 0 or not self.member

    @property
    def packs(self) -> bool:
        """Whether it is one member with needs beside cards: it lies where least becomes unusable."""
        return self.most == 1 and len(self.need) > 0

    @property
    def below(self) -> int:
        """Whose claims it minds when it starts: those of its rank and the ones before it (see `whose`)."""
        return self.rank + 1 << ORDER_BITS


class Stand(Struct, frozen=True, gc=False):
    """Where a job stands: its class, its tenant's number, and its place in the order of submission."""

    number: int
    tenant: int
    order: int


def whose(request: Request, order: int) -> int:
    """The number under which a job has claims: the smaller, the sooner its turn by rank and order."""
    return request.rank << ORDER_BITS | order


Asked = tuple[str, int, int, int, bool, Shape, str]
"""A request in the words of jobs: priority, cards, time left, whether it ran before, shape, booking."""

_EMPTY_KEPT = 256
"""So many classes that became empty last are kept."""


class Line:
    """The waiting jobs of one kind, mutable, owned by the state.

    `requests[q]` is a class, `queues[q]` its jobs by tenant, `fields[:, q]` its member's cards, its
    length, whose claims it minds, its least (0 where free cards alone do not say) and whether it has `needs`
    beside them, for the kernels, `born[q]` the count of classes when it came: a number is used again when
    its class is empty. `owed` holds the jobs that may lack a promise.
    """

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.queues: list[dict[int, Queue]] = []
        self.fields: Ints = np.zeros((5, 16), np.int64)
        self.needs: Ints = np.zeros((16, 2), np.int64)
        self.born: Ints = np.zeros(16, np.int64)
        self.births = 0
        self.stands: dict[str, Stand] = {}
        self.standing = Standing()
        self.before: dict[str, Lot] = {}
        """The cards that a job had which ran before."""
        self.parts: dict[str, None] = {}
        """The jobs that want a part of a card."""
        self.bound = 0
        """How many jobs require a domain of their own."""
        self.owed = Owed()
        self.count: Ints = np.zeros(16, np.int64)
        """How many jobs each class has."""
        self._number: dict[Request, int] = {}
        self._empty: deque[int] = deque()
        """Classes that became empty, the longest ago first; some have jobs again by now."""
        self._asked: dict[Asked, int] = {}
        """The class of each request by the words it was asked for in."""
        self._words: list[list[Asked]] = []

    def add(
        self, job: str, spec: JobSpec, order: int, tenant: int, left_ms: int, again: bool, space: Space
    ) -> None:
        """Let a job wait; `left_ms` of its time limit are left, `again` if it ran before."""
        asked = spec.priority, spec.cards_min, spec.cards_max, left_ms, again, spec.shape, spec.reservation
        number = self._asked.get(asked)
        if number is None:
            number = self._class_of(asked, request_of(spec, left_ms, again, space))
        self.count[number] += 1
        queues = self.queues[number]
        queue = queues.get(tenant)
        if queue is None:
            queue = queues[tenant] = deque()
        put(queue, order, job)
        request = self.requests[number]
        self.stands[job] = Stand(number, tenant, order)
        self.standing.add(job, request.rank, tenant, order)
        self.bound += request.rule.require >= 0
        if request.part:
            self.parts[job] = None
        if not spec.reservation and spec.cards_min:  # the booking is the promise; no card, none to keep
            self.owed.add(request.rank, tenant, order, job)

    def remove(self, job: str) -> None:
        """A job waits no more."""
        stand = self.stands.pop(job)
        self.standing.remove(job)
        self.before.pop(job, None)
        self.parts.pop(job, None)
        number = stand.number
        request = self.requests[number]
        self.bound -= request.rule.require >= 0
        queues = self.queues[number]
        queue = queues[stand.tenant]
        if queue[0][0] == stand.order:
            queue.popleft()
        else:
            queue.remove((stand.order, job))
        self.count[number] -= 1
        self.owed.remove(request.rank, stand.tenant, stand.order)
        if not queue:
            del queues[stand.tenant]
            if not queues:
                self._empty.append(number)

    def _class_of(self, asked: Asked, request: Request) -> int:
        """The class of a request that was asked for in these words for the first time."""
        number = self._number.get(request)
        if number is None:
            number = self._new(request)
        self._words[number].append(asked)
        self._asked[asked] = number
        return number

    def _new(self, request: Request) -> int:
        self.births += 1
        number = self._reusable()
        if number >= 0:
            del self._number[self.requests[number]]
            for asked in self._words[number]:
                del self._asked[asked]
            self._words[number].clear()
            self.requests[number] = request
        else:
            number = len(self.requests)
            self.requests.append(request)
            self.queues.append({})
            self._words.append([])
            if number == self.born.size:
                self.count = np.pad(self.count, (0, number))
                self.fields = np.pad(self.fields, ((0, 0), (0, number)))
                self.needs = np.pad(self.needs, ((0, number), (0, 0)))
                self.born = np.pad(self.born, (0, number))
        wide = len(request.need)
        if wide > self.needs.shape[1]:
            self.needs = np.pad(self.needs, ((0, 0), (0, wide - self.needs.shape[1])))
        self.needs[number] = 0
        self.needs[number, :wide] = request.need
        least = 0 if request.shares else request.least
        member = max(request.member, 1)
        self.fields[:, number] = member, request.length_ms, request.below, least, wide > 0
        self.born[number] = self.births
        self._number[request] = number
        return number

    def _reusable(self) -> int:
        """A class that has been empty for long, -1 when there is none: one that may be asked for again soon
        keeps its number, and with it what was proven of it."""
        while len(self._empty) > _EMPTY_KEPT:
            number = self._empty.popleft()
            if not self.count[number]:
                return number
        return -1

    def next_owed(self, shares: Shares, has: Container[str]) -> Turn | None:
        """Take out the next job by rank and fair share that waits and is not among who have a promise."""

        def is_owed(order: int, job: str) -> bool:
            stand = self.stands.get(job)
            return stand is not None and stand.order == order and job not in has

        return self.owed.pop(shares.key, is_owed)


def request_of(spec: JobSpec, left_ms: int, again: bool, space: Space) -> Request:
    """The class of a job. Raises ValueError for a level that is none."""
    shape = spec.shape
    part = spec.cards_min if spec.cards_min < CARD else 0
    member = max(1, shape.member // CARD) if spec.cards_min else 0
    milli = part or member * CARD
    level = space.topology.level
    rule = Rule(
        level(shape.require),
        level(shape.prefer),
        tuple((level(part.level), part.milli_cards // milli) for part in shape.slices),
        tuple((level(part.level), part.milli_cards // milli) for part in shape.spread),
        shape.balanced,
    )
    need: tuple[int, ...] = ()
    if shape.milli_cpu or shape.memory_mb or shape.needs:
        rows = [shape.milli_cpu, shape.memory_mb] + [0] * (len(space.stocks) - 2)
        for name, amount in shape.needs:
            row = space.row(name)
            rows += [0] * (row + 1 - len(rows))
            rows[row] = amount
        need = tuple(rows)
    return Request(
        RANKS[spec.priority] - again,
        member,
        spec.cards_min // milli if milli else 1,
        spec.cards_max // milli if milli else 1,
        left_ms,
        shape,
        rule,
        need,
        spec.reservation,
        part,
    )
