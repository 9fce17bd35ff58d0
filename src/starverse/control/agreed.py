"""Folds what people agreed on: prices, quotas, licences, budgets and reservations."""

from bisect import insort
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from starverse.control.scheduling import Scheduling
from starverse.control.truth import Truth
from starverse.model import events as ev


class Agreed:
    """A part of the fold of the journal, owned by the state."""

    def __init__(self, truth: Truth, scheduling: Scheduling, now_ms: Callable[[], int]) -> None:
        self._truth = truth
        self._scheduling = scheduling
        self._now_ms = now_ms
        self.folds: dict[type, Callable[[Any], None]] = {
            ev.PriceSet: self._price_set,
            ev.QuotaSet: self._quota_set,
            ev.QuotaRemoved: self._quota_removed,
            ev.LicencesSet: self._licences_set,
            ev.BudgetSet: self._budget_set,
            ev.ReservationMade: self._reservation_made,
            ev.ReservationMoved: self._reservation_moved,
            ev.ReservationEnded: self._reservation_ended,
        }

    def load(self) -> None:
        """Tell the scheduler of all that holds, when a snapshot is loaded."""
        truth = self._truth
        for quota in truth.quotas.values():
            self._scheduling.quota(quota)
        for name, count in truth.licences.items():
            self._scheduling.licences(name, count)
        for feed, milliwatts in truth.budgets.items():
            self._scheduling.budget(feed, milliwatts)
        for made in truth.reservations.values():
            self._scheduling.reserve(made, self._now_ms())

    def _price_set(self, event: ev.PriceSet) -> None:
        dated = self._truth.prices.setdefault(event.kind, [])
        dated[:] = [row for row in dated if row[0] != event.from_ms]  # the last word for a date counts
        insort(dated, (event.from_ms, event.price))

    def _quota_set(self, event: ev.QuotaSet) -> None:
        self._truth.quotas[event.tenant] = event
        self._scheduling.quota(event)

    def _quota_removed(self, event: ev.QuotaRemoved) -> None:
        del self._truth.quotas[event.tenant]
        self._scheduling.no_quota(event.tenant)

    def _licences_set(self, event: ev.LicencesSet) -> None:
        self._truth.licences[event.name] = event.count
        self._scheduling.licences(event.name, event.count)

    def _budget_set(self, event: ev.BudgetSet) -> None:
        self._truth.budgets.pop(event.feed, None)
        if event.milliwatts >= 0:
            self._truth.budgets[event.feed] = event.milliwatts
        self._scheduling.budget(event.feed, event.milliwatts)

    def _reservation_made(self, event: ev.ReservationMade) -> None:
        self._truth.reserved = event.number
        self._truth.reservations[event.reservation.name] = event
        self._scheduling.reserve(event, self._now_ms())

    def _reservation_moved(self, event: ev.ReservationMoved) -> None:
        truth, name = self._truth, event.reservation
        made = truth.reservations[name] = replace(truth.reservations[name], shares=event.shares)
        truth.missing.pop(name, None)
        if event.missing:
            truth.missing[name] = event.missing
        self._scheduling.reserve(made, self._now_ms())

    def _reservation_ended(self, event: ev.ReservationEnded) -> None:
        del self._truth.reservations[event.reservation]
        self._truth.missing.pop(event.reservation, None)
        self._scheduling.unreserve(event.reservation)
