"""What lists and pages read: jobs, runs, reservations, money, prices; a page at a time, the newest first."""

import base64
from collections.abc import Collection, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from sqlalchemy import Connection, bindparam, case, func, select

from starverse.model.allocation import Share
from starverse.model.errors import BadInput
from starverse.model.job import JobSpec
from starverse.model.reservation import Reservation
from starverse.money.ledger import HELD, WALLET
from starverse.store.schema import balances, jobs, ledger, prices, reservations, runs

LIMIT_MAX = 500

_BY_NAME = select(jobs).where(jobs.c.job == bindparam("name"))  # built once: most requests ask this

T = TypeVar("T")


class Page(NamedTuple, Generic[T]):
    """Some rows, and the cursor for those that follow; None when there are none."""

    rows: list[T]
    next: str | None


class JobRow(NamedTuple):
    """A job as a list shows it, see `schema.jobs`; `spec` is what was asked for."""

    job: str
    number: int
    tenant: str
    project: str
    owner: str
    name: str
    phase: str
    outcome: str
    why: str
    kind: str
    cards_min: int
    cards_max: int
    price: int
    priority: str
    submitted_ms: int
    started_ms: int | None
    ended_ms: int | None
    run: str
    runs: int
    charged: int
    credited: int
    card_ms: int
    spec: JobSpec
    array: str = ""


class RunRow(NamedTuple):
    """A run, see `schema.runs`; `shares` are the cards it had."""

    run: str
    job: str
    attempt: int
    shares: tuple[Share, ...]
    cards: int
    placed_ms: int
    started_ms: int | None
    resumed_ms: int | None
    resumed_step: int | None
    checkpoint_ms: int | None
    checkpoint_step: int | None
    ended_ms: int | None
    how: str
    code: int
    rank: int
    text: str
    fault: bool
    injected: bool


class EndedReservation(NamedTuple):
    """A booking that is no more, see `schema.reservations`; `shares` are the cards it had last."""

    spec: Reservation
    shares: tuple[Share, ...]
    ended_ms: int
    why: str


class Statement(NamedTuple):
    """A posting as the tenant sees it: what it did to what can be spent and to what is held (micro-yuan)."""

    seq: int
    at_ms: int
    kind: str
    job: str
    run: str
    wallet: int
    held: int
    card_ms: int
    from_ms: int
    to_ms: int
    note: str


class Balance(NamedTuple):
    """Micro-yuan of a tenant."""

    available: int
    held: int


# -- jobs -------------------------------------------------------------------------------------------------


def jobs_page(
    connection: Connection,
    tenant: str | None = None,
    cursor: str | None = None,
    limit: int = 50,
    phase: str | None = None,
    project: str | None = None,
) -> Page[JobRow]:
    """Jobs of one tenant or of all (None), the newest first; of one phase or project if given.

    Raises BadInput for a cursor or a limit that cannot be.
    """
    wanted = select(jobs).order_by(jobs.c.number.desc())
    if tenant is not None:
        wanted = wanted.where(jobs.c.tenant == tenant)
    if project is not None:
        wanted = wanted.where(jobs.c.project == project)
    if phase is not None:
        wanted = wanted.where(jobs.c.phase == phase)
    if phase is not None and phase != "ended":
        wanted = wanted.where(jobs.c.phase != "ended")  # says what the index of those alive is made of
    if cursor is not None:
        wanted = wanted.where(jobs.c.number < _number(cursor))
    limit = _limit(limit)
    found = [_job(row) for row in connection.execute(wanted.limit(limit + 1))]
    return _page(found, limit, [row.number for row in found])


def job_row(connection: Connection, job: str) -> JobRow | None:
    """The job, None when there never was one."""
    found = connection.execute(_BY_NAME, {"name": job}).first()
    return None if found is None else _job(found)


def array_row(connection: Connection, array: str) -> JobRow | None:
    """The first job of the array, None when there never was one."""
    if not array:
        return None
    wanted = select(jobs).where(jobs.c.array == array, jobs.c.array != "")  # says what the index is made of
    found = connection.execute(wanted.order_by(jobs.c.number).limit(1)).first()
    return None if found is None else _job(found)


def runs_of(connection: Connection, job: str) -> list[RunRow]:
    """All runs of a job, the first one first."""
    found = select(runs).where(runs.c.job == job).order_by(runs.c.attempt)
    return [_run(row) for row in connection.execute(found)]


def _job(row: Any) -> JobRow:
    return JobRow(*row)._replace(spec=msgspec.json.decode(row.spec, type=JobSpec))


def _run(row: Any) -> RunRow:
    return RunRow(*row)._replace(shares=msgspec.json.decode(row.shares, type=tuple[Share, ...]))


# -- reservations -----------------------------------------------------------------------------------------


def ended_reservations(
    connection: Connection, tenants: Collection[str] | None, limit: int, name: str = ""
) -> list[EndedReservation]:
    """Bookings of these tenants, or of all (None), that are no more, the last that ended first; with `name`
    only that one."""
    columns = reservations.c
    wanted = select(columns.spec, columns.shares, columns.ended_ms, columns.why)
    wanted = wanted.where(columns.ended_ms.is_not(None))
    if tenants is not None:
        wanted = wanted.where(columns.tenant.in_(tenants))
    if name:
        wanted = wanted.where(columns.reservation == name)
    newest = wanted.order_by(columns.ended_ms.desc(), columns.number.desc()).limit(_limit(limit))
    return [
        EndedReservation(
            msgspec.json.decode(row.spec, type=Reservation),
            msgspec.json.decode(row.shares, type=tuple[Share, ...]),
            row.ended_ms,
            row.why,
        )
        for row in connection.execute(newest)
    ]


# -- money ------------------------------------------------------------------------------------------------


def statement(
    connection: Connection, tenant: str, cursor: str | None = None, limit: int = 50, job: str | None = None
) -> Page[Statement]:
    """Every posting that touched a tenant's money, the newest first; of one job if given.

    Raises BadInput for a cursor or a limit that cannot be.
    """

    def on(account: str) -> Any:
        return func.sum(case((ledger.c.account == account + tenant, ledger.c.amount), else_=0))

    same = (ledger.c.at_ms, ledger.c.kind, ledger.c.job, ledger.c.run)
    meter = (ledger.c.card_ms, ledger.c.from_ms, ledger.c.to_ms, ledger.c.note)
    agreed = func.max  # the lines of a posting agree in all but account and amount
    wanted = (
        select(ledger.c.seq, *map(agreed, same), on(WALLET), on(HELD), *map(agreed, meter))
        .where(ledger.c.tenant == tenant)
        .group_by(ledger.c.seq)
        .order_by(ledger.c.seq.desc())
    )
    if job is not None:
        wanted = wanted.where(ledger.c.job == job, ledger.c.job != "")
    if cursor is not None:
        wanted = wanted.where(ledger.c.seq < _number(cursor))
    limit = _limit(limit)
    found = [
        Statement(*row)._replace(wallet=int(row[5]), held=int(row[6]))  # PostgreSQL sums to NUMERIC
        for row in connection.execute(wanted.limit(limit + 1))
    ]
    return _page(found, limit, [row.seq for row in found])


def balance(connection: Connection, tenant: str) -> Balance:
    """What a tenant can spend, and what is held for its runs."""
    accounts = (WALLET + tenant, HELD + tenant)
    found = select(balances.c.account, balances.c.amount).where(balances.c.account.in_(accounts))
    amounts = {row.account: row.amount for row in connection.execute(found)}
    return Balance(*(amounts.get(account, 0) for account in accounts))


def ledger_sums(connection: Connection) -> dict[str, int]:
    """The sum of all lines by account, `wallet` and `held` of all tenants together; added up they are zero.

    Reads the whole ledger.
    """
    sums: dict[str, int] = {}
    summed = select(ledger.c.account, func.sum(ledger.c.amount)).group_by(ledger.c.account)
    for account, amount in connection.execute(summed.order_by(ledger.c.account)):
        name = account.partition("/")[0] if account.startswith((WALLET, HELD)) else account
        sums[name] = sums.get(name, 0) + int(amount)
    return sums


# -- prices and counts ------------------------------------------------------------------------------------


def price_at(connection: Connection, kind: str, at_ms: int) -> int:
    """Micro-yuan per card-hour in force at `at_ms`, 0 before the first price; see `money.prices.price_at`."""
    dated = select(prices.c.price).where(prices.c.kind == kind, prices.c.from_ms <= at_ms)
    return connection.execute(dated.order_by(prices.c.from_ms.desc()).limit(1)).scalar() or 0


def prices_now(connection: Connection, now_ms: int) -> dict[str, int]:
    """By kind of card, the price in force."""
    begun = select(prices).where(prices.c.from_ms <= now_ms).order_by(prices.c.kind, prices.c.from_ms)
    return {row.kind: row.price for row in connection.execute(begun)}


def jobs_by_phase(connection: Connection) -> dict[str, int]:
    """How many jobs that are not over are in each phase."""
    counted = select(jobs.c.phase, func.count()).where(jobs.c.phase != "ended").group_by(jobs.c.phase)
    return {phase: count for phase, count in connection.execute(counted) if count}


def jobs_by_outcome(connection: Connection) -> dict[str, int]:
    """How many jobs ended how."""
    counted = select(jobs.c.outcome, func.count()).group_by(jobs.c.outcome)
    return {outcome: count for outcome, count in connection.execute(counted) if outcome}


# -- pages ------------------------------------------------------------------------------------------------


def _limit(limit: int) -> int:
    if not 1 <= limit <= LIMIT_MAX:
        raise BadInput(f"{limit} rows a page cannot be had.", f"Ask for 1 to {LIMIT_MAX}.")
    return limit


def _page(found: list[T], limit: int, numbers: Sequence[int]) -> Page[T]:
    more = len(found) > limit
    return Page(found[:limit], _cursor(numbers[limit - 1]) if more else None)


def _cursor(number: int) -> str:
    return base64.urlsafe_b64encode(str(number).encode()).decode().rstrip("=")


def _number(cursor: str) -> int:
    try:
        number = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        if len(number) <= 19:
            return int(number)
    except ValueError:
        pass
    raise BadInput(f"'{cursor[:40]}' is not a cursor of a list.", "Begin again without one.")
