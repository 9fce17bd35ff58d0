"""What is alive now, folded from the journal: nodes, jobs, runs and money."""

from bisect import insort
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

import msgspec
from msgspec import Struct

from starverse.model import events as ev
from starverse.model.allocation import Share
from starverse.model.job import JOB_LIFE, JobSpec, Phase
from starverse.model.units import CARD
from starverse.money.lease import LeaseTerms
from starverse.scheduler.space import Space
from starverse.scheduler.view import View

_NEVER_BELOW_ZERO = ("wallet/", "held/")


class Node(Struct, gc=False):
    """A node; `broken` is a bit set of failed cards."""

    node: str
    kind: str
    cards: int
    broken: int = 0
    cordoned: bool = False
    lost: bool = False


class Job(Struct, gc=False):
    """A job that is not over: `order` is its place in the queue, `ran_ms` counts against its time limit."""

    spec: JobSpec
    order: int
    phase: Phase = "waiting"
    run: str = ""
    attempts: int = 0
    retries_used: int = 0
    platform_faults: int = 0
    not_before_ms: int = 0
    ran_ms: int = 0
    step: int = 0
    why: str = ""
    pause: str = ""
    stop_asked: bool = False
    repays: bool = False


class Run(Struct, gc=False):
    """A run that is not over. `held` micro-yuan pay for it until the lease ends; `charged` of its cost is
    posted, up to `posted_ms`; time up to `credited_ms` was given back; `repays` if it makes up for one;
    `advanced` if it saved a later step than all before it; `kill_rank` is shot on purpose, -1 is none."""

    run: str
    job: str
    tenant: str
    price: int
    milli_cards: int
    shares: tuple[Share, ...]
    placed_ms: int
    lease_until_ms: int
    held: int = 0
    charged: int = 0
    started_ms: int = 0
    posted_ms: int = 0
    checkpoint_ms: int = 0
    credited_ms: int = 0
    resumed: bool = False
    repays: bool = False
    injected: bool = False
    stop_why: str = ""
    kill_at_ms: int = 0
    advanced: bool = False
    kill_rank: int = -1


class Truth(Struct):
    """All of the state that is not derived: what a snapshot holds."""

    seq: int = 0
    heard_ms: int = 0
    epoch: int = 0
    submitted: int = 0
    nodes: dict[str, Node] = {}
    jobs: dict[str, Job] = {}
    runs: dict[str, Run] = {}
    accounts: dict[str, int] = {}
    prices: dict[str, list[tuple[int, int]]] = {}


class State:
    """The fold of the journal, mutable, owned by the controller. Only `apply` changes it.

    What is derived (queues, spaces, delayed, paused) is kept up to date for the next decision and rebuilt
    when a snapshot is loaded.
    """

    def __init__(self, truth: Truth | None = None, terms: LeaseTerms | None = None) -> None:
        self.truth = truth = truth or Truth()
        self.now_ms = truth.heard_ms
        """The instant that is being folded."""
        self.nodes = truth.nodes
        self.jobs = truth.jobs
        self.runs = truth.runs
        self.accounts = truth.accounts
        self.queues: dict[str, deque[str]] = {}
        self.spaces: dict[str, Space] = {}
        self.delayed: list[tuple[int, str]] = []
        self.paused: dict[str, dict[str, None]] = {}
        self.view = View(self.queues, self.spaces, self.jobs, self.accounts, terms or LeaseTerms())
        self.folds: dict[type, Callable[[Any], None]] = {
            getattr(ev, name[1:]): getattr(self, name)
            for name in ("_" + event.__name__ for event in ev.Event.__args__)
        }
        for node in truth.nodes.values():
            self._open_or_close(node)
        for run in truth.runs.values():
            for share in run.shares:
                self.spaces[self.nodes[share.node].kind].take(share.node, share.mask)
        for name, job in sorted(truth.jobs.items(), key=lambda item: item[1].order):
            if job.phase == "waiting":
                self._enqueue(name, job)
            elif job.phase == "paused":
                self.paused.setdefault(job.spec.tenant, {})[name] = None

    @classmethod
    def load(cls, snapshot: bytes, terms: LeaseTerms | None = None) -> "State":
        """The state a snapshot was taken of."""
        return cls(msgspec.json.decode(snapshot, type=Truth), terms)

    def snapshot(self) -> bytes:
        """The same bytes for the same fold."""
        return msgspec.json.encode(self.truth)

    def apply(self, event: Any, heard_ms: int) -> None:
        """Fold one event into the state; an event that cannot have happened is an AssertionError.

        The loop does the same, an instant at a time (Controller): sets `now_ms`, folds, counts.
        """
        assert heard_ms >= self.truth.heard_ms, f"time went back from {self.truth.heard_ms} to {heard_ms}"
        self.now_ms = heard_ms
        self.release(heard_ms)
        self.folds[type(event)](event)
        self.truth.seq += 1
        self.truth.heard_ms = heard_ms

    def release(self, now_ms: int) -> None:
        """Put the jobs whose waiting time is over into their queues."""
        while self.delayed and self.delayed[0][0] <= now_ms:
            _, name = heappop(self.delayed)
            job = self.jobs.get(name)
            if job and job.phase == "waiting":
                self._stand_in_line(name, job)

    # -- derived ------------------------------------------------------------------------------------------

    def _queue(self, job: Job) -> deque[str]:
        queue = self.queues.get(job.spec.kind)
        if queue is None:
            self.queues[job.spec.kind] = queue = deque()
            for kind in sorted(self.queues):  # decisions are made kind by kind, in an order of their own
                self.queues[kind] = self.queues.pop(kind)
        return queue

    def _enqueue(self, name: str, job: Job) -> None:
        if job.not_before_ms > self.now_ms:
            heappush(self.delayed, (job.not_before_ms, name))
        else:
            self._stand_in_line(name, job)

    def _stand_in_line(self, name: str, job: Job) -> None:
        """Put a job into its queue, at the place that its order gives it."""
        self.view.stirred = True
        queue = self._queue(job)
        if not queue or self.jobs[queue[-1]].order < job.order:
            queue.append(name)
        elif self.jobs[queue[0]].order > job.order:
            queue.appendleft(name)
        else:
            insort(queue, name, key=lambda other: self.jobs[other].order)

    def _leave_queue(self, name: str, job: Job) -> None:
        queue = self._queue(job)
        if queue and queue[0] == name:
            queue.popleft()
        elif name in queue:
            queue.remove(name)

    def _move(self, name: str, job: Job, event: str) -> None:
        phase = JOB_LIFE.get((job.phase, event))
        assert phase, f"{event} for job {name}, which is {job.phase}"
        job.phase = phase

    def _open_or_close(self, node: Node) -> None:
        space = self.spaces.setdefault(node.kind, Space())
        self.view.stirred = True
        healthy = ((1 << node.cards) - 1) & ~node.broken
        space.join(node.node, healthy, not (node.cordoned or node.lost))

    # -- people -------------------------------------------------------------------------------------------

    def _TenantOpened(self, event: ev.TenantOpened) -> None:
        self.accounts.setdefault("wallet/" + event.tenant, 0)

    def _PriceSet(self, event: ev.PriceSet) -> None:
        dated = self.truth.prices.setdefault(event.kind, [])
        dated[:] = [row for row in dated if row[0] != event.from_ms]  # the last word for a date counts
        insort(dated, (event.from_ms, event.price))

    def _JobSubmitted(self, event: ev.JobSubmitted) -> None:
        spec = event.spec
        name = spec.job
        assert name not in self.jobs, f"job {name} was submitted twice"
        truth = self.truth
        truth.submitted += 1
        job = self.jobs[name] = Job(spec, truth.submitted, not_before_ms=spec.earliest_start_ms)
        self._enqueue(name, job)

    def _JobStopAsked(self, event: ev.JobStopAsked) -> None:
        self.jobs[event.job].stop_asked = True

    def _NodeCordoned(self, event: ev.NodeCordoned) -> None:
        node = self.nodes[event.node]
        node.cordoned = True
        self._open_or_close(node)

    def _NodeUncordoned(self, event: ev.NodeUncordoned) -> None:
        node = self.nodes[event.node]
        node.cordoned = False
        self._open_or_close(node)

    def _FaultInjected(self, event: ev.FaultInjected) -> None:
        run = self.runs[event.run]
        run.injected, run.kill_rank = True, event.rank

    # -- the world ----------------------------------------------------------------------------------------

    def _NodeJoined(self, event: ev.NodeJoined) -> None:
        node = self.nodes.get(event.node)
        if node is None:
            node = self.nodes[event.node] = Node(event.node, event.kind, event.cards)
        if node.kind != event.kind:
            self.spaces[node.kind].join(node.node, 0, is_open=False)
            node.kind = event.kind
            self.nodes[event.node] = self.nodes.pop(event.node)  # the last in the space of its new kind
        node.cards = event.cards
        node.lost = False
        self._open_or_close(node)

    def _NodeLost(self, event: ev.NodeLost) -> None:
        node = self.nodes[event.node]
        node.lost = True
        self._open_or_close(node)

    def _CardHealthChanged(self, event: ev.CardHealthChanged) -> None:
        node = self.nodes[event.node]
        bit = 1 << event.card
        node.broken = node.broken & ~bit if event.healthy else node.broken | bit
        self._open_or_close(node)

    def _RunStarted(self, event: ev.RunStarted) -> None:
        run = self.runs[event.run]
        job = self.jobs[run.job]
        assert not run.started_ms, f"run {event.run} started twice"
        self._move(run.job, job, "RunStarted")
        started_ms = max(event.happened_ms, run.placed_ms)  # nobody pays for time before the hold was taken
        run.started_ms = run.posted_ms = run.checkpoint_ms = run.credited_ms = started_ms

    def _RunResumed(self, event: ev.RunResumed) -> None:
        self.runs[event.run].resumed = True

    def _CheckpointSaved(self, event: ev.CheckpointSaved) -> None:
        run = self.runs[event.run]
        job = self.jobs[run.job]
        run.checkpoint_ms = event.happened_ms
        if event.step > job.step:  # it gets on: what went wrong before no longer counts
            job.step = event.step
            run.advanced = True
            job.retries_used = job.platform_faults = 0

    def _RunEnded(self, event: ev.RunEnded) -> None:
        run = self.runs.pop(event.run)
        job = self.jobs[run.job]
        self._move(run.job, job, "RunEnded")
        assert not run.held, f"run {event.run} ended with {run.held} micro-yuan still held"
        job.run = ""
        if run.started_ms:
            job.ran_ms += max(0, event.happened_ms - run.started_ms)
        for share in run.shares:
            self.spaces[self.nodes[share.node].kind].give(share.node, share.mask)
        self.view.stirred = True

    # -- decisions ----------------------------------------------------------------------------------------

    def _RunPlaced(self, event: ev.RunPlaced) -> None:
        job = self.jobs[event.job]
        assert event.attempt == job.attempts, f"run {event.run} was used before"
        assert event.run not in self.runs, f"run {event.run} was placed twice"
        self._leave_queue(event.job, job)
        self._move(event.job, job, "RunPlaced")
        spec = job.spec
        job.attempts += 1
        job.run = event.run
        job.why = ""
        shares = event.shares
        milli_cards = 0
        for share in shares:
            milli_cards += share.mask.bit_count() * CARD
            self.spaces[self.nodes[share.node].kind].take(share.node, share.mask)
        run = Run(
            event.run,
            event.job,
            spec.tenant,
            spec.price,
            milli_cards,
            shares,
            self.now_ms,
            event.lease_until_ms,
        )
        run.repays, job.repays = job.repays, False
        self.runs[event.run] = run

    def _LeaseRenewed(self, event: ev.LeaseRenewed) -> None:
        run = self.runs[event.run]
        assert event.until_ms > run.lease_until_ms, f"the lease of run {event.run} was cut short"
        run.lease_until_ms = event.until_ms
        if not run.started_ms:  # the new hold is for a start from now on
            run.placed_ms = self.now_ms

    def _RunStopAsked(self, event: ev.RunStopAsked) -> None:
        run = self.runs[event.run]
        self._move(run.job, self.jobs[run.job], "RunStopAsked")
        run.stop_why = event.why
        run.kill_at_ms = event.kill_at_ms

    def _JobRequeued(self, event: ev.JobRequeued) -> None:
        job = self.jobs[event.job]
        if job.phase == "paused":
            del self.paused[job.spec.tenant][event.job]
        self._move(event.job, job, "JobRequeued")
        job.why = event.why
        job.pause = ""
        job.not_before_ms = event.not_before_ms
        job.retries_used += event.retried
        job.platform_faults += event.platform
        job.repays = job.repays or event.platform
        self._enqueue(event.job, job)

    def _JobPaused(self, event: ev.JobPaused) -> None:
        job = self.jobs[event.job]
        if job.phase == "waiting":
            self._leave_queue(event.job, job)
        self._move(event.job, job, "JobPaused")
        job.why = event.why
        job.pause = event.code
        self.paused.setdefault(job.spec.tenant, {})[event.job] = None

    def _JobEnded(self, event: ev.JobEnded) -> None:
        job = self.jobs[event.job]
        if job.phase == "waiting":
            self._leave_queue(event.job, job)
            self.view.stirred = True
        elif job.phase == "paused":
            del self.paused[job.spec.tenant][event.job]
        self._move(event.job, job, "JobEnded")
        del self.jobs[event.job]

    def _Posted(self, event: ev.Posted) -> None:
        accounts = self.accounts
        lines = event.lines
        total = 0
        for account, amount in lines:
            balance = accounts[account] = accounts.get(account, 0) + amount
            total += amount
            if balance < 0 and account.startswith(_NEVER_BELOW_ZERO):
                raise AssertionError(f"{account} fell to {balance} micro-yuan")
        assert total == 0, f"a posting does not sum to zero: {lines}"
        run = self.runs.get(event.run)
        if run is None:
            return
        kind = event.kind
        if kind == "hold":
            run.held += lines[1][1]
        elif kind == "charge":
            run.held += lines[0][1]
            run.charged += lines[1][1]
            run.posted_ms = event.to_ms
        elif kind == "release":
            run.held += lines[0][1]
        elif kind == "credit":
            run.credited_ms = max(run.credited_ms, event.to_ms)
            self.jobs[run.job].ran_ms -= event.to_ms - event.from_ms

    def _LeaderChanged(self, event: ev.LeaderChanged) -> None:
        assert event.epoch > self.truth.epoch, f"epoch {event.epoch} is not newer than {self.truth.epoch}"
        self.truth.epoch = event.epoch
