"""Elastic runs: which of them go on with fewer cards so that others can start, and which with more."""

from collections.abc import Iterable
from math import lcm

import numpy as np

from starverse.model.units import CARD, MINUTE_MS
from starverse.scheduler import kernels as k
from starverse.scheduler.kernels import NEVER, ORDER_BITS, Ints
from starverse.scheduler.line import Request
from starverse.scheduler.lot import Lot
from starverse.scheduler.moves import Moves, part
from starverse.scheduler.placement import Chosen, tree
from starverse.scheduler.plan import Move
from starverse.scheduler.preempt import Eviction, InVain, Running, Victims, evict
from starverse.scheduler.repair import swap
from starverse.scheduler.space import NOTHING_ELSE, Space

REST_MS = 10 * MINUTE_MS
"""A run gets no more cards before it has been going for so long: so nobody grows and shrinks in turns."""

LOOKS = 32
"""So many runs are looked at closely for growth in one decision."""


# -- fewer cards ------------------------------------------------------------------------------------------


def spare(space: Space, request: Request, lot: Lot) -> Lot | None:
    """The cards of a run that are more than the least of its request; None where there are none."""
    had = lot.counts // request.member
    if had.sum() <= request.least:
        return None
    room = np.zeros(space.size, np.int64)
    room[lot.nodes] = had
    stays = tree.place(space.topology, room, request.least, request.rule)
    if stays is None:
        return None
    held = np.zeros(space.size, np.int64)
    held[stays.nodes] = stays.members
    kept = np.array(part(lot.masks, held[lot.nodes] * request.member), np.int64)
    masks = lot.masks & ~kept
    gives = masks != 0
    return Lot(lot.nodes[gives], masks[gives])


def without(space: Space, request: Request, lot: Lot, taken: Lot) -> Lot | None:
    """What a run keeps, in whole members, when these cards are taken; None if that breaks its rule."""
    gone = np.zeros(space.size, np.int64)
    gone[taken.nodes] = taken.masks
    masks = lot.masks & ~gone[lot.nodes]
    room = np.zeros(space.size, np.int64)
    room[lot.nodes] = np.bitwise_count(masks).astype(np.int64) // request.member
    total = int(room.sum())
    for want in dict.fromkeys((total - total % grain_of(request), request.least)):
        if request.least <= want <= total:
            stays = tree.place(space.topology, room, want, request.rule)
            if stays:
                held = np.zeros(space.size, np.int64)
                held[lot.nodes] = masks
                counts = stays.members * request.member
                return Lot(stays.nodes, np.array(part(held[stays.nodes], counts), np.int64))
    return None


def grain_of(request: Request) -> int:
    """Members come in whole multiples of this."""
    return lcm(*(members for _, members in request.rule.slices))


class Shrinking:
    """Who gives up cards for the jobs that wait for one kind, in one decision."""

    def __init__(self, moves: Moves, kind: str, space: Space) -> None:
        self.moves = moves
        self.space = space
        runs = moves.view.elastic.get(kind, {})
        self.runs = {name: both for name, both in runs.items() if not both[0].stop_why}

    def leave(self, runs: Iterable[str]) -> None:
        """These leave altogether."""
        for run in runs:
            self.runs.pop(run, None)

    def spares(self, rank: int) -> list[tuple[Running, Lot]]:
        """The runs of this class or worse ones, each with the cards that it can do without."""
        found = []
        for run, lot in self.runs.values():
            spec = self.moves.view.jobs[run.job].spec
            if run.milli_cards > spec.cards_min and self.moves.rank(run) >= rank - rank % 2:
                kept = self.moves.kept.get(run.run)
                has = kept.lot if kept else lot
                gives = spare(self.space, self.moves.request(run, self.space), has)
                if gives is not None:
                    found.append((run, gives))
        return found

    def make_room(self, request: Request, until_ms: int, gains_ms: int) -> Lot | None:
        """The cards for the least of a request, from runs that then go on with fewer: those that lose least.

        A job of the same class must gain more card-time by it, starting `gains_ms` earlier (its cards times
        that), than those of its class lose (see `Moves.lost_ms`, times the cards of the run).
        """
        rank = request.rank + request.rank % 2
        spares = self.spares(rank)
        if not spares:
            return None
        shape_of = self.moves.view.limits.shape_of
        found = evict(self.space, request, until_ms, Victims.among(spares, self.moves.now_ms), shape_of)
        if isinstance(found, InVain):
            self.moves.later(found.ripe_ms if found.ripe_ms < NEVER else 0)
            return None
        leaving = [self.runs[name][0] for name in found.runs]
        equal = [run for run in leaving if self.moves.rank(run) == rank]
        lost = sum(self.moves.lost_ms(run) * run.milli_cards for run in equal)
        if equal and lost >= request.milli_cards * gains_ms:
            return None
        gives = {run.run: lot for run, lot in spares} if request.need else {}
        return found.lot if self._shrink(leaving, found, gives) else None

    def _shrink(self, leaving: list[Running], found: Eviction, gives: dict[str, Lot]) -> bool:
        """Have these runs go on without the cards that were found, and without all that they `gives` on
        those nodes: it may be their memory that is needed, while other cards are free."""
        moves, space = self.moves, self.space
        keeps: list[Lot | None] = []
        for run in leaving:
            kept = moves.kept.get(run.run)
            lot = kept.lot if kept else self.runs[run.run][1]
            taken = _joined(found.lot, gives[run.run], space) if gives else found.lot
            keeps.append(without(space, moves.request(run, space), lot, taken))
        if any(rest is None for rest in keeps):
            return False
        for run, rest in zip(leaving, keeps, strict=True):
            assert rest is not None
            has = moves.kept[run.run].lot if run.run in moves else self.runs[run.run][1]
            assert rest.count < has.count, f"{run.run} would leave for as many cards as it has"
            moves.keep(run, space, rest, Move(run.run, space.shares(rest), "resize"))
        return True


def _joined(lot: Lot, other: Lot, space: Space) -> Lot:
    """A lot with what another has on the same nodes."""
    more = np.zeros(space.size, np.int64)
    more[other.nodes] = other.masks
    return Lot(lot.nodes, lot.masks | more[lot.nodes])


# -- more cards -------------------------------------------------------------------------------------------


def grow(moves: Moves, kind: str) -> None:
    """Have elastic runs go on with cards that are idle: nobody who waits can use them now, and nobody was
    promised them before the run would be over. No job of a worse class waits for a promised start: it could
    not have them back.

    It must be worth it: the cards that are added (milli-cards) times the time they are had for, which is what
    is left of the time limit, and no longer than the job has run so far (who has run for long is likely to go
    on for as long), must be more than all cards of the run times what it loses (`Moves.lost_ms`).
    """
    view, space = moves.view, moves.view.spaces[kind]
    if not space.free:
        return
    whose = [promise.whose for promise in view.promises.values() if promise.kind == kind and promise.lot]
    worst = max(whose, default=0) >> ORDER_BITS
    runs = [
        (moves.rank(run), view.jobs[run.job].order, run, lot)
        for run, lot in view.elastic[kind].values()
        if not run.stop_why and run.started_ms and run.milli_cards < view.jobs[run.job].spec.cards_max
    ]
    runs.sort(key=lambda each: each[:2])
    looks = 0
    for rank, _, run, lot in runs:
        if rank < worst:
            return
        most = min(view.jobs[run.job].spec.cards_max - run.milli_cards, space.free * CARD)
        if not _is_worth(moves, run, most):
            continue
        looks += 1
        if looks > LOOKS:
            return
        request = moves.request(run, space)
        chosen = None if request.shape.apart else _more(moves, space, run, lot, request)
        if chosen:
            cards = int(chosen.members.sum()) * request.member * CARD
            if _is_worth(moves, run, cards - run.milli_cards):
                more = _lot(moves, space, run, lot, request, chosen)
                moves.keep(run, space, more, Move(run.run, space.shares(more), "resize"))


def _is_worth(moves: Moves, run: Running, added: int) -> bool:
    """Whether so many milli-cards more are worth a new start now; else says when they will be."""
    now_ms, job = moves.now_ms, moves.view.jobs[run.job]
    if now_ms < run.placed_ms + REST_MS:
        moves.later(run.placed_ms + REST_MS)
        return False
    left_ms = moves.left_ms(run) - moves.view.terms.grace_ms
    lost = moves.lost_ms(run) * run.milli_cards
    if added * left_ms <= lost:
        return False
    ran_ms = job.ran_ms + now_ms - run.started_ms
    lacks = lost - added * ran_ms
    if lacks < 0:
        return True
    if added > run.milli_cards:  # with time it has run for longer, which counts for more than what it loses
        moves.later(now_ms + lacks // (added - run.milli_cards) + 1)
    return False


def _more(moves: Moves, space: Space, run: Running, lot: Lot, request: Request) -> Chosen | None:
    """The nodes for as many members as can be had, those that the run has among them."""
    limits, tenant = moves.view.limits, moves.view.jobs[run.job].spec.tenant
    room = np.empty(space.size, np.int64)
    need = np.zeros(max(len(request.need), 1), np.int64)
    need[: len(request.need)] = request.need
    until_ms = moves.until_ms(run)
    args = space.node, space.card, space.slot, space.stock, need if request.need else NOTHING_ELSE
    total = k.room(*args, space.size, request.member, until_ms, int(NEVER), room)
    if total and limits.power.budgets:
        total = limits.power.cut(space, request.member_milli, room, together=True)
    has = run.milli_cards // (request.member * CARD)
    more = min(request.most - has, total)
    if limits.quotas.places:
        more = min(more, limits.quotas.available(tenant) // (request.member * CARD))
    np.add.at(room, lot.nodes, lot.counts // request.member)
    grain = grain_of(request)
    while more > 0:
        want = has + more
        want -= want % grain
        if want <= has:
            return None
        if moves.pays(run, want * request.member * CARD):
            chosen = swap(space, room, want, request, lot)
            if chosen:
                return chosen
        more //= 2
    return None


def _lot(moves: Moves, space: Space, run: Running, lot: Lot, request: Request, chosen: Chosen) -> Lot:
    """The cards that a run has, and free ones on the nodes that were chosen."""
    own: Ints = np.zeros(space.size, np.int64)
    own[lot.nodes] = lot.masks
    nodes, masks = chosen.nodes, own[chosen.nodes]
    counts = chosen.members * request.member - np.bitwise_count(masks).astype(np.int64)
    added = np.zeros_like(nodes)
    grows = counts > 0
    picked = np.zeros_like(nodes[grows])
    k.pick(
        space.node, space.card, space.slot, nodes[grows], counts[grows], moves.until_ms(run), int(NEVER),
        picked,
    )  # fmt: skip
    added[grows] = picked
    return Lot(nodes, masks | added)
