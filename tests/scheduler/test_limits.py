import pytest

from starverse.scheduler.quotas import Quota, Quotas, whole_cards
from starverse.scheduler.shares import IDLE_ONLY, Shares


def tree(**places: tuple[str, int, int, int]) -> Quotas:
    """Quotas as (parent, guaranteed, borrow_max, lend_max)."""
    quotas = Quotas()
    for name, place in places.items():
        quotas.set(name, Quota(*place), [])
    return quotas


def test_who_has_no_quota_has_no_limit() -> None:
    assert Quotas().available("ann") > 10**15
    assert tree(bob=("", 5, -1, -1)).available("ann") > 10**15


#        all            what ann uses, what bob uses, and so what ann may use more
#       /   \
#     ann   bob        (10 guaranteed each)
@pytest.mark.parametrize(
    ("limits", "ann", "bob", "left"),
    [
        (((-1, -1), (-1, -1)), 0, 0, 20),
        (((-1, -1), (-1, -1)), 4, 3, 13),
        (((5, -1), (-1, -1)), 0, 0, 15),
        (((5, -1), (-1, -1)), 12, 0, 3),
        (((0, -1), (-1, -1)), 10, 0, 0),
        (((-1, -1), (-1, 4)), 0, 0, 14),
        (((-1, -1), (-1, 0)), 10, 0, 0),
        (((-1, -1), (-1, 4)), 0, 6, 14),
        (((-1, -1), (-1, 4)), 0, 8, 12),
        (((-1, -1), (-1, -1)), 0, 18, 2),
        (((-1, 3), (-1, -1)), 0, 13, 7),
    ],
)
def test_a_tenant_borrows_what_the_others_leave_idle(
    limits: tuple[tuple[int, int], tuple[int, int]], ann: int, bob: int, left: int
) -> None:
    quotas = tree(all=("", 0, -1, -1), ann=("all", 10, *limits[0]), bob=("all", 10, *limits[1]))
    quotas.add("ann", ann)
    quotas.add("bob", bob)
    assert quotas.available("ann") == left
    quotas.add("bob", -bob)
    quotas.add("ann", -ann)
    assert {place.used for place in quotas.places.values()} == {0}


#             all
#          /       \
#     science      trade (30, lends 10)
#     /     \         \
#  ann 10  bob 10     cid 0, borrows 5
def test_borrowing_goes_up_and_down_a_tree_of_any_depth() -> None:
    quotas = tree(
        all=("", 0, -1, -1),
        science=("all", 0, 8, -1),
        ann=("science", 10, -1, -1),
        bob=("science", 10, -1, -1),
        trade=("all", 30, -1, 10),
        cid=("trade", 0, 5, -1),
    )
    assert quotas.available("ann") == 28  # science's 20, and 8 that it may borrow
    quotas.add("ann", 28)
    assert (quotas.available("ann"), quotas.available("bob")) == (0, 0)
    assert quotas.available("cid") == 5
    quotas.add("cid", 5)
    assert quotas.available("cid") == 0
    assert quotas.places["all"].used == 28  # cid's 5 come out of what trade keeps


def test_a_quota_may_be_set_anew_at_any_time_and_counts_what_is_used() -> None:
    quotas = tree(ann=("", 10, -1, -1), all=("", 0, -1, -1))
    used = [("ann", 4)]
    quotas.set("ann", Quota("all", 6, -1, -1), used)
    assert quotas.available("ann") == 2
    quotas.set("all", Quota("", 5, -1, -1), used)
    assert (quotas.available("ann"), quotas.places["all"].used) == (7, 4)


def test_j1_a_tenth_and_two_tenths_of_a_card_are_three_tenths() -> None:
    quotas = tree(ann=("", 300, -1, -1))
    quotas.add("ann", 100)
    quotas.add("ann", 200)
    assert quotas.available("ann") == 0


def test_d3_what_overflows_elsewhere_is_more_than_the_quota_here() -> None:
    quotas = tree(ann=("", 8_000, -1, -1))
    quotas.add("ann", 1 << 62)
    assert quotas.available("ann") == 8_000 - (1 << 62)


def test_c2_a_tenant_of_weight_0_gets_only_what_is_idle() -> None:
    shares = Shares()
    for tenant, weight in (("ann", 0), ("bob", 1)):
        shares.weigh(tenant, weight)
    shares.add(shares.of("bob"), 10**12)
    assert shares.key[shares.of("ann")] == IDLE_ONLY > shares.key[shares.of("bob")]
    assert whole_cards([0, 1], 8) == [0, 8]
    assert whole_cards([0, 0], 8) == [0, 0]


def test_whoever_is_below_its_guarantee_stands_before_whoever_borrows() -> None:
    shares = Shares()
    ann, bob, cid = (shares.of(tenant) for tenant in ("ann", "bob", "cid"))
    shares.guarantee("ann", 8_000)
    shares.guarantee("bob", 4_000)
    shares.add(ann, 7_000)
    shares.add(bob, 4_000)
    shares.add(cid, 9_000)
    assert shares.key[ann] < shares.key[cid] < shares.key[bob]
    shares.add(bob, -1_000)
    assert shares.key[bob] < shares.key[ann]


@pytest.mark.parametrize(
    ("weights", "cards", "shares"),
    [
        ([1, 1, 1], 10, [4, 3, 3]),
        ([3, 1], 8, [6, 2]),
        ([1, 10**9], 30_000, [1, 29_999]),
        ([1, 1, 1], 2, [1, 1, 0]),
        ([5, 0, 5], 3, [2, 0, 1]),
        ([], 5, []),
    ],
)
def test_j5_no_share_rounds_to_nothing(weights: list[int], cards: int, shares: list[int]) -> None:
    assert whole_cards(weights, cards) == shares


def test_j5_card_seconds_of_a_whole_cluster_and_year_are_shared_exactly() -> None:
    card_seconds = 30_000 * 365 * 86_400
    shares = whole_cards([10**9, 10**9 + 1, 1], card_seconds)
    assert sum(shares) == card_seconds > 2**31
    assert min(shares) > 0
