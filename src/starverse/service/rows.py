"""Jobs and runs as rows, and what live runs have used since they were last charged."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, bindparam, case, func, or_, select

from starverse.model.errors import BadInput
from starverse.model.job import JobSpec
from starverse.model.units import CARD, in_cards
from starverse.money.meter import cost
from starverse.service.answers import Job, Place, Progress, RoleAsk, Run
from starverse.service.people import Membership
from starverse.service.shaping import shape_answer
from starverse.store import reading as store
from starverse.store.schema import jobs, ledger, runs

METERED = ("running", "stopping")
"""The phases in which a run may have used what is not charged yet."""

_CURSOR_CHARACTERS_MAX = 15


_CHARGED = (
    select(func.coalesce(func.sum(ledger.c.amount), 0))
    .where(ledger.c.job == runs.c.job, ledger.c.job != "", ledger.c.run == runs.c.run)
    .where(ledger.c.kind == "charge", ledger.c.account == "income/compute")
    .scalar_subquery()
)
_LIVE = (  # built once: pages and live streams ask this all the time
    select(runs.c.job, jobs.c.price, runs.c.cards, runs.c.started_ms, _CHARGED)
    .join(jobs, jobs.c.run == runs.c.run)
    .where(runs.c.started_ms.is_not(None), runs.c.ended_ms.is_(None))
)
_OF_RUNS = _LIVE.where(runs.c.run.in_(bindparam("runs", expanding=True)))
_OF_TENANT = _LIVE.where(
    or_(*(jobs.c.phase == phase for phase in METERED)),
    jobs.c.phase != "ended",  # says what the index of those alive is made of
    jobs.c.tenant == bindparam("tenant"),
)


class Live(NamedTuple):
    """A run that goes on: micro-yuan it has used since its last charge, and what it uses in an hour."""

    job: str
    used: int
    per_hour: int


def job_page(
    connection: Connection,
    members: Sequence[Membership] | None,
    phase: str,
    cursor: str,
    limit: int,
    array: str = "",
    fold: bool = False,
) -> tuple[list[store.JobRow], str]:
    """Jobs of these projects (None: of all), newest first, and the cursor of the rest; of one `array`, or
    `fold`ed: of each array only the first of those that are asked for. Raises BadInput."""
    wanted = select(jobs).order_by(jobs.c.number.desc())
    if members is not None:
        tenants = sorted({member.tenant for member in members})
        # equality lets the database walk its index in order; `in` makes it sort
        of_tenant = jobs.c.tenant == tenants[0] if len(tenants) == 1 else jobs.c.tenant.in_(tenants)
        wanted = wanted.where(of_tenant, jobs.c.project.in_([member.project for member in members]))
    if phase:
        wanted = wanted.where(jobs.c.phase == phase)
    if phase and phase != "ended":
        wanted = wanted.where(jobs.c.phase != "ended")  # says what the index of those alive is made of
    if array:
        wanted = wanted.where(jobs.c.array == array, jobs.c.array != "")
    elif fold:
        earlier = jobs.alias()
        before = (earlier.c.array == jobs.c.array, earlier.c.array != "", earlier.c.number < jobs.c.number)
        there_is_one = select(earlier.c.job).where(*before)
        if phase:
            there_is_one = there_is_one.where(earlier.c.phase == phase)
        wanted = wanted.where(or_(jobs.c.array == "", ~there_is_one.exists()))
    if cursor:
        wanted = wanted.where(jobs.c.number < _number(cursor))
    found = [_row(row) for row in connection.execute(wanted.limit(limit + 1))]
    return found[:limit], f"{found[limit - 1].number:x}" if len(found) > limit else ""


def array_counts(connection: Connection, arrays: Collection[str]) -> dict[str, dict[str, int]]:
    """How many jobs of each array there are, by outcome, and by phase of those that have not ended."""
    stands = case((jobs.c.phase == "ended", jobs.c.outcome), else_=jobs.c.phase)
    wanted = select(jobs.c.array, stands, func.count()).group_by(jobs.c.array, stands).order_by(stands)
    found: dict[str, dict[str, int]] = {array: {} for array in arrays}
    if arrays:
        for array, word, count in connection.execute(
            wanted.where(jobs.c.array.in_(arrays), jobs.c.array != "")
        ):
            found[array][word] = int(count)
    return found


def jobs_named(
    connection: Connection, members: Sequence[Membership], names: Collection[str]
) -> list[store.JobRow]:
    """Those of these jobs that are in these projects, in the order they were submitted."""
    wanted = select(jobs).where(jobs.c.job.in_(names))
    wanted = wanted.where(jobs.c.project.in_([member.project for member in members]))
    return [_row(row) for row in connection.execute(wanted.order_by(jobs.c.number))]


def jobs_alive(connection: Connection, members: Sequence[Membership], limit: int) -> set[str]:
    """The names of the jobs in these projects that are not over, the newest `limit` of them."""
    wanted = select(jobs.c.job).where(jobs.c.phase != "ended")
    wanted = wanted.where(jobs.c.project.in_([member.project for member in members]))
    return set(connection.execute(wanted.order_by(jobs.c.number.desc()).limit(limit)).scalars())


def live_of_jobs(connection: Connection, found: Collection[store.JobRow], now_ms: int) -> dict[str, Live]:
    """What the live runs of these jobs have used, by job."""
    alive = [row.run for row in found if row.phase in METERED]
    return _live(connection.execute(_OF_RUNS, {"runs": alive}), now_ms) if alive else {}


def live_of_tenant(connection: Connection, tenant: str, now_ms: int) -> dict[str, Live]:
    """What the live runs of a tenant have used, by job."""
    return _live(connection.execute(_OF_TENANT, {"tenant": tenant}), now_ms)


def _live(found: Iterable[Any], now_ms: int) -> dict[str, Live]:
    by_job = {}
    for job, price, milli_cards, started_ms, posted in found:
        used = cost(price, milli_cards, max(0, now_ms - started_ms)) - int(posted)
        by_job[job] = Live(job, max(0, used), price * milli_cards // CARD)
    return by_job


def job_answer(
    row: store.JobRow,
    live: Mapping[str, Live],
    progress: Progress | None = None,
    array_jobs: Mapping[str, int] | None = None,
) -> Job:
    """A job for people."""
    spec = row.spec
    used = live[row.job].used if row.job in live else 0
    return Job(
        job=row.job,
        project=row.project,
        tenant=row.tenant,
        owner=row.owner,
        name=row.name,
        phase=row.phase,  # type: ignore[arg-type]  # the table holds nothing else
        outcome=row.outcome,  # type: ignore[arg-type]
        why=row.why,
        kind=row.kind,
        cards_min=in_cards(row.cards_min),
        cards_max=in_cards(row.cards_max),
        price=row.price,
        priority=spec.priority,
        time_limit_ms=spec.time_limit_ms,
        submitted_ms=row.submitted_ms,
        started_ms=row.started_ms,
        ended_ms=row.ended_ms,
        run=row.run,
        runs=row.runs,
        command=spec.work.command,
        launch=spec.work.launch,
        snapshot=spec.work.snapshot,
        environment=dict(spec.work.environment),
        secrets=spec.work.secrets,
        cost=row.charged + used - row.credited,
        charged=row.charged,
        credited=row.credited,
        card_ms=row.card_ms,
        progress=progress,
        array=row.array,
        array_index=spec.array_index if row.array else None,
        array_jobs=dict(array_jobs or {}),
        after=tuple(after.job for after in spec.after if after.ok),
        after_any=tuple(after.job for after in spec.after if not after.ok),
        roles=tuple(
            RoleAsk(role.name, role.work.command, role.cards, role.work.launch, dict(role.work.environment))
            for role in spec.roles
        ),
        array_limit=spec.array_limit,
        shape=shape_answer(spec.shape),
        earliest_start_ms=spec.earliest_start_ms or None,
        reservation=spec.reservation,
        stays=spec.stays,
    )


def run_answer(row: store.RunRow) -> Run:
    """A run for people."""
    values: dict[str, Any] = row._asdict()
    for name in ("job", "shares"):
        del values[name]
    places = tuple(Place(share.node, share.cards) for share in row.shares)
    values |= {"cards": in_cards(row.cards), "fault": bool(row.fault), "injected": bool(row.injected)}
    return Run(places=places, **values)


def _row(row: Any) -> store.JobRow:
    return store.JobRow(*row)._replace(spec=msgspec.json.decode(row.spec, type=JobSpec))


def _number(cursor: str) -> int:
    try:
        if len(cursor) <= _CURSOR_CHARACTERS_MAX:
            return int(cursor, 16)
    except ValueError:
        pass
    raise BadInput("That is not a cursor of this list.", "Begin again without one.")
