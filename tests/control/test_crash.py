"""A server that dies at any instant: no job is lost, none started twice, no money lost or doubled."""

import pytest
from tests.cluster import Cluster
from tests.control.stories import Story, begin, each, play

from starverse.model import events as ev
from starverse.model.units import SECOND_MS


def total(cluster: Cluster) -> dict[str, object]:
    """What a history comes to."""
    postings = [event for event in cluster.events(ev.Posted) if event.kind in {"charge", "credit"}]
    return {
        "accounts": {account: amount for account, amount in cluster.state.accounts.items() if amount},
        "outcomes": {job: end.outcome for job, end in cluster.ended.items()},
        "waiting": {name: job.phase for name, job in cluster.state.jobs.items()},
        "card_ms": {
            job: sum(p.card_ms for p in postings if p.job == job) for job in {p.job for p in postings}
        },
        "starts": cluster.hall.starts,
    }


def moments(story: Story) -> int:
    """At how many instants the server can die in a story: before and after writing, before each order."""
    return play(story).fuse.count


def test_a_server_that_dies_and_comes_back_at_once_changes_nothing_in_the_end(seeds: range) -> None:
    def the_same(story: Story) -> None:
        undisturbed = total(play(story))
        for moment in range(1, moments(story) + 1, 3):
            assert total(play(story, dies_at=[moment])) == undisturbed, f"it died at moment {moment}"

    each(seeds[::8], the_same, people=False)


def test_the_laws_hold_for_a_server_that_dies_often(seeds: range) -> None:
    each(seeds[::4], lambda story: play(story, dies_at=range(2, 2_000, 5)))


def test_the_laws_hold_for_a_server_that_is_long_away(seeds: range) -> None:
    def stay_away(story: Story) -> None:
        cluster = begin(story)
        for away_s in (0, 1, 7, 45, 70, 200, 3):
            for _ in range(9):
                cluster.is_quiet()
            cluster.restart(down_ms=away_s * SECOND_MS)
        cluster.settle()

    each(seeds, stay_away)


@pytest.mark.deep
def test_the_server_may_die_at_every_single_instant(seeds: range) -> None:
    def the_same(story: Story) -> None:
        undisturbed = total(play(story))
        for moment in range(1, moments(story) + 1):
            assert total(play(story, dies_at=[moment])) == undisturbed, f"it died at moment {moment}"

    each(seeds[::30], the_same, people=False)
