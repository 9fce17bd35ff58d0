"""The simulated world: what is still to happen, and a clock that jumps to the next instant of it."""

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from heapq import heappop, heappush

from msgspec import Struct
from msgspec.msgpack import Encoder

from starverse.control.ports import Asked, Input, Taken
from starverse.model import commands as cmd
from starverse.model import events as ev
from starverse.model.job import How
from starverse.model.requests import Request
from starverse.train.contract import EXIT_SAVED


class Fate(Struct, frozen=True, gc=False):
    """What a run is going to do: start after `start_ms`, end after `work_ms` more, so."""

    work_ms: int
    start_ms: int = 0
    how: How = "exit"
    code: int = 0


class World:
    """Fulfils `control.ports.World`. Time moves only when the loop waits.

    `fate` says what becomes of a run, from its order and the time: the workload, or physics; the end of its
    lease ends it before. What happens at one instant is heard in the order it was said: nothing is left to
    chance.
    """

    def __init__(self, start_ms: int, fate: Callable[[cmd.StartRun, int], Fate]) -> None:
        assert start_ms > 0, "0 is no time: a run that started then would count as not started"
        self.now_ms = start_ms
        self._fate = fate
        self._now: list[Input] = []
        """What is said of this very instant, and not heard yet: most runs start at once."""
        self._later: dict[int, list[Input]] = {}
        self._instants: list[int] = []
        """A heap of the times in `_later`: numbers are ordered faster than what happens then."""
        self._leases: dict[str, tuple[int, int]] = {}
        """Of the runs that outlive their first lease: the end of the present one, and their own."""

    def at(self, at_ms: int, item: Input) -> None:
        """Let something happen at a time that is not past."""
        assert at_ms >= self.now_ms, f"{item} at {at_ms} would be before now, {self.now_ms}"
        if at_ms == self.now_ms:
            self._now.append(item)
        elif at_ms in self._later:
            self._later[at_ms].append(item)
        else:
            self._later[at_ms] = [item]
            heappush(self._instants, at_ms)

    def ask(self, at_ms: int, request: Request) -> None:
        """Let a person ask for something."""
        self.at(at_ms, Asked(0, request))

    def wait(self, until_ms: int | None) -> tuple[int, Sequence[Input]]:
        """Jump to the next instant at which anything happens, or to `until_ms`."""
        heard = self._now
        if heard:
            self._now = []
        else:
            instants = self._instants
            if not instants or (until_ms is not None and until_ms < instants[0]):
                if until_ms is not None and until_ms > self.now_ms:
                    self.now_ms = until_ms
                return self.now_ms, ()
            self.now_ms = heappop(instants)
            heard = self._later.pop(self.now_ms)
        if self._leases:
            heard = [item for item in heard if not self._is_renewed(item)]
        return self.now_ms, heard

    def _is_renewed(self, item: Input) -> bool:
        """Whether this is the end of a lease that goes on; the new end is then still to happen."""
        if type(item) is not ev.RunEnded or item.how != "lease":
            return False
        run = item.run
        until_ms, ended_ms = self._leases.pop(run, (0, 0))
        if min(until_ms, ended_ms) <= self.now_ms:
            return False
        if until_ms < ended_ms:
            self._leases[run] = until_ms, ended_ms
            self.at(until_ms, ev.RunEnded(run, until_ms, "lease"))
        return True

    def over(self) -> bool:
        """Whether nothing is left to happen by itself."""
        return not (self._now or self._later)

    def act(self, commands: Iterable[cmd.Command]) -> None:
        """Let happen what the orders lead to."""
        for command in commands:
            if isinstance(command, cmd.StartRun):
                self._start(command)
            elif isinstance(command, cmd.StopRun):
                self._end(command.run, "exit", EXIT_SAVED)
            elif isinstance(command, cmd.KillRank):
                self._end(command.run, "signal", 9)
            elif command.run in self._leases:
                self._leases[command.run] = command.until_ms, self._leases[command.run][1]

    def _start(self, command: cmd.StartRun) -> None:
        run = command.run
        fate = self._fate(command, self.now_ms)
        started_ms = self.now_ms + fate.start_ms
        ended_ms = started_ms + fate.work_ms
        self.at(started_ms, ev.RunStarted(run, started_ms))
        self.at(ended_ms, ev.RunEnded(run, ended_ms, fate.how, fate.code))
        lease_ms = command.lease_until_ms
        if lease_ms < ended_ms:
            self._leases[run] = lease_ms, ended_ms
            self.at(lease_ms, ev.RunEnded(run, lease_ms, "lease"))

    def _end(self, run: str, how: How, code: int) -> None:
        """End a run before its time; what was still to come of it is a late echo that the loop ignores."""
        self.at(self.now_ms, ev.RunEnded(run, self.now_ms, how, code))

    def survey(self, runs: Sequence[str]) -> Sequence[ev.Event]:
        """Nothing is ever missed here."""
        return ()


class HashJournal:
    """A journal that keeps nothing but a running hash and a count: equal hashes, equal histories."""

    _BATCH = 256

    def __init__(self) -> None:
        self.count = 0
        """Events that were appended."""
        self._hash = sha256()
        self._rows: list[tuple[int, Sequence[ev.Event]]] = []
        self._encoder = Encoder()

    def append(self, heard_ms: int, events: Sequence[ev.Event], taken: Sequence[Taken]) -> None:
        """Fold the rows into the hash, many at a time."""
        self.count += len(events)
        rows = self._rows
        rows.append((heard_ms, events))
        if len(rows) >= self._BATCH:
            self._hash.update(self._encoder.encode(rows))
            rows.clear()

    def digest(self) -> str:
        """The hash of all that was appended, the same whenever and however often it is asked for."""
        rest = self._hash.copy()  # the batch under way stays one
        rest.update(self._encoder.encode(self._rows))
        return rest.hexdigest()


class ListJournal:
    """A journal in memory, for tests: (heard_ms, event) in order."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, ev.Event]] = []
        self.taken: list[Taken] = []

    def append(self, heard_ms: int, events: Sequence[ev.Event], taken: Sequence[Taken]) -> None:
        """Keep the rows."""
        self.rows += [(heard_ms, event) for event in events]
        self.taken += taken
