"""What an operator does to see whether the platform holds."""

from starverse.control.state import State
from starverse.model import requests as rq
from starverse.model.errors import BadInput, NotFound
from starverse.model.job import rank_count
from starverse.model.units import CARD
from starverse.service.access import Actor, must_operate
from starverse.service.loop import tell
from starverse.service.platform import Platform


def inject_fault(platform: Platform, actor: Actor, run: str, rank: int) -> None:
    """Kill a rank of a run on purpose; it is journaled, and the platform answers for what is lost."""
    must_operate(actor)

    def ranks_of(state: State) -> int | None:
        live = state.runs.get(run)
        if live is None:
            return None
        return rank_count(state.jobs[live.job].spec, live.milli_cards // CARD)

    ranks = platform.ask(ranks_of)
    if ranks is None:
        raise NotFound(f"No run {run[:80]!r} is alive.", "`starverse job show JOB` names the runs of a job.")
    if rank >= ranks:
        raise BadInput(f"Run {run} has no rank {rank}.", f"Its ranks are 0 to {ranks - 1}.")
    tell(platform, rq.InjectFault(run, rank, actor.user))
