"""What makes no sense in a request, or can never be had on this cluster: refused when it is submitted.

Nodes that are lost, closed or full make a job wait; they never make it be refused.
"""

from collections.abc import Sequence
from itertools import pairwise

from starverse.model.errors import BadInput
from starverse.model.job import JobSpec, Shape
from starverse.model.reservation import Reservation
from starverse.model.units import CARD, CARDS_MAX, TIME_LIMIT_MAX_MS, format_cards
from starverse.scheduler.line import request_of
from starverse.scheduler.space import Space
from starverse.scheduler.view import View
from starverse.scheduler.whole import Whole

AMOUNT_MAX = 1 << 40
"""More of anything than a node has: what is above is a slip of the keyboard."""

LATEST_MS = 1 << 42
"""In the year 2109: no time that is asked for lies behind it."""

ROLES_MAX = 64

PLAIN = Shape()


def check(spec: JobSpec, view: View) -> None:
    """Raises BadInput, with what is wrong and what could be had, for a job that can never start here."""
    _check_numbers(spec)
    if spec.roles:
        _check_roles(spec)
    space, whole = view.spaces.get(spec.kind), view.whole(spec.kind)
    if not view.spaces and spec.shape == PLAIN:
        return  # no node has come yet
    if space is None or whole is None:
        there = ", ".join(sorted(view.spaces))
        raise BadInput(
            f"This cluster has no {spec.kind[:64]!r} cards.", f"It has: {there}." if there else "Add a node."
        )
    if spec.shape != PLAIN:
        check_shape(spec, space.topology.levels)
        _check_resources(spec.shape, space)
    elif spec.cards_min <= whole.total * CARD:
        return
    never = whole.never(request_of(spec, spec.time_limit_ms, False, space))
    if never:
        raise BadInput(f"Job {spec.job} never fits on this cluster. {never}", _remedy(whole))


def _check_numbers(spec: JobSpec) -> None:
    numbers = spec.cards_min, spec.cards_max, spec.price, spec.retries, spec.time_limit_ms
    if set(map(type, (*numbers, spec.earliest_start_ms))) != {int}:
        raise BadInput(f"Job {spec.job} has a number that is not whole.", "Give whole numbers.")
    if not 0 < spec.cards_min <= spec.cards_max <= CARDS_MAX * CARD:
        cards = f"{spec.cards_min} to {spec.cards_max} milli-cards"
        remedy = f"Ask for 1 to {CARDS_MAX:,} cards, the fewest first."
        raise BadInput(f"Job {spec.job} asks for {cards}.", remedy)
    is_part = spec.cards_min == spec.cards_max < CARD
    if (spec.cards_min % CARD or spec.cards_max % CARD) and not is_part:
        cards = " to ".join(map(format_cards, sorted({spec.cards_min, spec.cards_max})))
        remedy = "Ask for whole cards, or for a part of one, such as 0.25."
        raise BadInput(f"Job {spec.job} asks for {cards} cards, which are no whole ones.", remedy)
    if spec.price < 0 or spec.retries < 0 or not 0 < spec.time_limit_ms <= TIME_LIMIT_MAX_MS:
        raise BadInput(f"Job {spec.job} has a negative price, too few retries, no time or too much.")
    if not 0 <= spec.earliest_start_ms <= LATEST_MS:
        raise BadInput(f"Job {spec.job} asks to start at a time that is none.")


def _check_roles(spec: JobSpec) -> None:
    """Roles start together, on all of the job's cards."""
    names = [role.name for role in spec.roles]
    if not all(names) or len(set(names)) < len(names) or len(names) > ROLES_MAX:
        raise BadInput(f"Job {spec.job} has roles without a name of their own, or too many.", "Name each.")
    if any(type(role.cards) is not int or role.cards < 1 for role in spec.roles):
        raise BadInput(f"Job {spec.job} has a role without whole cards.", "Give each one or more.")
    cards = sum(role.cards for role in spec.roles)
    if not spec.cards_min == spec.cards_max == cards * CARD:
        raise BadInput(f"The roles of job {spec.job} have {cards} cards.", "Ask for just as many.")


def check_booking(ask: Reservation, levels: Sequence[str]) -> None:
    """Raises BadInput for a booking whose cards cannot lie so, or that asks for more than cards:
    what they need beside them is asked for by the jobs inside."""
    shape = ask.shape
    beside = {
        "cpu": shape.milli_cpu,
        "memory_mb": shape.memory_mb,
        "resources": shape.needs,
        "licences": shape.licences,
        "apart": shape.apart,
        "apart_level": shape.apart_level != PLAIN.apart_level,
    }
    for part, is_asked in beside.items():
        if is_asked:
            raise BadInput(f"A booking is of cards, not of `{part}`.", "Ask for that with the jobs inside.")
    check_shape(
        JobSpec("inside", ask.tenant, ask.milli_cards, ask.milli_cards, ask.kind, shape=shape), levels
    )


def check_shape(spec: JobSpec, levels: Sequence[str]) -> None:
    """Raises BadInput for a shape that makes no sense, whatever the cluster, but for its levels' names."""
    shape = spec.shape
    parts = (*shape.slices, *shape.spread)
    amounts = [shape.member, shape.milli_cpu, shape.memory_mb, *(part.milli_cards for part in parts)]
    amounts += [amount for _, amount in (*shape.needs, *shape.licences)]
    if any(type(amount) is not int or not 0 <= amount <= AMOUNT_MAX for amount in amounts):
        raise BadInput(f"Job {spec.job} has an amount in its shape that is out of bounds.")
    member = shape.member
    if spec.cards_min < CARD:  # a part of one card is one member
        if member not in (CARD, spec.cards_min):
            what = f"Job {spec.job} asks for a part of a card and for members of {member} milli-cards."
            raise BadInput(what, "Leave out the member.")
        member = spec.cards_min
    elif not member or member % CARD:
        raise BadInput(f"A member of {member} milli-cards cannot be had.", "Give it whole cards.")
    if spec.cards_min % member or spec.cards_max % member:
        low, high = spec.cards_min // CARD, spec.cards_max // CARD
        cards = str(low) if low == high else f"{low} to {high}"
        what = f"{cards} cards cannot be made of members of {member // CARD}."
        raise BadInput(what, f"Ask for a multiple of {member // CARD}.")
    names = (*levels, "node")
    for level in (shape.require, shape.prefer, shape.apart_level, *(part.level for part in parts)):
        if level and level not in names:
            raise BadInput(f"This cluster has no level {level[:64]!r}.", f"It has: {', '.join(names)}.")
    if spec.cards_min < CARD and shape.slices:
        raise BadInput(f"Job {spec.job} asks for slices of a part of one card.", "Leave out the slices.")
    _check_slices(spec, names)
    for part in shape.spread:
        if part.milli_cards < member:
            size, most = format_cards(member), format_cards(part.milli_cards)
            what = f"A member of {size} does not fit into {most} in one {part.level}."
            raise BadInput(what, f"Allow {size} or more.")


def _check_slices(spec: JobSpec, names: Sequence[str]) -> None:
    slices = spec.shape.slices
    for part in slices:
        size = part.milli_cards
        if not size or size % spec.shape.member or spec.cards_min % size or spec.cards_max % size:
            cards = f"{spec.cards_min // CARD} cards cannot be cut into slices of {size // CARD}"
            remedy = f"Ask for a multiple of {size // CARD}." if size else "Give slices a size."
            raise BadInput(f"{cards} in one {part.level}.", remedy)
    for outer, inner in pairwise(slices):
        if names.index(outer.level) >= names.index(inner.level) or outer.milli_cards % inner.milli_cards:
            what = (
                f"Slices of {outer.milli_cards // CARD} in one {outer.level} cannot be cut into slices of "
                f"{inner.milli_cards // CARD} in one {inner.level}."
            )
            raise BadInput(what, "Name the outermost first, each a multiple of the next.")


def _check_resources(shape: Shape, space: Space) -> None:
    for name, _ in shape.needs:
        if name not in space.stocks:
            there = ", ".join(sorted(space.stocks))
            raise BadInput(f"No node of this kind has {name[:64]!r}.", f"Nodes have: {there}.")


def _remedy(whole: Whole) -> str:
    nodes = int((whole.cards > 0).sum())
    return f"There are {whole.total} such cards on {nodes} node{'s' * (nodes != 1)}."
