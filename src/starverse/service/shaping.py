"""From the shape somebody asks for to the one the loop is told of, and back; names are known or refused."""

from collections.abc import Collection, Iterable, Mapping

from starverse.model.errors import BadInput
from starverse.model.job import Shape, Slice
from starverse.model.names import nearest, shown
from starverse.model.units import CARD, CARDS_MAX, in_cards
from starverse.scheduler.asked import AMOUNT_MAX
from starverse.service.shapes import ShapeAsk

NODE = "node"
_MILLI = 1000


def shape_of(
    ask: ShapeAsk, levels: Iterable[str], resources: Collection[str], licences: Mapping[str, int]
) -> Shape:
    """The shape as the loop takes it, for a cluster of these levels (outermost first, without the node), a
    kind of card whose nodes have these resources, and so many of each licence.

    Raises BadInput for a name that is not known, naming the nearest that is, and for absurd amounts.
    """
    names = (*levels, NODE)
    for level in (ask.require, ask.prefer, ask.apart_level, *ask.slices, *ask.spread):
        if level:
            known("level", level, names)
    for resource in ask.resources:
        known("resource", resource, resources)
    for licence, count in ask.licences.items():
        known("licence", licence, licences)
        if count > licences[licence]:
            what = f"This cluster has {licences[licence]} of the licence {licence}; you asked for {count}."
            raise BadInput(what, f"Ask for {licences[licence]} or fewer.")
    amounts = (*ask.resources.values(), *ask.licences.values(), ask.memory_mb)
    if not 0 <= ask.cpu <= AMOUNT_MAX // _MILLI or any(not 0 <= each <= AMOUNT_MAX for each in amounts):
        raise BadInput("An amount beside the cards is out of bounds.", "Give 0 or more of each.")
    cards = (ask.member, *ask.slices.values(), *ask.spread.values())
    if any(not 1 <= each <= CARDS_MAX for each in cards):
        raise BadInput("A member, slice or spread of no cards cannot be had.", "Give each 1 card or more.")
    if len(ask.apart) > 128 or not ask.apart.isprintable():
        raise BadInput(
            "The name that jobs lie apart by is too long or not plain text.", "Choose a short one."
        )
    if ask.apart_level and not ask.apart:
        raise BadInput("`apart_level` says how far apart, but not from whom.", "Name a group with `apart`.")
    return Shape(
        member=ask.member * CARD,
        milli_cpu=round(ask.cpu * _MILLI),
        memory_mb=ask.memory_mb,
        needs=tuple((name, amount) for name, amount in ask.resources.items() if amount),
        require=ask.require,
        prefer=ask.prefer,
        slices=_sizes(ask.slices, names),
        spread=_sizes(ask.spread, names),
        balanced=ask.balanced,
        licences=tuple((name, count) for name, count in ask.licences.items() if count),
        apart=ask.apart,
        apart_level=ask.apart_level or NODE,
    )


def shape_answer(shape: Shape) -> ShapeAsk:
    """The shape as people are told of it."""
    return ShapeAsk(
        member=max(1, shape.member // CARD),
        cpu=in_cards(shape.milli_cpu),
        memory_mb=shape.memory_mb,
        resources=dict(shape.needs),
        require=shape.require,
        prefer=shape.prefer,
        slices={part.level: part.milli_cards // CARD for part in shape.slices},
        spread={part.level: part.milli_cards // CARD for part in shape.spread},
        balanced=shape.balanced,
        licences=dict(shape.licences),
        apart=shape.apart,
        apart_level=shape.apart_level if shape.apart else "",
    )


def known(what: str, name: str, there: Collection[str]) -> None:
    """Raises BadInput for a name that is not there, with the nearest that is."""
    if name not in there:
        remedy = nearest(name, there)
        if there and remedy.startswith("Did"):
            remedy += f" There are: {', '.join(there)}."
        raise BadInput(f"This cluster has no {what} {shown(name)}.", remedy)


def _sizes(asked: Mapping[str, int], names: tuple[str, ...]) -> tuple[Slice, ...]:
    """Cards by level, the outermost level first."""
    return tuple(Slice(name, asked[name] * CARD) for name in names if name in asked)
