"""Submitting a job, and what it would cost."""

from hashlib import sha256

import msgspec
from msgspec.structs import replace

from starverse.model.array import parse_array
from starverse.model.errors import BadInput, Refused, StarverseError
from starverse.model.job import JobSpec, member_of
from starverse.model.requests import SubmitArray, SubmitJob
from starverse.model.units import CARD, DAY_MS, in_cards
from starverse.money.meter import affordable_ms, hold_for
from starverse.service import asking, jobs
from starverse.service.access import Actor, project_of, tenant_of
from starverse.service.answers import Job, JobAsk, Preview
from starverse.service.loop import heard
from starverse.service.people import Membership
from starverse.service.platform import Platform
from starverse.service.predecessors import afters_of
from starverse.store import idempotency, tenants, vault
from starverse.store.database import reading

ARRAY_BYTES_MAX = 64 << 20
"""What the jobs of an array may take together where each is written down."""

KEY_KEPT_MS = 7 * DAY_MS
FORGET_EVERY = 100
"""So many submissions go by between two clearings of old keys."""


def preview(platform: Platform, actor: Actor, ask: JobAsk) -> Preview:
    """What a job would cost. Raises what `submit` raises of the ask itself, but not for an empty wallet."""
    place = project_of(actor, ask.project, "member")
    now_ms = platform.now_ms()
    now = platform.ask(lambda state: asking.now_of(state, place.tenant, now_ms))
    spec = asking.spec_of(ask, "j-preview", place.tenant, place.project, actor.user, now)
    kind = now.kinds[spec.kind]
    free = spec.cards_min <= max(kind.free * CARD, kind.part)
    if asking.has_place(spec):
        free = platform.ask(lambda state: asking.check_place(state, spec, now_ms))
    low, high, price = spec.cards_min, spec.cards_max, spec.price
    longest_ms = spec.time_limit_ms + now.grace_ms  # saving and leaving is paid for too
    return Preview(
        kind=spec.kind,
        cards_min=in_cards(low),
        cards_max=in_cards(high),
        price=price,
        per_hour_min=price * low // CARD,
        per_hour_max=price * high // CARD,
        time_limit_ms=spec.time_limit_ms,
        for_time_limit_min=hold_for(price, low, longest_ms),
        for_time_limit_max=hold_for(price, high, longest_ms),
        available=now.available,
        lasts_ms=affordable_ms(now.available, price, high) if price else None,
        cards_free=kind.free,
        cards_total=kind.cards,
        starts_now=free
        and not (kind.waiting or ask.after or ask.after_any or ask.earliest_start_ms > now_ms),
    )


def submit(platform: Platform, actor: Actor, ask: JobAsk, key: str) -> Job:
    """Submit a job, or an array, whose first job is answered: checked, written with its key in one
    transaction, and taken up by the loop.

    The same key with the same ask is answered with the same job, whatever has become of the wallet meanwhile.
    """
    place = project_of(actor, ask.project, "member")
    job = platform.new_id("j")
    refusal: StarverseError | None = None
    spec: JobSpec | None = None
    try:
        spec = _checked(platform, actor, ask, place, job)
    except StarverseError as error:
        if not key:
            raise
        refusal = error  # unless this very ask was granted before
    now_ms = platform.now_ms()
    with platform.database.begin() as connection:
        earlier = None
        if key:
            body_hash = sha256(msgspec.json.encode(ask)).digest()
            earlier = idempotency.earlier_answer(connection, actor.user, key, body_hash, now_ms)
        if earlier is not None:
            job, _, written = earlier.partition(" ")
            number = int(written)
        elif spec is None:
            assert refusal is not None
            raise refusal
        else:
            number = platform.requests.put(connection, _request(spec, ask))
            job = _first(spec, ask)
            if key:
                idempotency.remember(connection, actor.user, key, f"{job} {number}")
            if number % FORGET_EVERY == 0:
                idempotency.forget(connection, now_ms - KEY_KEPT_MS)
    if not heard(platform, number):
        raise Refused(
            f"Job {job} is noted, but the scheduler is busy.", "Look for it in a moment; it is not lost."
        )
    return jobs.show(platform, actor, job)


def _request(spec: JobSpec, ask: JobAsk) -> SubmitJob | SubmitArray:
    """What the loop is asked for."""
    if not ask.array:
        return SubmitJob(spec)
    indices, limit = parse_array(ask.array)
    written = len(msgspec.json.encode(spec)) * len(indices)
    if written > ARRAY_BYTES_MAX:
        what = f"{len(indices):,} jobs with so long a command and environment are more than 64 MiB."
        raise BadInput(what, "Put what is long into a file.")
    return SubmitArray(replace(spec, array_limit=limit), indices)


def _first(spec: JobSpec, ask: JobAsk) -> str:
    """The job that is answered."""
    return member_of(spec, parse_array(ask.array)[0][0]).job if ask.array else spec.job


def _checked(platform: Platform, actor: Actor, ask: JobAsk, place: Membership, job: str) -> JobSpec:
    """All that can be checked before the loop sees it."""
    tenant = place.tenant
    now_ms = platform.now_ms()
    now = platform.ask(lambda state: asking.now_of(state, tenant, now_ms))
    spec = asking.spec_of(ask, job, tenant, place.project, actor.user, now)
    if asking.has_place(spec):
        platform.ask(lambda state: asking.check_place(state, spec, now_ms))
    files = None
    if spec.work.snapshot:
        if not _is_digest(spec.work.snapshot) or not platform.blobs.has(tenant, spec.work.snapshot):
            raise BadInput("That snapshot was not sent.", "Upload the directory first.")
        files = {entry.path for entry in platform.blobs.manifest(spec.work.snapshot)}
    asking.check_scripts(spec, files)
    with reading(platform.database) as connection:
        known = {name for name, _ in vault.secret_names(connection, tenant)} if spec.work.secrets else set()
        owners = [] if platform.accepts_foreign else tenants.operators(connection)
        spec = replace(spec, after=afters_of(connection, actor, tenant, ask))
    unknown = [name for name in spec.work.secrets if name not in known]
    if unknown:
        raise BadInput(f"There is no secret {unknown[0][:64]!r}.", "Set it first.")
    if not platform.accepts_foreign and tenant not in {tenant_of(owner.user) for owner in owners}:
        raise Refused(f"This server takes only its owner's jobs. {platform.isolation}", "Ask its operator.")
    asking.check_money(spec, now)
    return spec


def _is_digest(text: str) -> bool:
    return len(text) == 64 and set(text) <= set("0123456789abcdef")
