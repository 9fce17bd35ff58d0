"""What a tenant has, what it went for, and how more comes in."""

from starverse.model.errors import BadInput, NotFound
from starverse.model.requests import SetPrice, TopUp
from starverse.model.units import HOUR_MS
from starverse.money.ledger import WALLET
from starverse.service.access import Actor, must_operate, project_of, tenant_of
from starverse.service.answers import Page, Posting, Price, Wallet
from starverse.service.loop import tell
from starverse.service.platform import Platform
from starverse.service.rows import live_of_tenant
from starverse.store import reading as store
from starverse.store.database import reading


def wallet(platform: Platform, actor: Actor, project: str) -> Wallet:
    """What the tenant of a project has."""
    tenant = (
        project_of(actor, project, "member").tenant if actor.projects or project else tenant_of(actor.user)
    )
    return wallet_of(platform, tenant)


def wallet_of(platform: Platform, tenant: str) -> Wallet:
    """What a tenant has, and how long that pays for what runs now."""
    now_ms = platform.now_ms()
    with reading(platform.database) as connection:
        money = store.balance(connection, tenant)
        live = live_of_tenant(connection, tenant, now_ms).values()
    used = min(sum(run.used for run in live), money.held)
    per_hour = sum(run.per_hour for run in live)
    left = money.available + money.held - used
    empty_ms = now_ms + left * HOUR_MS // per_hour if per_hour else None
    return Wallet(tenant, money.available, money.held, used, per_hour, empty_ms)


def statement(platform: Platform, actor: Actor, project: str, cursor: str, limit: int) -> Page[Posting]:
    """Every movement of the money of the project's tenant, the newest first."""
    tenant = project_of(actor, project, "owner").tenant
    with reading(platform.database) as connection:
        page = store.statement(connection, tenant, cursor or None, limit)
    return Page(tuple(_posting(row) for row in page.rows), page.next or "")


def prices(platform: Platform) -> tuple[Price, ...]:
    """All dated prices, by kind and time."""
    dated = platform.ask(lambda state: {kind: tuple(rows) for kind, rows in state.truth.prices.items()})
    return tuple(
        Price(kind, from_ms, price) for kind, rows in sorted(dated.items()) for from_ms, price in rows
    )


def set_price(platform: Platform, actor: Actor, kind: str, price: int, from_ms: int) -> Price:
    """What a card-hour of a kind costs from then on (0: from now); never from before now."""
    must_operate(actor)
    now_ms = platform.now_ms()
    if from_ms and from_ms < now_ms:
        raise BadInput("A price cannot begin in the past.", "Leave `from_ms` out to begin now.")
    tell(platform, SetPrice(kind, price, from_ms or now_ms))
    return Price(kind, from_ms or now_ms, price)


def top_up(platform: Platform, actor: Actor, tenant: str, amount: int, note: str) -> Wallet:
    """Put money that came in into a wallet."""
    must_operate(actor)
    if not platform.ask(lambda state: WALLET + tenant in state.accounts):
        raise NotFound(
            f"There is no wallet of tenant {tenant[:80]!r}.", "`starverse whoami` shows a tenant's id."
        )
    tell(platform, TopUp(tenant, amount, note))
    return wallet_of(platform, tenant)


def _posting(row: store.Statement) -> Posting:
    metered = row.from_ms != 0 or row.to_ms != 0
    return Posting(
        seq=row.seq,
        at_ms=row.at_ms,
        kind=row.kind,
        job=row.job,
        run=row.run,
        wallet=row.wallet,
        held=row.held,
        amount=row.wallet + row.held,
        card_ms=row.card_ms,
        from_ms=row.from_ms if metered else None,
        to_ms=row.to_ms if metered else None,
        note=row.note,
    )
