"""What callers send of bookings, quotas, licences and budgets: strict, as all bodies are."""

from typing import Annotated

from pydantic import Field

from starverse.faces.api.bodies import Body, Name, ShapeBody, Whole
from starverse.faces.schemas import ReservationAsk
from starverse.model.reservation import Repeat

Amount = Annotated[int | float, Field(ge=0, le=10**10, allow_inf_nan=False)]


class ReservationBody(Body):
    """Cards booked from one moment to another, once or recurring; see ReservationAsk."""

    cards: Annotated[int, Field(ge=1, le=2**31 - 1)]
    from_ms: Whole
    to_ms: Whole
    kind: Name = ""
    label: Name = ""
    repeat: Repeat = ""
    zone: Name = "UTC"
    until_ms: Whole = 0
    project: Name = ""
    shape: ShapeBody = ShapeBody()

    def ask(self) -> ReservationAsk:
        """As the use case takes it."""
        return ReservationAsk(**{**self.model_dump(), "shape": self.shape.ask()})


class QuotaBody(Body):
    """A quota in cards; null limits nothing."""

    parent: Name = ""
    weight: Annotated[int, Field(ge=0, le=1_000_000)] = 1
    guaranteed: Amount = 0
    borrow_max: Amount | None = None
    lend_max: Amount | None = None


class LicenceBody(Body):
    """How many there are."""

    count: Annotated[int, Field(ge=0, le=10**9)]


class BudgetBody(Body):
    """Watts; null lifts the budget."""

    watts: Amount | None
