"""What the loop answers to what people ask: events, or one sentence of refusal."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from starverse.control import reserving, rules
from starverse.control.state import State
from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.allocation import card_count
from starverse.model.array import AFTER_MAX, ARRAY_MAX, INDEX_MAX
from starverse.model.errors import BadInput, NotFound, Refused
from starverse.model.job import After, JobSpec, member_of, rank_count
from starverse.model.units import CARD, CARDS_MAX, YUAN, format_yuan
from starverse.money import ledger
from starverse.money.lease import LeaseTerms
from starverse.scheduler import asked

TOP_UP_MAX = 1_000_000_000 * YUAN
"""What is above is a slip of the keyboard, and all wallets together stay far below 2^63 micro-yuan."""

PRICE_MAX = 1_000_000 * YUAN
"""A card-hour that costs more is a slip of the keyboard."""

WEIGHT_MAX = 1_000_000

BUDGET_MAX_MW = 10**13
"""Ten gigawatts: what is above is a slip of the keyboard."""


def answer(state: State, request: rq.Request, now_ms: int, terms: LeaseTerms) -> Iterable[ev.Event]:
    """The events a request leads to. Raises NotFound, BadInput or Refused before the first, or not at all."""
    return _ANSWERS[type(request)](state, request, now_ms, terms)


def _open_tenant(state: State, ask: rq.OpenTenant, now_ms: int, terms: LeaseTerms) -> Iterator[ev.Event]:
    if ledger.WALLET + ask.tenant in state.accounts:
        raise Refused(f"Tenant {ask.tenant} has a wallet already.")
    yield ev.TenantOpened(ask.tenant)
    if ask.trial_credit > 0:
        yield ledger.trial(ask.tenant, ask.trial_credit)


def _top_up(state: State, ask: rq.TopUp, now_ms: int, terms: LeaseTerms) -> Iterator[ev.Event]:
    if ledger.WALLET + ask.tenant not in state.accounts:
        raise NotFound(f"There is no wallet of tenant {ask.tenant}.")
    if not 0 < ask.amount <= TOP_UP_MAX:
        raise Refused(f"A top-up must be more than nothing and at most {format_yuan(TOP_UP_MAX)}.")
    yield ledger.top_up(ask.tenant, ask.amount, ask.note)
    yield from rules.wallet_grew(state, ask.tenant)


def _set_price(state: State, ask: rq.SetPrice, now_ms: int, terms: LeaseTerms) -> Iterator[ev.Event]:
    if not 0 <= ask.price <= PRICE_MAX:
        raise Refused(f"A price must be from nothing to {format_yuan(PRICE_MAX)} a card-hour.")
    yield ev.PriceSet(ask.kind, ask.price, ask.from_ms)


def _submit(state: State, ask: rq.SubmitJob, now_ms: int, terms: LeaseTerms) -> Iterable[ev.Event]:
    _check_submission(state, ask.spec)
    return (ev.JobSubmitted(ask.spec),)


def _submit_array(state: State, ask: rq.SubmitArray, now_ms: int, terms: LeaseTerms) -> Iterator[ev.Event]:
    spec, indices = ask.spec, ask.indices
    if not 0 < len(indices) <= ARRAY_MAX or len(set(indices)) < len(indices):
        raise BadInput(
            f"Array {spec.job} has {len(indices):,} jobs.", f"Ask for 1 to {ARRAY_MAX:,}, each once."
        )
    if any(type(index) is not int or not 0 <= index <= INDEX_MAX for index in indices):
        raise BadInput(f"Array {spec.job} has an index out of bounds.", f"Count from 0 to {INDEX_MAX:,}.")
    if spec.array_limit < 0:
        raise BadInput(f"Array {spec.job} lets fewer than no jobs run at once.")
    _check_submission(state, spec)
    named = [member_of(spec, index) for index in indices]
    if any(member.job in state.jobs for member in named):
        raise Refused(f"Array {spec.job} was submitted already.")
    for member in named:
        yield ev.JobSubmitted(member)


def _check_submission(state: State, spec: JobSpec) -> None:
    if state.gate.is_alive(spec.job):
        raise Refused(f"Job {spec.job} was submitted already.")
    if ledger.WALLET + spec.tenant not in state.accounts:
        raise NotFound(f"There is no wallet of tenant {spec.tenant}.")
    asked.check(spec, state.view)
    if spec.reservation:
        reserving.check_inside(state, spec)
    if len(spec.after) > AFTER_MAX:
        raise BadInput(f"Job {spec.job} comes after {len(spec.after):,} jobs.", f"Name {AFTER_MAX} at most.")
    for after in spec.after:
        _check_after(state, spec, after)


def _check_after(state: State, spec: JobSpec, after: After) -> None:
    """Raises NotFound for a job that is another tenant's just as for one that never was."""
    if after.job == spec.job:
        raise BadInput("A job cannot come after itself.", "Name another.")
    ended = state.gate.outcome(after.job, spec.tenant)
    if ended is None and state.gate.tenant(after.job) != spec.tenant:
        raise NotFound(f"There is no job {after.job[:64]!r}.", "`starverse jobs` lists yours.")
    if after.ok and ended not in (None, "done"):
        raise Refused(
            f"Job {after.job} is {ended}, so what comes after its good end never starts.",
            "Name it with --after-any to start all the same.",
        )


def _stop(state: State, ask: rq.StopJob, now_ms: int, terms: LeaseTerms) -> Iterator[ev.Event]:
    names = (ask.job,) if ask.job in state.jobs else state.gate.members(ask.job)
    if not names:
        raise Refused(f"Job {ask.job} has ended already.")
    tenant = state.jobs[names[0]].spec.tenant
    is_over = False
    for name in names:
        job = state.jobs.get(name)
        if job is None or (job.stop_asked and len(names) > 1):
            continue
        yield ev.JobStopAsked(name, ask.by)
        if job.phase in ("waiting", "paused"):
            yield from rules.over(state, ev.JobEnded(name, "stopped", "stopped on request"))
            is_over = True
        elif job.phase in ("starting", "running"):
            yield rules.stop(state.runs[job.run], "person", now_ms, terms)
    if is_over:
        yield from rules.wallet_grew(state, tenant)  # others may have waited for the same money


def _resume(state: State, ask: rq.ResumeJob, now_ms: int, terms: LeaseTerms) -> Iterator[ev.Event]:
    job = state.jobs.get(ask.job)
    if job is None or job.phase != "paused":
        raise Refused(f"Job {ask.job} is not paused.")
    yield ev.JobRequeued(ask.job, "resumed on request")


def _cordon(state: State, ask: rq.CordonNode, now_ms: int, terms: LeaseTerms) -> Iterator[ev.Event]:
    if ask.node not in state.nodes:
        raise NotFound(f"There is no node {ask.node}.", "`starverse nodes` lists them.")
    yield ev.NodeCordoned(ask.node, ask.by, ask.drain)
    if ask.drain:
        for run in tuple(state.runs.values()):
            if not run.stop_why and any(share.node == ask.node for share in run.shares):
                yield rules.stop(run, "drain", now_ms, terms)


def _uncordon(state: State, ask: rq.UncordonNode, now_ms: int, terms: LeaseTerms) -> Iterator[ev.Event]:
    if ask.node not in state.nodes:
        raise NotFound(f"There is no node {ask.node}.", "`starverse nodes` lists them.")
    yield ev.NodeUncordoned(ask.node, ask.by)


def _set_quota(state: State, ask: rq.SetQuota, now_ms: int, terms: LeaseTerms) -> Iterator[ev.Event]:
    quotas = state.view.limits.quotas
    if ask.parent and ask.parent not in quotas.places:
        raise NotFound(f"There is no quota of {ask.parent}.", "Set that of the parent first.")
    if ask.parent and (ask.tenant == ask.parent or quotas.is_below(ask.parent, ask.tenant)):
        raise Refused(f"{ask.parent} lies under {ask.tenant}, so it cannot be its parent.")
    if not 0 <= ask.weight <= WEIGHT_MAX:
        raise Refused(f"A weight must be from 0 to {WEIGHT_MAX:,}.")
    if not 0 <= ask.guaranteed <= CARDS_MAX * CARD:
        raise Refused(f"A quota must guarantee from 0 to {CARDS_MAX:,} cards.")
    if min(ask.borrow_max, ask.lend_max) < -1:
        raise Refused("A limit to borrowing or lending must be 0 or more, or -1 for none.")
    yield ev.QuotaSet(
        ask.tenant, ask.parent, ask.weight, ask.guaranteed, ask.borrow_max, ask.lend_max, ask.by
    )


def _remove_quota(state: State, ask: rq.RemoveQuota, now_ms: int, terms: LeaseTerms) -> Iterator[ev.Event]:
    places = state.view.limits.quotas.places
    if ask.tenant not in places:
        raise NotFound(f"There is no quota of {ask.tenant}.", "`starverse limits show` lists them.")
    below = sorted(name for name, place in places.items() if place.parent == ask.tenant)
    if below:
        more = f" and {len(below) - 1} more" if below[1:] else ""
        raise Refused(
            f"{below[0]}{more} would hang in the air without the quota of {ask.tenant}.",
            "Give those under it another parent first, or remove theirs.",
        )
    yield ev.QuotaRemoved(ask.tenant, ask.by)


def _set_licences(state: State, ask: rq.SetLicences, now_ms: int, terms: LeaseTerms) -> Iterator[ev.Event]:
    if ask.count < 0:
        raise Refused(f"There cannot be {ask.count} of a licence.")
    yield ev.LicencesSet(ask.name, ask.count, ask.by)


def _set_budget(state: State, ask: rq.SetBudget, now_ms: int, terms: LeaseTerms) -> Iterator[ev.Event]:
    if not -1 <= ask.milliwatts <= BUDGET_MAX_MW:
        raise Refused(f"A budget must be from 0 to {BUDGET_MAX_MW:,} milliwatts, or -1 for none.")
    yield ev.BudgetSet(ask.feed, ask.milliwatts, ask.by)


def _inject(state: State, ask: rq.InjectFault, now_ms: int, terms: LeaseTerms) -> Iterator[ev.Event]:
    run = state.runs.get(ask.run)
    if run is None or not run.started_ms:
        raise Refused(f"Run {ask.run} is not running.")
    ranks = rank_count(state.jobs[run.job].spec, card_count(run.shares))
    if not 0 <= ask.rank < ranks:
        raise Refused(f"Run {ask.run} has no rank {ask.rank}.")
    yield ev.FaultInjected(ask.run, ask.rank, ask.by)


_ANSWERS: dict[type, Callable[[State, Any, int, LeaseTerms], Iterable[ev.Event]]] = {
    rq.OpenTenant: _open_tenant,
    rq.TopUp: _top_up,
    rq.SetPrice: _set_price,
    rq.SubmitJob: _submit,
    rq.SubmitArray: _submit_array,
    rq.StopJob: _stop,
    rq.ResumeJob: _resume,
    rq.CordonNode: _cordon,
    rq.UncordonNode: _uncordon,
    rq.InjectFault: _inject,
    rq.SetQuota: _set_quota,
    rq.RemoveQuota: _remove_quota,
    rq.SetLicences: _set_licences,
    rq.SetBudget: _set_budget,
    rq.Reserve: reserving.reserve,
    rq.CancelReservation: reserving.cancel,
}
