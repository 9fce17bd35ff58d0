"""What happened to a job, told event by event in a sentence each."""

from collections.abc import Callable
from typing import Any

from starverse.model import events as ev
from starverse.model.allocation import milli_cards
from starverse.model.units import CARD, format_cards, format_duration, format_yuan
from starverse.service.answers import Moment
from starverse.train.contract import EXIT_SAVED

STOP_WHY = {
    "person": "a person asked for it",
    "wallet": "the wallet is empty",
    "time-limit": "its time limit is used up",
    "drain": "its node is being drained",
    "preempt": "a job of a better class needs its cards",
    "reservation": "its reservation is over",
    "resize": "it goes on with another number of cards",
    "migrate": "it goes on with other cards",
    "power": "power or cooling is short where it is",
}


def moment(seq: int, heard_ms: int, event: Any) -> Moment | None:
    """An event of a job for people; None for one that means nothing to them."""
    tell = _TELL.get(type(event))
    if tell is None:
        return None
    at_ms = getattr(event, "happened_ms", heard_ms)
    return Moment(seq, at_ms, type(event).__name__, getattr(event, "run", ""), tell(event))


def _submitted(event: ev.JobSubmitted) -> str:
    spec = event.spec
    cards = " to ".join(map(format_cards, sorted({spec.cards_min, spec.cards_max})))
    plural = "s" * (spec.cards_max > CARD)
    return f"Submitted: {cards} {spec.kind} card{plural} at {format_yuan(spec.price)} a card-hour."


def _placed(event: ev.RunPlaced) -> str:
    nodes = ", ".join(share.node for share in event.shares[:4]) + ", …" * (len(event.shares) > 4)
    cards = milli_cards(event.shares)
    return f"Run {event.attempt} got {format_cards(cards)} card{'s' * (cards > CARD)} on {nodes}."


def _ended(event: ev.RunEnded) -> str:
    who = f"Rank {event.rank}" if event.rank >= 0 else "The run"
    if event.how == "exit":
        if event.code == EXIT_SAVED:
            return "The run saved and left."
        return "The run finished." if not event.code else f"{who} ended with exit code {event.code}."
    if event.how == "signal":
        return f"{who} was killed by signal {event.code}."
    if event.how == "lease":
        return "The run's lease ran out."
    return "The run vanished." if event.how == "lost" else "The run could not be started."


def _job_ended(event: ev.JobEnded) -> str:
    return f"The job is {event.outcome}{': ' + event.why if event.why else ''}."


def _posted(event: ev.Posted) -> str:
    amounts = dict(event.lines)
    wallet = amounts.get(f"wallet/{event.tenant}", 0)
    if event.kind == "charge":
        charged = format_yuan(amounts["income/compute"])
        return f"Charged {charged} for {format_duration(event.card_ms)} of card time."
    if event.kind == "credit":
        return f"Gave back {format_yuan(wallet)}: {event.note}."
    if event.kind == "hold":
        return f"Set {format_yuan(-wallet)} aside."
    return f"Gave back the {format_yuan(wallet)} that was set aside."


_TELL: dict[type, Callable[[Any], str]] = {
    ev.JobSubmitted: _submitted,
    ev.JobStopAsked: lambda _: "A stop was asked for.",
    ev.RunPlaced: _placed,
    ev.RunStarted: lambda _: "The run started: metering begins.",
    ev.RunResumed: lambda event: f"First step: {event.step}.",
    ev.CheckpointSaved: lambda event: f"Checkpoint of step {event.step}.",
    ev.FaultInjected: lambda event: f"A fault was injected: rank {event.rank} is killed.",
    ev.RunStopAsked: lambda event: f"The run was asked to save and leave: {STOP_WHY[event.why]}.",
    ev.RunEnded: _ended,
    ev.JobRequeued: lambda event: f"Waits again: {event.why}.",
    ev.JobPaused: lambda event: event.why,
    ev.JobEnded: _job_ended,
    ev.Posted: _posted,
}
