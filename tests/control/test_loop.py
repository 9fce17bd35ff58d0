"""The loop through whole stories by chance: what must hold after every turn, and what must come of it."""

from tests.control.stories import Story, each, make_all_well, play

from starverse.model.units import CARD


def test_the_laws_hold_after_every_turn(seeds: range) -> None:
    each(seeds, play)


def test_every_job_ends_when_nodes_are_well_and_wallets_full(seeds: range) -> None:
    def all_end(story: Story) -> None:
        cluster = play(story)
        make_all_well(cluster, story)
        cards = {
            kind: sum(node.cards for node in story.nodes if node.kind == kind) for kind in ("cpu", "h200")
        }
        if all(spec.cards_min <= cards[spec.kind] * CARD for spec in story.jobs.values()):
            assert set(cluster.ended) == set(story.jobs), "some still wait"

    each(seeds, all_end)
