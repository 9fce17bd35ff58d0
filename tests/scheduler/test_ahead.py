"""When cards are free for good: kept up to date, it says what looking at everything would."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from starverse.model.allocation import Share
from starverse.scheduler import kernels as k
from starverse.scheduler.ahead import Ahead
from starverse.scheduler.space import Space

NODES, CARDS = 4, 2
BELOW = (0, 5, 9, int(k.NEVER))

steps = st.lists(
    st.tuples(
        st.sampled_from(("take", "give", "until", "claim", "forget", "break", "look")),
        st.integers(0, NODES - 1),
        st.integers(1, (1 << CARDS) - 1),
        st.integers(1, 60),
        st.integers(1, 12),
    ),
    max_size=40,
)


@given(steps)
def test_what_is_kept_is_what_is_found_anew(story: list[tuple[str, int, int, int, int]]) -> None:
    space = Space()
    for n in range(NODES):
        space.join(f"n{n}", (1 << CARDS) - 1, is_open=True)
    claims: dict[int, tuple[int, int]] = {}
    for what, n, mask, at_ms, whose in story:
        lot = space.lot((Share(f"n{n}", mask),))
        used = int(space.node[k.USED, n])
        if what == "take" and not used & mask:
            space.take(lot, at_ms)
        elif what == "give" and used & mask == mask:
            space.give(lot)
        elif what == "until" and used & mask == mask:
            space.until(lot, at_ms)
        elif what == "claim" and whose not in claims:
            space.claim(lot, at_ms, at_ms + 5, whose)
            claims[whose] = n, mask
        elif what == "forget" and whose in claims:
            there, had = claims.pop(whose)
            space.forget(space.lot((Share(f"n{there}", had),)), whose)
        elif what == "break":
            space.join(f"n{n}", mask, is_open=at_ms % 3 > 0, cards=CARDS)
        elif what == "look":
            _same(space, BELOW[at_ms % len(BELOW)])
    for below in BELOW:
        _same(space, below)


def _same(space: Space, below: int) -> None:
    anew = Ahead().busy(space.node, space.card, space.slot, space.size, below)
    np.testing.assert_array_equal(space.busy(below), anew)
