"""A world for stories: its runs do what the story says, and its server may die at any instant."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from starverse.control.ports import Asked, Input, Taken
from starverse.model import commands as cmd
from starverse.model import events as ev
from starverse.model.job import How
from starverse.model.units import SECOND_MS
from starverse.twin.world import ListJournal, World

RunEvent = ev.RunStarted | ev.RunResumed | ev.CheckpointSaved | ev.RunEnded


class Fate(Struct, frozen=True):
    """What a run does: starts after `start_ms`, steps first after `step_ms` more, saves every `save_ms`, ends
    after `work_ms`, so; told to leave, it needs `leave_ms`; all of it is heard `late_ms` later. A zero of
    `step_ms` or `save_ms` means never."""

    work_ms: int = 10 * SECOND_MS
    start_ms: int = 0
    step_ms: int = 0
    save_ms: int = 0
    leave_ms: int = 0
    late_ms: int = 0
    how: How = "exit"
    code: int = 0


class Killed(Exception):
    """The server died here."""


class Fuse:
    """Counts the instants at which a server may die, and kills it at some of them."""

    def __init__(self, at: Iterable[int] = ()) -> None:
        self.at = set(at)
        self.count = 0

    def burn(self) -> None:
        self.count += 1
        if self.count in self.at:
            raise Killed


class Echo(NamedTuple):
    """Something that happened before, and is heard once more."""

    event: ev.Event


class Quiet(Exception):
    """Nothing happens before the horizon."""


class Hall(World):
    """A world that carries out each order once, ends runs with their nodes and leases, and says again what it
    said when a new server asks. With `echoes`, it says everything again, later, unasked."""

    def __init__(
        self, start_ms: int, fate_of: Callable[[str, int], Fate], fuse: Fuse, echoes: Sequence[int]
    ) -> None:
        super().__init__(start_ms, lambda order, now_ms: (_ for _ in ()).throw(AssertionError("not asked")))
        self.horizon: float = float("inf")
        self.starts: Counter[str] = Counter()
        self._fate_of = fate_of
        self._fuse = fuse
        self._echoes = echoes
        self._orders: dict[str, cmd.StartRun | None] = {}
        self._until: dict[str, int] = {}
        self._over: set[str] = set()
        self._said: dict[str, list[ev.Event]] = {}
        self._last: Sequence[Input] = ()

    # -- what is heard ------------------------------------------------------------------------------------

    def wait(self, until_ms: int | None) -> tuple[int, Sequence[Input]]:
        next_ms = min(float("inf") if until_ms is None else until_ms, self._next_ms())
        if next_ms > self.horizon or next_ms == float("inf"):
            raise Quiet
        now_ms, items = super().wait(until_ms)
        self._last = [item for item in items if self._happens(item)]
        return now_ms, [item.event if isinstance(item, Echo) else item for item in self._last]

    def _next_ms(self) -> float:
        return self.now_ms if self._now else self._instants[0] if self._instants else float("inf")

    def _happens(self, item: Any) -> bool:
        if isinstance(item, Asked | Echo):
            return True
        if isinstance(item, ev.NodeLost):
            self._over |= {run for run, order in self._orders.items() if order and _is_on(order, item.node)}
        elif hasattr(item, "run"):
            is_renewed = getattr(item, "how", "") == "lease" and self._until[item.run] > item.happened_ms
            if item.run in self._over or is_renewed:
                return False
            if isinstance(item, ev.RunEnded):
                self._over.add(item.run)
            self._said.setdefault(item.run, []).append(item)
        for later_ms in self._echoes if hasattr(item, "run") else self._echoes[:1]:
            self.at(self.now_ms + later_ms, Echo(item))  # type: ignore[arg-type]
        return True

    def was_heard(self) -> None:
        """The turn is over: what was heard in it is in the journal."""
        self._last = ()

    def survey(self, runs: Sequence[str]) -> Sequence[ev.Event]:
        return [event for run in runs for event in self._said.get(run, ())]

    def go_on_alone(self, until_ms: int, taken: set[int]) -> None:
        """No server listens until then. The next one hears what the one that died had heard in its last turn,
        and what it missed: of runs when it asks, all else at once; requests that were taken up not again."""
        missed = list(self._last)
        while self._next_ms() <= until_ms:
            missed += [item for item in super().wait(until_ms)[1] if self._happens(item)]
        self.now_ms = until_ms
        for item in missed:
            known = item.id in taken if isinstance(item, Asked) else isinstance(item, Echo | RunEvent)
            if not known:
                self.at(until_ms, item)

    # -- what is ordered ----------------------------------------------------------------------------------

    def act(self, commands: Iterable[cmd.Command]) -> None:
        for command in commands:
            self._fuse.burn()
            self._carry_out(command)

    def _carry_out(self, command: cmd.Command) -> None:
        run, now_ms = command.run, self.now_ms
        match command:
            case cmd.StartRun() if run not in self._orders:
                self.starts[run] += 1
                self._orders[run] = command
                self._begin(command, self._fate_of(command.job, command.attempt))
            case cmd.StopRun() if run not in self._orders:
                self._orders[run] = None
                self.at(now_ms, ev.RunEnded(run, now_ms, "unstarted"))
            case cmd.StopRun(kill_at_ms=kill_at_ms) if run not in self._over:
                order = self._orders[run]
                leave_ms = self._fate_of(order.job, order.attempt).leave_ms if order else 0
                self._leave(run, now_ms + leave_ms, max(kill_at_ms, now_ms))
            case cmd.RenewLease(until_ms=until_ms) if run in self._until:
                self._until[run] = max(until_ms, now_ms)
                self._end(run, self._until[run], "lease")
            case cmd.KillRank(rank=rank) if run not in self._over:
                self._end(run, now_ms, "signal", 9, rank)

    def _begin(self, order: cmd.StartRun, fate: Fate) -> None:
        run, started_ms = order.run, self.now_ms + fate.start_ms
        ended_ms = started_ms + fate.work_ms
        steps_ms = [started_ms + fate.step_ms] if fate.step_ms else []
        saves_ms = range(started_ms + fate.save_ms, ended_ms, fate.save_ms) if fate.save_ms else []
        if fate.how != "unstarted":
            self._tell(started_ms, ev.RunStarted(run, started_ms))
            for step_ms in steps_ms:
                self._tell(step_ms, ev.RunResumed(run, 1, step_ms))
            for n, save_ms in enumerate(saves_ms):
                self._tell(save_ms, ev.CheckpointSaved(run, 1_000 * order.attempt + n + 1, save_ms))
        self._end(run, ended_ms, fate.how, fate.code)
        self._until[run] = max(order.lease_until_ms, self.now_ms)
        self._end(run, self._until[run], "lease")

    def _leave(self, run: str, left_ms: int, kill_at_ms: int) -> None:
        if left_ms < kill_at_ms:
            self._end(run, left_ms, "exit", 85)
        else:
            self._end(run, kill_at_ms, "signal", 9)

    def _end(self, run: str, at_ms: int, how: How, code: int = 0, rank: int = -1) -> None:  # type: ignore[override]
        self._tell(at_ms, ev.RunEnded(run, at_ms, how, code, rank))

    def _tell(self, at_ms: int, event: RunEvent) -> None:
        order = self._orders[event.run]
        assert order
        self.at(at_ms + self._fate_of(order.job, order.attempt).late_ms, event)


def _is_on(order: cmd.StartRun, node: str) -> bool:
    return any(share.node == node for share in order.shares)


class Book(ListJournal):
    """A journal in memory, for a server that may die before or after it has written."""

    def __init__(self, fuse: Fuse) -> None:
        super().__init__()
        self._fuse = fuse

    def append(self, heard_ms: int, events: Sequence[ev.Event], taken: Sequence[Taken]) -> None:
        self._fuse.burn()
        super().append(heard_ms, events, taken)
        self._fuse.burn()
