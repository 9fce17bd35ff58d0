"""Jobs that wait for something else than cards: it is told, it holds nothing meanwhile, and it ends."""

from dataclasses import replace
from random import Random
from typing import Any

import msgspec
from tests.cluster import TERMS, Cluster, fold
from tests.control.laws import Auditor
from tests.control.stories import START_MS, TENANTS, Story, _ticks, each, play
from tests.control.test_memory import Forgetful
from tests.hall import Fate

from starverse.control.state import State
from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.job import Shape
from starverse.model.units import CARD, HOUR_MS, MINUTE_MS, SECOND_MS
from starverse.scheduler.reasons import why_waiting

KW = 1_000_000
"""Milliwatts."""

RICH = 1_000


def cluster_of(*nodes: ev.NodeJoined, **fates: Fate) -> Cluster:
    cluster = Cluster(Fate(HOUR_MS), jobs={job: [fate] for job, fate in fates.items()}, watch=Auditor())
    for node in nodes:
        cluster.hear(node)
    for tenant in ("ann", "bob"):
        cluster.tenant(tenant, yuan=RICH)
    cluster.after(0)
    return cluster


def why(cluster: Cluster, job: str) -> dict[str, str]:
    reason = why_waiting(cluster.state.view, job, cluster.now_ms)
    return {cause.code: cause.text for cause in reason.causes}


def runs(cluster: Cluster) -> list[str]:
    return sorted(run.job for run in cluster.state.runs.values())


# -- quotas -----------------------------------------------------------------------------------------------


def test_e4_who_cannot_use_its_quota_lends_it_and_keeps_no_cards() -> None:
    cluster = cluster_of(ev.NodeJoined("a", "cpu", 8))
    cluster.ask(rq.SetQuota("all"))
    for tenant in ("ann", "bob"):
        cluster.ask(rq.SetQuota(tenant, "all", guaranteed=4 * CARD, borrow_max=2 * CARD))
    cluster.submit("head", cards=7)
    cluster.submit("next", cards=6, tenant="bob")
    cluster.after(SECOND_MS)
    assert runs(cluster) == ["next"]
    assert "head" not in cluster.state.view.promises
    assert why(cluster, "head")["quota"] == (
        "It needs 7 of its quota; ann uses 0 cards and is guaranteed 4: 2 are left to it now."
    )


def test_a_job_that_its_quota_keeps_from_starting_starts_when_it_grows() -> None:
    cluster = cluster_of(ev.NodeJoined("a", "cpu", 8))
    cluster.ask(rq.SetQuota("ann", guaranteed=4 * CARD))
    cluster.submit("first", cards=3)
    cluster.submit("second", cards=3)
    cluster.submit("small")
    cluster.after(SECOND_MS)
    assert runs(cluster) == ["first", "small"]
    cluster.ask(rq.SetQuota("ann", guaranteed=7 * CARD))
    cluster.after(SECOND_MS)
    assert runs(cluster) == ["first", "second", "small"]


def test_a_quota_that_is_removed_limits_and_guarantees_nothing_any_more() -> None:
    cluster = cluster_of(ev.NodeJoined("a", "cpu", 8))
    bare = cluster.state.snapshot()
    cluster.ask(rq.SetQuota("all"))
    cluster.ask(rq.SetQuota("ann", "all", weight=7, guaranteed=2 * CARD, borrow_max=0))
    cluster.submit("first", cards=2)
    cluster.submit("second", cards=6)
    cluster.after(SECOND_MS)
    assert "quota" in why(cluster, "second")
    cluster.ask(rq.RemoveQuota("ann"))
    cluster.ask(rq.RemoveQuota("all"))
    cluster.after(SECOND_MS)
    assert runs(cluster) == ["first", "second"]
    shares = cluster.state.view.shares
    assert (shares.weight[shares.of("ann")], shares.guaranteed) == (1, {})
    assert not cluster.state.truth.quotas
    again = fold(cluster.book.rows)
    assert again.snapshot() == cluster.state.snapshot() != bare
    assert counted(again) == counted(cluster.state)


def test_an_elastic_job_starts_as_large_as_its_quota_lets_it() -> None:
    cluster = cluster_of(ev.NodeJoined("a", "cpu", 8))
    cluster.ask(rq.SetQuota("ann", guaranteed=5 * CARD))
    cluster.submit("wide", cards=(2, 8))
    cluster.after(SECOND_MS)
    assert cluster.placed("wide")[0][0].count == 5


def test_d6_a1_a_job_that_cannot_be_placed_is_charged_nothing() -> None:
    cluster = cluster_of(
        *(ev.NodeJoined(f"n{n}", "cpu", 1) for n in range(8)), ev.NodeJoined("big", "cpu", 8)
    )
    cluster.ask(rq.CordonNode("big"))
    cluster.ask(rq.SetQuota("ann", guaranteed=8 * CARD))
    cluster.submit("block", cards=8, shape=Shape(member=8 * CARD))
    cluster.after(SECOND_MS)
    assert cluster.state.view.limits.quotas.places["ann"].used == 0
    assert "block" in why(cluster, "block")
    cluster.submit("small", cards=8)
    cluster.after(SECOND_MS)
    assert runs(cluster) == ["small"]


def test_d1_d4_a_quota_is_freed_once_whatever_ends_the_run() -> None:
    cluster = cluster_of(ev.NodeJoined("a", "cpu", 8), ev.NodeJoined("b", "cpu", 8))
    cluster.ask(rq.SetQuota("ann", guaranteed=8 * CARD))
    cluster.submit("wide", cards=8)
    cluster.after(SECOND_MS)
    places = cluster.state.view.limits.quotas.places
    assert places["ann"].used == 8 * CARD
    cluster.hear(ev.NodeLost(cluster.placed("wide")[0][0].node, cluster.now_ms))
    cluster.after(SECOND_MS)
    assert len(cluster.placed("wide")) == 2
    assert places["ann"].used == 8 * CARD
    cluster.ask_to_stop("wide")
    cluster.after(MINUTE_MS)
    assert places["ann"].used == 0


def test_the_tenant_below_its_guarantee_comes_first() -> None:
    cluster = cluster_of(ev.NodeJoined("a", "cpu", 4))
    cluster.ask(rq.SetQuota("all"))
    cluster.ask(rq.SetQuota("ann", "all", weight=100))
    cluster.ask(rq.SetQuota("bob", "all", guaranteed=4 * CARD))
    for n in range(4):
        cluster.submit(f"ann{n}")
        cluster.submit(f"bob{n}", tenant="bob")
    cluster.after(SECOND_MS)
    assert runs(cluster) == ["bob0", "bob1", "bob2", "bob3"]


# -- licences ---------------------------------------------------------------------------------------------

CAD = Shape(licences=(("cad", 1),))


def test_licences_one_of_three_that_want_the_only_one_runs_and_who_needs_none() -> None:
    cluster = cluster_of(ev.NodeJoined("a", "cpu", 8), j1=Fate(MINUTE_MS))
    cluster.ask(rq.SetLicences("cad", 1))
    for job in ("j1", "j2", "j3"):
        cluster.submit(job, shape=CAD)
    cluster.submit("j4")
    cluster.after(SECOND_MS)
    assert runs(cluster) == ["j1", "j4"]
    assert why(cluster, "j2")["licence"] == "It needs 1 of the licence cad; 0 of 1 are free."
    cluster.after(2 * MINUTE_MS)
    assert runs(cluster) == ["j2", "j4"]
    cluster.ask(rq.SetLicences("cad", 2))
    cluster.after(SECOND_MS)
    assert runs(cluster) == ["j2", "j3", "j4"]


def test_a_licence_that_nobody_set_is_not_there() -> None:
    cluster = cluster_of(ev.NodeJoined("a", "cpu", 8))
    cluster.submit("j1", shape=CAD)
    cluster.after(SECOND_MS)
    assert why(cluster, "j1")["licence"] == "It needs 1 of the licence cad; 0 of 0 are free."


# -- power and heat ---------------------------------------------------------------------------------------


def rack(name: str, nodes: int) -> list[ev.NodeJoined]:
    """Nodes of 8 cards that draw 10 kW each, on the feeds of their rack and of coolant loop c1."""
    return [
        ev.NodeJoined(f"{name}n{n}", "cpu", 8, (name,), feeds=(f"rack {name}", "loop c1"), card_mw=1_250_000)
        for n in range(nodes)
    ]


def powered(*racks: ev.NodeJoined, **fates: Fate) -> Cluster:
    cluster = cluster_of(ev.LayoutSet(("rack",)), *racks, **fates)  # type: ignore[arg-type]
    cluster.ask(rq.SetBudget("rack r7", 40 * KW))
    for n in range(3):
        cluster.submit(f"busy{n}", cards=8)
    cluster.after(SECOND_MS)
    assert cluster.state.view.limits.power.drawn == {"rack r7": 30 * KW}
    return cluster


def test_k3_a_job_waits_for_the_power_of_its_rack_and_says_so() -> None:
    cluster = powered(*rack("r7", 6), busy0=Fate(MINUTE_MS))
    cluster.submit("pair", cards=16)
    cluster.submit("one", cards=8)
    cluster.after(SECOND_MS)
    assert runs(cluster) == ["busy0", "busy1", "busy2", "one"]
    assert why(cluster, "pair")["power"] == (
        "Power of rack r7: 0 of 40 kW are left; the free cards on it would draw 20 kW."
    )
    cluster.ask_to_stop("one")
    cluster.after(2 * MINUTE_MS)
    assert runs(cluster) == ["busy1", "busy2", "pair"]


def test_k3_or_it_goes_to_another_rack() -> None:
    cluster = powered(*rack("r7", 4))
    for node in rack("r8", 3):
        cluster.hear(node)
    cluster.submit("pair", cards=16, shape=Shape(prefer="rack"))
    cluster.after(SECOND_MS)
    assert {share.node[:2] for share in cluster.placed("pair")[0]} == {"r8"}


def test_k4_new_work_avoids_a_coolant_loop_that_is_degraded() -> None:
    cluster = powered(*rack("r7", 4))
    cluster.hear(ev.NodeJoined("r9n0", "cpu", 8, ("r9",), feeds=("loop c2",), card_mw=1_250_000))
    cluster.ask(rq.SetBudget("loop c1", 28 * KW))
    cluster.after(SECOND_MS)
    assert cluster.state.view.limits.over() == {"loop c1": ["busy0.0", "busy1.0", "busy2.0"]}
    cluster.submit("new", cards=8)
    cluster.submit("newer", cards=8)
    cluster.after(SECOND_MS)
    assert [share.node for share in cluster.placed("new")[0]] == ["r9n0"]
    assert runs(cluster) == ["busy0", "busy1", "busy2", "new"]
    cluster.ask(rq.SetBudget("loop c1", -1))
    cluster.after(SECOND_MS)
    assert runs(cluster) == ["busy0", "busy1", "busy2", "new", "newer"]


# -- CPU, memory, counted things; neighbours --------------------------------------------------------------


def test_a6_what_a_node_has_beside_cards_is_taken_and_given_back() -> None:
    node = ev.NodeJoined("a", "cpu", 8, milli_cpu=8_000, memory_mb=64, resources=(("nic", 2),))
    cluster = cluster_of(node, first=Fate(MINUTE_MS))
    cluster.submit("first", cards=2, shape=Shape(milli_cpu=3_000, needs=(("nic", 1),)))
    cluster.submit("second", cards=1, shape=Shape(needs=(("nic", 1),)))
    cluster.submit("third", cards=1, shape=Shape(milli_cpu=2_001))
    cluster.submit("fourth", cards=4, shape=Shape(milli_cpu=500, memory_mb=16))
    cluster.after(SECOND_MS)
    assert runs(cluster) == ["first", "fourth"]
    assert why(cluster, "second")["resources"] == (
        "Where cards are free, of nic there is enough for 0 of its 1 members."
    )
    cluster.after(2 * MINUTE_MS)
    assert runs(cluster) == ["fourth", "second", "third"]


def test_c7_jobs_apart_share_no_node_and_a_node_can_be_used_once_one_has_left() -> None:
    cluster = cluster_of(ev.NodeJoined("a", "cpu", 8), ev.NodeJoined("b", "cpu", 8), one=Fate(MINUTE_MS))
    for job in ("one", "two", "three"):
        cluster.submit(job, shape=Shape(apart="db"))
    cluster.submit("bobs", tenant="bob", shape=Shape(apart="db"))
    cluster.after(SECOND_MS)
    assert runs(cluster) == ["bobs", "one", "two"]
    assert cluster.placed("one")[0][0].node != cluster.placed("two")[0][0].node
    assert why(cluster, "three")["apart"] == "It must share no node with other jobs apart as `db`."
    cluster.after(2 * MINUTE_MS)
    assert runs(cluster) == ["bobs", "three", "two"]


def test_jobs_apart_share_no_rack_when_one_of_them_asks_for_that() -> None:
    nodes = [ev.NodeJoined(f"{rack}{n}", "cpu", 1, (rack,)) for rack in "pq" for n in range(2)]
    cluster = cluster_of(ev.LayoutSet(("rack",)), *nodes)  # type: ignore[arg-type]
    cluster.submit("one", shape=Shape(apart="db", apart_level="rack"))
    cluster.submit("two", shape=Shape(apart="db"))
    cluster.submit("three", shape=Shape(apart="db"))
    cluster.after(SECOND_MS)
    racks = {job: cluster.placed(job)[0][0].node[0] for job in ("one", "two", "three")}
    assert racks["two"] == racks["three"] != racks["one"]


# -- by chance --------------------------------------------------------------------------------------------


def limited(story: Story, seed: int) -> Story:
    """The same story, where nearly everything is limited."""
    chance = Random(seed)
    nodes = tuple(
        msgspec.structs.replace(
            node,
            milli_cpu=chance.choice([0, 2_000, 8_000]),
            feeds=tuple(feed for feed in ("p", "q") if chance.random() < 0.6),
            card_mw=chance.choice([1, 3]),
        )
        for node in story.nodes
    )
    acts = [(at_ms, _shaped(chance, act)) for at_ms, act in story.acts]
    acts += [(START_MS, rq.SetQuota("all"))] if chance.random() < 0.8 else []
    acts += [(START_MS + _ticks(chance, 300), _limit(chance)) for _ in range(chance.randint(1, 12))]
    return replace(story, nodes=nodes, acts=tuple(sorted(acts, key=lambda act: act[0])))


def _shaped(chance: Random, act: Any) -> Any:
    if not isinstance(act, rq.SubmitJob):
        return act
    shape = Shape(
        milli_cpu=chance.choice([0, 0, 500, 2_000]),
        licences=chance.choice([(), (), (("cad", 1),), (("cad", 2),)]),
        apart=chance.choice(["", "", "db"]),
    )
    return rq.SubmitJob(msgspec.structs.replace(act.spec, shape=shape))


def _limit(chance: Random) -> rq.Request:
    some = chance.choice([-1, 0, 2 * CARD, 9 * CARD])
    least = chance.choice([0, CARD, 3 * CARD, 8 * CARD])
    parent, lend = chance.choice(["", "all"]), chance.choice([-1, 0, CARD])
    return chance.choice([
        rq.SetQuota(chance.choice(TENANTS), parent, chance.choice([0, 1, 3]), least, some, lend),
        rq.SetQuota("all", "", 1, least),
        rq.RemoveQuota(chance.choice([*TENANTS, "all"])),
        rq.SetLicences("cad", chance.choice([0, 1, 2, 5])),
        rq.SetBudget(chance.choice("pq"), chance.choice([-1, 0, 3, 9, 20])),
    ])  # fmt: skip


def counted(state: State) -> Any:
    limits = state.view.limits
    quotas = {name: (q.pool, q.kept, q.used) for name, q in limits.quotas.places.items()}
    stocks = {
        kind: {name: dict(zip(space.names, space.stock[row].tolist(), strict=False))
               for name, row in space.stocks.items()}
        for kind, space in state.spaces.items()
    }  # fmt: skip
    lent = {name: count for name, count in limits.lent.items() if count}
    return quotas, stocks, lent, limits.power.drawn, limits.power.budgets, state.view.shares.guaranteed


def watched(story: Story, **how: Any) -> Cluster:
    auditor = Auditor()

    def watch(cluster: Cluster) -> None:
        auditor(cluster)
        mine, other = counted(cluster.state), counted(State.load(cluster.state.snapshot(), TERMS))
        assert [*mine[:1], *mine[2:5]] == [*other[:1], *other[2:5]]

    return play(story, watch=watch, **how)


def test_limits_are_counted_alike_step_by_step_and_by_a_new_server(seeds: range) -> None:
    each(seeds, lambda story: watched(limited(story, len(story.acts))))


def test_with_limits_too_a_loop_that_forgets_decides_the_same(seeds: range) -> None:
    def the_same(story: Story) -> None:
        story = limited(story, len(story.acts))
        assert play(story, loop=Forgetful).book.rows == play(story).book.rows

    each(seeds, the_same)
