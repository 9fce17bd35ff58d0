"""The shapes of money's movements: every posting is a balanced set of lines.

| account | meaning |
|---|---|
| `wallet/T` | what tenant T can spend |
| `held/T` | what is set aside for T's running runs |
| `income/compute` | what was earned |
| `expense/trial` | trial credit given away |
| `expense/fault` | credited for faults of the platform's own |
| `gateway/top-up` | money that came in from outside |
"""

from collections.abc import Iterable

from starverse.model.events import Posted

WALLET = "wallet/"
HELD = "held/"

Meter = tuple[int, int, int]
"""What was metered: (card-milliseconds, from_ms, to_ms), half-open."""


def balanced(posting: Posted) -> bool:
    """Whether the lines of a posting sum to zero."""
    return sum(amount for _, amount in posting.lines) == 0


def trial(tenant: str, amount: int) -> Posted:
    """Trial credit for a new tenant."""
    return Posted("trial", tenant, ((WALLET + tenant, amount), ("expense/trial", -amount)))


def top_up(tenant: str, amount: int, note: str) -> Posted:
    """Money that came in from outside."""
    return Posted("top-up", tenant, ((WALLET + tenant, amount), ("gateway/top-up", -amount)), note=note)


def hold(tenant: str, job: str, run: str, amount: int) -> Posted:
    """Set money aside for a lease."""
    return Posted("hold", tenant, ((WALLET + tenant, -amount), (HELD + tenant, amount)), job, run)


def charge(tenant: str, job: str, run: str, amount: int, meter: Meter) -> Posted:
    """Earn a part of what is held, while the run goes on."""
    lines = ((HELD + tenant, -amount), ("income/compute", amount))
    return Posted("charge", tenant, lines, job, run, *meter)


def settle(tenant: str, job: str, run: str, amount: int, held: int, meter: Meter) -> Posted:
    """Earn what the run still owes and give the rest of what was held back."""
    lines = ((HELD + tenant, -held), ("income/compute", amount), (WALLET + tenant, held - amount))
    card_ms, from_ms, to_ms = meter
    return Posted("charge", tenant, lines, job, run, card_ms, from_ms, to_ms)


def release(tenant: str, job: str, run: str, held: int) -> Posted:
    """Give back all that was held: the run never ran."""
    return Posted("release", tenant, ((HELD + tenant, -held), (WALLET + tenant, held)), job, run)


def credit(tenant: str, job: str, run: str, amount: int, meter: Meter, note: str) -> Posted:
    """Give back what was charged for time lost to the platform's own fault."""
    lines = ((WALLET + tenant, amount), ("expense/fault", -amount))
    return Posted("credit", tenant, lines, job, run, *meter, note)


def balances(postings: Iterable[Posted]) -> dict[str, int]:
    """The balance of every account, folded from postings; they sum to zero."""
    accounts: dict[str, int] = {}
    for posting in postings:
        for account, amount in posting.lines:
            accounts[account] = accounts.get(account, 0) + amount
    return accounts
