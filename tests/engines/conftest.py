"""A machine to try the engine on: a home of its own, real processes, and an end of all of them afterwards."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest

from starverse.engines import shims, tree
from starverse.engines.cards import Cards
from starverse.engines.clock import wall_ms
from starverse.engines.folder import JobFolder, RunFolder, read_json
from starverse.engines.local import LocalEngine
from starverse.engines.sandbox import Isolation, probe
from starverse.model.allocation import Share
from starverse.model.commands import Command, StartRun
from starverse.model.errors import NotFound
from starverse.model.events import Event, RunEnded
from starverse.model.job import Launch, Work

T = TypeVar("T")
E = TypeVar("E", bound=Event)
NODE = "here"
CARDS = 8
UID = {"alice": 61_001, "bob": 61_002}
SECRETS = {"TOKEN": "open-sesame-4711"}
WITHIN_S = 15.0


class Machine:
    """What a test needs of a machine; each engine on it is as good as a server."""

    def __init__(self, home: Path, isolation: Isolation) -> None:
        self.home = home
        self.isolation = isolation
        self.heard: list[Event] = []  # of all engines, and of each
        self._said: dict[LocalEngine, list[Event]] = {}
        self.engines: list[LocalEngine] = []
        self._files: dict[str, Mapping[str, str]] = {}
        self._servers: list[subprocess.Popen[str]] = []

    # -- engines and servers ----------------------------------------------------------------------------

    def engine(self, epoch: int = 1) -> LocalEngine:
        engine = LocalEngine(
            self.home,
            node=NODE,
            cards=Cards("cpu", CARDS),
            now_ms=wall_ms,
            isolation=self.isolation,
            epoch=epoch,
            unpack=self.unpack,
            secrets_of=secrets_of,
            uid_of=UID.__getitem__,
        )
        self.engines.append(engine)
        self._said[engine] = []
        return engine

    def server(self, *commands: Command, epoch: int = 1) -> "subprocess.Popen[str]":
        """An engine in a process of its own, which carries these orders out, and prints what it hears."""
        orders = self.home / f"orders-{len(self._servers)}.json"
        orders.write_bytes(msgspec.json.encode(commands))
        script = Path(__file__).with_name("server.py")
        argv = [sys.executable, script, self.home, self.isolation.mode, str(epoch), orders]
        server = subprocess.Popen(
            argv, stdout=subprocess.PIPE, text=True, env=os.environ | {"SERVER_SECRET": "hush"}
        )
        self._servers.append(server)
        return server

    def unpack(self, snapshot: str, destination: Path) -> None:
        if snapshot not in self._files:
            raise NotFound(f"There is no snapshot '{snapshot}'.", "Submit again.")
        for name, text in self._files[snapshot].items():
            (destination / name).write_text(text)

    def close(self) -> None:
        for server in self._servers:
            server.kill()
            server.communicate()
        for path in (self.home / "runs").glob("*"):
            folder = RunFolder(str(path))
            said = read_json(folder.shim)
            if said and "ended_ms" not in (read_json(folder.status) or {}):
                shims.bury(folder)
            if said:  # one that has ended may still be tidying up
                wait_for(lambda said=said: not tree.is_alive(said["pid"], said["started"]))  # type: ignore[misc]
        for engine in self.engines:
            engine.close()
            wait_for(lambda engine=engine: engine._reap() or not engine._children)  # type: ignore[misc]

    # -- orders -----------------------------------------------------------------------------------------

    def order(
        self,
        run: str,
        *command: str,
        files: Mapping[str, str] | None = None,
        cards: int = 1,
        launch: Launch = "once",
        tenant: str = "alice",
        lease_ms: int = 60_000,
        grace_ms: int = 5_000,
        environment: Mapping[str, str] | None = None,
        secrets: tuple[str, ...] = (),
        snapshot: str = "",
    ) -> StartRun:
        """An order to run a command among some files."""
        if files:
            self._files[snapshot := f"snapshot-of-{run}"] = files
        work = Work(
            command, launch, snapshot, environment=tuple((environment or {}).items()), secrets=secrets
        )
        share = Share.of(NODE, range(cards))
        until_ms = wall_ms() + lease_ms
        return StartRun(run, run.partition(".")[0], tenant, 0, "cpu", (share,), until_ms, grace_ms, work)

    # -- what is heard ----------------------------------------------------------------------------------

    def listen(self, engine: LocalEngine) -> None:
        events = engine.poll(wall_ms())
        self.heard += events
        self._said[engine] += events

    def survey(self, engine: LocalEngine, *runs: str) -> list[Event]:
        events = [*engine.survey(runs, wall_ms())]
        self.heard += events
        self._said[engine] += events
        return events

    def until(self, engine: LocalEngine, kind: type[E], run: str, within_s: float = WITHIN_S) -> E:
        """Listen until an engine has said this of a run, and give what it said."""

        def said() -> E | None:
            self.listen(engine)
            of_run = (event for event in self._said[engine] if getattr(event, "run", "") == run)
            return next((event for event in of_run if isinstance(event, kind)), None)

        return wait_for(said, within_s)

    def ended(self, engine: LocalEngine, run: str, within_s: float = WITHIN_S) -> RunEnded:
        return self.until(engine, RunEnded, run, within_s)

    def until_true(self, condition: Callable[[], bool]) -> None:
        wait_for(lambda: condition() or None)

    def quiet(self, engine: LocalEngine) -> None:
        """Wait until the engine is done with all its runs."""
        wait_for(lambda: self.listen(engine) or not engine._watches)

    # -- what is there ----------------------------------------------------------------------------------

    def folder(self, run: str) -> RunFolder:
        return RunFolder.of(str(self.home), run)

    def output(self, run: str) -> Path:
        return Path(JobFolder(str(self.home), run.partition(".")[0]).output)

    def log(self, run: str, stream: str = "stdout") -> str:
        path = Path(self.folder(run).log(stream, 0))
        return path.read_text() if path.exists() else ""

    def processes(self, run: str) -> list[int]:
        """The living processes of a run, its shim aside, which may still be tidying up."""
        return [pid for pid in tree.marked(run) if pid != self.shim(run)]

    def wait_for_log(self, run: str, engine: LocalEngine | None = None, lines: int = 1) -> str:
        """What the run has printed, once that is so many lines."""

        def said() -> str | None:
            if engine:
                self.listen(engine)
            text = self.log(run)
            return text if text.count("\n") >= lines else None

        return wait_for(said)

    def shim(self, run: str) -> int:
        said = wait_for(lambda: read_json(self.folder(run).shim))
        return int(said["pid"])


def secrets_of(tenant: str, names: tuple[str, ...]) -> Mapping[str, str]:
    absent = [name for name in names if name not in SECRETS]
    if absent:
        raise NotFound(f"You have no secret '{absent[0]}'.", "Set it first.")
    return {name: SECRETS[name] for name in names}


def wait_for(condition: Callable[[], T | None], within_s: float = WITHIN_S) -> T:
    """What a condition gives once it gives anything; fails when that takes too long."""
    end_s = time.monotonic() + within_s
    while not (found := condition()):
        assert time.monotonic() < end_s, "this never came true"
        time.sleep(0.005)
    return found


@pytest.fixture(scope="session")
def isolation(tmp_path_factory: pytest.TempPathFactory) -> Isolation:
    """The best isolation there is here."""
    return probe(tmp_path_factory.mktemp("probe"))


@pytest.fixture
def machine(isolation: Isolation) -> Iterator[Machine]:
    yield from machines(isolation)


@pytest.fixture
def bare(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A machine without any isolation, where only care keeps processes together."""
    yield from machines(Isolation("none"))


def machines(isolation: Isolation) -> Iterator[Machine]:
    home = Path(tempfile.mkdtemp(prefix="starverse-"))  # a short path, and one that every user may pass
    found = Machine(home, isolation)
    try:
        yield found
    finally:
        found.close()
        shutil.rmtree(home)
