"""What the loop remembers and hears twice changes nothing: memo, echoes, the way equal things are ordered."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.cluster import Cluster
from tests.control.stories import Story, each, play
from tests.hall import Fate

from starverse.control.controller import Controller
from starverse.model import events as ev
from starverse.model.units import HOUR_MS, SECOND_MS
from starverse.twin.world import HashJournal


class Forgetful(Controller):
    """A loop that knows nothing of what it proved before."""

    def turn(self) -> int:
        self._memo = {}
        return super().turn()


def decides_no_otherwise(day: Callable[..., Cluster]) -> None:
    """A day is the same for a loop that forgets what it proved, and starts the same when it dies often."""
    undisturbed, forgets, dies = day(), day(loop=Forgetful), day(dies_at=range(2, 5_000, 7))
    for cluster in (undisturbed, forgets, dies):
        cluster.settle()
    assert forgets.book.rows == undisturbed.book.rows
    assert dies.hall.starts == undisturbed.hall.starts


def test_a_loop_that_forgets_what_it_proved_decides_the_same(seeds: range) -> None:
    def the_same(story: Story) -> None:
        assert play(story, loop=Forgetful).book.rows == play(story).book.rows

    each(seeds, the_same)


def test_echoes_of_all_that_happens_change_nothing(seeds: range) -> None:
    def the_same(story: Story) -> None:
        assert play(story, echoes=(0, 500, 90 * SECOND_MS)).book.rows == play(story).book.rows

    each(seeds, the_same)


def test_the_same_story_makes_the_same_bytes(seeds: range) -> None:
    def digest(story: Story) -> str:
        journal = HashJournal()
        for heard_ms, event in play(story).book.rows:
            journal.append(heard_ms, [event], [])
        return journal.digest()

    def the_same(story: Story) -> None:
        assert digest(story) == digest(story)

    each(seeds[:20], the_same)


# Was once so: a card's health is recorded unseen: again, of no node (KeyError), of no card.
# What an engine that lost its memory, or two of them, might say once more, at the most awkward time.
ECHOES = {
    "a run that starts, again": lambda now: ev.RunStarted("job.0", now),
    "a start of a run that is over": lambda now: ev.RunStarted("gone.0", now),
    "an end of a run that is over": lambda now: ev.RunEnded("gone.0", now, "lost"),
    "an end of a run that never was": lambda now: ev.RunEnded("never.7", now, "signal", 9),
    "a first step, again": lambda now: ev.RunResumed("job.0", 9, now),
    "a first step of a run that is over": lambda now: ev.RunResumed("gone.0", 9, now),
    "a checkpoint, again": lambda now: ev.CheckpointSaved("job.0", 1, now - 20 * SECOND_MS),
    "a checkpoint of a run that is over": lambda now: ev.CheckpointSaved("gone.0", 1, now),
    "a node that joins, again": lambda now: ev.NodeJoined("a", "cpu", 4),
    "a loss of a node that never was": lambda now: ev.NodeLost("never", now),
    "a loss of a node that is lost": lambda now: ev.NodeLost("b", now),
    "a card that is whole, again": lambda now: ev.CardHealthChanged("a", 0, healthy=True),
    "a card that is broken, again": lambda now: ev.CardHealthChanged("a", 3, healthy=False),
    "a card of a node that never was": lambda now: ev.CardHealthChanged("never", 0, healthy=False),
    "a card that never was": lambda now: ev.CardHealthChanged("a", 77, healthy=False),
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
def test_an_echo_changes_nothing(echo: Any) -> None:
    cluster = Cluster(
        jobs={"gone": [Fate(1_000)], "job": [Fate(HOUR_MS, step_ms=500, save_ms=10 * SECOND_MS)]}
    )
    cluster.node("a", cards=4)
    cluster.node("b", cards=1)
    cluster.tenant("ann", yuan=10)
    cluster.submit("gone")
    cluster.submit("job")
    cluster.hear(ev.CardHealthChanged("a", 3, healthy=False))
    cluster.after(22 * SECOND_MS)
    cluster.hear(ev.NodeLost("b", cluster.now_ms))
    cluster.after(SECOND_MS)
    before, rows = cluster.state.snapshot(), len(cluster.book.rows)
    cluster.hear(echo(cluster.now_ms))
    cluster.after(0)
    assert (cluster.state.snapshot(), cluster.book.rows[rows:]) == (before, [])
