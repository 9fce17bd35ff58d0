"""What wallets and limits allow, in one decision."""

from typing import NamedTuple

from starverse.money.lease import lease_for
from starverse.money.ledger import WALLET
from starverse.scheduler.line import Request
from starverse.scheduler.view import View


class Paid(NamedTuple):
    """Milli-cards that a wallet pays for, how long their first lease is, and what is held for it."""

    milli_cards: int
    lease_ms: int
    hold: int


class Purse:
    """What each tenant's wallet still gives in one plan, for all kinds of card together; mutable."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._spent: dict[str, int] = {}

    def has(self, tenant: str) -> int:
        """The micro-yuan that are left."""
        return self._view.accounts.get(WALLET + tenant, 0) - self._spent.get(tenant, 0)

    def pay(self, job: str, request: Request, members: int) -> Paid | None:
        """Pay for so many members, or for the least; None if the wallet is too small for that."""
        spec, terms = self._view.jobs[job].spec, self._view.terms
        money = self.has(spec.tenant)
        for count in (members, request.least):
            milli_cards = count * request.member_milli
            lease_ms, hold = lease_for(money, spec.price, milli_cards, terms)
            if lease_ms:
                if hold:
                    self._spent[spec.tenant] = self._spent.get(spec.tenant, 0) + hold
                return Paid(milli_cards, lease_ms, hold)
        return None

    def pays(self, job: str, request: Request, members: int = 0) -> bool:
        """Whether money and limits allow so many members, or (0) the least."""
        spec = self._view.jobs[job].spec
        members = members or request.least
        if self._view.limits.members(spec.tenant, request) < members:
            return False
        milli_cards = members * request.member_milli
        return bool(lease_for(self.has(spec.tenant), spec.price, milli_cards, self._view.terms)[0])
