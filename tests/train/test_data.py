"""The order of the data: the same samples at each step however many ranks share them, from any step on."""

from collections import Counter
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starverse.train import Batches

sizes = st.integers(1, 40)
batches = st.integers(1, 12)


def as_is(samples: list[Any]) -> list[Any]:
    return samples


def share(rank: int, ranks: int, size: int, batch: int, seed: int = 0) -> Batches:
    made = Batches(range(size), batch, seed=seed, collate=as_is)
    made.split(rank, ranks)
    return made


def take(source: Batches, steps: int) -> list[list[int]]:
    return [next(source) for _ in range(steps)]


@given(sizes, batches, st.data())
def test_the_ranks_shares_together_are_the_batch_of_one_rank(
    size: int, batch: int, data: st.DataObject
) -> None:
    ranks = data.draw(st.integers(1, batch))
    whole = take(share(0, 1, size, batch), 9)
    shares = [share(rank, ranks, size, batch) for rank in range(ranks)]
    for expected in whole:
        parts = [next(own) for own in shares]
        assert [sample for part in parts for sample in part] == expected
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


@given(sizes, batches, st.integers(0, 20), st.data())
def test_from_any_step_on_another_number_of_ranks_goes_on_with_the_same_samples(
    size: int, batch: int, step: int, data: st.DataObject
) -> None:
    before, after = data.draw(st.integers(1, batch)), data.draw(st.integers(1, batch))
    first = share(0, before, size, batch)
    take(first, step)
    resumed = [share(rank, after, size, batch) for rank in range(after)]
    for own in resumed:
        own.load_state_dict(first.state_dict())
    rest = [[sample for own in resumed for sample in next(own)] for _ in range(5)]
    assert rest == take(share(0, 1, size, batch), step + 5)[step:]


@given(sizes, batches, st.integers(0, 2**80))
def test_each_epoch_has_every_sample_once_and_another_order(size: int, batch: int, seed: int) -> None:
    row = list(chain.from_iterable(take(share(0, 1, size, batch, seed), 3 * size)))
    epochs = [row[n * size : (n + 1) * size] for n in range(3)]
    assert all(Counter(epoch) == Counter(range(size)) for epoch in epochs)
    if size > 20:  # by chance the same: less than once in 20! = 2.4e18
        assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
        assert take(share(0, 1, size, size, seed + 1), 1) != [epochs[0]]


@given(sizes, batches, st.data())
def test_the_shares_weights_average_to_one(size: int, batch: int, data: st.DataObject) -> None:
    ranks = data.draw(st.integers(1, batch))
    weights = [share(rank, ranks, size, batch).weight for rank in range(ranks)]
    assert sum(weights) / ranks == pytest.approx(1)
    assert batch % ranks != 0 or set(weights) == {1.0}


def test_a_dataset_that_can_is_asked_for_many_at_once() -> None:
    class Shelf(list[int]):
        def __getitems__(self, numbers: list[int]) -> list[int]:
            return [-number for number in numbers]

    assert all(sample < 0 for sample in next(Batches(Shelf(range(1, 9)), 4, collate=as_is)) if sample)


@pytest.mark.parametrize(
    ("act", "error", "said"),
    [
        (lambda: Batches([], 4), ValueError, "nothing to train on: 0 samples"),
        (lambda: Batches([1], 0), ValueError, "in batches of 0"),
        (lambda: Batches(iter([1])), TypeError, "no length or no items by number"),
        (lambda: share(0, 5, 9, 4), ValueError, "a batch of 4 can't be shared by 5 ranks"),
        (
            lambda: share(0, 1, 9, 4).load_state_dict({"position": 4, "size": 8, "seed": 0}),
            ValueError,
            "made with 8 samples and seed 0; here are 9 and 0",
        ),
    ],
)
def test_what_cannot_work_is_said(act: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        act()
