"""The journal folded: the same state as the loop's, byte for byte, however often and from wherever."""

import pytest
from tests.cluster import TERMS, Cluster, fold
from tests.control.laws import of_the_state
from tests.control.stories import Story, begin, each, play

from starverse.control.controller import Controller
from starverse.control.state import State
from starverse.model import events as ev


def test_the_journal_leads_to_the_state_the_loop_has(seeds: range) -> None:
    def the_same(story: Story) -> None:
        def compare(cluster: Cluster) -> None:
            assert fold(cluster.book.rows).snapshot() == cluster.state.snapshot()

        play(story, watch=compare)

    each(seeds[::5], the_same)


def test_a_snapshot_and_the_rest_lead_where_the_whole_leads_at_every_cut(seeds: range) -> None:
    def the_same(story: Story) -> None:
        rows = play(story).book.rows
        whole = fold(rows).snapshot()
        growing = State(terms=TERMS)
        for cut, (heard_ms, event) in enumerate(rows):
            growing.apply(event, heard_ms)
            loaded = State.load(growing.snapshot(), TERMS)
            assert loaded.snapshot() == growing.snapshot()
            if cut % 7 == 0:
                assert fold(rows[cut + 1 :], loaded).snapshot() == whole

    each(seeds[::5], the_same)


def test_a_state_from_a_snapshot_is_as_sound_as_one_that_lived(seeds: range) -> None:
    each(
        seeds[::5],
        lambda story: play(
            story, watch=lambda cluster: of_the_state(State.load(cluster.state.snapshot(), TERMS))
        ),
    )


# Was once so: a wake-up that is no longer meant (for an old time limit, say) renews a
# lease with money that came meanwhile; a loop that was loaded has no such wake-up, and renews later.
@pytest.mark.parametrize("from_snapshot", [True, False], ids=["from a snapshot", "from the whole journal"])
def test_a_loop_that_was_loaded_goes_on_as_if_nothing_had_been(seeds: range, from_snapshot: bool) -> None:
    def the_same(story: Story) -> None:
        undisturbed = play(story).book.rows
        cluster = begin(story)
        known = 0
        while not cluster.is_quiet():
            rows = cluster.book.rows
            if known < (known := len(rows)):
                state = State.load(cluster.state.snapshot(), TERMS) if from_snapshot else fold(rows)
                cluster.loop = Controller(cluster.hall, cluster.book, state, TERMS)
        assert cluster.book.rows == undisturbed

    each(seeds[::2], the_same)


def test_time_never_goes_back_in_the_journal(seeds: range) -> None:
    def forwards(story: Story) -> None:
        heard = [heard_ms for heard_ms, _ in play(story).book.rows]
        assert heard == sorted(heard)

    each(seeds[::5], forwards)


def test_a_row_that_cannot_have_happened_is_refused() -> None:
    cluster = Cluster()
    cluster.node("a", cards=1)
    cluster.tenant("ann", yuan=1)
    cluster.submit("job")
    cluster.settle()
    end = cluster.events(ev.RunEnded)[0]
    for impossible in (
        end,
        ev.LeaderChanged(0),
        ev.JobRequeued("job", "?"),
        ev.Posted("charge", "ann", (("wallet/ann", 1),)),
    ):
        with pytest.raises((AssertionError, LookupError)):
            fold(cluster.book.rows).apply(impossible, cluster.now_ms)
    with pytest.raises(AssertionError, match="time went back"):
        fold(cluster.book.rows).apply(ev.LeaderChanged(1), cluster.now_ms - 1_000_000)
