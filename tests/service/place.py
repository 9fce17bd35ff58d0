"""A whole server but for real processes: real store, real loop on its thread, an engine worked by hand."""

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from starverse.control.controller import Controller
from starverse.engines.clock import Clock
from starverse.engines.folder import JobFolder, RunFolder
from starverse.engines.live import LiveWorld, LoopThread
from starverse.model import commands as cmd
from starverse.model import events as ev
from starverse.model.requests import SetPrice, TopUp
from starverse.model.units import YUAN
from starverse.money.lease import LeaseTerms
from starverse.service import access, accounts
from starverse.service.access import Actor
from starverse.service.answers import JobAsk, Snapshot
from starverse.service.platform import Limits, Platform
from starverse.service.submissions import put_snapshot, receive
from starverse.store.blobs import Blobs
from starverse.store.database import home_url, open_database
from starverse.store.journal import SqlJournal
from starverse.store.manifest import Entry
from starverse.store.requests import Requests
from starverse.train import contract
from starverse.train.contract import EXIT_SAVED

PRICE = 3600 * YUAN
"""A yuan a card-second, so that costs show within a test."""

PASSWORD = "correct horse battery"
SCRIPT = b"print('hello')\n"


class HandEngine:
    """Fulfils `control.ports.Engine`: runs start at once, and then do what the test says."""

    def __init__(self, joins: Sequence[ev.Event]) -> None:
        self._news: list[ev.Event] = [*joins]
        self._lock = threading.Lock()
        self.alive: dict[str, cmd.StartRun] = {}
        self.hold = False
        """Whether runs wait for `start`."""
        self.saves = True
        """Whether runs leave as soon as they are asked to."""

    def say(self, *events: ev.Event) -> None:
        with self._lock:
            self._news += events

    def poll(self, now_ms: int) -> Sequence[ev.Event]:
        with self._lock:
            news, self._news = self._news, []
        return news

    def act(self, command: cmd.Command) -> None:
        now_ms = time.time_ns() // 1_000_000
        match command:
            case cmd.StartRun(run=run) if run not in self.alive:
                self.alive[run] = command
                if not self.hold:
                    self.say(ev.RunStarted(run, now_ms))
            case cmd.StopRun(run=run) if self.saves:
                self.end(run, code=EXIT_SAVED)
            case cmd.KillRank(run=run, rank=rank):
                self.end(run, how="signal", code=9, rank=rank)

    def end(self, run: str, how: Any = "exit", code: int = 0, rank: int = 0, text: str = "") -> None:
        if self.alive.pop(run, None):
            self.say(ev.RunEnded(run, time.time_ns() // 1_000_000, how, code, rank, text))

    def survey(self, runs: Sequence[str], now_ms: int) -> Sequence[ev.Event]:
        return ()


class Place:
    """A server in a folder."""

    def __init__(self, home: Path, cards: int = 2, joins: Sequence[ev.Event] = (), **platform: Any) -> None:
        self.home = home
        clock = Clock()
        self.database = open_database(home_url(home))
        requests = Requests(self.database, clock.now_ms)
        journal = SqlJournal(self.database, requests.answered)
        epoch = journal.lead()
        self.engine = HandEngine(joins or [ev.NodeJoined("here", "cpu", cards)])
        world = LiveWorld(clock, self.engine, [requests])
        requests.wake = world.ring
        controller = Controller(
            world, journal, journal.recover(), LeaseTerms(window_ms=60_000, least_ms=4_000, grace_ms=1_000)
        )
        controller.take_over(clock.now_ms(), epoch)
        self.failures: list[BaseException] = []
        self.loop = LoopThread(controller, world, lambda state: None, self.failures.append)
        settings: dict[str, Any] = {
            "isolation": "Each tenant has a Unix user.",
            "accepts_foreign": True,
            "limits": Limits(answer_wait_s=10.0),
            "now_ms": clock.now_ms,
        }
        self.platform = Platform(
            database=self.database,
            requests=requests,
            blobs=Blobs(home),
            ask=self.loop.ask,
            home=home,
            **settings | platform,
        )
        self.loop.start()
        self.tell(SetPrice("cpu", PRICE, 0))
        self.until(lambda: self.platform.ask(lambda state: "here" in state.nodes))

    def close(self) -> None:
        self.loop.stop()
        self.database.dispose()
        assert not self.failures, self.failures

    def tell(self, request: Any) -> None:
        number = self.platform.requests.submit(request)
        assert self.platform.requests.answer_of(number, 10) == ""

    def until(self, true: Callable[[], Any], within_s: float = 10.0) -> Any:
        """Wait for something the loop is about to do; there is no other way to hear of it from outside."""
        end_s = time.monotonic() + within_s
        while not (found := true()):
            assert time.monotonic() < end_s, "it never came to be"
            time.sleep(0.005)
        return found

    # -- people and their jobs ----------------------------------------------------------------------------

    def person(self, name: str, yuan: int = 0) -> Actor:
        signed_in = accounts.register(self.platform, f"{name}@example.com", PASSWORD, "test")
        actor = access.actor_of(self.platform, signed_in.token)
        if yuan:
            self.tell(TopUp(actor.projects[0].tenant, yuan * YUAN))
        return actor

    def operator(self) -> Actor:
        made = accounts.make_operator(self.platform)
        assert made
        return access.actor_of(self.platform, made.token)

    def snapshot(self, actor: Actor, files: dict[str, bytes] | None = None) -> Snapshot:
        from hashlib import sha256

        entries = []
        for path, content in (files or {"train.py": SCRIPT}).items():
            digest = sha256(content).hexdigest()
            with receive(self.platform, actor, "", digest) as upload:
                upload.write(content)
                upload.finish()
            entries.append(Entry(path, digest, len(content)))
        return put_snapshot(self.platform, actor, "", entries)

    def phase(self, job: str) -> str:
        return str(self.platform.ask(lambda state: state.jobs[job].phase if job in state.jobs else "ended"))

    def reach(self, job: str, phase: str) -> None:
        self.until(lambda: self.phase(job) == phase)

    # -- what jobs write ----------------------------------------------------------------------------------

    def writes(self, run: str, stream: str, data: bytes) -> None:
        folder = RunFolder.of(str(self.home), run)
        Path(folder.path).mkdir(parents=True, exist_ok=True)
        with Path(folder.log(stream, 0)).open("ab") as file:
            file.write(data)

    def steps(self, run: str, first: int, last: int, loss: float = 1.0) -> None:
        folder = RunFolder.of(str(self.home), run)
        Path(folder.path).mkdir(parents=True, exist_ok=True)
        with Path(folder.report).open("ab") as file:
            for step in range(first, last + 1):
                record = {"step": step, "steps": 100, "loss": loss / step, "finite": True}
                file.write(contract.encode("step", step, **record, tokens_per_s=10.0))

    def output(self, job: str, path: str, data: bytes) -> None:
        target = Path(JobFolder(str(self.home), job).output, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


RACKS = (
    ev.LayoutSet(("pod", "rack")),
    *(
        ev.NodeJoined(name, "cpu", 4, place, (), 8_000, 65_536, (("nic", 2),), (place[1],), 500_000)
        for name, place in (("here", ("p1", "r1")), ("near", ("p1", "r1")), ("far", ("p1", "r2")))
    ),
)
"""Two racks of a pod: two nodes of four cards in one, one in the other."""

ECHO = JobAsk(command=("echo", "hello"))
