"""Whole job lives through the real loop, in a world whose runs take no time to watch."""

import gc
import random
import time
from collections.abc import Sequence
from statistics import median

from starverse.bench.figure import Figure
from starverse.control.controller import Controller
from starverse.control.state import State
from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.job import JobSpec
from starverse.model.units import CARD, SECOND_MS, YUAN
from starverse.twin.world import Fate, HashJournal, ListJournal, World

NODES = 100
CARDS = 8
TENANTS = 10
START_MS = 1_760_000_000_000
GAP_MS = 40
BATCH = 1_000
SMALL, LARGE = 10_000, 1_000_000


class _Workload:
    """A world with 800 cards, ten rich tenants, and jobs that arrive one every 40 ms on average.

    Each job is of 1 to 8 cards, arrives at an instant of its own, and runs for 1 to 20 s.
    """

    def __init__(self, seed: int, journal: HashJournal | ListJournal) -> None:
        self._chance = random.Random(seed)
        self._work_ms: dict[str, int] = {}
        self._count = 0
        self.at_ms = START_MS
        self.world = World(START_MS, lambda order, now_ms: Fate(self._work_ms.pop(order.job)))
        self.state = State()
        self.loop = Controller(self.world, journal, self.state)
        for node in range(NODES):
            self.world.at(START_MS, ev.NodeJoined(f"n{node:03}", "cpu", CARDS))
        for tenant in range(TENANTS):
            self.world.ask(START_MS, rq.OpenTenant(f"t{tenant}"))
            self.world.ask(START_MS, rq.TopUp(f"t{tenant}", 1_000_000_000 * YUAN))

    def submit(self, jobs: int) -> None:
        """Let so many more jobs arrive."""
        chance = self._chance
        for _ in range(jobs):
            self.at_ms += chance.randrange(2 * GAP_MS)
            name = f"j{self._count}"
            self._work_ms[name] = chance.randrange(1, 20) * SECOND_MS
            cards = chance.choice((1, 1, 1, 2, 2, 4, 8)) * CARD
            spec = JobSpec(name, f"t{self._count % TENANTS}", cards, cards, price=YUAN // 2)
            self.world.ask(self.at_ms, rq.SubmitJob(spec))
            self._count += 1

    def turn(self) -> None:
        """Live through all that was submitted, up to the last arrival."""
        while self.world.now_ms < self.at_ms:
            self.loop.turn()


def lives(jobs: int, seed: int = 1) -> float:
    """Microseconds of processor time per whole life, the median of batches of a thousand.

    A life is submitted, placed, held for, running, ended, charged, over: seven events, each folded, and
    hashed as the journal would write it. Only the turns of the loop are timed, not the making of the
    workload.
    """
    load = _Workload(seed, HashJournal())
    spent_us: list[float] = []
    for _ in range(jobs // BATCH):
        load.submit(BATCH)
        began = time.process_time()
        load.turn()
        spent_us.append((time.process_time() - began) / BATCH * 1e6)
    assert sum(load.state.accounts.values()) == 0, "the ledger must sum to zero"
    return median(spent_us)


def written(events: int, seed: int = 1) -> list[tuple[int, ev.Event]]:
    """At least so many rows of a journal of such lives."""
    journal = ListJournal()
    load = _Workload(seed, journal)
    while len(journal.rows) < events:
        load.submit(BATCH)
        load.turn()
    return journal.rows


def measure(large: int = LARGE) -> Sequence[Figure]:
    """Lives a second, and how a hundred times as many change the time of one."""
    gc.collect()
    gc.freeze()  # no struct of the loop is part of a cycle, so the collector has nothing to find
    gc.disable()
    try:
        lives(BATCH)
        small_us = min(lives(SMALL) for _ in range(5))
        large_us = lives(large)
    finally:
        gc.enable()
    return (
        Figure("loop_lives", "job lives a second", 1e6 / small_us, "lives/s", 50_000, "more"),
        Figure("loop_life", "one life, 10⁴ jobs", small_us, "µs", 20),
        Figure("loop_life_large", f"one life, {large:,} jobs", large_us, "µs"),
        Figure("loop_growth", f"a life among {large:,} : among 10⁴", large_us / small_us, "×", 1.3),
    )
