"""How good the decisions are: two traces replayed through the real loop, and by EASY backfill beside it.

Both hear the same arrivals and limits in the same order, of one tenant, so that first come is first served
by both; jobs end by themselves or at their limit. Ours runs as in production, over the twin's world, and what
it promises is in its journal: a promise is broken if the job starts after the earliest start it ever had.
"""

import csv
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import gcd
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

from starverse.bench.easy import Easy, Job
from starverse.bench.figure import Figure
from starverse.bench.openb import traces
from starverse.control.controller import Controller
from starverse.control.ports import Taken
from starverse.control.state import State
from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.errors import NotFound
from starverse.model.job import JobSpec, Shape
from starverse.model.units import CARD, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, TIME_LIMIT_MAX_MS
from starverse.money.lease import LeaseTerms
from starverse.scheduler.view import PROMISES
from starverse.twin.world import Fate, World

WEEK_S = 7 * DAY_MS // SECOND_MS
START_MS = 1_500_000_000_000 // DAY_MS * DAY_MS
KIND = "h200"

PHILLY = "philly-sia/philly.csv"
HPC2N = "swf/HPC2N-head.swf"
PHILLY_FROM = datetime(2017, 10, 2, tzinfo=UTC)
PHILLY_WEEKS = 4
"""Busy weeks of the trace, 46,000 jobs: each is replayed by itself; one alone is a matter of luck."""
PHILLY_DRAWS = 6
"""The limits are drawn so many times: from draw to draw the p95 wait of the large tenth is 26 to 39 h, and
who is ahead in it changes. One draw alone is a matter of luck as well."""
_LIMITS_MIN = (5, 15, 30, 60, 120, 240, 480, 720, 1_440, 2_880, 5_760, 10_080, 20_160, 43_200, 129_600)
LIMITS_MS = tuple(minutes * MINUTE_MS for minutes in _LIMITS_MIN)
"""The round limits that people choose from."""


class Log(NamedTuple):
    """A trace, ready to be replayed on so many nodes of so many cards."""

    name: str
    nodes: int
    cards: int
    jobs: Sequence[Job]


def _file(folder: Path, name: str) -> Path:
    file = folder / name
    if not file.exists():
        raise NotFound(f"The trace {name} is not in {folder}.", "Say where it lies with STARVERSE_TRACES.")
    return file


def philly(folder: Path, week: int, nodes: int = 56, draw: int = 1) -> Log:
    """One of the weeks, on fewer nodes than there were, so that jobs wait.

    The trace has no limits. A run is taken to use a part of its limit drawn evenly between a tenth and all of
    it (as user estimates are found to be: Mu'alem and Feitelson 2001, section 4), and the limit to be the
    next round one; `draw` is the seed of it. Gangs above a node are made of the largest members that divide 8
    and them.
    """
    chance = Random(draw)
    rows = []
    with _file(folder, PHILLY).open(newline="") as lines:
        for row in csv.DictReader(lines):
            at = datetime.fromisoformat(row["timestamp"]).replace(tzinfo=UTC)
            after_s = int((at - PHILLY_FROM).total_seconds()) - week * WEEK_S
            if 0 <= after_s < WEEK_S:
                rows.append((after_s, int(row["num_gpus"]), int(float(row["duration"]))))
    jobs = []
    for number, (after_s, cards, duration_s) in enumerate(sorted(rows)):
        work_ms = max(1, duration_s) * SECOND_MS
        asked_ms = work_ms / chance.uniform(0.1, 1)
        limit_ms = next(limit_ms for limit_ms in LIMITS_MS if limit_ms >= min(asked_ms, LIMITS_MS[-1]))
        member = gcd(cards, 8)
        at_ms = START_MS + after_s * SECOND_MS
        jobs.append(Job(f"j{number}", at_ms, cards // member, member, work_ms, limit_ms))
    return Log("Philly", nodes, 8, jobs)


def hpc2n(folder: Path, most: int = 1 << 30) -> Log:
    """The log of 120 nodes of two processors, with its users' own limits; even numbers are whole nodes."""
    jobs: list[Job] = []
    for line in _file(folder, HPC2N).read_text().splitlines():
        field = line.split()
        if not field or field[0].startswith(";") or float(field[3]) <= 0 or len(jobs) >= most:
            continue
        cards = int(field[7]) if int(field[7]) > 0 else int(field[4])
        member = gcd(cards, 2)
        at_ms = START_MS + int(field[1]) * SECOND_MS
        work_ms, limit_ms = (int(float(field[place])) * SECOND_MS for place in (3, 8))
        jobs.append(Job(f"j{field[0]}", at_ms, cards // member, member, work_ms, limit_ms))
    return Log("HPC2N", 120, 2, jobs)


class Witness:
    """A journal that remembers when jobs started, and what they were promised."""

    def __init__(self) -> None:
        self.starts: dict[str, int] = {}
        self.promised: dict[str, int] = {}
        """The earliest start ever promised to each job."""

    def append(self, heard_ms: int, events: Sequence[ev.Event], taken: Sequence[Taken]) -> None:
        """Look at what is written."""
        for event in events:
            if isinstance(event, ev.RunPlaced):
                assert event.job not in self.starts, f"job {event.job} started twice"
                self.starts[event.job] = heard_ms
            elif isinstance(event, ev.StartsPromised):
                for promise in event.promises:
                    if promise.at_ms:
                        known_ms = self.promised.get(promise.job, promise.at_ms)
                        self.promised[promise.job] = min(known_ms, promise.at_ms)

    def broken(self) -> list[str]:
        """The jobs that started later than they were promised once."""
        starts = self.starts
        return [job for job, at_ms in self.promised.items() if starts.get(job, at_ms + 1) > at_ms]


def ours(log: Log, depth: int = PROMISES) -> Witness:
    """The trace through the real loop."""
    work_ms = {job.name: min(job.work_ms, job.limit_ms) for job in log.jobs}
    world = World(START_MS - 1, lambda order, now_ms: Fate(work_ms[order.job]))
    terms = LeaseTerms(window_ms=TIME_LIMIT_MAX_MS)
    journal = Witness()
    state = State(terms=terms)
    state.view.depth = depth
    loop = Controller(world, journal, state, terms)
    for node in range(log.nodes):
        world.at(START_MS - 1, ev.NodeJoined(f"n{node:03}", KIND, log.cards))
    world.ask(START_MS - 1, rq.OpenTenant("t"))
    for job in log.jobs:
        cards, shape = job.cards * CARD, Shape(job.member * CARD)
        spec = JobSpec(job.name, "t", cards, cards, KIND, time_limit_ms=job.limit_ms, shape=shape)
        world.ask(job.at_ms, rq.SubmitJob(spec))
    while not world.over():
        loop.turn()
    return journal


def easy(log: Log) -> Mapping[str, int]:
    """When each job starts by EASY backfill."""
    return Easy(log.jobs, log.nodes, log.cards).run()


class Quality(NamedTuple):
    """The part of the cards in use until the last arrival, %; waits of which 95 % are shorter, hours."""

    use: float
    wait_h: float
    wait_large_h: float


def quality(lived: Sequence[tuple[Log, Mapping[str, int]]]) -> Quality:
    """What came of traces that started so; the large jobs are the tenth with most cards, then longest."""
    used = had = 0
    waits: list[tuple[int, int, float]] = []
    for log, starts in lived:
        from_ms, to_ms = log.jobs[0].at_ms, log.jobs[-1].at_ms
        had += log.nodes * log.cards * (to_ms - from_ms)
        for job in log.jobs:
            start_ms = starts[job.name]
            end_ms = start_ms + min(job.work_ms, job.limit_ms)
            used += job.cards * max(0, min(end_ms, to_ms) - min(start_ms, to_ms))
            waits.append((-job.cards, -job.limit_ms, (start_ms - job.at_ms) / HOUR_MS))
    waits.sort()
    all_h = [wait_h for _, _, wait_h in waits]
    return Quality(100 * used / had, _p95(all_h), _p95(all_h[: -(-len(all_h) // 10)]))


def _p95(values: list[float]) -> float:
    return sorted(values)[len(values) * 95 // 100]


def compare(draws: Sequence[Sequence[Log]]) -> Sequence[Figure]:
    """Ours beside EASY, on average over all draws of the same trace: none worse, and no promise broken."""
    witnesses = [[ours(log) for log in logs] for logs in draws]
    mine = [
        quality([(log, witness.starts) for log, witness in zip(logs, seen, strict=True)])
        for logs, seen in zip(draws, witnesses, strict=True)
    ]
    other = [quality([(log, easy(log)) for log in logs]) for logs in draws]
    logs = draws[0]
    name, cards = logs[0].name, logs[0].nodes * logs[0].cards
    what = f"{name}, {sum(len(log.jobs) for log in logs):,} jobs on {cards} cards"

    def row(part: str, text: str, unit: str, better: Literal["more", "less"] = "less") -> Figure:
        pairs = [(getattr(one, part), getattr(two, part)) for one, two in zip(mine, other, strict=True)]
        if len(pairs) > 1:
            sign = 1 if better == "more" else -1
            ahead = sum(sign * (found - theirs) > 0 for found, theirs in pairs)
            text = f"{text}, mean of {len(pairs)} draws of limits, ahead in {ahead}"
        found, theirs = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
        peer = f"EASY {theirs:.4g} {unit}"
        return Figure(f"{name.lower()}_{part}", f"{what}: {text}", found, unit, theirs, better, peer)

    seen = [witness for each in witnesses for witness in each]
    promised = sum(len(witness.promised) for witness in seen)
    broken = sum(len(witness.broken()) for witness in seen)
    return (
        row("use", "in use", "%", "more"),
        row("wait_large_h", "p95 wait of the large tenth", "h"),
        row("wait_h", "p95 wait of all", "h"),
        Figure(f"{name.lower()}_broken", f"{what}: broken of {promised:,} promises", broken, "promises", 0),
    )


def measure(folder: Path | None = None) -> Sequence[Figure]:
    """Both traces."""
    folder = folder or traces()
    draws = [
        [philly(folder, week, draw=draw) for week in range(PHILLY_WEEKS)]
        for draw in range(1, PHILLY_DRAWS + 1)
    ]
    return (*compare(draws), *compare([[hpc2n(folder)]]))
