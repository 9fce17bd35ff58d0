"""The smallest single change that would let a request start now: fewer cards, less time, level or kind."""

from collections.abc import Callable, Iterator
from math import lcm
from typing import NamedTuple

from msgspec.structs import replace

from starverse.model.job import JobSpec
from starverse.model.units import CARD, MINUTE_MS, format_cards, format_duration
from starverse.scheduler.line import Request, request_of
from starverse.scheduler.sight import Sight
from starverse.scheduler.view import View


class Change(NamedTuple):
    """What would be given up, of a whole of 1, in words; and the cards that have to be paid for."""

    loss: float
    text: str
    milli_cards: int


def smallest(view: View, spec: JobSpec, sight: Sight, can_pay: Callable[[int], bool]) -> str:
    """The change in a sentence, "" where no single one is enough. Its place in line stays the same."""
    changes = [
        change
        for found in (_count, _level, _time)
        for change in found(spec, sight, view)
        if can_pay(change.milli_cards)
    ]
    if not changes:
        changes = [change for change in _kind(spec, sight, view) if can_pay(change.milli_cards)]
    return min(changes, key=lambda change: change.loss).text if changes else ""


def _count(spec: JobSpec, sight: Sight, view: View) -> Iterator[Change]:
    """The most cards with which it would start."""
    request = sight.request
    if request.part:
        most = sight.most_left()
        if 0 < most < request.part and sight.fits(replace(request, part=most)):
            text = f"It would start now with {format_cards(most)} of a card."
            yield Change(1 - most / request.part, text, most)
        return
    grain = lcm(*(members for _, members in request.rule.slices))
    low, high = 0, min(request.least - 1, int(sight.room(request).sum())) // grain
    while low < high:
        middle = (low + high + 1) // 2
        if sight.fits(_of(request, middle * grain)):
            low = middle
        else:
            high = middle - 1
    if low:
        cards = low * grain * request.member
        text = f"It would start now with {cards} card{'s' * (cards != 1)}."
        yield Change(1 - low * grain / request.least, text, cards * CARD)


def _of(request: Request, members: int) -> Request:
    return replace(request, least=members, most=members)


def _level(spec: JobSpec, sight: Sight, view: View) -> Iterator[Change]:
    """The narrowest level, wider than the one required, in which it would start."""
    request = sight.request
    names = sight.space.topology.levels
    for steps, level in enumerate(range(request.rule.require - 1, -2, -1), 1):
        if sight.fits(replace(request, rule=request.rule._replace(require=level))):
            how = (
                f"with `require={names[level]}`" if level >= 0 else f"without `require={spec.shape.require}`"
            )
            yield Change(_STEP * steps, f"It would start now {how}.", spec.cards_min)
            return


def _time(spec: JobSpec, sight: Sight, view: View) -> Iterator[Change]:
    """The longest time limit with which it would be over before the cards are needed."""
    request = sight.request
    moments = sight.moments()
    low, high = -1, int(moments.searchsorted(sight.now_ms + request.length_ms)) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if sight.fits(replace(request, length_ms=int(moments[middle]) - sight.now_ms)):
            low = middle
        else:
            high = middle - 1
    if low < 0:
        return
    limit_ms = spec.time_limit_ms - request.length_ms + int(moments[low]) - sight.now_ms
    limit_ms -= limit_ms % MINUTE_MS
    if limit_ms > 0:
        text = f"It would start now with a time limit of {format_duration(limit_ms)}."
        yield Change(1 - limit_ms / spec.time_limit_ms, text, spec.cards_min)


def _kind(spec: JobSpec, sight: Sight, view: View) -> Iterator[Change]:
    """Other kinds of card, in order of name."""
    for kind in sorted(view.spaces)[:_KINDS_MOST]:
        if kind == spec.kind:
            continue
        space = view.spaces[kind]
        try:
            request = request_of(spec, sight.request.length_ms, False, space)
        except ValueError:  # it has no such level
            continue
        if Sight(space, request, sight.now_ms, None).fits():
            yield Change(_OTHER_KIND, f"It would start now on {kind} cards.", spec.cards_min)


_STEP = 0.1
"""What a level more is worth, as a part of the cards or of the time: a guess, for telling changes apart."""

_OTHER_KIND = 0.5
_KINDS_MOST = 8
