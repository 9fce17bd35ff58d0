"""EASY backfill, as production systems have it: first come, first served, and one reservation for the head.

A job behind the head starts if it fits now and is over, by its limit, before the head can start, or if it
takes nothing that the head will need then (Lifka 1995; Mu'alem and Feitelson 2001). It knows members and
nodes as our scheduler does, so both have the same to place.
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple


class Job(NamedTuple):
    """A line of a trace: `members` of `member` cards, each on one node."""

    name: str
    at_ms: int
    members: int
    member: int
    work_ms: int
    limit_ms: int

    @property
    def cards(self) -> int:
        """All its cards."""
        return self.members * self.member


class Taken(NamedTuple):
    """What a job has: (node, cards) pairs, and when it is over at the latest."""

    until_ms: int
    number: int
    parts: list[tuple[int, int]]


def choose(free: Sequence[int], member: int, members: int) -> list[tuple[int, int]] | None:
    """(node, cards) pairs, those nodes first that have least room: best fit; None where it does not fit."""
    if sum(free) < member * members:
        return None
    parts = []
    for node in sorted((n for n, count in enumerate(free) if count >= member), key=lambda n: (free[n], n)):
        count = min(free[node] // member, members)
        parts.append((node, count * member))
        members -= count
        if not members:
            return parts
    return None


class Easy:
    """The cluster and its queue, mutable."""

    def __init__(self, jobs: Sequence[Job], nodes: int, cards: int) -> None:
        self.jobs = jobs
        self.free = [cards] * nodes
        self.queue: list[int] = []
        self.runs: dict[int, Taken] = {}
        self.starts: dict[str, int] = {}

    def run(self) -> dict[str, int]:
        """Live through all of it; when each job started."""
        heap = [(job.at_ms, 1, number) for number, job in enumerate(self.jobs)]
        heap.sort()
        while heap:
            now_ms = heap[0][0]
            while heap and heap[0][0] == now_ms:
                _, is_arrival, number = heappop(heap)
                if is_arrival:
                    self.queue.append(number)
                else:
                    for node, cards in self.runs.pop(number).parts:
                        self.free[node] += cards
            for number in self._decide(now_ms):
                job = self.jobs[number]
                heappush(heap, (now_ms + min(job.work_ms, job.limit_ms), 0, number))
        return self.starts

    def _decide(self, now_ms: int) -> list[int]:
        started = []
        while self.queue:
            head = self.jobs[self.queue[0]]
            parts = choose(self.free, head.member, head.members)
            if parts is None:
                break
            started.append(self._start(self.queue.pop(0), parts, now_ms))
        if len(self.queue) > 1 and any(self.free):
            started += self._backfill(now_ms)
        return started

    def _start(self, number: int, parts: list[tuple[int, int]], now_ms: int) -> int:
        job = self.jobs[number]
        for node, cards in parts:
            self.free[node] -= cards
        self.runs[number] = Taken(now_ms + job.limit_ms, number, parts)
        self.starts[job.name] = now_ms
        return number

    def _reserve(self) -> tuple[int, list[int]]:
        """When the head can start at the latest, and what each node can spare then."""
        head = self.jobs[self.queue[0]]
        free = list(self.free)
        ends = sorted(self.runs.values())
        for place, run in enumerate(ends):
            for node, cards in run.parts:
                free[node] += cards
            if place + 1 < len(ends) and ends[place + 1].until_ms == run.until_ms:
                continue
            parts = choose(free, head.member, head.members)
            if parts is not None:
                for node, cards in parts:
                    free[node] -= cards
                return run.until_ms, free
        raise AssertionError(f"job {head.name} never fits")

    def _backfill(self, now_ms: int) -> list[int]:
        """Start what is over before the head's turn, or stays out of its way."""
        shadow_ms, spare = self._reserve()
        started: list[int] = []
        least: tuple[dict[int, int], dict[int, int]] = ({}, {})
        for number in self.queue[1:]:
            job = self.jobs[number]
            is_short = now_ms + job.limit_ms <= shadow_ms
            failed = least[is_short]
            if job.members >= failed.get(job.member, job.members + 1):
                continue  # as many or fewer did not fit
            room = self.free if is_short else [min(both) for both in zip(self.free, spare, strict=True)]
            parts = choose(room, job.member, job.members)
            if parts is None:
                failed[job.member] = job.members
                continue
            started.append(self._start(number, parts, now_ms))
            if not is_short:
                for node, cards in parts:
                    spare[node] -= cards
            if not any(self.free):
                break
        gone = set(started)
        self.queue = [number for number in self.queue if number not in gone]
        return started
