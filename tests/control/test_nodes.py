"""Nodes that come, go and come back: what the state keeps of them, and what is ordered."""

from tests.cluster import Cluster, fold
from tests.control.laws import Auditor
from tests.hall import Fate

from starverse.model import commands as cmd
from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.units import HOUR_MS, MINUTE_MS, SECOND_MS
from starverse.scheduler.reasons import why_waiting


def begin(**nodes: int) -> Cluster:
    cluster = Cluster(Fate(HOUR_MS), watch=Auditor())
    for node, cards in nodes.items():
        cluster.node(node, cards)
    cluster.tenant("ann", yuan=10)
    return cluster


def orders(cluster: Cluster) -> list[cmd.Command]:
    """All orders from now on."""
    heard: list[cmd.Command] = []
    carry_out = cluster.hall._carry_out
    cluster.hall._carry_out = lambda order: (heard.append(order), carry_out(order))[1]  # type: ignore[method-assign]
    return heard


def test_a_node_that_comes_back_larger_has_more_cards() -> None:
    cluster = begin(a=2)
    cluster.after(0)
    cluster.node("a", cards=4)
    cluster.submit("job", cards=4)
    cluster.after(0)
    assert cluster.placed("job")


def test_a_node_that_comes_back_smaller_has_fewer_and_what_runs_there_goes_on() -> None:
    cluster = begin(a=4)
    cluster.submit("job", cards=4)
    cluster.after(SECOND_MS)
    cluster.node("a", cards=2)
    cluster.after(SECOND_MS)
    assert list(cluster.state.runs) == ["job.0"]
    cluster.submit("other")
    cluster.ask_to_stop("job")
    cluster.after(10 * SECOND_MS)
    assert cluster.state.spaces["cpu"].free == 1


# Was once so: a known node keeps the kind it first had for ever.
def test_a_node_that_comes_back_with_other_cards_offers_those() -> None:
    cluster = begin(a=1)
    cluster.submit("gone")
    cluster.after(SECOND_MS)
    cluster.node("a", cards=1, kind="nvidia-h200")
    cluster.submit("new", kind="nvidia-h200")
    cluster.after(SECOND_MS)
    assert cluster.placed("new")
    assert [event.how for event in cluster.events(ev.RunEnded, "gone")] == ["lost"]
    assert fold(cluster.book.rows).snapshot() == cluster.state.snapshot()
    cluster.restart()
    cluster.after(SECOND_MS)
    assert list(cluster.state.runs) == ["new.0"]


# Was once so: only the ranks on the lost node are surely dead; nobody stops the others.
def test_what_is_left_of_a_gang_on_other_nodes_is_stopped_when_one_node_is_lost() -> None:
    cluster = begin(a=2, b=2)
    cluster.submit("gang", cards=4)
    cluster.after(SECOND_MS)
    ordered = orders(cluster)
    cluster.hear(ev.NodeLost("a", cluster.now_ms))
    cluster.after(0)
    stops = [order for order in ordered if isinstance(order, cmd.StopRun)]
    assert [(stop.run, stop.kill_at_ms) for stop in stops] == [("gang.0", cluster.now_ms)]


def test_a_broken_card_is_given_to_nobody_until_it_is_whole_again() -> None:
    cluster = begin(a=2)
    cluster.hear(ev.CardHealthChanged("a", 0, healthy=False))
    cluster.submit("pair", cards=2)
    cluster.after(SECOND_MS)
    assert not cluster.placed("pair")
    cluster.hear(ev.CardHealthChanged("a", 0, healthy=True))
    cluster.after(0)
    assert cluster.placed("pair")


def test_a_card_that_breaks_while_it_is_used_comes_back_broken() -> None:
    cluster = begin(a=2)
    cluster.submit("job", cards=1)
    cluster.after(SECOND_MS)
    cluster.hear(ev.CardHealthChanged("a", 0, healthy=False))
    cluster.ask_to_stop("job")
    cluster.after(SECOND_MS)
    assert cluster.state.spaces["cpu"].free_on("a") == 0b10


def test_a_node_that_was_cordoned_before_it_was_lost_is_so_when_it_is_back() -> None:
    cluster = begin(a=2)
    cluster.cordon("a")
    cluster.after(0)
    cluster.hear(ev.NodeLost("a", cluster.now_ms))
    cluster.after(SECOND_MS)
    cluster.node("a", cards=2)
    cluster.submit("job")
    cluster.after(0)
    assert not cluster.placed("job")


def test_a_node_that_comes_and_goes_rests_longer_each_time_and_is_forgiven() -> None:
    cluster = begin(a=1)
    rests: list[int] = []
    for hours in (0, 1, 1, 1, 2, 3, 1, 1, 1, 1, 7, 1):
        cluster.after(hours * HOUR_MS)
        cluster.hear(ev.NodeLost("a", cluster.now_ms))
        cluster.after(SECOND_MS)
        cluster.node("a", cards=1)
        cluster.after(SECOND_MS)
        rests.append(
            max(cluster.state.nodes["a"].rests_until_ms - cluster.now_ms + SECOND_MS, 0) // MINUTE_MS
        )
    assert rests == [0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 0, 1]


def test_a_job_waits_for_a_node_that_rests_and_starts_when_it_has() -> None:
    cluster = begin(a=8)
    for _ in range(3):
        cluster.hear(ev.NodeLost("a", cluster.now_ms))
        cluster.after(SECOND_MS)
        cluster.node("a", cards=8)
        cluster.after(SECOND_MS)
    back_ms = cluster.now_ms - SECOND_MS
    cluster.submit("job", cards=8)
    cluster.after(0)
    why = why_waiting(cluster.state.view, "job", cluster.now_ms)
    assert "0 are free, 8 resting until 2024-10-03 12:02 UTC" in why.causes[0].text
    for cut in range(len(cluster.book.rows)):
        cluster.restart(cut)
    cluster.until(back_ms + 2 * MINUTE_MS - 1)
    assert not cluster.placed("job")
    cluster.after(1)
    assert cluster.placed("job")
    assert fold(cluster.book.rows).snapshot() == cluster.state.snapshot()


def test_an_operator_ends_a_rest() -> None:
    cluster = begin(a=8)
    for _ in range(2):
        cluster.hear(ev.NodeLost("a", cluster.now_ms))
        cluster.after(SECOND_MS)
        cluster.node("a", cards=8)
        cluster.after(SECOND_MS)
    cluster.submit("job", cards=8)
    cluster.ask(rq.UncordonNode("a"))
    cluster.after(0)
    assert cluster.placed("job")
    assert cluster.state.nodes["a"].losses == 0
