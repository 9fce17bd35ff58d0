"""How many stand before a job: counted in columns, as one would by sorting all who wait."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from starverse.scheduler.standing import Standing

WAITS = st.lists(st.tuples(st.sampled_from((2, 4, 5)), st.integers(0, 3)), min_size=1, max_size=30)


@given(WAITS, st.lists(st.integers(0, 2), min_size=4, max_size=4), st.randoms(use_true_random=False))
def test_as_many_are_before_as_by_sorting(waits, keys, chance) -> None:
    standing, there = Standing(), {}
    for order, (rank, tenant) in enumerate(waits):
        there[f"j{order}"] = rank, tenant, order
        standing.add(f"j{order}", rank, tenant, order)
        if chance.random() < 0.3:
            gone = chance.choice(sorted(there))
            del there[gone]
            standing.remove(gone)
    line = sorted(there.values(), key=lambda each: (each[0], keys[each[1]], each[2]))
    key = np.array(keys, np.int64)
    assert [standing.before(*each, key) for each in line] == list(range(len(line)))
