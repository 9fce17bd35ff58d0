"""The workload of the bench is whole lives: seven events each, and money that adds up."""

from collections import Counter

from starverse.bench.lives import BATCH, lives, written


def test_a_life_has_seven_events() -> None:
    rows = written(7 * BATCH)
    ended = {event.job for _, event in rows if type(event).__name__ == "JobEnded"}
    of_one = Counter(
        type(event).__name__
        for _, event in rows
        if (getattr(event, "job", "") or getattr(event, "run", "").partition(".")[0]) in ended
    )
    per_life = {name: count / len(ended) for name, count in of_one.items()}
    assert per_life == {"Posted": 2, "RunPlaced": 1, "RunStarted": 1, "RunEnded": 1, "JobEnded": 1}


def test_the_same_seed_gives_the_same_rows() -> None:
    assert written(2_000, seed=7) == written(2_000, seed=7) != written(2_000, seed=8)


def test_lives_are_timed() -> None:
    assert lives(2 * BATCH) > 0
