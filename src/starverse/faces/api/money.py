"""Routes of money: wallet, statement, prices, top-ups."""

from typing import Annotated

from fastapi import APIRouter, Path

from starverse.faces.api.bodies import PriceBody, TopUpBody
from starverse.faces.api.context import At, Caller, CursorQuery, LimitQuery, ProjectQuery
from starverse.faces.schemas import Page, Posting, Price, Wallet
from starverse.service import billing

router = APIRouter(prefix="/v1", tags=["money"])


@router.get("/wallet")
def wallet(at: At, caller: Caller, project: ProjectQuery = "") -> Wallet:
    """What the tenant of the project has, and how long it will do."""
    return billing.wallet(at, caller, project)


@router.get("/wallet/statement")
def statement(
    at: At, caller: Caller, project: ProjectQuery = "", cursor: CursorQuery = "", limit: LimitQuery = 50
) -> Page[Posting]:
    """Owner: every movement of the wallet, the newest first."""
    return billing.statement(at, caller, project, cursor, limit)


@router.get("/prices")
def prices(at: At, caller: Caller) -> tuple[Price, ...]:
    """All dated prices."""
    return billing.prices(at)


@router.post("/prices", status_code=201)
def set_price(at: At, caller: Caller, body: PriceBody) -> Price:
    """Operator: what a card-hour of a kind costs from then on; jobs keep the price they came with."""
    return billing.set_price(at, caller, body.kind, body.price, body.from_ms)


@router.post("/tenants/{tenant}/top-ups", status_code=201)
def top_up(at: At, caller: Caller, tenant: Annotated[str, Path(max_length=64)], body: TopUpBody) -> Wallet:
    """Operator: put money that came in into a wallet."""
    return billing.top_up(at, caller, tenant, body.amount, body.note)
