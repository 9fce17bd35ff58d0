"""Who has to leave so that a job of a better class can start: chosen only once its place is proven."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numba import njit

from starverse.model.allocation import Share
from starverse.model.job import Shape
from starverse.model.units import CARD, MINUTE_MS
from starverse.scheduler.calendar import place
from starverse.scheduler.kernels import FREE, FROM, HEALTHY, MASK, NEVER, OPEN, WHOSE, Ints
from starverse.scheduler.line import RANKS, Request
from starverse.scheduler.lot import Lot
from starverse.scheduler.parts import holds
from starverse.scheduler.placement import Chosen
from starverse.scheduler.space import CPU, MEMORY, Space

MIN_RUN_MS = 5 * MINUTE_MS
"""A run is left alone for so long: what it has not begun to earn back, it would only lose again."""

YIELDS = RANKS["preemptible"]
"""Runs of this rank give way to jobs of all better ones."""

HEADS = 8
"""So many jobs in order look for runs that give way, in one decision."""

_NOBODYS = np.int64(1 << 40)
_NONE: Ints = np.zeros(0, np.int64)
_NOBODY = "", Lot(_NONE, _NONE)


class Running(Protocol):
    """A run as the scheduler sees it."""

    run: str
    job: str
    milli_cards: int
    shares: tuple[Share, ...]
    placed_ms: int
    started_ms: int
    held: int
    checkpoint_ms: int
    stop_why: str


class InVain(NamedTuple):
    """What a search for victims proved: so many members were missing (0: it is not known how many), as of so
    much that had come free, and until the next run is ripe."""

    members: int
    freed: int
    ripe_ms: int


class Eviction(NamedTuple):
    """The runs that leave, and the cards that are then kept for the one they leave for."""

    runs: tuple[str, ...]
    lot: Lot


class Victims(NamedTuple):
    """The runs that may be asked to leave now, from the one that loses least to the one that loses most: the
    card-time since their last checkpoint."""

    runs: list[tuple[str, Lot]]
    """Numbered from 1; without a name where one is not to be asked after all."""
    leaving: list[tuple[str, Lot]]
    """Who was asked before, and has not left."""
    next_ms: int
    """When the next is ripe."""
    nodes: Ints
    masks: Ints
    numbers: Ints
    """The rows and cards of all runs, and by place there the number of the run."""
    owners: Ints
    """By number: the number again, or nobody's."""
    parts: dict[Lot, int]
    """The numbers of those that have a part of a card."""
    number: dict[str, int]
    """The number of each run."""

    @classmethod
    def among(cls, runs: Iterable[tuple[Running, Lot]], now_ms: int) -> "Victims":
        """Those of these runs that are ripe."""
        ripe: list[tuple[int, str, Lot]] = []
        leaving: list[tuple[str, Lot]] = []
        next_ms = int(NEVER)
        for run, lot in runs:
            if run.stop_why:
                leaving.append((run.run, lot))
            elif now_ms - run.placed_ms < MIN_RUN_MS:
                next_ms = min(next_ms, run.placed_ms + MIN_RUN_MS)
            else:
                lost = max(now_ms - max(run.checkpoint_ms, run.placed_ms), 0) * run.milli_cards
                ripe.append((lost, run.run, lot))
        ripe.sort()  # by names where they lose the same: no two have one
        sizes = np.array([lot.nodes.size for _, _, lot in ripe], np.int64)
        return cls(
            [(name, lot) for _, name, lot in ripe],
            leaving,
            next_ms,
            np.concatenate([_NONE, *(lot.nodes for _, _, lot in ripe)]),
            np.concatenate([_NONE, *(lot.masks for _, _, lot in ripe)]),
            np.repeat(np.arange(1, len(ripe) + 1), sizes),
            np.arange(len(ripe) + 1),
            {lot: number for number, (_, _, lot) in enumerate(ripe, 1) if lot.milli},
            {name: number for number, (_, name, _) in enumerate(ripe, 1)},
        )

    def without(self, names: Iterable[str]) -> "Victims":
        """The others: these leave already, or go on elsewhere."""
        runs, owners, parts = self.runs.copy(), self.owners.copy(), self.parts
        for number in filter(None, map(self.number.get, names)):
            if runs[number - 1][1] in parts:
                parts = {lot: each for lot, each in parts.items() if each != number}
            runs[number - 1] = _NOBODY
            owners[number] = _NOBODYS
        return self._replace(runs=runs, owners=owners, parts=parts)


def evict(
    space: Space, request: Request, until_ms: int, victims: Victims, shapes: Callable[[str], Shape]
) -> Eviction | InVain:
    """The runs whose leaving lets the least of a request start, or what was proven where no leaving would.

    Of the cheapest, taken one by one, so many are looked at as are needed for a place by the request's rule;
    of those, only the ones leave that stand on that place, or there have what it needs beside cards. `shapes`
    tells what a run asked for.
    """
    runs, parts, next_ms = victims.runs, victims.parts, victims.next_ms
    owner = np.full((space.size, space.card.shape[2]), _NOBODYS, np.int64)
    _mark_free(space.node, owner)
    if request.part and not request.need:
        args = parts, request.part, until_ms, request.below
        shared = space.parts.make_room(space.node, space.card, space.slot, *args)
        if shared:
            leave = tuple(runs[number - 1][0] for number in shared[1])
            return Eviction(leave, Lot(shared[0].nodes, shared[0].masks))
    _mark(space.node, owner, victims.nodes, victims.masks, victims.owners[victims.numbers])
    if parts:  # of a shared card all must leave
        _mark(space.node, owner, *_unshared(parts))
        for lot, number in space.parts.leaving(parts):
            _mark(space.node, owner, lot.nodes, lot.masks, np.array((number,), np.int64))
    if request.part:
        _mark_left(space.node, space.card, request.part, owner)
    _unmark_claimed(space.slot, until_ms, request.below, owner)
    room = np.empty(space.size, np.int64)
    stock = None
    if request.need:
        had = [[(lot, shapes(run) if run else Shape()) for run, lot in of] for of in (runs, victims.leaving)]
        stock = _Stock(space, request, *had)

    def room_if(number: int) -> int:
        total = _room_if(owner, request.member, number, room)
        return stock.cut(room, number) if stock else total

    low, high = 0, len(runs)
    missing = request.least - room_if(high)
    if missing > 0:  # of what is no card it is not said how much is missing
        return InVain(0 if stock else missing, space.freed, next_ms)
    chosen = place(space, room, request.least, request)
    while high - low > 1:
        middle = (low + high) // 2
        enough = room_if(middle) >= request.least
        found = place(space, room, request.least, request) if enough else None
        if found:
            high, chosen = middle, found
        else:
            low = middle
    if chosen is None:
        return InVain(0 if stock else 1, space.freed, next_ms)
    masks = np.zeros_like(chosen.nodes)
    leaves = np.zeros(len(runs) + 1, np.int64)
    _pick(owner, chosen.nodes, chosen.members * request.member, masks, leaves)
    for number in np.flatnonzero(leaves[1:]).tolist():  # of a shared card all must leave
        for other in space.parts.of(runs[number][1]):
            leaves[parts[other]] = 1
    if stock:
        stock.free(chosen, leaves, high)
    leave = tuple(runs[number][0] for number in np.flatnonzero(leaves[1:]).tolist())
    if not leave:
        return InVain(0 if stock else 1, space.freed, next_ms)
    return Eviction(leave, Lot(chosen.nodes, masks))


def _unshared(parts: Iterable[Lot]) -> tuple[Ints, Ints, Ints]:
    """The cards that parts are of, as nobody's."""
    nodes = np.concatenate([part.nodes for part in parts])
    masks = np.concatenate([part.masks for part in parts])
    return nodes, masks, np.full_like(nodes, _NOBODYS)


class _Stock:
    """What members need beside cards: what of it is free on each row once those who leave anyhow have left,
    and what victims would free in turn."""

    def __init__(
        self,
        space: Space,
        request: Request,
        victims: Sequence[tuple[Lot, Shape]],
        leaving: Sequence[tuple[Lot, Shape]],
    ) -> None:
        need = np.array(request.need, np.int64)
        self._rows = np.flatnonzero(need)
        self._need = need[self._rows][:, np.newaxis]
        self._free = space.stock[self._rows, : space.size].copy()
        for lot, shape in leaving:
            self._free[:, lot.nodes] += self._had(space, lot, shape)
        self._victims = [(lot.nodes, self._had(space, lot, shape)) for lot, shape in victims]

    def _had(self, space: Space, lot: Lot, shape: Shape) -> Ints:
        """What a run has of each resource that is needed, on each row of its lot."""
        amounts = dict.fromkeys(self._rows.tolist(), 0)
        for name, amount in ((CPU, shape.milli_cpu), (MEMORY, shape.memory_mb), *shape.needs):
            if space.stocks.get(name) in amounts:
                amounts[space.stocks[name]] = amount
        members = lot.counts // max(shape.member // CARD, 1)
        members = np.maximum(members, 1)  # one may need no card
        return np.outer(np.array(list(amounts.values()), np.int64), members)

    def cut(self, room: Ints, number: int) -> int:
        """Lower the room to what there would be if the first so many victims left; returns the sum."""
        free = self._free.copy()
        for nodes, had in self._victims[:number]:
            free[:, nodes] += had
        np.minimum(room, np.maximum((free // self._need).min(axis=0), 0), out=room)
        return int(room.sum())

    def free(self, chosen: Chosen, leaves: Ints, high: int) -> None:
        """Mark in `leaves` so many more of the first `high` victims, by number from 1, that nothing is
        missing on the rows chosen: the cheapest first, and only who is needed for it there."""
        missing = np.zeros_like(self._free)
        missing[:, chosen.nodes] = self._need * chosen.members - self._free[:, chosen.nodes]
        for number in np.flatnonzero(leaves).tolist():
            if number:
                nodes, had = self._victims[number - 1]
                missing[:, nodes] -= had
        added = []
        for number, (nodes, had) in enumerate(self._victims[:high], 1):
            if not leaves[number] and ((missing[:, nodes] > 0) & (had > 0)).any():
                added.append(number)
                missing[:, nodes] -= had
        for number in reversed(added):  # a later one may give enough for all that came before
            nodes, had = self._victims[number - 1]
            if (missing[:, nodes] + had <= 0).all():
                missing[:, nodes] += had
            else:
                leaves[number] = 1


@njit(cache=True)
def _mark_free(node: Ints, owner: Ints) -> None:
    """Write 0 for each free card: nobody has to leave for it."""
    for n in range(owner.shape[0]):
        for c in range(owner.shape[1]):
            if node[FREE, n] >> c & 1:
                owner[n, c] = 0


@njit(cache=True)
def _mark_left(node: Ints, card: Ints, milli: int, owner: Ints) -> None:
    """Write 0 for each card of which so much is left: nobody has to leave for a part of it."""
    for n in range(owner.shape[0]):
        for c in range(owner.shape[1]):
            if holds(node, card, n, c, milli):
                owner[n, c] = 0


@njit(cache=True)
def _mark(node: Ints, owner: Ints, nodes: Ints, masks: Ints, numbers: Ints) -> None:
    """Write the numbers of runs on their cards, where they can be had by others when these have left."""
    for i in range(nodes.size):
        takes = node[HEALTHY, nodes[i]] if node[OPEN, nodes[i]] else 0
        for c in range(owner.shape[1]):
            if (masks[i] & takes) >> c & 1:
                owner[nodes[i], c] = numbers[i]


@njit(cache=True)
def _unmark_claimed(slot: Ints, until_ms: int, below: int, owner: Ints) -> None:
    """Leave out the cards that somebody who is minded has a claim on before then."""
    for n in range(owner.shape[0]):
        for k in range(slot.shape[2]):
            if not slot[WHOSE, n, k]:
                break
            if slot[WHOSE, n, k] >= below or slot[FROM, n, k] >= until_ms:
                continue
            for c in range(owner.shape[1]):
                if slot[MASK, n, k] >> c & 1:
                    owner[n, c] = _NOBODYS


@njit(cache=True)
def _room_if(owner: Ints, member: int, number: int, out: Ints) -> int:
    """How many members each node could take if the first so many runs left; returns their sum."""
    total = 0
    for n in range(owner.shape[0]):
        count = 0
        for c in range(owner.shape[1]):
            if owner[n, c] <= number:
                count += 1
        out[n] = count // member
        total += out[n]
    return total


@njit(cache=True)
def _pick(owner: Ints, nodes: Ints, counts: Ints, masks: Ints, leaves: Ints) -> None:
    """Choose free cards first, then those of the cheapest runs, into `masks`; mark the runs in `leaves`."""
    for i in range(nodes.size):
        for _ in range(counts[i]):
            best = -1
            for c in range(owner.shape[1]):
                if masks[i] >> c & 1:
                    continue
                if best < 0 or owner[nodes[i], c] < owner[nodes[i], best]:
                    best = c
            masks[i] |= 1 << best
            leaves[owner[nodes[i], best]] = 1
