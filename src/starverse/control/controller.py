"""The one loop: hear, judge, decide, commit, act; live and in the twin."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from starverse.control import reserving, rules
from starverse.control.agenda import MIDNIGHT, Agenda
from starverse.control.ports import Asked, Journal, Taken, World
from starverse.control.requests import answer
from starverse.control.state import State
from starverse.control.truth import Run
from starverse.model import commands as cmd
from starverse.model import events as ev
from starverse.model.errors import StarverseError
from starverse.model.units import format_yuan
from starverse.money.lease import LeaseTerms
from starverse.scheduler.decide import decide
from starverse.scheduler.migrate import is_wanted
from starverse.scheduler.plan import NOTHING, Memo, Plan
from starverse.scheduler.preempt import MIN_RUN_MS


class Controller:
    """Turns the loop over a world and a journal. The only writer of both the state and the journal.

    A turn is one instant: all that was heard, then all that is due, then one decision; what was recorded is
    made durable together, and only then do commands go out. Should the journal fail, nothing has left the
    loop, and the process must end: its state is ahead of its memory.
    """

    def __init__(self, world: World, journal: Journal, state: State, terms: LeaseTerms | None = None) -> None:
        self.state = state
        self._world = world
        self._journal = journal
        self._terms = terms or LeaseTerms()
        state.view.terms = self._terms
        self._memo: Memo = {}
        self._again_ms = 0
        self._agenda = Agenda(state, self._terms)
        self._taken: list[Taken] = []
        self._events: list[ev.Event] = []
        self._commands: list[cmd.Command] = []
        self._ears: dict[type, Callable[[Any], None]] = {
            Asked: self._answer,
            ev.CardHealthChanged: self._card_health_changed,
            ev.RunStarted: self._run_started,
            ev.RunEnded: self._run_ended,
            ev.RunResumed: self._run_resumed,
            ev.CheckpointSaved: self._checkpoint_saved,
            ev.LayoutSet: self._record,
            ev.NodeJoined: self._node_joined,
            ev.NodeLost: self._node_lost,
        }
        follow_ups: dict[type, Callable[[Any], None]] = {
            ev.RunPlaced: self._order_start,
            ev.LeaseRenewed: self._order_renewal,
            ev.RunStopAsked: self._order_stop,
            ev.FaultInjected: self._order_kill,
        }
        self._folds = state.folds | {
            kind: _followed(state.folds[kind], follow_up) for kind, follow_up in follow_ups.items()
        }
        """How each kind of event is folded, and what follows from it at once."""

    def take_over(self, now_ms: int, epoch: int) -> None:
        """Become the writer: hear what happened to the runs meanwhile, and send again what is still due."""
        self.state.now_ms = max(now_ms, self.state.now_ms)
        self._record(ev.LeaderChanged(epoch))
        for event in self._world.survey(tuple(self.state.runs)):
            self._ears[type(event)](event)
        self._write()
        self._world.act(tuple(self.commands_due()))

    def commands_due(self) -> Iterable[cmd.Command]:
        """The orders that the state implies, for a world that may not have got them."""
        for run in self.state.runs.values():
            if not run.started_ms:
                yield self._start(run)
            yield cmd.RenewLease(run.run, run.lease_until_ms)
            if run.kill_rank >= 0:
                yield cmd.KillRank(run.run, run.kill_rank)
            if run.stop_why:
                yield cmd.StopRun(run.run, run.stop_why, run.kill_at_ms)

    def turn(self) -> int:
        """Wait for the next instant, live through it, and say when it was."""
        state = self.state
        view = state.view
        due_ms = state.now_ms if view.stirred else self._agenda.next_ms()
        if self._again_ms and (due_ms is None or self._again_ms < due_ms):
            due_ms = self._again_ms
        now_ms, inputs = self._world.wait(due_ms)
        assert now_ms >= state.now_ms, f"time went back from {state.now_ms} to {now_ms}"
        state.now_ms = now_ms
        ears = self._ears
        for item in inputs:
            ears[type(item)](item)
        if due_ms is not None and due_ms <= now_ms:
            self._do_what_is_due(now_ms)
            view.stirred |= 0 < self._again_ms <= now_ms
        if view.stirred:
            view.stirred = False
            if state.scheduling.doubtful:
                self._record_all(reserving.mended(state, now_ms))
            plan, self._memo = decide(view, self._memo, now_ms)
            self._again_ms = plan.again_ms
            if plan is not NOTHING:
                self._commit(plan, now_ms)
        if self._events or self._taken:
            self._write()
        return now_ms

    # -- one instant --------------------------------------------------------------------------------------

    def _answer(self, asked: Asked) -> None:
        refusal = ""
        try:
            self._record_all(answer(self.state, asked.request, self.state.now_ms, self._terms))
        except StarverseError as error:
            refusal = str(error)
        self.state.view.stirred |= bool(self.state.view.elastic)  # more money may pay for more cards
        if asked.id:
            self._taken.append(Taken(asked.id, refusal))

    # What is heard of the world is a fact, but it may be late or heard twice: echoes of runs that are over,
    # and repetitions, end in the methods below.

    def _run_started(self, event: ev.RunStarted) -> None:
        run = self.state.runs.get(event.run)
        if run and not run.started_ms:
            self._record(event)
            job = self.state.jobs[run.job]
            self._size_may_change(event.run)
            limit_ms = run.started_ms + job.spec.time_limit_ms - job.ran_ms
            if limit_ms < run.lease_until_ms:  # else the renewal comes first, and looks again
                self._agenda.add(limit_ms, event.run)

    def _run_ended(self, event: ev.RunEnded) -> None:
        run = self.state.runs.get(event.run)
        if run:
            self._record_all(rules.ended(self.state, run, event, self.state.now_ms))

    def _run_resumed(self, event: ev.RunResumed) -> None:
        run = self.state.runs.get(event.run)
        if run and run.started_ms and not run.resumed:
            self._record_all(rules.resumed(run, event))
            self._size_may_change(event.run)
            if self.state.paused.get(run.tenant):
                self._record_all(rules.wallet_grew(self.state, run.tenant))

    def _checkpoint_saved(self, event: ev.CheckpointSaved) -> None:
        run = self.state.runs.get(event.run)
        if run and run.started_ms and event.happened_ms > run.checkpoint_ms:
            self._record(event)
            self._size_may_change(event.run)

    def _size_may_change(self, run: str) -> None:
        """What it would cost a run to change its size or place is another than it was: look at it again."""
        view = self.state.view
        view.stirred |= any(run in runs for runs in view.elastic.values())
        if view.promises:
            view.stirred |= any(run in runs and is_wanted(view, kind) for kind, runs in view.small.items())

    def _node_joined(self, event: ev.NodeJoined) -> None:
        node = self.state.nodes.get(event.node)
        if node and node.kind != event.kind:  # what ran on the cards it had is gone with them
            self._node_lost(ev.NodeLost(event.node, self.state.now_ms, "it came back with other cards"))
        if node is None or node.lost or node.cards != event.cards:
            self._record(event)

    def _node_lost(self, event: ev.NodeLost) -> None:
        node = self.state.nodes.get(event.node)
        if node is None or node.lost:
            return
        self._record(event)
        for run in tuple(self.state.runs.values()):
            if any(share.node == event.node for share in run.shares):
                if len(run.shares) > 1:  # ranks on other nodes may live
                    self._commands.append(cmd.StopRun(run.run, "lost", self.state.now_ms))
                text = f"node {event.node} was lost"
                self._run_ended(ev.RunEnded(run.run, event.happened_ms, "lost", text=text))

    def _card_health_changed(self, event: ev.CardHealthChanged) -> None:
        node = self.state.nodes.get(event.node)
        if node and 0 <= event.card < node.cards and bool(node.broken >> event.card & 1) == event.healthy:
            self._record(event)

    def _do_what_is_due(self, now_ms: int) -> None:
        state = self.state
        for at_ms, subject in self._agenda.take_due(now_ms):
            if subject == MIDNIGHT:
                for run in state.runs.values():
                    self._record_all(rules.charges_to_midnight(run, now_ms))
            elif subject in state.runs:
                run = state.runs[subject]
                state.view.stirred |= at_ms == run.placed_ms + MIN_RUN_MS and bool(state.truth.promises)
                self._record_all(rules.due(state, run, at_ms, now_ms, self._terms))
                self._agenda.add(max(rules.wake_of(state, run, self._terms), now_ms + 1), subject)
        state.release(now_ms)
        if state.view.bookings:
            self._record_all(reserving.due(state, now_ms, self._terms))

    def _commit(self, plan: Plan, now_ms: int) -> None:
        """Make the decisions true. The state is the one they were made on, so none of them can be stale."""
        state = self.state
        for place in plan.places:
            self._record_all(rules.placed(state, place, now_ms))
        for unpaid in plan.unpaid:
            has, needs = format_yuan(unpaid.has), format_yuan(unpaid.needs)
            why = f"The wallet holds {has}; the shortest lease needs {needs}."
            self._record(ev.JobPaused(unpaid.job, why, "wallet"))
        for evict in plan.evictions:
            self._record_all((rules.stop(state.runs[evict.run], "preempt", now_ms, self._terms),))
        for move in plan.moves:
            self._record(rules.moved(state, move, now_ms, self._terms))
        if plan.promises:
            self._record(ev.StartsPromised(plan.promises))
        if state.view.elastic and (
            plan.places or plan.unpaid or plan.evictions or plan.moves or plan.promises
        ):
            state.view.stirred = True  # what is left idle is theirs

    def _record(self, event: Any) -> None:
        """Fold an event, derive the order it gives, and put it down for the journal."""
        self._folds[type(event)](event)
        self._events.append(event)

    def _record_all(self, facts: Iterable[Any]) -> None:
        """Record events one by one: each is folded before the next is asked for."""
        folds = self._folds
        put_down = self._events.append
        for event in facts:
            folds[type(event)](event)
            put_down(event)

    # What follows at once from a recorded decision: the order it gives.

    def _order_start(self, event: ev.RunPlaced) -> None:
        run = self.state.runs[event.run]
        self._commands.append(self._start(run))
        self._agenda.add(rules.wake_of(self.state, run, self._terms), event.run)

    def _order_renewal(self, event: ev.LeaseRenewed) -> None:
        self._commands.append(cmd.RenewLease(event.run, event.until_ms))

    def _order_stop(self, event: ev.RunStopAsked) -> None:
        self._commands.append(cmd.StopRun(event.run, event.why, event.kill_at_ms))

    def _order_kill(self, event: ev.FaultInjected) -> None:
        self._commands.append(cmd.KillRank(event.run, event.rank))

    def _start(self, run: Run) -> cmd.StartRun:
        job = self.state.jobs[run.job]
        return cmd.StartRun(
            run.run,
            run.job,
            run.tenant,
            job.attempts - 1,
            job.spec.kind,
            run.shares,
            run.lease_until_ms,
            self._terms.grace_ms,
            job.spec.work,
            job.spec.array,
            job.spec.array_index,
            job.spec.roles,
        )

    def _write(self) -> None:
        """Make the instant durable, then let its orders go out."""
        now_ms = self.state.now_ms
        events, self._events = self._events, []
        if events:  # an answer alone leaves no trace in the journal, so none in the state either
            truth = self.state.truth
            truth.seq += len(events)
            truth.heard_ms = now_ms
        taken: Sequence[Taken] = ()
        if self._taken:
            taken, self._taken = self._taken, []
        self._journal.append(now_ms, events, taken)
        if self._commands:
            commands, self._commands = self._commands, []
            self._world.act(commands)


def _followed(fold: Callable[[Any], None], follow_up: Callable[[Any], None]) -> Callable[[Any], None]:
    def fold_and_follow_up(event: Any) -> None:
        fold(event)
        follow_up(event)

    return fold_and_follow_up
