"""Runs that leave for other cards: what their next runs are to have is kept for them, in one decision."""

from collections.abc import Iterator

from starverse.money.lease import lease_for
from starverse.money.ledger import WALLET
from starverse.scheduler.bookings import lowest
from starverse.scheduler.kept import KEPT, Kept
from starverse.scheduler.kernels import NEVER, Ints
from starverse.scheduler.line import RANKS, Request, request_of
from starverse.scheduler.lot import Lot
from starverse.scheduler.plan import Move
from starverse.scheduler.preempt import Running
from starverse.scheduler.space import Space
from starverse.scheduler.view import View


class Moves:
    """What one decision has runs leave for, mutable; its claims are taken back at the end."""

    def __init__(self, view: View, now_ms: int) -> None:
        self.view = view
        self.now_ms = now_ms
        self.kept: dict[str, Kept] = {}
        """By run; with no cards for one that waits."""
        self.again_ms = int(NEVER)
        """When there may be more to decide."""
        self._why: dict[str, Move] = {}
        self._powered: list[tuple[Space, Lot]] = []

    def __bool__(self) -> bool:
        return bool(self._why)

    @property
    def count(self) -> int:
        """How many runs were moved in this decision."""
        return len(self._why)

    def __iter__(self) -> Iterator[str]:
        """The runs that were moved in this decision."""
        return iter(self._why)

    def __contains__(self, run: object) -> bool:
        """Whether a run was moved in this decision."""
        return run in self._why

    def keep(self, run: Running, space: Space, lot: Lot, move: Move) -> None:
        """Have a run leave for these cards, or for others than before in this decision."""
        before = self.kept.get(run.run)
        if before:
            before.forget()
        number = -(KEPT | self.view.jobs[run.job].order)
        kept = self.kept[run.run] = Kept(space, lot, self.until_ms(run), number)
        kept.claim()
        self._why[run.run] = move

    def drop(self, run: str) -> None:
        """Leave a run where it is after all."""
        self.kept.pop(run).forget()
        del self._why[run]

    def leave(self, move: Move) -> None:
        """Have a run leave for nothing: its job waits."""
        self._why[move.run] = move

    def later(self, at_ms: int) -> None:
        """There may be more to decide then."""
        if at_ms > self.now_ms:
            self.again_ms = min(self.again_ms, at_ms)

    def left_ms(self, run: Running) -> int:
        """What is left now of the time limit of a run's job."""
        job = self.view.jobs[run.job]
        ran_ms = self.now_ms - run.started_ms if run.started_ms else 0
        return max(job.spec.time_limit_ms - job.ran_ms - ran_ms, 0)

    def until_ms(self, run: Running) -> int:
        """When the next run of a run's job would be over at the latest."""
        return self.now_ms + 2 * self.view.terms.grace_ms + self.left_ms(run)

    def power(self, space: Space, lot: Lot) -> None:
        """Count what these cards will draw, for the time of this decision."""
        self._powered.append((space, lot))
        self.view.limits.power.add(space, lot, 1)

    def lost_ms(self, run: Running) -> int:
        """What a run loses if it leaves now, in time of all its cards: what it did since its last
        checkpoint, and what leaving and starting again take."""
        saved_ms = max(run.checkpoint_ms, run.placed_ms)
        starting_ms = max(run.started_ms - run.placed_ms, 0) if run.started_ms else 0
        return max(self.now_ms - saved_ms, 0) + self.view.terms.grace_ms + starting_ms

    def request(self, run: Running, space: Space) -> Request:
        """What the next run of a run's job may ask for."""
        left_ms = self.left_ms(run) + self.view.terms.grace_ms
        return request_of(self.view.jobs[run.job].spec, left_ms, True, space)

    def rank(self, run: Running) -> int:
        """The rank of a run's class."""
        return RANKS[self.view.jobs[run.job].spec.priority]

    def pays(self, run: Running, milli_cards: int) -> bool:
        """Whether the wallet, with what is held for a run now, would pay for so many cards instead."""
        spec = self.view.jobs[run.job].spec
        money = self.view.accounts.get(WALLET + spec.tenant, 0) + run.held
        lease_ms, _ = lease_for(money, spec.price, milli_cards, self.view.terms)
        return lease_ms >= self.view.terms.window_ms

    def close(self) -> tuple[Move, ...]:
        """Take the claims back; the moves, in the order they were found."""
        for kept in self.kept.values():
            kept.forget()
        for space, lot in self._powered:
            self.view.limits.power.add(space, lot, -1)
        return tuple(self._why.values())


def part(masks: Ints, counts: Ints) -> list[int]:
    """So many of the lowest cards of each of these bit sets."""
    return [lowest(mask, count) for mask, count in zip(masks.tolist(), counts.tolist(), strict=True)]
