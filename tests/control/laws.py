"""What must hold after every turn, whatever happens: of the state, and of the journal read by itself."""

from collections import defaultdict
from typing import Any

import msgspec
from msgspec import UNSET
from tests.cluster import Cluster, job_of

from starverse.control.state import State
from starverse.model import events as ev
from starverse.model.job import JOB_LIFE, JobSpec, Phase
from starverse.model.units import CARD
from starverse.money.meter import cost, hold_for
from starverse.scheduler.decide import decide
from starverse.scheduler.kernels import LEFT
from starverse.scheduler.reasons import why_waiting
from starverse.scheduler.space import Space


def of_the_state(state: State) -> None:
    """The parts of the state agree with each other."""
    cards_are_where_they_are_said_to_be(state)
    every_job_is_in_one_place(state)
    money_is_held_for_what_runs(state)
    if state.view.stirred:  # there is another turn at this instant
        return
    nothing_more_can_be_decided(state)
    whoever_waits_knows_why(state)
    nobody_waits_for_money_that_is_there(state)


def cards_are_where_they_are_said_to_be(state: State) -> None:
    used: dict[str, int] = defaultdict(int)
    held: dict[tuple[str, int], list[int]] = defaultdict(list)
    for run in state.runs.values():
        for share in run.shares:
            used[share.node] |= share.mask
            for card in share.cards:
                held[share.node, card].append(share.milli or CARD)
    for (node, card), parts in held.items():
        assert sum(parts) <= CARD, f"card {card} of {node} is used twice"
    free: dict[str, int] = defaultdict(int)
    for name, node in state.nodes.items():
        space = state.spaces[node.kind]
        healthy = (1 << node.cards) - 1 & ~node.broken
        assert space.used_on(name) == used[name]
        left = [CARD - sum(held[name, card]) if min(held[name, card], default=CARD) < CARD else 0
                for card in range(node.cards)]  # fmt: skip
        there = (left_on(space, name) + [0] * node.cards)[: node.cards]  # no room is made for a broken card
        assert there == left, f"what is left of the shared cards of {name}"
        assert space.free_on(name) == healthy & ~used[name]
        is_closed = node.cordoned or node.lost or node.rests_until_ms > state.now_ms
        free[node.kind] += 0 if is_closed else (healthy & ~used[name]).bit_count()
    assert all(space.free == free[kind] for kind, space in state.spaces.items())


def left_on(space: Space, node: str) -> list[int]:
    """The milli-cards that nobody has, card by card: 0 where runs do not share it."""
    return [left for row in space.rows[node] for left in space.card[LEFT, row].tolist()]


def every_job_is_in_one_place(state: State) -> None:
    queued = [job for line in state.view.lines.values() for job in line.stands]
    delayed = [
        name for at_ms, name in state.delayed
        if (job := state.jobs.get(name)) and (job.phase, job.not_before_ms) == ("waiting", at_ms)
    ]  # fmt: skip
    outside = list(state.gate.held())
    paused = [job for jobs in state.paused.values() for job in jobs]
    running = [run.job for run in state.runs.values()]
    assert sorted(queued + delayed + outside + paused + running) == sorted(state.jobs)
    assert all(state.jobs[name].phase == "waiting" for name in state.truth.promises)
    assert set(state.view.promises) == set(state.truth.promises)
    keeps = {name: job for name, job in state.jobs.items() if job.keeps is not UNSET}
    assert set(state.view.kept) == set(keeps)
    assert all(job.phase in {"stopping", "waiting"} for job in keeps.values())
    for name, job in state.jobs.items():
        assert (
            (job.run in state.runs) == (name in running) == (job.phase in {"starting", "running", "stopping"})
        )
        assert (job.phase == "paused") == (name in paused)


def money_is_held_for_what_runs(state: State) -> None:
    assert sum(state.accounts.values()) == 0
    held: dict[str, int] = defaultdict(int)
    for run in state.runs.values():
        held[f"held/{run.tenant}"] += run.held
        begun_ms = run.started_ms or state.now_ms  # what has not begun yet pays from a time to come
        assert run.held + run.charged >= cost(run.price, run.milli_cards, run.lease_until_ms - begun_ms)
    for account, amount in state.accounts.items():
        if account.startswith(("wallet/", "held/")):
            assert amount >= 0, f"{account} is {amount}"
        if account.startswith("held/"):
            assert amount == held[account], f"{account} is {amount}, but {held[account]} is held for runs"


def nothing_more_can_be_decided(state: State) -> None:
    """What the loop left undone cannot be done, by the word of a `decide` that remembers nothing."""
    before = insides(state)
    plan, memo = decide(state.view, {}, state.now_ms)
    assert not plan.places, f"left undone: {plan}"
    assert not plan.unpaid, f"left undone: {plan}"
    assert not plan.moves, f"left undone: {plan}"
    gains = any(is_limited(state, promise.job) for promise in plan.promises)  # who had none moves others
    for promise in plan.promises:  # as time passes one may come forward that could not before
        known = state.view.promises[promise.job]
        assert gains or 0 < promise.at_ms <= known.at_ms, (plan, state.view.promises)
    assert decide(state.view, memo, state.now_ms)[0] == plan
    assert insides(state) == before, "to decide has changed the state"


def is_limited(state: State, job: str) -> bool:
    """Whether no start is promised to a job, which may be for want of something that is no card."""
    known = state.view.promises[job]
    line = state.view.lines[known.kind]
    return known.lot is None and state.view.limits.binds(line.requests[line.stands[job].number])


def insides(state: State) -> Any:
    """All of the state that can be seen, what is derived included."""
    spaces = {
        kind: (space.node.tolist(), claims(space), space.changes) for kind, space in state.spaces.items()
    }
    stands = {kind: tuple(line.stands.items()) for kind, line in state.view.lines.items()}
    return state.snapshot(), spaces, stands, state.view.shares.has, tuple(state.delayed), repr(state.paused)


def claims(space: Space) -> list[tuple[int, ...]]:
    """Who has a claim on which node, from when to when; in which slot is of no matter."""
    slots = space.slot.reshape(4, -1).T.tolist()
    return sorted((place // space.slot.shape[2], *slot) for place, slot in enumerate(slots) if slot[3])


def whoever_waits_knows_why(state: State) -> None:
    for name, job in state.jobs.items():
        if job.phase == "waiting":
            reason = why_waiting(state.view, name, state.now_ms, job.not_before_ms)
            assert reason.causes, f"{name} waits for nothing"
            assert all(cause.text.endswith(".") and "\n" not in cause.text for cause in reason.causes)
        if job.phase == "paused":
            assert job.why.endswith("."), f"{name} is paused without a sentence"
            assert job.pause


def nobody_waits_for_money_that_is_there(state: State) -> None:
    for tenant, jobs in state.paused.items():
        for name in jobs:
            spec, space = state.jobs[name].spec, state.spaces.get(state.jobs[name].spec.kind)
            could_start = space and spec.cards_min <= space.free * CARD and not state.view.waiting(spec.kind)
            if state.jobs[name].pause == "wallet" and could_start:
                needs = hold_for(spec.price, spec.cards_min, state.view.terms.least_ms)
                assert state.accounts[f"wallet/{tenant}"] < needs, f"{name} could start"


class Auditor:
    """Reads the journal as an outsider would, with no help from the state, and objects to what is not right.

    Called with the cluster after every turn: `Cluster(watch=Auditor())`.
    """

    def __init__(self) -> None:
        self.read = 0
        self.phases: dict[str, Phase] = {}
        self.specs: dict[str, JobSpec] = {}
        self.runs: dict[str, _Bill] = {}
        self.accounts: dict[str, int] = defaultdict(int)
        self.cards: dict[tuple[str, int], dict[str, int]] = defaultdict(dict)

    def __call__(self, cluster: Cluster) -> None:
        rows = cluster.book.rows
        for heard_ms, event in rows[self.read :]:
            self.hear(heard_ms, event)
        self.read = len(rows)
        assert set(cluster.hall.starts.values()) <= {1}, "a run was started twice"
        of_the_state(cluster.state)

    def hear(self, heard_ms: int, event: ev.Event) -> None:
        self._move(event)
        match event:
            case ev.JobSubmitted(spec=spec):
                assert spec.job not in self.specs
                self.specs[spec.job] = spec
            case ev.RunPlaced(run=run, job=job, shares=shares):
                assert run not in self.runs, f"the run id {run} was used before"
                spec = self.specs[job]
                milli_cards = sum(share.count * (share.milli or CARD) for share in shares)
                assert spec.cards_min <= milli_cards <= spec.cards_max
                self.runs[run] = _Bill(spec.price, milli_cards, heard_ms, event.lease_until_ms)
                self._occupy(run, shares)
            case ev.LeaseRenewed(run=run, until_ms=until_ms):
                self.runs[run].renew(heard_ms, until_ms)
            case ev.RunStarted(run=run, happened_ms=happened_ms):
                assert self.runs[run].started_ms is None, f"{run} started twice"
                self.runs[run].started_ms = max(happened_ms, self.runs[run].placed_ms)
            case ev.RunEnded(run=run):
                self.runs[run].close(event)
                for there in self.cards.values():
                    there.pop(run, None)
            case ev.Posted():
                self._post(event)

    def _move(self, event: ev.Event) -> None:
        job, name = job_of(event), type(event).__name__
        if isinstance(event, ev.JobSubmitted):
            self.phases[job] = "waiting"
        elif name in {happening for _, happening in JOB_LIFE}:
            assert (self.phases[job], name) in JOB_LIFE, f"{name} for {job}, which is {self.phases[job]}"
            self.phases[job] = JOB_LIFE[self.phases[job], name]

    def _occupy(self, run: str, shares: tuple[Any, ...]) -> None:
        for share in shares:
            for card in share.cards:
                there = self.cards[share.node, card]
                there[run] = share.milli or CARD
                assert sum(there.values()) <= CARD, f"card {card} of {share.node} is given twice: {there}"

    def _post(self, posting: ev.Posted) -> None:
        assert sum(amount for _, amount in posting.lines) == 0
        for account, amount in posting.lines:
            self.accounts[account] += amount
            assert self.accounts[account] >= 0 or not account.startswith(("wallet/", "held/"))
        if posting.run:
            self.runs[posting.run].post(posting)


class _Bill:
    """What one run had and paid."""

    def __init__(self, price: int, milli_cards: int, placed_ms: int, lease_until_ms: int) -> None:
        self.price, self.milli_cards = price, milli_cards
        self.placed_ms, self.lease_until_ms = placed_ms, lease_until_ms
        self.started_ms: int | None = None
        self.held = self.charged = self.credited = self.card_ms = 0
        self.paid_to_ms = 0

    def renew(self, heard_ms: int, until_ms: int) -> None:
        self.lease_until_ms = until_ms
        if self.started_ms is None:  # nobody pays for time before the hold was taken
            self.placed_ms = heard_ms

    def post(self, posting: ev.Posted) -> None:
        amounts: dict[str, int] = defaultdict(int)
        for account, amount in posting.lines:
            amounts[account.partition("/")[0]] += amount
        self.held += amounts["held"]
        self.charged += amounts["income"]
        assert amounts["income"] >= 0
        if posting.kind == "charge":
            assert self.started_ms is not None
            assert posting.from_ms == (self.paid_to_ms or self.started_ms), (
                "time was left out or charged twice"
            )
            self.paid_to_ms = posting.to_ms
            self.card_ms += posting.card_ms
        if posting.kind == "credit":
            assert (
                amounts["wallet"] > 0
                or posting.to_ms - posting.from_ms < 1_000
                or not cost(self.price, self.milli_cards, posting.to_ms - posting.from_ms)
            )
            self.credited += amounts["wallet"]

    def close(self, end: ev.RunEnded) -> None:
        assert self.held == 0, "money is still held for a run that is over"
        ran_ms = 0
        if self.started_ms is not None:
            assert end.happened_ms == self.paid_to_ms
            assert end.happened_ms <= max(self.lease_until_ms, self.started_ms), "it outlived its lease"
            ran_ms = end.happened_ms - self.started_ms
        assert self.charged == cost(self.price, self.milli_cards, ran_ms)
        assert self.card_ms == ran_ms * self.milli_cards // CARD
        assert self.credited <= self.charged, "more was given back than paid"


def snapshot_of(state: State) -> Any:
    """The state as plain data, to compare and to print."""
    return msgspec.json.decode(state.snapshot())
