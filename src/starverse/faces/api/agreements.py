"""Routes of what is agreed on beside jobs: bookings, and the operator's quotas, licences and budgets."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from starverse.faces.api.agreed_bodies import BudgetBody, LicenceBody, QuotaBody, ReservationBody
from starverse.faces.api.context import At, Caller, Key
from starverse.faces.schemas import Budget, Licence, Limits, Offer, Quota, Reservation
from starverse.service import limits, reservations

router = APIRouter(prefix="/v1")

ReservationName = Annotated[str, Path(max_length=128, description="Its id, or what you call it.")]
Named = Annotated[str, Path(max_length=128)]


@router.post("/reservations/preview", tags=["reservations"])
def preview_reservation(at: At, caller: Caller, body: ReservationBody) -> Offer:
    """Whether cards can be booked so, what they cost for their time, and what could be had instead."""
    return reservations.preview(at, caller, body.ask())


@router.post("/reservations", status_code=201, tags=["reservations"])
def reserve(at: At, caller: Caller, body: ReservationBody, key: Key = "") -> Reservation:
    """Book cards in advance, once or recurring. Refused with what could be had instead. With an
    Idempotency-Key, sending it again books nothing new."""
    return reservations.reserve(at, caller, body.ask(), key)


@router.get("/reservations", tags=["reservations"])
def list_reservations(
    at: At,
    caller: Caller,
    project: Annotated[
        str, Query(max_length=128, description="Of this project's tenant; all one may see if empty.")
    ] = "",
    everyone: Annotated[bool, Query(description="Operator: those of all tenants.")] = False,
    ended: Annotated[bool, Query(description="Those that are over or were cancelled instead.")] = False,
) -> tuple[Reservation, ...]:
    """What is booked and not over, that which begins next first; or the last 100 that ended, the latest
    first."""
    return reservations.list_reservations(at, caller, project, everyone, ended)


@router.get("/reservations/{reservation}", tags=["reservations"])
def show_reservation(at: At, caller: Caller, reservation: ReservationName) -> Reservation:
    """One booking with its next times; one that is no more by its id."""
    return reservations.show(at, caller, reservation)


@router.delete("/reservations/{reservation}", status_code=204, tags=["reservations"])
def cancel_reservation(at: At, caller: Caller, reservation: ReservationName) -> None:
    """Give the cards back; jobs inside are asked to leave."""
    reservations.cancel(at, caller, reservation)


@router.get("/limits", tags=["limits"])
def show_limits(at: At, caller: Caller) -> Limits:
    """Operator: quotas, licences, budgets of power and heat, and resting nodes."""
    return limits.limits(at, caller)


@router.put("/limits/quotas/{tenant}", tags=["limits"])
def set_quota(at: At, caller: Caller, tenant: Named, body: QuotaBody) -> Quota:
    """Operator: what a tenant or a group of them is guaranteed, may borrow and lends."""
    return limits.set_quota(at, caller, Quota(tenant, **body.model_dump()))


@router.delete("/limits/quotas/{tenant}", status_code=204, tags=["limits"])
def remove_quota(at: At, caller: Caller, tenant: Named) -> None:
    """Operator: let a tenant or a group have no quota any more; refused while others lie under it."""
    limits.remove_quota(at, caller, tenant)


@router.put("/limits/licences/{licence}", tags=["limits"])
def set_licence(at: At, caller: Caller, licence: Named, body: LicenceBody) -> Licence:
    """Operator: how many of a licence there are for the whole cluster."""
    return limits.set_licence(at, caller, licence, body.count)


@router.put("/limits/budgets/{feed}", tags=["limits"])
def set_budget(at: At, caller: Caller, feed: Named, body: BudgetBody) -> Budget:
    """Operator: what a feed (busbar, rack, row, coolant loop) gives at most; none lifts the budget."""
    return limits.set_budget(at, caller, feed, body.watts)
