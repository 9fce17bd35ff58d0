"""One server: the store, the loop with its live world, the API, and the console beside it."""

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from starverse.control.controller import Controller
from starverse.control.state import State
from starverse.engines.cards import find_cards
from starverse.engines.clock import Clock
from starverse.engines.live import LiveWorld, LoopThread
from starverse.engines.local import LocalEngine
from starverse.engines.sandbox import Isolation, probe
from starverse.main.logs import pour
from starverse.main.settings import Settings
from starverse.main.sweeping import Sweeper, sweep
from starverse.main.warm import warm
from starverse.model.requests import SetPrice
from starverse.money.prices import EXAMPLE_PRICE_OTHER, EXAMPLE_PRICES
from starverse.service.platform import Limits, Platform
from starverse.store import tenants, vault
from starverse.store.blobs import Blobs
from starverse.store.database import home_url, open_database, reading
from starverse.store.journal import SqlJournal
from starverse.store.requests import Requests

log = logging.getLogger(__name__)


@dataclass
class Server:
    """The parts of a running server, and how they are taken down again."""

    platform: Platform
    isolation: Isolation
    cards: str
    loop: LoopThread
    close_engine: Callable[[], None]
    keep_snapshot: Callable[[], None]
    runs_alive: Callable[[], int]
    sweeper: Sweeper
    failure: BaseException | None = None

    def stop(self) -> None:
        """End the loop after its turn and keep a snapshot. Runs go on under their leases."""
        self.sweeper.stop()
        stands_still = self.loop.stop()
        self.close_engine()
        if stands_still and self.failure is None:
            self.keep_snapshot()


def build(home: Path, settings: Settings, on_failure: Callable[[], None]) -> Server:
    """Everything but the faces, wired together and turning. `on_failure` is called when the loop has ended
    by itself, with the reason in `Server.failure`."""
    warm()
    clock = Clock()
    database = open_database(settings.database or home_url(home))
    requests = Requests(database, clock.now_ms)
    journal = SqlJournal(database, requests.answered)
    epoch = journal.lead()
    state = journal.recover(settings.lease)
    clock.not_before(state.truth.heard_ms)  # the wall clock may have been set back meanwhile
    blobs = Blobs(home)
    isolation = probe(home)
    cards = find_cards(settings.cards or None)

    def unpack(snapshot: str, destination: Path) -> None:
        blobs.unpack(snapshot, destination)

    def uid_of(tenant: str) -> int:
        with reading(database) as connection:
            return tenants.tenant_of(connection, tenant).unix_id

    def secrets_of(tenant: str, names: tuple[str, ...]) -> dict[str, str]:
        with reading(database) as connection:
            return vault.secret_values(connection, tenant, names)

    engine = LocalEngine(
        home,
        # a machine that was renamed is still the node it was, or its runs would be placed on a ghost
        node=settings.node or next(iter(state.nodes), os.uname().nodename),
        cards=cards,
        now_ms=clock.now_ms,
        isolation=isolation,
        epoch=epoch,
        unpack=unpack,
        secrets_of=secrets_of,
        uid_of=uid_of,
    )
    world = LiveWorld(clock, engine, [requests])
    requests.wake = world.ring
    controller = Controller(world, journal, state, settings.lease)
    controller.take_over(clock.now_ms(), epoch)

    def after_turn(state: State) -> None:
        if journal.rows_since_snapshot >= settings.snapshot_every:
            journal.save(state)

    def failed(error: BaseException) -> None:
        log.error("the loop ended", exc_info=error)
        server.failure = error
        on_failure()

    loop = LoopThread(controller, world, after_turn, failed)
    platform = Platform(
        database=database,
        requests=requests,
        blobs=blobs,
        ask=loop.ask,
        home=home,
        now_ms=clock.now_ms,
        isolation=isolation.sentence,
        accepts_foreign=isolation.accepts_foreign,
        limits=Limits(trial_credit=settings.trial_credit),
    )
    server = Server(
        platform,
        isolation,
        f"{cards.count} × {cards.kind}",
        loop,
        engine.close,
        keep_snapshot=lambda: journal.save(state),
        runs_alive=lambda: len(state.runs),
        sweeper=Sweeper(lambda: sweep(home, database, settings.keep, clock.now_ms())),
    )
    _set_prices(requests, state, cards.kind, settings, clock.now_ms())
    loop.start()
    server.sweeper.start()
    return server


def _set_prices(requests: Requests, state: State, kind: str, settings: Settings, now_ms: int) -> None:
    """Prices for a first start: those of the settings, and an example for the kind of card there is."""
    wanted = {kind: EXAMPLE_PRICES.get(kind, EXAMPLE_PRICE_OTHER)} if kind not in state.truth.prices else {}
    for name, price in (wanted | settings.prices).items():
        dated = state.truth.prices.get(name)
        if not dated or (name in settings.prices and dated[-1][1] != price):
            requests.submit(SetPrice(name, price, now_ms))


def start_console(settings: Settings, home: Path) -> "subprocess.Popen[bytes]":
    """The console as a process of its own that ends with this one, however this one ends."""
    api = f"http://{settings.host}:{settings.port}"
    command = [sys.executable, "-m", "starverse.faces.console", "--api", api]
    command += ["--host", settings.host, "--port", str(settings.console_port)]
    command += ["--storage", str(home / "console"), *(f"--name={name}" for name in settings.names)]
    console = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "--", *command],  # it keeps nothing that could be lost
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert console.stdout is not None
    pour(console.stdout, home / "console.log")
    return console
