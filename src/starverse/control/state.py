"""What is alive now, folded from the journal: nodes, jobs, runs and money."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

import msgspec
from msgspec import UNSET

from starverse.control import resting
from starverse.control.agreed import Agreed
from starverse.control.gate import Gate
from starverse.control.scheduling import Scheduling
from starverse.control.truth import Job, Node, Run, Truth
from starverse.model import events as ev
from starverse.model.job import PHASE_AFTER
from starverse.money.lease import LeaseTerms

_NEVER_BELOW_ZERO = ("wallet/", "held/")


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
        self.delayed: list[tuple[int, str]] = []
        self.resting: list[tuple[int, str]] = []
        """When which node has rested, a heap; some no longer rest."""
        self.paused: dict[str, dict[str, None]] = {}
        self.scheduling = Scheduling(truth, terms or LeaseTerms())
        self.view = self.scheduling.view
        self.gate = Gate(truth.jobs, truth.ended)
        self.view.lacks, self.view.full = self.gate.lacks, self.gate.full
        self.spaces = self.view.spaces
        self._agreed = Agreed(truth, self.scheduling, lambda: self.now_ms)
        self.folds: dict[type, Callable[[Any], None]] = self._agreed.folds | {
            event: getattr(self, "_" + event.__name__)
            for event in ev.Event.__args__
            if event not in self._agreed.folds
        }
        for node in truth.nodes.values():
            self._open_or_close(node)
            if node.rests_until_ms > self.now_ms:
                heappush(self.resting, (node.rests_until_ms, node.node))
        self._agreed.load()
        for run in truth.runs.values():
            job = truth.jobs[run.job]
            begins_ms = run.started_ms or run.placed_ms
            ends_ms = self.scheduling.ends_ms(job.spec, begins_ms, self._left_ms(job))
            if run.stop_why:
                ends_ms = run.kill_at_ms
            self.scheduling.run_placed(run.run, job.spec, run.shares, ends_ms)
            self.scheduling.run_begins(run, job.spec)
        for job in truth.jobs.values():
            self.gate.count(job)
        for name, job in sorted(truth.jobs.items(), key=lambda item: item[1].order):
            if job.phase == "waiting":
                self._enqueue(name, job)
            elif job.phase == "paused":
                self.paused.setdefault(job.spec.tenant, {})[name] = None
            self._keep(name, job)
        for promised in truth.promises.values():
            self.scheduling.promise(promised, self.now_ms)

    @classmethod
    def load(cls, snapshot: bytes, terms: LeaseTerms | None = None) -> "State":
        """The state a snapshot was taken of."""
        return cls(msgspec.json.decode(snapshot, type=Truth), terms)

    def snapshot(self) -> bytes:
        """The same bytes for the same fold."""
        self.scheduling.save(self.truth)
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
        """Put the jobs whose waiting time is over into their queues, and open the nodes that have rested."""
        self.scheduling.turn_pages(now_ms)
        while self.delayed and self.delayed[0][0] <= now_ms:
            _, name = heappop(self.delayed)
            job = self.jobs.get(name)
            if job and job.phase == "waiting":
                self._enqueue(name, job)
        while self.resting and self.resting[0][0] <= now_ms:
            at_ms, name = heappop(self.resting)
            if self.nodes[name].rests_until_ms == at_ms:
                self._open_or_close(self.nodes[name])

    # -- derived ------------------------------------------------------------------------------------------

    def _enqueue(self, name: str, job: Job) -> None:
        """Put a job into its queue, at the place that its order gives it, or let it wait for its time."""
        if job.spec.after and self.gate.comes_after(name, job):
            return
        if job.not_before_ms > self.now_ms:
            heappush(self.delayed, (job.not_before_ms, name))
        elif not (job.spec.array_limit and self.gate.is_full(name, job)):
            self._stand_in_line(name, job)

    def _stand_in_line(self, name: str, job: Job) -> None:
        """Let a job wait for cards, at the place that its order gives it."""
        self.scheduling.wait(name, job.spec, job.order, self._left_ms(job), job.attempts > 0)
        if job.before:
            self.scheduling.ran_before(name, job.before)

    def _leave_queue(self, name: str) -> None:
        self.truth.promises.pop(name, None)
        self.scheduling.leave(name)

    def _leave_gate(self, name: str, job: Job) -> None:
        if job.spec.after or job.spec.array_limit:
            for following in self.gate.leave(name, job):
                self._enqueue(following, self.jobs[following])

    def _left_ms(self, job: Job) -> int:
        """What a run of the job may take at the longest: what is left of its limit, and to save and leave."""
        return max(job.spec.time_limit_ms - job.ran_ms, 0) + self.view.terms.grace_ms

    def _keep(self, name: str, job: Job) -> None:
        """Keep the cards of a job's next run until that would be over at the latest."""
        if job.keeps is not UNSET:
            run = self.runs.get(job.run)
            begins_ms = (run.started_ms or run.kill_at_ms) if run else self.now_ms
            self.scheduling.keep(name, job.keeps, begins_ms + self._left_ms(job) + self.view.terms.grace_ms)

    def _ends_later(self, run: Run) -> None:
        """A run may take longer than was thought when it was placed."""
        if run.stop_why:
            return
        begins_ms = run.started_ms or run.placed_ms
        job = self.jobs[run.job]
        ends_ms = self.scheduling.ends_ms(job.spec, begins_ms, self._left_ms(job))
        self.scheduling.run_ends(run.run, ends_ms)

    def _move(self, name: str, job: Job, event: str) -> None:
        phase = PHASE_AFTER[event].get(job.phase)
        assert phase, f"{event} for job {name}, which is {job.phase}"
        job.phase = phase
        if job.keeps is not UNSET and phase not in ("stopping", "settling", "waiting"):
            job.keeps = UNSET
            self.scheduling.keep(name, (), 0)

    def _open_or_close(self, node: Node) -> None:
        healthy = ((1 << node.cards) - 1) & ~node.broken
        is_open = not (node.cordoned or node.lost or node.rests_until_ms > self.now_ms)
        stock = (("cpu", node.milli_cpu), ("memory", node.memory_mb), *node.resources)
        known = node.kind, healthy, is_open, node.place, node.at, stock, node.cards
        self.scheduling.node(node.node, *known)
        self.view.limits.power.node(node.node, node.feeds, node.card_mw)

    # -- people -------------------------------------------------------------------------------------------

    # What they agreed on is folded in `agreed.py`.

    def _TenantOpened(self, event: ev.TenantOpened) -> None:
        self.accounts.setdefault("wallet/" + event.tenant, 0)

    def _JobSubmitted(self, event: ev.JobSubmitted) -> None:
        spec = event.spec
        name = spec.job
        assert name not in self.jobs, f"job {name} was submitted twice"
        truth = self.truth
        truth.submitted += 1
        job = self.jobs[name] = Job(spec, truth.submitted, not_before_ms=spec.earliest_start_ms)
        self.gate.count(job)
        self.scheduling.asked(spec)
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
        resting.forgive(node)
        self._open_or_close(node)

    def _FaultInjected(self, event: ev.FaultInjected) -> None:
        run = self.runs[event.run]
        run.injected, run.kill_rank = True, event.rank

    # -- the world ----------------------------------------------------------------------------------------

    def _LayoutSet(self, event: ev.LayoutSet) -> None:
        self.truth.layout = self.scheduling.layout = event

    def _NodeJoined(self, event: ev.NodeJoined) -> None:
        node = self.nodes.get(event.node)
        if node is None:
            node = self.nodes[event.node] = Node(event.node, event.kind, event.cards)
            node.place, node.at, node.resources = event.place, event.at, event.resources
            node.milli_cpu, node.memory_mb = event.milli_cpu, event.memory_mb
            node.feeds, node.card_mw = event.feeds, event.card_mw
        if node.kind != event.kind:
            self.scheduling.node(node.node, node.kind, 0, is_open=False)
            node.kind = event.kind
            self.nodes[event.node] = self.nodes.pop(event.node)  # the last in the space of its new kind
        node.cards = event.cards
        if node.lost:
            node.lost = False
            resting.come_back(node, self.now_ms)
            if node.rests_until_ms > self.now_ms:
                heappush(self.resting, (node.rests_until_ms, node.node))
        self._open_or_close(node)

    def _NodeLost(self, event: ev.NodeLost) -> None:
        node = self.nodes[event.node]
        node.lost = True
        resting.lose(node, self.now_ms)
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
        if started_ms > run.placed_ms:
            self._ends_later(run)

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
        job.before = run.shares
        ran_ms = max(0, event.happened_ms - run.started_ms) if run.started_ms else 0
        job.ran_ms += ran_ms
        self.view.shares.fade(self.now_ms)
        self.scheduling.run_ended(event.run, ran_ms)

    # -- decisions ----------------------------------------------------------------------------------------

    def _RunPlaced(self, event: ev.RunPlaced) -> None:
        job = self.jobs[event.job]
        assert event.attempt == job.attempts, f"run {event.run} was used before"
        assert event.run not in self.runs, f"run {event.run} was placed twice"
        self._leave_queue(event.job)
        self._move(event.job, job, "RunPlaced")
        spec = job.spec
        job.attempts += 1
        job.run = event.run
        job.why = ""
        job.before = ()
        shares = event.shares
        ends_ms = self.scheduling.ends_ms(spec, self.now_ms, self._left_ms(job))
        milli_cards = self.scheduling.run_placed(event.run, spec, shares, ends_ms)
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
        if job.repays:
            run.repays, job.repays = True, False
        self.runs[event.run] = run
        self.scheduling.run_begins(run, spec)

    def _StartsPromised(self, event: ev.StartsPromised) -> None:
        for promised in event.promises:
            self.truth.promises.pop(promised.job, None)  # what is promised anew stands last
            self.truth.promises[promised.job] = promised
            self.jobs[promised.job].keeps = UNSET  # it gets others
            self.scheduling.promise(promised, self.now_ms)

    def _LeaseRenewed(self, event: ev.LeaseRenewed) -> None:
        run = self.runs[event.run]
        assert event.until_ms > run.lease_until_ms, f"the lease of run {event.run} was cut short"
        run.lease_until_ms = event.until_ms
        if not run.started_ms:  # the new hold is for a start from now on
            run.placed_ms = self.now_ms
            self._ends_later(run)

    def _RunStopAsked(self, event: ev.RunStopAsked) -> None:
        run = self.runs[event.run]
        self._move(run.job, self.jobs[run.job], "RunStopAsked")
        run.stop_why = event.why
        run.kill_at_ms = event.kill_at_ms
        self.scheduling.run_ends(event.run, event.kill_at_ms)
        if event.keeps:
            self.jobs[run.job].keeps = event.keeps
            self._keep(run.job, self.jobs[run.job])

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
            self._leave_queue(event.job)
        self._move(event.job, job, "JobPaused")
        job.why = event.why
        job.pause = event.code
        self.paused.setdefault(job.spec.tenant, {})[event.job] = None
        self._leave_gate(event.job, job)

    def _JobEnded(self, event: ev.JobEnded) -> None:
        job = self.jobs[event.job]
        if job.phase == "waiting":
            self._leave_queue(event.job)
        elif job.phase == "paused":
            del self.paused[job.spec.tenant][event.job]
        self._move(event.job, job, "JobEnded")
        self._leave_gate(event.job, job)
        del self.jobs[event.job]
        for name in self.gate.ended(event, job.spec):
            self._enqueue(name, self.jobs[name])

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
            self._ends_later(run)

    def _LeaderChanged(self, event: ev.LeaderChanged) -> None:
        assert event.epoch > self.truth.epoch, f"epoch {event.epoch} is not newer than {self.truth.epoch}"
        self.truth.epoch = event.epoch
