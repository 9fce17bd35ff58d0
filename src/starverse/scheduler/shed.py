"""Feeds that give more than their budget: what may be moved, made smaller or stopped, until they do not."""

import numpy as np

from starverse.scheduler.kernels import Ints
from starverse.scheduler.line import Request
from starverse.scheduler.lot import Lot
from starverse.scheduler.migrate import elsewhere
from starverse.scheduler.moves import Moves, part
from starverse.scheduler.plan import Move
from starverse.scheduler.preempt import Running
from starverse.scheduler.resize import without
from starverse.scheduler.space import Space


def shed(moves: Moves) -> None:
    """Have preemptible runs draw less from each feed (busbar, rack, row, coolant loop) that gives too much.

    Those that lose least come first: they go on with fewer cards where that is enough, else on other cards
    that are idle, else they wait. Runs of better classes stay, though it be over its budget by them alone.
    """
    power = moves.view.limits.power
    over = power.over() if power.budgets else {}
    if not over:
        return
    runs = [
        (run, moves.view.spaces[kind], lot)
        for kind, both in moves.view.yielding.items()
        for run, lot in both.values()
    ]
    for run, space, lot in runs:
        if run.stop_why:
            kept = moves.view.kept.get(run.job)
            _relieve(moves, over, space, lot, kept.lot if kept else None)
    runs.sort(key=lambda each: (moves.lost_ms(each[0]) * each[0].milli_cards, each[0].run))
    for feed in sorted(over):
        for run, space, lot in runs:
            if over[feed] <= 0:
                break
            if not run.stop_why and run.run not in moves:
                watts = power.per_card(space, feed)[lot.nodes]
                if watts.any() and lot.masks.any():
                    rest = _let_go(moves, run, space, lot, watts, over[feed])
                    _relieve(moves, over, space, lot, rest)


def _relieve(moves: Moves, over: dict[str, int], space: Space, lot: Lot, rest: Lot | None) -> None:
    """Count what feeds give less when a run has the rest instead of its lot."""
    power = moves.view.limits.power
    for each, sign in ((lot, -1), (rest, 1)):
        if each is not None:
            cards = each.counts
            for feed, milliwatts in power.draws(space, each.nodes, cards, each.milli).items():
                if feed in over:
                    over[feed] += sign * milliwatts


def _let_go(moves: Moves, run: Running, space: Space, lot: Lot, watts: Ints, excess: int) -> Lot | None:
    """Have a run draw less from a feed, from which each card on its nodes draws so much; what it has then."""
    if moves.view.jobs[run.job].spec.reservation or lot.milli:  # parts of cards are not moved
        moves.leave(Move(run.run, (), "power"))
        return None
    request = moves.request(run, space)
    rest = _fewer(space, request, lot, watts, excess)
    if rest is not None:
        moves.keep(run, space, rest, Move(run.run, space.shares(rest), "resize"))
        return rest
    least = moves.view.jobs[run.job].spec.cards_min
    other = elsewhere(moves, run, space, request, run.milli_cards)
    if other is None and run.milli_cards > least:
        other = elsewhere(moves, run, space, request, least)
    if other is None:
        moves.leave(Move(run.run, (), "power"))
        return None
    moves.keep(run, space, other, Move(run.run, space.shares(other), "migrate"))
    moves.power(space, other)
    return other


def _fewer(space: Space, request: Request, lot: Lot, watts: Ints, excess: int) -> Lot | None:
    """The lot without as many members as draw the excess, all of them on the feed; None where that leaves
    too few."""
    had = lot.counts // request.member
    gives = np.zeros_like(had)
    for i in np.flatnonzero(watts).tolist():
        draws = int(watts[i]) * request.member
        gives[i] = min(int(had[i]), -(-max(excess, 0) // draws))
        excess -= int(gives[i]) * draws
    if excess > 0 or had.sum() - gives.sum() < request.least:
        return None
    kept = np.array(part(lot.masks, (had - gives) * request.member), np.int64)
    return without(space, request, lot, Lot(lot.nodes, lot.masks & ~kept))
