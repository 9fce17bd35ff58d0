"""Who starts now, and who is promised a start: one pure decision for all that happened at an instant."""

from starverse.scheduler.cycle import Cycle
from starverse.scheduler.kernels import NEVER
from starverse.scheduler.moves import Moves
from starverse.scheduler.plan import NOTHING, Memo, Plan, Proven
from starverse.scheduler.purse import Purse
from starverse.scheduler.resize import grow
from starverse.scheduler.shed import shed
from starverse.scheduler.view import View


def decide(view: View, memo: Memo, now_ms: int) -> tuple[Plan, Memo]:
    """The plan for this instant, and what was proven on the way.

    Jobs start by rank, then by fair share, then in order of submission. One that does not fit is promised a
    start and keeps cards from then on. The view is the same afterwards: what is tried is taken back. The memo
    given is used up; go on with the one returned.
    """
    plans = []
    purse = Purse(view)
    moves = Moves(view, now_ms)
    shed(moves)
    for kind, line in view.lines.items():
        space = view.spaces.get(kind)
        if space is None or not line.stands:
            continue
        proven = memo.get(kind)
        if proven is None:
            proven = memo[kind] = Proven()
        cycle = Cycle(view, kind, space, line, proven, purse, moves)
        is_alone = len(line.stands) == 1 and not view.promises and not view.kept
        plan = cycle.run_alone() if is_alone else cycle.run()
        if plan is not NOTHING:
            plans.append(plan)
    view.limits.take_back()
    if view.elastic and not plans and not moves:  # when all else is decided
        for kind in sorted(view.elastic):
            grow(moves, kind)
    moved = moves.close()
    again_ms = moves.again_ms if moves.again_ms < NEVER else 0
    if len(plans) < 2 and not moved and not again_ms:
        return (plans[0] if plans else NOTHING), memo
    return Plan(
        tuple(place for plan in plans for place in plan.places),
        tuple(unpaid for plan in plans for unpaid in plan.unpaid),
        tuple(promise for plan in plans for promise in plan.promises),
        tuple(evict for plan in plans for evict in plan.evictions),
        moved,
        again_ms,
    ), memo
