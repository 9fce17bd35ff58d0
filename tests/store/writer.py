"""A server in small that is asked for jobs without end and writes all of it down, until it is killed."""

import random
import threading
from collections.abc import Callable, Sequence

from tests.store.lives import START_MS

from starverse.control.controller import Controller
from starverse.control.ports import Input
from starverse.model import commands as cmd
from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.job import JobSpec
from starverse.model.units import CARD, YUAN
from starverse.store import tenants
from starverse.store.database import open_database
from starverse.store.journal import SqlJournal
from starverse.store.requests import Requests
from starverse.twin.world import Fate, World

SLEEP_MS = 50


class Asking(World):
    """The simulated world, with requests from a database; runs end as chance has it, or with the world."""

    def __init__(self, start_ms: int, requests: Requests, chance: random.Random) -> None:
        super().__init__(start_ms, self._fate)
        self._requests = requests
        self._chance = chance

    def _fate(self, start: cmd.StartRun, now_ms: int) -> Fate:
        how, code = self._chance.choice([("exit", 0), ("exit", 0), ("exit", 1), ("signal", 9), ("lost", 0)])
        return Fate(self._chance.randrange(2_000_000), self._chance.randrange(2000), how, code)  # type: ignore[arg-type]

    def wait(self, until_ms: int | None) -> tuple[int, Sequence[Input]]:
        asked = self._requests.poll(self.now_ms)
        if asked:
            return self.now_ms, asked
        latest_ms = self.now_ms + SLEEP_MS
        return super().wait(latest_ms if until_ms is None else min(until_ms, latest_ms))

    def survey(self, runs: Sequence[str]) -> Sequence[ev.Event]:
        return [ev.RunEnded(run, self.now_ms, "lost") for run in runs]


def serve(url: str, life: int, ready: Callable[[], None]) -> None:
    """Serve for ever; `ready` is called when the loop turns."""
    chance = random.Random(life)
    engine = open_database(url)
    requests = Requests(engine, lambda: START_MS)
    journal = SqlJournal(engine, requests.answered)
    epoch = journal.lead()
    state = journal.recover()
    world = Asking(max(state.truth.heard_ms, START_MS) + 1, requests, chance)
    controller = Controller(world, journal, state)
    controller.take_over(world.now_ms, epoch)
    for node in ("n1", "n2"):
        world.at(world.now_ms, ev.NodeJoined(node, "cpu", 8))

    def ask(number: int) -> None:
        tenant = f"t{life}-{number}"
        with engine.begin() as connection:  # the row and the request are one
            tenants.add_tenant(connection, tenant, tenant, START_MS)
            opening = requests.put(connection, rq.OpenTenant(tenant, YUAN))
        assert requests.answer_of(opening, 60) == ""
        for count in range(100_000):
            spec = JobSpec(f"j{life}-{number}-{count}", tenant, CARD, 4 * CARD, price=100_000, retries=1)
            asked = [requests.submit(rq.SubmitJob(spec)), requests.submit(rq.TopUp(tenant, 1000, "more"))]
            assert all(requests.answer_of(each, 60) == "" for each in asked)

    for number in range(2):
        threading.Thread(target=ask, args=(number,), daemon=True).start()
    ready()
    while True:
        controller.turn()
        if journal.rows_since_snapshot >= 300:
            journal.save(state)
