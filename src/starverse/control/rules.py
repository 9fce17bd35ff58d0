"""What follows from what happened: pure rules from the state and one fact to the events it leads to."""

from collections.abc import Iterator, Sequence

from starverse.control.state import State
from starverse.control.truth import Job, Run
from starverse.model import events as ev
from starverse.model.job import StopWhy
from starverse.model.units import CARD, DAY_MS, MINUTE_MS, SECOND_MS
from starverse.money import ledger
from starverse.money.lease import LeaseTerms, lease_for
from starverse.money.meter import affordable_ms, cost, hold_for
from starverse.scheduler.plan import Move, Place
from starverse.scheduler.preempt import MIN_RUN_MS
from starverse.train.contract import EXIT_DONE, EXIT_NO_SPACE, EXIT_SAVED

BACKOFF_MS = (1 * SECOND_MS, 4 * SECOND_MS, 16 * SECOND_MS, 60 * SECOND_MS)
"""How long a job that failed waits before its next try: longer each time, the last one over and over."""

PLATFORM_FAULTS_FREE = 3
"""So many faults of the platform in a row, without a checkpoint between, are followed by a run at once."""

PLATFORM_FAULTS_MAX = 50
"""After so many the job ends: something is wrong that running it again does not cure."""

RENEWAL_LEAST_MS = 1 * SECOND_MS
"""A lease is not renewed for less."""

RESUME_CREDIT_MAX_MS = 10 * MINUTE_MS
"""The most of a start that is given back after a platform fault: its first step is the job's own word."""

RANKS_SAY = {EXIT_DONE, EXIT_SAVED, EXIT_NO_SPACE}
"""Exit codes by which a job says how it is: whoever says them was not felled by a broken card."""


def placed(state: State, place: Place, now_ms: int) -> Sequence[ev.Event]:
    """A decision to place, once more checked against the state, as events: the run, and the hold for it."""
    job = state.jobs[place.job]
    run = f"{place.job}.{job.attempts}"
    event = ev.RunPlaced(run, place.job, job.attempts, place.shares, now_ms + place.lease_ms)
    if not place.hold:
        return (event,)
    return event, ledger.hold(job.spec.tenant, place.job, run, place.hold)


def moved(state: State, move: Move, now_ms: int, terms: LeaseTerms) -> ev.RunStopAsked:
    """The order to leave for other cards, which are kept for the job's next run."""
    order = stop(state.runs[move.run], move.why, now_ms, terms)
    return ev.RunStopAsked(order.run, order.why, order.kill_at_ms, move.keeps)


# -- metering ---------------------------------------------------------------------------------------------


def charges_to_midnight(run: Run, until_ms: int) -> Iterator[ev.Posted]:
    """The charges of a run that are due at each UTC midnight up to `until_ms`.

    None is beyond the lease: a run whose end is not heard yet may have ended there, and nothing is held for
    what comes after.
    """
    if not run.started_ms:
        return
    until_ms = min(until_ms, run.lease_until_ms)
    while (midnight := (run.posted_ms // DAY_MS + 1) * DAY_MS) <= until_ms:
        due = cost(run.price, run.milli_cards, midnight - run.started_ms) - run.charged
        yield ledger.charge(run.tenant, run.job, run.run, due, _meter(run, run.posted_ms, midnight))


def _meter(run: Run, from_ms: int, to_ms: int) -> ledger.Meter:
    """What a run used between two moments: whole card-milliseconds, so that all its parts add up."""
    used_before = (from_ms - run.started_ms) * run.milli_cards // CARD
    return (to_ms - run.started_ms) * run.milli_cards // CARD - used_before, from_ms, to_ms


def settled(run: Run, ended_ms: int) -> ev.Posted | None:
    """The last charge of a run and the release of what is left; None if nothing was held or used.

    A run that started does not end before what is posted of it: see `_last_alive_ms`.
    """
    if not run.started_ms:
        return ledger.release(run.tenant, run.job, run.run, run.held) if run.held else None
    due = cost(run.price, run.milli_cards, ended_ms - run.started_ms) - run.charged
    meter = _meter(run, run.posted_ms, ended_ms)
    return ledger.settle(run.tenant, run.job, run.run, due, run.held, meter)


def _credit(run: Run, from_ms: int, to_ms: int, note: str) -> Iterator[ev.Posted]:
    from_ms = max(from_ms, run.started_ms, run.credited_ms)
    if from_ms < to_ms:
        amount = cost(run.price, run.milli_cards, to_ms - from_ms)
        yield ledger.credit(run.tenant, run.job, run.run, amount, _meter(run, from_ms, to_ms), note)


def resumed(run: Run, event: ev.RunResumed) -> Iterator[ev.Event]:
    """A run takes its first step: what its start cost is given back if a platform fault made it so."""
    yield event
    if run.repays:
        resumed_ms = min(event.happened_ms, run.lease_until_ms, run.started_ms + RESUME_CREDIT_MAX_MS)
        yield from _credit(run, run.started_ms, resumed_ms, "start after a platform fault")


# -- the end of a run -------------------------------------------------------------------------------------


def _last_alive_ms(run: Run, happened_ms: int, now_ms: int) -> int:
    """When a run that started has ended, for its bill: at its last proof of life, and within its lease."""
    lives_no_longer = run.checkpoint_ms <= happened_ms and run.credited_ms <= happened_ms
    if lives_no_longer and run.posted_ms <= happened_ms <= now_ms and happened_ms <= run.lease_until_ms:
        return happened_ms  # nearly always so, and what follows would say the same at three times the price
    alive_ms = max(happened_ms, run.checkpoint_ms, run.credited_ms)
    return max(run.started_ms, run.posted_ms, min(alive_ms, run.lease_until_ms, now_ms))


def is_platform_fault(state: State, run: Run, event: ev.RunEnded) -> bool:
    """Whether the platform answers for this end.

    It does where the run vanished, was shot on purpose, fell on a broken card, or came to the end of its
    lease because nobody was there to renew it. A run that could not be started cost nothing, and is mostly
    one whose command or secret isn't there: it counts as a try.
    """
    if run.stop_why:
        return False
    if event.how == "exit":
        return event.code not in RANKS_SAY and _has_broken_card(state, run)
    if event.how == "signal":
        return run.injected or _has_broken_card(state, run)
    if event.how == "lease":
        return _can_pay(state, state.jobs[run.job])
    return event.how == "lost"


def _has_broken_card(state: State, run: Run) -> bool:
    return any(state.nodes[share.node].broken & share.mask for share in run.shares)


def ended(state: State, run: Run, event: ev.RunEnded, now_ms: int) -> Iterator[ev.Event]:
    """All that the end of a run leads to: its bill, the end itself, and what becomes of the job.

    The bill comes first, because a run that is over holds no money. Generators here are read event by event,
    each applied before the next is asked for: every line sees the state as the one before left it.
    """
    job = state.jobs[run.job]
    end_ms = _last_alive_ms(run, event.happened_ms, now_ms) if run.started_ms else event.happened_ms
    if end_ms // DAY_MS != run.posted_ms // DAY_MS:
        yield from charges_to_midnight(run, end_ms - 1)
    posting = settled(run, end_ms)
    if posting:
        yield posting
    is_done = event.how == "exit" and event.code == EXIT_DONE
    fault = not is_done and is_platform_fault(state, run, event)
    if fault and run.started_ms:
        yield from _credit(run, run.checkpoint_ms, end_ms, "work lost to a platform fault")
    yield (
        event
        if end_ms == event.happened_ms
        else ev.RunEnded(event.run, end_ms, event.how, event.code, event.rank, event.text)
    )
    inside = job.spec.reservation
    following: ev.Event
    if is_done:
        following = ev.JobEnded(run.job, "done")
    elif inside and inside not in state.truth.reservations and not job.stop_asked:
        following = ev.JobEnded(run.job, "expired", f"its reservation {inside} is no more")
    else:
        following = _next(job, run, event, fault, now_ms)
    yield from over(state, following) if isinstance(following, ev.JobEnded) else (following,)
    if state.paused.get(run.tenant):
        yield from wallet_grew(state, run.tenant)


def over(state: State, end: ev.JobEnded) -> Iterator[ev.JobEnded]:
    """The end of a job, and of those that come after it and now never can start, and after those.

    They are stopped rather than failed: nothing of theirs was tried, and nothing of theirs went wrong. Left
    waiting they would stand there until somebody noticed.
    """
    ends = [end]
    for each in ends:
        if each.job not in state.jobs:  # it came after several
            continue
        doomed = tuple(state.gate.doomed(each))
        yield each
        why = f"it comes after job {each.job}, which is {each.outcome}"
        ends += [ev.JobEnded(name, "stopped", why) for name in doomed]


def _next(job: Job, run: Run, event: ev.RunEnded, fault: bool, now_ms: int) -> ev.Event:
    """What becomes of a job whose run has ended before the work was done."""
    name = run.job
    if job.stop_asked or run.stop_why == "person":
        return ev.JobEnded(name, "stopped", "stopped on request")
    if run.stop_why == "time-limit":
        return ev.JobEnded(name, "expired", "its time limit is used up")
    if run.stop_why == "wallet":
        return ev.JobPaused(
            name, "The wallet is empty. Top up, and it goes on from its checkpoint.", "wallet"
        )
    if run.stop_why:
        return ev.JobRequeued(name, f"asked to leave: {run.stop_why}")
    if event.how == "lease":
        why = "its lease ran out while the server was away" if fault else "its lease ran out"
        return ev.JobRequeued(name, why, platform=fault)
    if fault:
        if job.platform_faults >= PLATFORM_FAULTS_MAX:
            return ev.JobEnded(
                name, "failed", f"{PLATFORM_FAULTS_MAX} platform faults in a row: {_how(event)}"
            )
        late = job.platform_faults - PLATFORM_FAULTS_FREE
        wait_ms = BACKOFF_MS[min(late, len(BACKOFF_MS) - 1)] if late >= 0 else 0
        return ev.JobRequeued(
            name, f"{ev.PLATFORM_FAULT}: {_how(event)}", now_ms + wait_ms if wait_ms else 0, platform=True
        )
    saved = run.checkpoint_ms > run.started_ms  # else it might say so over and over, and never get on
    if event.code == EXIT_SAVED and event.how == "exit" and saved:
        not_before_ms = 0 if run.advanced else now_ms + BACKOFF_MS[0]  # else it might do so without a pause
        return ev.JobRequeued(name, ev.ASKED_TO_GO_ON, not_before_ms)
    if event.code == EXIT_NO_SPACE and event.how == "exit":
        return ev.JobPaused(
            name,
            "No space for a checkpoint; the one before is valid. Free space, then resume it.",
            "no-space",
        )
    if job.retries_used >= job.spec.retries:
        return ev.JobEnded(name, "failed", f"{_how(event)}, {job.attempts} runs tried")
    wait_ms = BACKOFF_MS[min(job.retries_used, len(BACKOFF_MS) - 1)]
    return ev.JobRequeued(name, f"{_how(event)}, tried again", now_ms + wait_ms, retried=True)


def _how(event: ev.RunEnded) -> str:
    who = f"rank {event.rank} " if event.rank >= 0 else ""
    text = f": {event.text.strip().splitlines()[-1].strip()[:200]}" if event.text.strip() else ""
    if event.how == "exit":
        return f"{who}exit code {event.code}"
    if event.how == "signal":
        return f"{who}killed by signal {event.code}"
    return f"the run {'vanished' if event.how == 'lost' else 'could not be started'}{text}"


# -- leases and limits ------------------------------------------------------------------------------------


def wake_of(state: State, run: Run, terms: LeaseTerms) -> int:
    """When something is next due for a run: its renewal, its last moment to save, or its time limit."""
    if run.stop_why:
        return max(run.lease_until_ms, state.now_ms) + DAY_MS
    due_ms = run.lease_until_ms - terms.window_ms // 2
    if due_ms <= state.now_ms:
        due_ms = run.lease_until_ms - terms.leaving_ms
    job = state.jobs[run.job]
    if job.spec.priority == "preemptible" and state.now_ms < run.placed_ms + MIN_RUN_MS:
        due_ms = min(due_ms, run.placed_ms + MIN_RUN_MS)
    if run.started_ms:
        due_ms = min(due_ms, run.started_ms + job.spec.time_limit_ms - job.ran_ms)
    if job.spec.reservation:
        due_ms = min(due_ms, _leaves_ms(state, run, job))
    return due_ms


def _leaves_ms(state: State, run: Run, job: Job) -> int:
    """When a run inside a reservation must be told to leave, to be gone when its window is over."""
    booking = state.view.bookings.get(job.spec.reservation)
    window = booking.window(run.placed_ms) if booking else None
    return window[1] - state.view.terms.grace_ms if window else state.now_ms


def due(state: State, run: Run, at_ms: int, now_ms: int, terms: LeaseTerms) -> Iterator[ev.Event]:
    """What is due for a run now: more time if the wallet pays for it, else the order to save and leave."""
    if run.stop_why:
        return
    job = state.jobs[run.job]
    if run.started_ms and now_ms >= run.started_ms + job.spec.time_limit_ms - job.ran_ms:
        yield stop(run, "time-limit", now_ms, terms)
        return
    if job.spec.reservation and now_ms >= _leaves_ms(state, run, job):
        yield stop(run, "reservation", now_ms, terms)
        return
    if at_ms in (run.lease_until_ms - terms.window_ms // 2, run.lease_until_ms - terms.leaving_ms):
        yield from _renewed(state, run, now_ms, terms)
    if now_ms >= run.lease_until_ms - terms.leaving_ms:
        yield stop(run, "wallet", now_ms, terms)


def _renewed(state: State, run: Run, now_ms: int, terms: LeaseTerms) -> Iterator[ev.Event]:
    """A lease as long as the wallet pays for, up to the window; nothing if that is hardly any longer."""
    until_ms = now_ms + terms.window_ms
    if run.price:
        paid_ms = run.started_ms or now_ms
        covered = run.held + run.charged
        money = state.accounts.get(ledger.WALLET + run.tenant, 0)
        longest_ms = paid_ms + affordable_ms(covered + money, run.price, run.milli_cards)
        until_ms = min(until_ms, longest_ms)
    if until_ms - run.lease_until_ms < RENEWAL_LEAST_MS:
        return
    yield ev.LeaseRenewed(run.run, until_ms)
    if run.price:
        more = hold_for(run.price, run.milli_cards, until_ms - paid_ms) - covered
        if more > 0:
            yield ledger.hold(run.tenant, run.job, run.run, more)


def stop(run: Run, why: StopWhy, now_ms: int, terms: LeaseTerms) -> ev.RunStopAsked:
    """The order to save and leave, with the grace that is left within the lease."""
    return ev.RunStopAsked(run.run, why, min(now_ms + terms.grace_ms, run.lease_until_ms))


def wallet_grew(state: State, tenant: str) -> Iterator[ev.Event]:
    """Jobs that waited for money and can now be paid for stand in the queue again, in their order.

    In each kind of card no more of them than can be paid for together: else all would come each time that one
    of them can start, only to step aside again.
    """
    jobs = state.jobs
    money = state.accounts.get(ledger.WALLET + tenant, 0)
    left: dict[str, int] = {}
    for name in sorted(state.paused.get(tenant, ()), key=lambda name: jobs[name].order):
        job = jobs[name]
        if job.pause == "wallet":
            spec = job.spec
            left_there = left.get(spec.kind, money)
            lease_ms, hold = lease_for(left_there, spec.price, spec.cards_min, state.view.terms)
            if lease_ms:
                if state.gate.has_room(job):  # else it waits on, and needs no money for that
                    left[spec.kind] = left_there - hold
                yield ev.JobRequeued(name, "the wallet can pay again")


def _can_pay(state: State, job: Job) -> bool:
    spec = job.spec
    money = state.accounts.get(ledger.WALLET + spec.tenant, 0)
    return bool(lease_for(money, spec.price, spec.cards_min, state.view.terms)[0])
