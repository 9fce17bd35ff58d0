"""From what somebody asks for to what the loop is told: all that can be checked beforehand is, here."""

import posixpath
import re
from collections.abc import Collection, Mapping

from msgspec import Struct

from starverse.control.state import State
from starverse.model.array import AFTER_MAX, parse_array
from starverse.model.errors import BadInput, Refused
from starverse.model.job import TIME_LIMIT_DEFAULT_MS, JobSpec, Launch, Role, Work
from starverse.model.names import nearest
from starverse.model.units import (
    CARD,
    CARDS_MAX,
    SECOND_MS,
    TIME_LIMIT_MAX_MS,
    format_duration,
    format_yuan,
    parse_cards,
)
from starverse.money.ledger import WALLET
from starverse.money.meter import hold_for
from starverse.money.prices import price_at
from starverse.scheduler.asked import LATEST_MS, PLAIN, ROLES_MAX, check
from starverse.scheduler.line import request_of
from starverse.scheduler.sight import Sight
from starverse.scheduler.space import CPU, MEMORY
from starverse.service.answers import JobAsk, RoleAsk
from starverse.service.reserved import Booked, booked_by, find
from starverse.service.shaping import shape_of

NAME_CHARACTERS_MAX = 128
COMMAND_BYTES_MAX = 128 * 1024  # what Linux takes for one argument
ENVIRONMENT_BYTES_MAX = 64 * 1024
SECRETS_MAX = 64
RETRIES_MAX = 100

ROLE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
RESERVED = "STARVERSE_"


class KindNow(Struct, frozen=True):
    """A kind of card now: those in service, those free, the price of one an hour, the jobs that wait, and
    all there would be if no node were lost and no card broken; `part` is the most milli-cards of one card
    to be had."""

    cards: int
    free: int
    price: int
    waiting: int
    whole: int
    part: int
    resources: tuple[str, ...] = ()


class Now(Struct, frozen=True):
    """What a job is checked against: the cluster by kind, the tenant's money, the terms of leases, the levels
    that cards may lie together in, the licences there are, and what the tenant has booked."""

    kinds: Mapping[str, KindNow]
    available: int
    least_lease_ms: int
    grace_ms: int
    levels: tuple[str, ...] = ()
    licences: Mapping[str, int] = {}
    booked: tuple[Booked, ...] = ()


def now_of(state: State, tenant: str, now_ms: int) -> Now:
    """The part of the loop's state that a job is checked against."""
    cards = dict.fromkeys(state.spaces, 0)
    for node in state.nodes.values():
        if not node.lost:
            cards[node.kind] += node.cards - node.broken.bit_count()
    kinds = {
        kind: KindNow(
            cards[kind],
            space.free,
            price_at(state.truth.prices.get(kind, []), now_ms),
            state.view.waiting(kind),
            sum(node.cards for node in state.nodes.values() if node.kind == kind),
            space.most_left,
            tuple(sorted(set(space.stocks) - {CPU, MEMORY})),
        )
        for kind, space in state.spaces.items()
    }
    return Now(
        kinds,
        state.accounts.get(WALLET + tenant, 0),
        state.view.terms.least_ms,
        state.view.terms.grace_ms,
        state.truth.layout.levels,
        dict(state.truth.licences),
        booked_by(state, tenant),
    )


def spec_of(ask: JobAsk, job: str, tenant: str, project: str, owner: str, now: Now) -> JobSpec:
    """What the loop is told for what was asked.

    Raises BadInput for what makes no sense or can never be had, Refused for what cannot be had now.
    """
    roles = tuple(_role(role) for role in ask.roles)
    cards_min, cards_max = _cards_of_roles(ask, roles) if roles else _cards(ask.cards)
    booked = find(now.booked, ask.reservation) if ask.reservation else None
    kind = kind_of(ask.kind or (booked.kind if booked else ""), now, cards_min)
    if booked:
        _check_inside(booked, kind, cards_min)
    elif ask.priority == "reserved":
        remedy = "Name one with `reservation`, or use on-demand or preemptible."
        raise Refused("Class 'reserved' needs a reservation.", remedy)
    if not 0 <= ask.earliest_start_ms <= LATEST_MS:
        raise BadInput("The earliest start is out of bounds.", "Give UTC milliseconds, or 0 for now.")
    time_limit_ms = ask.time_limit_ms or TIME_LIMIT_DEFAULT_MS[ask.priority]
    if not SECOND_MS <= time_limit_ms <= TIME_LIMIT_MAX_MS:
        remedy = f"Give 1 s to {format_duration(TIME_LIMIT_MAX_MS)}, or 0 for the default."
        raise BadInput("The time limit is out of bounds.", remedy)
    if not 0 <= ask.retries <= RETRIES_MAX:
        raise BadInput(f"{ask.retries} retries cannot be had.", f"Give 0 to {RETRIES_MAX}.")
    one_line("name", ask.name)
    one_line("image", ask.image)
    if ask.image:
        raise BadInput("Jobs cannot name an image yet.", "Leave `image` empty.")
    if not roles:
        _check_command(ask.command)
    _check_environment(ask.environment)
    if ask.array:
        parse_array(ask.array)
    if len(ask.after) + len(ask.after_any) > AFTER_MAX:
        raise BadInput(f"A job may come after {AFTER_MAX} jobs at most.", "Name fewer, or an array.")
    if len(ask.secrets) > SECRETS_MAX or len(set(ask.secrets)) != len(ask.secrets):
        raise BadInput("A job may use up to 64 secrets, each once.", "Name fewer.")
    work = Work(
        command=ask.command,
        launch="once" if roles else ask.launch or _launch(ask.command),
        snapshot=ask.snapshot,
        environment=tuple(ask.environment.items()),
        secrets=ask.secrets,
    )
    return JobSpec(
        job=job,
        tenant=tenant,
        cards_min=cards_min,
        cards_max=cards_max,
        kind=kind,
        price=now.kinds[kind].price,
        time_limit_ms=time_limit_ms,
        retries=ask.retries,
        priority=ask.priority,
        project=project,
        owner=owner,
        name=ask.name,
        work=work,
        roles=roles,
        shape=shape_of(ask.shape, now.levels, now.kinds[kind].resources, now.licences),
        earliest_start_ms=ask.earliest_start_ms,
        reservation=booked.reservation if booked else "",
        stays=ask.stays,
    )


def check_place(state: State, spec: JobSpec, now_ms: int) -> bool:
    """Whether there is room for a job now, by its shape or in its reservation.

    Raises BadInput where what it asks for can never be had on this cluster.
    """
    check(spec, state.view)
    space = state.spaces.get(spec.kind)
    if space is None:
        return False
    request = request_of(spec, spec.time_limit_ms + state.view.terms.grace_ms, False, space)
    if state.view.limits.members(spec.tenant, request) < request.least:
        return False
    if spec.reservation:
        booking = state.view.bookings.get(spec.reservation)
        return booking is not None and booking.room(request, now_ms, 0).sum() >= request.least
    return Sight(space, request, now_ms, None).fits()


def has_place(spec: JobSpec) -> bool:
    """Whether more than free cards decides where a job may start."""
    return spec.shape != PLAIN or bool(spec.reservation)


def _check_inside(booked: Booked, kind: str, cards_min: int) -> None:
    if kind != booked.kind or cards_min > booked.cards * CARD:
        has = f"Reservation {booked.label or booked.reservation} has {booked.cards} {booked.kind} cards."
        raise BadInput(has, "Ask for cards of that kind, and no more.")


def check_money(spec: JobSpec, now: Now) -> None:
    """Raises Refused when the wallet does not pay for the shortest lease on the fewest cards."""
    needs = hold_for(spec.price, spec.cards_min, now.least_lease_ms)
    if needs > now.available:
        raise Refused(
            f"The wallet holds {format_yuan(now.available)}; to start, this job needs {format_yuan(needs)}.",
            f"Top up {format_yuan(needs - now.available)} or more, or ask for fewer cards.",
        )


def check_scripts(spec: JobSpec, files: Collection[str] | None) -> None:
    """Raises BadInput when a script is not among the submitted files (None: nothing was submitted)."""
    for work in [role.work for role in spec.roles] or [spec.work]:
        _check_script(work.command[0], files)


def _check_script(script: str, files: Collection[str] | None) -> None:
    if not script.endswith(".py") or script.startswith("/"):
        return
    if files is None:
        raise BadInput(f"'{script}' needs the directory it is in.", "Upload it and name its `snapshot`.")
    if posixpath.normpath(script) not in files:
        alike = sorted(path for path in files if posixpath.basename(path) == posixpath.basename(script))[:3]
        remedy = f"Did you mean {' or '.join(alike)}?" if alike else "Is it named in .gitignore?"
        raise BadInput(f"There is no script '{script[:80]}' in the submitted directory.", remedy)


def _cards(cards: float | str) -> tuple[int, int]:
    if isinstance(cards, str):
        return parse_cards(cards)
    if not isinstance(cards, int):
        return parse_cards(f"{cards:.0f}" if cards.is_integer() else repr(cards))
    if not 1 <= cards <= CARDS_MAX:
        shown = cards if abs(cards) < 10**12 else "So many"
        raise BadInput(f"{shown} cards cannot be had.", f"Ask for 1 to {CARDS_MAX:,} cards.")
    return cards * CARD, cards * CARD


def _role(role: RoleAsk) -> Role:
    """A role as the loop is told of it. Raises BadInput for one that makes no sense."""
    if not ROLE.fullmatch(role.name):
        raise BadInput(f"{role.name[:40]!r} is no name of a role.", "Use up to 32 letters, digits, - and _.")
    try:
        _cards(role.cards)
        _check_command(role.command)
        _check_environment(role.environment)
    except BadInput as error:
        raise BadInput(f"Role {role.name}: {error.what}", error.remedy) from None
    launch = role.launch or _launch(role.command)
    return Role(
        role.name, role.cards, Work(role.command, launch, environment=tuple(role.environment.items()))
    )


def _cards_of_roles(ask: JobAsk, roles: tuple[Role, ...]) -> tuple[int, int]:
    """The cards of a gang with roles: those of all of them."""
    if ask.command or ask.launch:
        raise BadInput("A job with roles has no command of its own.", "Give each role its command.")
    names = [role.name for role in roles]
    if len(names) > ROLES_MAX or len(set(names)) < len(names):
        raise BadInput(f"A job may have up to {ROLES_MAX} roles, each name once.", "Rename, or join some.")
    cards = sum(role.cards for role in roles)
    if ask.cards not in (1, cards, str(cards)):
        raise BadInput(f"The roles have {cards} cards; `cards` says {ask.cards}.", "Leave `cards` out.")
    return _cards(cards)


def kind_of(kind: str, now: Now, cards_min: int) -> str:
    """A kind of card by its name ("": the one there is most of). Raises BadInput or Refused."""
    if not now.kinds:
        raise Refused("This cluster has no cards yet.", "Ask its operator to add a node.")
    if not kind:
        kind = max(now.kinds, key=lambda name: (now.kinds[name].cards, name))
    if kind not in now.kinds:
        there = ", ".join(sorted(now.kinds))
        near = nearest(kind, now.kinds)
        remedy = f"{near} " if near.startswith("Did") else ""
        raise BadInput(f"This cluster has no {kind[:64]!r} cards.", f"{remedy}It has: {there}.")
    cards = now.kinds[kind].whole
    if cards_min > cards * CARD:
        wanted = cards_min // CARD
        has = f"This cluster has {cards} {kind} card{'s' * (cards != 1)}; you asked for {wanted}."
        raise BadInput(has, f"Ask for {cards} or fewer." if cards else "Ask for another kind.")
    return kind


def _launch(command: tuple[str, ...]) -> Launch:
    """As torchrun does with a script or a module; anything else is started once."""
    return "per-card" if command[0].endswith(".py") or command[0] == "-m" else "once"


def _check_command(command: tuple[str, ...]) -> None:
    if not command or not command[0].strip():
        raise BadInput("There is no command to run.", "Give a Python script and its arguments, or a command.")
    if any("\0" in word for word in command):
        raise BadInput("The command holds a NUL character.", "Remove it.")
    if sum(len(word.encode(errors="replace")) + 1 for word in command) > COMMAND_BYTES_MAX:
        raise BadInput("The command is longer than 128 KiB.", "Put what is long into a file.")


def _check_environment(environment: Mapping[str, str]) -> None:
    for name, value in environment.items():
        if not VARIABLE.fullmatch(name):
            raise BadInput(f"{name[:40]!r} is not the name of a variable.", "Use letters, digits and _.")
        if name.startswith(RESERVED):
            raise BadInput(f"{name[:60]} is set by the platform.", f"Choose a name not beginning {RESERVED}.")
        if "\0" in value:
            raise BadInput(f"The value of {name[:60]} holds a NUL character.", "Remove it.")
    if sum(len(n) + len(v.encode(errors="replace")) for n, v in environment.items()) > ENVIRONMENT_BYTES_MAX:
        raise BadInput("The environment is larger than 64 KiB.", "Put what is large into a file.")


def one_line(what: str, text: str) -> None:
    """Raises BadInput for what does not fit on a line."""
    if len(text) > NAME_CHARACTERS_MAX or not text.isprintable():
        remedy = f"Use up to {NAME_CHARACTERS_MAX} printable characters."
        raise BadInput(f"The {what} is too long or not plain text.", remedy)
