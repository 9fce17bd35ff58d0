"""The engine of one machine: starts, stops and watches runs here, each under a shim that outlives it.

It remembers nothing that matters: all is in the files of the runs (see folder.py), so that after any death of
this process another takes over by reading them.
"""

import fcntl
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from starverse.engines.cards import Cards
from starverse.engines.folder import RunFolder, boot_ns, read_claim, write_json
from starverse.engines.orders import deadline_ns, work_out
from starverse.engines.prepare import SecretsOf, Unpack, prepare
from starverse.engines.sandbox import Isolation
from starverse.engines.watch import Watch
from starverse.model.commands import Command, KillRank, RenewLease, StartRun, StopRun
from starverse.model.errors import BadInput, StaleEpoch
from starverse.model.events import Event, NodeJoined, RunEnded

THREADS = 4
ENDED_MAX = 10_000
SURVEY_WITHIN_S = 15.0
STOPPED_EARLY = "The run was stopped before it started."


class LocalEngine:
    """Fulfils `control.ports.Engine` for this machine. Mutable owner of what was said of the runs so far.

    `epoch` is the server's: once a newer one has been here, this one's orders are refused. `unpack`,
    `secrets_of` and `uid_of` (the Unix user of a tenant) are called from threads.
    """

    def __init__(
        self,
        home: Path,
        *,
        node: str,
        cards: Cards,
        now_ms: Callable[[], int],
        isolation: Isolation,
        epoch: int,
        unpack: Unpack,
        secrets_of: SecretsOf,
        uid_of: Callable[[str], int],
    ) -> None:
        self._home = str(home.resolve())
        self._node, self._cards, self._now_ms = node, cards, now_ms
        self._isolation, self._epoch = isolation, epoch
        self._unpack, self._secrets_of, self._uid_of = unpack, secrets_of, uid_of
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="engine")
        self._watches: dict[str, Watch] = {}
        self._ended: dict[str, None] = {}  # the last runs whose end was said, oldest first
        self._children: set[int] = set()  # shims that are this process's to reap
        self._unwritten: dict[tuple[type, str], Command] = {}
        self._news: list[Event] = [NodeJoined(node, cards.kind, cards.count)]
        isolation.close(self._home)
        self._raise_epoch()

    def poll(self, now_ms: int) -> Sequence[Event]:
        """What happened since the last call; each fact once."""
        unwritten, self._unwritten = self._unwritten, {}
        for command in unwritten.values():
            self.act(command)
        events, self._news = self._news, []
        for watch in tuple(self._watches.values()):
            events += watch.look(now_ms)
            if watch.gone:
                self._forget(watch)
        self._reap()
        return events

    def act(self, command: Command) -> None:
        """Carry out one order; again is as good as once. Raises StaleEpoch if another server took over."""
        self._check_epoch()
        try:
            self._carry_out(command, RunFolder.of(self._home, command.run))
        except BadInput as error:
            self._news.append(RunEnded(command.run, self._now_ms(), "unstarted", text=str(error)))
        except OSError:  # the disk is full: the order stands until there is room to write it down
            self._unwritten[type(command), command.run] = command

    def survey(self, runs: Sequence[str], now_ms: int) -> Sequence[Event]:
        """What became of these runs while nobody listened; those that go on are watched from now on."""
        for folder in (RunFolder.of(self._home, run) for run in runs):
            if folder.run not in self._watches and read_claim(folder)[0] != "free":
                self._adopt(folder, 0)
        events, self._news = self._news, []
        surveyed = [self._watches[run] for run in runs if run in self._watches]
        give_up_s = time.monotonic() + SURVEY_WITHIN_S  # then the rest is heard later, by `poll`
        while surveyed and time.monotonic() < give_up_s:
            for watch in surveyed:
                events += watch.look(now_ms)
            surveyed = [watch for watch in surveyed if watch.phase not in {"met", "over"}]
            time.sleep(0.005 if surveyed else 0)
        return events

    def close(self) -> None:
        """Let go of the machine; its runs go on."""
        self._pool.shutdown(cancel_futures=True)

    # -- orders -----------------------------------------------------------------------------------------

    def _carry_out(self, command: Command, folder: RunFolder) -> None:
        known = folder.run in self._watches
        if folder.run in self._ended:
            return
        if not known and read_claim(folder)[0] != "free":
            self._adopt(folder, 0)
        elif not known and isinstance(command, StartRun):
            self._start(folder, command)
        elif not known and isinstance(command, StopRun):
            self._adopt(folder, self._now_ms())
        elif not known and isinstance(command, RenewLease):
            # a run that is nowhere to be found would be paid for as long as its lease is renewed
            text = "nothing is left of it on this node"
            self._news.append(RunEnded(folder.run, 0, "lost", text=text))
        if folder.run not in self._watches:
            return
        watch = self._watches[folder.run]
        match command:
            case RenewLease(until_ms=until_ms):
                Path(folder.path).mkdir(parents=True, exist_ok=True)  # it may still be in preparation
                write_json(folder.lease, {"until_ms": until_ms, "deadline_ns": self._deadline_ns(until_ms)})
            case StopRun(why=why, kill_at_ms=kill_at_ms) if not self._refuse(watch):
                kill = {"kill_at_ms": kill_at_ms, "deadline_ns": self._deadline_ns(kill_at_ms)}
                write_json(folder.stop, {"why": why} | kill)
                watch.wake()
            case KillRank(rank=rank):
                Path(folder.kill(rank)).touch()
                watch.wake()

    def _start(self, folder: RunFolder, start: StartRun) -> None:
        mine = next((share.cards for share in start.shares if share.node == self._node), ())
        if not mine:
            return
        clock = (self._now_ms(), boot_ns())

        def go() -> int | None:
            uid = self._uid_of(start.tenant)
            order = work_out(start, mine, self._cards, self._isolation, self._home, uid, clock)
            pid = prepare(order, self._home, uid, self._isolation, self._unpack, self._secrets_of)
            if pid is not None:
                self._children.add(pid)
            return pid

        self._watches[folder.run] = Watch(folder, self._pool, clock[0], self._pool.submit(go))

    def _refuse(self, watch: Watch) -> bool:
        """Stop a run before it starts; False if it is too late for that."""
        if watch.phase not in {"preparing", "awaited"}:
            return False
        refused = watch.refuse(self._now_ms(), STOPPED_EARLY)
        self._news += refused
        return bool(refused)

    def _adopt(self, folder: RunFolder, since_ms: int) -> None:
        self._watches[folder.run] = Watch(folder, self._pool, since_ms)

    def _forget(self, watch: Watch) -> None:
        del self._watches[watch.folder.run]
        self._ended[watch.folder.run] = None
        if len(self._ended) > ENDED_MAX:
            del self._ended[next(iter(self._ended))]

    def _reap(self) -> None:
        """Let no dead shim stay a zombie."""
        for pid in tuple(self._children):
            try:
                reaped, _ = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                reaped = pid
            if reaped:
                self._children.discard(pid)

    def _deadline_ns(self, at_ms: int) -> int:
        return deadline_ns(at_ms, (self._now_ms(), boot_ns()))

    # -- the epoch --------------------------------------------------------------------------------------

    def _raise_epoch(self) -> None:
        """Make this the newest epoch, unless a newer one has been here."""
        path = Path(self._home, "epoch")
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if int(file.read() or 0) < self._epoch:
                os.pwrite(file.fileno(), b"%020d" % self._epoch, 0)

    def _check_epoch(self) -> None:
        newest = int(Path(self._home, "epoch").read_bytes() or 0)
        if newest > self._epoch:
            what = f"Another server has taken over this home (epoch {newest}, ours is {self._epoch})."
            raise StaleEpoch(what, "Stop this one.")
