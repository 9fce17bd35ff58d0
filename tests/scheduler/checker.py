"""An onlooker who hears every event and objects to what a scheduler must never do.

It shares no code with the scheduler: it knows events, cards and time, and nothing of spaces, lines or claims.
"""

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from starverse.model import events as ev
from starverse.model.job import JobSpec

_CAPITAL = re.compile("[A-Z]")

RANKS = ("reserved", "on-demand", "preemptible")


@dataclass
class Node:
    """A node as it stands."""

    kind: str
    cards: int
    place: tuple[str, ...]
    broken: set[int] = field(default_factory=set)
    cordoned: bool = False
    lost: bool = False


@dataclass
class Job:
    """A job that is not over."""

    spec: JobSpec
    order: int
    ran_ms: int = 0
    again: bool = False
    attempts: int = 0
    waits: bool = True

    @property
    def rank(self) -> tuple[int, bool]:
        """The smaller, the better."""
        return RANKS.index(self.spec.priority), not self.again


@dataclass
class Promise:
    """A start that was promised; `made` is the number of the event."""

    at_ms: int
    cards: set[tuple[str, int]]
    made: int


class Checker:
    """What is alive by the events alone, and the objections."""

    def __init__(self, grace_ms: int) -> None:
        self.grace_ms = grace_ms
        self.heard = 0
        self.nodes: dict[str, Node] = {}
        self.jobs: dict[str, Job] = {}
        self.cards: dict[tuple[str, int], dict[str, int]] = {}
        """The milli-cards that each run has of a card."""
        self.runs: dict[str, tuple[str, int]] = {}
        self.promises: dict[str, Promise] = {}
        self.excused = 0
        """The last event that may make any promise later: a node closed, or what could not be can be."""
        self.better: dict[tuple[int, bool], int] = {}
        """The last event, by rank, with which a job of that rank came, came back, started, or was promised a
        start that could not be promised before."""

    def hear(self, event: Any, now_ms: int) -> None:
        """One event."""
        self.heard += 1
        name = type(event).__name__
        listen = getattr(self, name[0].lower() + _CAPITAL.sub(r"_\g<0>", name[1:]).lower(), None)
        if listen:
            listen(event, now_ms)

    # -- nodes --------------------------------------------------------------------------------------------

    def node_joined(self, event: ev.NodeJoined, now_ms: int) -> None:
        node = self.nodes.setdefault(event.node, Node(event.kind, event.cards, event.place))
        node.lost = False

    def node_lost(self, event: ev.NodeLost, now_ms: int) -> None:
        self.nodes[event.node].lost = True
        self.excused = self.heard

    def node_cordoned(self, event: ev.NodeCordoned, now_ms: int) -> None:
        self.nodes[event.node].cordoned = True
        self.excused = self.heard

    def node_uncordoned(self, event: ev.NodeUncordoned, now_ms: int) -> None:
        self.nodes[event.node].cordoned = False

    def card_health_changed(self, event: ev.CardHealthChanged, now_ms: int) -> None:
        broken = self.nodes[event.node].broken
        if event.healthy:
            broken.discard(event.card)
        else:
            broken.add(event.card)
            self.excused = self.heard

    # -- jobs ---------------------------------------------------------------------------------------------

    def job_submitted(self, event: ev.JobSubmitted, now_ms: int) -> None:
        job = self.jobs[event.spec.job] = Job(event.spec, self.heard)
        self.better[job.rank] = self.heard

    def run_placed(self, event: ev.RunPlaced, now_ms: int) -> None:
        job = self.jobs[event.job]
        spec = job.spec
        assert job.waits, f"{event.job} does not wait"
        milli = 0
        members: dict[str, int] = {}
        for share in event.shares:
            node = self.nodes[share.node]
            assert node.kind == spec.kind, f"{event.job} is on a node of another kind"
            assert not node.cordoned, f"{event.job} is on a cordoned node"
            assert not node.lost, f"{event.job} is on a lost node"
            for card in share.cards:
                assert card < node.cards, f"{share.node} has no card {card}"
                assert card not in node.broken, f"card {card} of {share.node} is broken"
                there = self.cards.setdefault((share.node, card), {})
                there[event.run] = share.milli or 1000
                whose = sorted(there)
                assert sum(there.values()) <= 1000, f"card {card} of {share.node} is given twice: {whose}"
                milli += share.milli or 1000
            members[share.node] = members.get(share.node, 0) + len(share.cards)
        assert spec.cards_min <= milli <= spec.cards_max, f"{event.job} has {milli} milli-cards"
        for name, cards in members.items():
            in_two = spec.cards_min >= 1000 and cards * 1000 % spec.shape.member
            assert not in_two, f"a member of {event.job} is cut in two on {name}"
        if spec.shape.require == "rack":
            assert len({self.nodes[name].place for name in members}) == 1, f"{event.job} lies in two racks"
        promise = self.promises.pop(event.job, None)
        if promise and promise.at_ms and promise.made > self._excuse(job):
            assert now_ms <= promise.at_ms, f"{event.job} starts later than it was promised"
        self.better[job.rank] = self.heard
        job.waits = False
        job.attempts += 1
        self.runs[event.run] = event.job, now_ms

    def run_started(self, event: ev.RunStarted, now_ms: int) -> None:
        self.runs[event.run] = self.runs[event.run][0], now_ms

    def run_ended(self, event: ev.RunEnded, now_ms: int) -> None:
        name, since_ms = self.runs.pop(event.run)
        job = self.jobs[name]
        job.ran_ms += now_ms - since_ms
        for there in self.cards.values():
            there.pop(event.run, None)

    def job_requeued(self, event: ev.JobRequeued, now_ms: int) -> None:
        job = self.jobs[event.job]
        job.again = job.again or bool(job.attempts)
        job.waits = True
        self.better[job.rank] = self.heard

    def job_paused(self, event: ev.JobPaused, now_ms: int) -> None:
        self.jobs[event.job].waits = False
        self.promises.pop(event.job, None)

    def job_ended(self, event: ev.JobEnded, now_ms: int) -> None:
        del self.jobs[event.job]
        self.promises.pop(event.job, None)

    # -- promises -----------------------------------------------------------------------------------------

    def _excuse(self, job: Job) -> int:
        """The last event for which a promise to a job may have become later."""
        return max(self.excused, *(at for rank, at in self.better.items() if rank < job.rank), 0)

    def starts_promised(self, event: ev.StartsPromised, now_ms: int) -> None:
        for promised in event.promises:
            known = self.promises.get(promised.job)
            if known and not known.at_ms:
                self.excused = self.heard  # it may stand before others that were promised theirs meanwhile
            elif not known:
                self.better[self.jobs[promised.job].rank] = self.heard
        for promised in event.promises:
            job = self.jobs[promised.job]
            assert job.waits, f"{promised.job} does not wait"
            known = self.promises.get(promised.job)
            if known and known.at_ms and known.made > self._excuse(job):
                assert 0 < promised.at_ms <= known.at_ms, f"{promised.job} is put off for no reason"
            cards = {(share.node, card) for share in promised.shares for card in share.cards}
            for name, card in cards:
                node = self.nodes[name]
                assert not node.cordoned, f"{promised.job} is promised a cordoned node"
                assert not node.lost, f"{promised.job} is promised a lost node"
                assert card not in node.broken, f"{promised.job} is promised a broken card"
            assert promised.at_ms == 0 or len(cards) * 1000 >= job.spec.cards_min
            made = known.made if known and promised.at_ms == known.at_ms else self.heard
            self.promises[promised.job] = Promise(promised.at_ms, cards, made)

    def instant_is_over(self, now_ms: int) -> None:
        """What must hold when all decisions of an instant are true: no card is promised twice at a time."""
        spans: dict[tuple[str, int], list[tuple[int, int, str]]] = {}
        for name, promise in self.promises.items():
            job = self.jobs[name]
            length_ms = max(job.spec.time_limit_ms - job.ran_ms, 0) + self.grace_ms
            for card in promise.cards:
                if promise.at_ms > now_ms:
                    spans.setdefault(card, []).append((promise.at_ms, promise.at_ms + length_ms, name))
        for card, claims in spans.items():
            claims.sort()
            for (_, to_ms, one), (from_ms, _, other) in pairwise(claims):
                assert to_ms <= from_ms, f"card {card} is promised to {one} and {other} at one time"
