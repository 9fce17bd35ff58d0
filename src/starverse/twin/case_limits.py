"""Reads what bounds the jobs of a case beside cards: quotas, licences, power budgets, reservations."""

from collections.abc import Callable
from typing import Any, get_args

from starverse.model import requests as rq
from starverse.model.job import Shape
from starverse.model.reservation import Repeat, Reservation
from starverse.model.units import CARD, CARDS_MAX, YUAN
from starverse.twin.tables import Table, decimal, each_of, one_of, whole

KILOWATT_MW = 1_000_000
RESERVATIONS_MAX = 1_000

Dated = tuple[int, rq.Request]
"""What is asked for, and when."""


def read_tenants(table: Table) -> tuple[dict[str, int], list[rq.Request]]:
    """The money of each tenant, and the quotas, in the order they stand in."""
    tenants: dict[str, int] = {}
    quotas: list[rq.Request] = []
    rows = table.table("tenants")
    for name in rows.keys:
        row = Table(rows.raw(name), rows.of(name))
        tenants[name] = row.decimal("yuan", 0, YUAN)
        parent, weight = row.text("parent"), row.whole("weight", 1)
        guaranteed = row.decimal("guaranteed", 0, CARD)
        borrow, lend = (
            row.decimal(key, 0, CARD) if row.has(key) else -1 for key in ("borrow_max", "lend_max")
        )
        row.done()
        if set(row.keys) - {"yuan"}:
            quotas.append(rq.SetQuota(name, parent, weight, guaranteed, borrow, lend))
    return tenants, quotas


def read_limits(table: Table) -> list[rq.Request]:
    """The licences and power budgets that a table sets."""
    budgets = each_of(table.table("budgets"), lambda value, where: decimal(value, where, KILOWATT_MW))
    licences = each_of(table.table("licences"), whole)
    return [
        *(rq.SetBudget(feed, milliwatts) for feed, milliwatts in budgets.items()),
        *(rq.SetLicences(name, count) for name, count in licences.items()),
    ]


def read_reservations(
    table: Table, start_ms: int, kind: str, shape: Callable[[Table, int], Shape]
) -> tuple[dict[str, str], list[Dated]]:
    """The tenant of each reservation, by name, and what is asked for it when."""
    tenants: dict[str, str] = {}
    asks: list[Dated] = []
    for row in table.tables("reservations", RESERVATIONS_MAX):
        name = row.name("name")
        if name in tenants:
            raise row.bad("name", "there is another of this name.", "Rename it.")
        tenants[name] = row.name("tenant", "tenant")
        cards = row.whole("cards", 1, 1, CARDS_MAX) * CARD
        from_ms, to_ms = (row.moment_ms(key, start_ms, 0) for key in ("from", "to"))
        if not from_ms or not to_ms:
            raise row.bad("from", "both times must be said.", 'Write from = "1h" and to = "2h".')
        words: tuple[Any, ...] = get_args(Repeat)
        repeat: Any = one_of(row.text("repeat"), row.of("repeat"), words)
        made = Reservation(
            name,
            tenants[name],
            row.name("kind", kind),
            cards,
            from_ms,
            to_ms,
            shape(row, cards),
            repeat,
            row.name("zone", "UTC"),
            row.moment_ms("until", start_ms, 0),
            row.text("label"),
        )
        asks.append((row.moment_ms("booked", start_ms, start_ms), rq.Reserve(made)))
        if row.has("cancel"):
            asks.append((row.moment_ms("cancel", start_ms, 0), rq.CancelReservation(name)))
        row.done()
    return tenants, asks
