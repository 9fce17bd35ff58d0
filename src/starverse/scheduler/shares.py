"""Whose turn it is: what each tenant has and had, against its weight."""

import numpy as np

from starverse.model.units import HOUR_MS
from starverse.scheduler.kernels import Ints

STEP_MS = HOUR_MS
KEEP_NUM, KEEP_DEN = 31, 32
"""What was used counts less with time: each hour it keeps 31/32, so that half is left after 22 hours."""

WINDOW_MS = STEP_MS * KEEP_DEN
"""The length of steady use whose sum, so faded, settles at window times cards: divides usage into cards."""

_STEPS_TO_NOTHING = 2_000
"""After so many, nothing is left of any usage."""

BORROWS = 1 << 59
"""Added to the key of a tenant that has all that it is guaranteed: whoever has not stands before it."""

IDLE_ONLY = 1 << 60
"""The key of a tenant of weight 0: it gets what nobody else wants."""


class Shares:
    """The share of each tenant, mutable, owned by the state; the smaller its key, the sooner its turn.

    `has` are the milli-cards of its runs and promises now, `used` its faded milli-card-milliseconds.
    """

    def __init__(self) -> None:
        self.number: dict[str, int] = {}
        self.names: list[str] = []
        self.has: list[int] = []
        self.used: list[int] = []
        self.weight: list[int] = []
        self.guaranteed: dict[int, int] = {}
        """The milli-cards that each tenant with a quota is guaranteed."""
        self.key: Ints = np.zeros(16, np.int64)
        self.step = 0
        """The hour up to which usage has faded."""

    def of(self, tenant: str) -> int:
        """The number of a tenant, who may be new."""
        number = self.number.get(tenant)
        if number is None:
            number = self.number[tenant] = len(self.has)
            self.names.append(tenant)
            self.has.append(0)
            self.used.append(0)
            self.weight.append(1)
            if number == self.key.size:
                self.key = np.concatenate([self.key, np.zeros_like(self.key)])
        return number

    def saved(self) -> tuple[dict[str, int], int]:
        """What each tenant used, and the hour that is true for: all that cannot be counted again."""
        pairs = sorted(zip(self.names, self.used, strict=True))
        return {name: used for name, used in pairs if used}, self.step

    def load(self, used: dict[str, int], step: int) -> None:
        """Go on from what was `saved`."""
        self.step = step
        for tenant, amount in used.items():
            self.use(self.of(tenant), amount)

    def weigh(self, tenant: str, weight: int) -> None:
        """Give a tenant so many times the share of one with weight 1."""
        number = self.of(tenant)
        self.weight[number] = weight
        self._count(number)

    def guarantee(self, tenant: str, milli_cards: int | None) -> None:
        """A tenant has a quota, of so much; None: it has none."""
        number = self.of(tenant)
        self.guaranteed.pop(number, None)
        if milli_cards is not None:
            self.guaranteed[number] = milli_cards
        self._count(number)

    def add(self, number: int, milli_cards: int) -> None:
        """A tenant has so many more milli-cards now, or fewer."""
        self.has[number] += milli_cards
        self._count(number)

    def use(self, number: int, milli_card_ms: int) -> None:
        """A tenant used so much more."""
        self.used[number] += milli_card_ms
        self._count(number)

    def fade(self, now_ms: int) -> None:
        """Let usage fade to the present hour."""
        steps = now_ms // STEP_MS - self.step
        if steps <= 0:
            return
        self.step += steps
        for number, used in enumerate(self.used):
            if used:
                for _ in range(min(steps, _STEPS_TO_NOTHING)):
                    self.used[number] = self.used[number] * KEEP_NUM // KEEP_DEN
                self._count(number)

    def after(self, number: int, milli_cards: int) -> int:
        """The key a tenant would have with so many more milli-cards."""
        if not self.weight[number]:
            return IDLE_ONLY
        has = self.has[number] + milli_cards
        key = (has + self.used[number] // WINDOW_MS) // self.weight[number]
        return key + BORROWS if has >= self.guaranteed.get(number, has + 1) else key

    def _count(self, number: int) -> None:
        self.key[number] = self.after(number, 0)
