"""The operator's levers: quotas in the tree of tenants, licences, budgets of power, and resting nodes."""

from starverse.control.state import State
from starverse.model import requests as rq
from starverse.model.errors import BadInput, NotFound, Refused
from starverse.model.names import nearest, shown
from starverse.model.units import CARD, CARDS_MAX, in_cards
from starverse.money.ledger import WALLET
from starverse.scheduler.quotas import UNLIMITED
from starverse.service import asking
from starverse.service.access import Actor, must_operate
from starverse.service.agreements import Budget, Licence, Limits, Quota, Resting
from starverse.service.loop import tell
from starverse.service.platform import Platform

WATT_MW = 1000
WATTS_MAX = 10**10
COUNT_MAX = 10**9
TENANT = "t-"
"""How the id of a tenant begins; any other name in the tree is a group's."""


def limits(platform: Platform, actor: Actor) -> Limits:
    """All that is set, and what is used of it."""
    must_operate(actor)
    return platform.ask(_limits)


def set_quota(platform: Platform, actor: Actor, quota: Quota) -> Quota:
    """Give a tenant, or a group of them, this quota in place of what it had."""
    must_operate(actor)
    name, parent = quota.tenant, quota.parent
    asking.one_line("tenant", name)
    asking.one_line("parent", parent)

    def look(state: State) -> None:
        there = state.truth.quotas
        if name.startswith(TENANT) and WALLET + name not in state.accounts:
            known = [each.removeprefix(WALLET) for each in state.accounts if each.startswith(WALLET)]
            raise NotFound(f"There is no tenant {shown(name)}.", nearest(name, sorted(known)))
        if parent and parent not in there:
            raise NotFound(f"There is no quota of {shown(parent)} to lie under.", nearest(parent, there))

    platform.ask(look)
    _tell(
        platform,
        rq.SetQuota(
            name,
            parent,
            quota.weight,
            _milli(quota.guaranteed),
            _limit(quota.borrow_max),
            _limit(quota.lend_max),
            actor.user,
        ),
    )
    return platform.ask(lambda state: _quota(state, name))


def remove_quota(platform: Platform, actor: Actor, tenant: str) -> None:
    """Let a tenant, or a group with nobody under it, have no quota any more."""
    must_operate(actor)

    def look(state: State) -> None:
        if tenant not in state.truth.quotas:
            raise NotFound(f"There is no quota of {shown(tenant)}.", nearest(tenant, state.truth.quotas))

    platform.ask(look)
    _tell(platform, rq.RemoveQuota(tenant, actor.user))


def set_licence(platform: Platform, actor: Actor, licence: str, count: int) -> Licence:
    """There are so many of a licence for the whole cluster."""
    must_operate(actor)
    asking.one_line("licence", licence)
    if not 0 <= count <= COUNT_MAX:
        raise BadInput(f"There cannot be {count} of a licence.", f"Give 0 to {COUNT_MAX:,}.")
    _tell(platform, rq.SetLicences(licence, count, actor.user))
    return platform.ask(lambda state: _licence(state, licence))


def set_budget(platform: Platform, actor: Actor, feed: str, watts: float | None) -> Budget:
    """Let what hangs on a feed draw so much together; None lifts the budget. The feed is one of a node's."""
    must_operate(actor)
    if watts is not None and not 0 <= watts <= WATTS_MAX:
        raise BadInput(f"{watts} W cannot be a budget.", f"Give 0 to {WATTS_MAX:,}, or none.")

    def look(state: State) -> None:
        known = _feeds(state)
        if feed not in known:
            raise NotFound(f"No node hangs on a feed {shown(feed)}.", nearest(feed, known))

    platform.ask(look)
    milliwatts = UNLIMITED if watts is None else round(watts * WATT_MW)
    _tell(platform, rq.SetBudget(feed, milliwatts, actor.user))
    return platform.ask(lambda state: _budget(state, feed))


def _tell(platform: Platform, request: rq.Request) -> None:
    if not tell(platform, request):
        raise Refused("It is noted, but the scheduler is busy.", "Look in a moment; it is not lost.")


def _milli(cards: float) -> int:
    if not 0 <= cards <= CARDS_MAX:
        raise BadInput(f"{cards} cards cannot be a quota.", f"Give 0 to {CARDS_MAX:,}.")
    return round(cards * CARD)


def _limit(cards: float | None) -> int:
    return UNLIMITED if cards is None else _milli(cards)


# -- what is set ------------------------------------------------------------------------------------------


def _limits(state: State) -> Limits:
    return Limits(
        tuple(_quota(state, name) for name in _down(state)),
        tuple(_licence(state, name) for name in sorted(state.truth.licences)),
        tuple(_budget(state, feed) for feed in _feeds(state)),
        tuple(
            Resting(name, node.rests_until_ms, node.losses)
            for name, node in sorted(state.nodes.items())
            if node.rests_until_ms > state.now_ms
        ),
    )


def _down(state: State) -> list[str]:
    """The tree from the top down, each place before those under it."""
    quotas = state.truth.quotas
    found: list[str] = []
    rest = [name for name in sorted(quotas, reverse=True) if not quotas[name].parent]
    while rest:
        name = rest.pop()
        found.append(name)
        rest += [below for below in sorted(quotas, reverse=True) if quotas[below].parent == name]
    return found


def _quota(state: State, name: str) -> Quota:
    is_set, quotas = state.truth.quotas[name], state.view.limits.quotas
    return Quota(
        name,
        is_set.parent,
        is_set.weight,
        in_cards(is_set.guaranteed),
        _cards(is_set.borrow_max),
        _cards(is_set.lend_max),
        in_cards(quotas.places[name].used),
        in_cards(max(0, quotas.available(name))),
    )


def _cards(milli_cards: int) -> int | float | None:
    return None if milli_cards == UNLIMITED else in_cards(milli_cards)


def _licence(state: State, name: str) -> Licence:
    return Licence(name, state.truth.licences[name], state.view.limits.lent.get(name, 0))


def _feeds(state: State) -> list[str]:
    """All feeds that a node hangs on, or that have a budget."""
    return sorted({feed for node in state.nodes.values() for feed in node.feeds} | state.truth.budgets.keys())


def _budget(state: State, feed: str) -> Budget:
    milliwatts, drawn = state.truth.budgets.get(feed), state.view.limits.power.drawn.get(feed, 0)
    return Budget(feed, None if milliwatts is None else _watts(milliwatts), _watts(drawn))


def _watts(milliwatts: int) -> int | float:
    return milliwatts / WATT_MW if milliwatts % WATT_MW else milliwatts // WATT_MW
