"""Whose turn it is: what each tenant has and had, against its weight, in whole numbers."""

from starverse.model.units import CARD, DAY_MS, HOUR_MS
from starverse.scheduler.shares import IDLE_ONLY, STEP_MS, WINDOW_MS, Shares


def keys(shares: Shares) -> dict[str, int]:
    return {name: int(shares.key[number]) for name, number in shares.number.items()}


def test_who_has_less_comes_sooner_and_weight_divides() -> None:
    shares = Shares()
    shares.add(shares.of("ann"), 8 * CARD)
    shares.add(shares.of("bob"), 8 * CARD)
    shares.weigh("bob", 4)
    assert keys(shares) == {"ann": 8 * CARD, "bob": 2 * CARD}


def test_of_c2_a_weight_of_0_divides_nothing_and_comes_last() -> None:
    shares = Shares()
    shares.weigh("idler", 0)
    shares.add(shares.of("ann"), 1_000_000 * CARD)
    assert keys(shares)["idler"] == IDLE_ONLY > keys(shares)["ann"]


def test_of_j1_tenths_of_cards_add_up() -> None:
    shares = Shares()
    ann = shares.of("ann")
    for part in (100, 200):
        shares.add(ann, part)
    assert shares.has[ann] == 300


def test_of_j3_what_was_added_and_taken_leaves_exactly_nothing() -> None:
    shares = Shares()
    ann = shares.of("ann")
    for part in [1, 333, 999, 100_000] * 25:
        shares.add(ann, part)
    for part in [100_000, 999, 333, 1] * 25:
        shares.add(ann, -part)
    assert (shares.has[ann], keys(shares)["ann"]) == (0, 0)


def test_of_j5_nothing_overflows_at_thirty_thousand_cards_for_a_year() -> None:
    shares = Shares()
    ann = shares.of("ann")
    shares.use(ann, 30_000 * CARD * 365 * DAY_MS)
    assert shares.used[ann] == 30_000 * CARD * 365 * DAY_MS
    assert 0 < keys(shares)["ann"] < IDLE_ONLY


def test_of_j5_a_small_share_is_not_nothing() -> None:
    shares = Shares()
    shares.add(shares.of("ann"), 1)
    assert keys(shares)["ann"] == 1


def test_usage_fades_by_half_in_22_hours_and_away_in_the_end() -> None:
    shares = Shares()
    ann = shares.of("ann")
    shares.use(ann, 1_000 * WINDOW_MS)
    shares.fade(22 * STEP_MS)
    assert 0.49 < shares.used[ann] / (1_000 * WINDOW_MS) < 0.51
    shares.fade(10**6 * STEP_MS)
    assert shares.used[ann] == 0


def test_steady_use_counts_as_so_many_cards() -> None:
    shares = Shares()
    ann = shares.of("ann")
    for hour in range(1_000):
        shares.use(ann, 5 * CARD * HOUR_MS)
        shares.fade((hour + 1) * HOUR_MS)
    assert 4 * CARD < keys(shares)["ann"] <= 5 * CARD


def test_what_was_used_is_saved_and_comes_back() -> None:
    shares, again = Shares(), Shares()
    shares.use(shares.of("bob"), 7)
    shares.use(shares.of("ann"), 9 * WINDOW_MS)
    shares.fade(5 * STEP_MS)
    again.load(*shares.saved())
    assert again.saved() == shares.saved()
    assert keys(again)["ann"] == keys(shares)["ann"]
