"""Who starts now: what is free, who waits, and who gets what, as pictures (see pictures.py)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduler.pictures import insides, picture_of, shares_in, space_of, view_of

from starverse.model.units import CARD
from starverse.scheduler.decide import decide
from starverse.scheduler.plan import NOTHING
from starverse.scheduler.view import View

CASES = [
    # sentence, what is free, who waits, who gets what
    ("nobody waits, nothing happens", ". .", "", ". ."),
    ("a job that fits starts", "..", "1=1", "1."),
    ("a gang starts whole", ".... ..", "1=2", ".... 11"),
    ("a gang too large does not start in part", "... .", "1=5", "... ."),
    ("a gang may spread over nodes", ".. ..", "1=3", "11 1."),
    ("the first to come is the first to start", ".", "1=1 2=1", "1"),
    ("all who fit start at once", "....", "1=1 2=1 3=2", "1233"),
    ("a blocked head holds up those behind", "..", "1=3 2=1", ".."),
    ("one blocked in the middle holds up those behind it only", "...", "1=2 2=2 3=1", "11."),
    ("an elastic job takes all that is free", "... x", "1=1-8", "111 x"),
    ("an elastic job takes no more than its most", "....", "1=1-3", "111."),
    ("an elastic job waits for its least", "..", "1=3-8", ".."),
    ("an elastic job leaves nothing to those behind it", "....", "1=1-8 2=1", "1111"),
    ("what the first leaves is the next one's", "....", "1=1-3 2=1-8", "1112"),
    ("broken cards are no cards", "#.#.", "1=3", "#.#."),
    ("elastic jobs go around broken cards", "#.#.", "1=1-8", "#1#1"),
    ("closed nodes are left alone", "-- ..", "1=1-8", "-- 11"),
    ("used cards are left alone", "x.x. .", "1=3", "x1x1 1"),
]


@pytest.mark.parametrize(("free", "queue", "given"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_of_jobs_and_cards(free: str, queue: str, given: str) -> None:
    plan, _ = decide(view_of({"cpu": free}, {"cpu": queue}), {}, 0)
    assert picture_of(free, shares_in(plan)) == given


MONEY = [
    # sentence, what is free, who waits, wallets, who gets what, who cannot pay
    ("who cannot pay for the least steps aside", "..", "1=1 2=1@bob", (9_999, 10_000), "2.", "1"),
    ("who can just pay starts", ".", "1=1", (10_000, 0), "1", ""),
    ("who steps aside holds up nobody", "..", "1=2 2=2@bob", (19_999, 20_000), "22", "1"),
    ("one wallet does not pay twice", "..", "1=1 2=1", (69_999, 0), "1.", "2"),
    ("one wallet pays for as many as it can", "..", "1=1 2=1", (70_000, 0), "12", ""),
    ("an elastic job that cannot pay for all takes its least", "....", "1=1-4", (39_999, 0), "1...", ""),
    ("an elastic job that can pay for all takes all", "....", "1=1-4", (40_000, 0), "1111", ""),
    ("who is blocked is not asked for money", "..", "1=3", (0, 0), "..", ""),
    ("who is behind a blocked one is not asked for money", "..", "1=3@bob 2=1", (0, 10**9), "..", ""),
]


@pytest.mark.parametrize(
    ("free", "queue", "money", "given", "unpaid"), [c[1:] for c in MONEY], ids=[c[0] for c in MONEY]
)
def test_of_money(free: str, queue: str, money: tuple[int, int], given: str, unpaid: str) -> None:
    view = view_of({"cpu": free}, {"cpu": queue}, dict(zip(("ann", "bob"), money, strict=True)))
    plan, _ = decide(view, {}, 0)
    assert picture_of(free, shares_in(plan)) == given
    assert " ".join(each.job for each in plan.unpaid) == unpaid


KINDS = [
    ("a blocked head holds up its own kind only", {"a": "..", "b": ".."}, {"a": "1=3 2=1", "b": "3=2"}, "3"),
    ("each kind is served in its own order", {"a": "..", "b": ".."}, {"a": "2=2 3=1", "b": "1=1"}, "2 1"),
    ("a kind that is not there makes its jobs wait", {"a": "."}, {"a": "1=1", "b": "2=1"}, "1"),
]


@pytest.mark.parametrize(("free", "queues", "start"), [c[1:] for c in KINDS], ids=[c[0] for c in KINDS])
def test_of_kinds(free: dict[str, str], queues: dict[str, str], start: str) -> None:
    plan, _ = decide(view_of(free, queues), {}, 0)
    assert " ".join(place.job for place in plan.places) == start


def test_one_wallet_does_not_pay_twice_in_two_kinds() -> None:
    view = view_of({"a": ".", "b": "."}, {"a": "1=1", "b": "2=1"}, {"ann": 69_999})
    plan, _ = decide(view, {}, 0)
    assert ([p.job for p in plan.places], [u.job for u in plan.unpaid]) == (["1"], ["2"])
    assert (plan.unpaid[0].needs, plan.unpaid[0].has) == (10_000, 9_999)


def test_where_nothing_is_to_be_done_the_plan_is_no_new_one() -> None:
    assert decide(view_of({"cpu": "."}, {"cpu": "1=2"}), {}, 0)[0] is NOTHING


@st.composite
def queues(draw: st.DrawFn, kind: str) -> str:
    words = []
    for n, low in enumerate(draw(st.lists(st.integers(1, 9), max_size=6))):
        high = low + draw(st.sampled_from([0, 0, 1, 9]))
        words.append(f"{kind}{n}={low}-{high}@{draw(st.sampled_from(['ann', 'bob']))}")
    return " ".join(words)


@st.composite
def views(draw: st.DrawFn) -> tuple[dict[str, str], View]:
    nodes = st.lists(st.text(".x#", min_size=1, max_size=6), min_size=1, max_size=6).map(" ".join)
    clusters = {kind: draw(nodes) for kind in draw(st.sampled_from(["a", "ab"]))}
    money = {tenant: draw(st.sampled_from([0, 9_999, 10_000, 75_000, 10**9])) for tenant in ("ann", "bob")}
    return clusters, view_of(clusters, {kind: draw(queues(kind)) for kind in clusters}, money)


@given(views())
def test_a_plan_gives_each_whole_card_once_to_who_may_have_it(drawn: tuple[dict[str, str], View]) -> None:
    clusters, view = drawn
    plan, _ = decide(view, {}, 0)
    spaces = {kind: space_of(picture) for kind, picture in clusters.items()}
    spent: dict[str, int] = {}
    for place in plan.places:
        spec = view.jobs[place.job].spec
        assert spec.cards_min <= place.milli_cards <= spec.cards_max
        assert sum(share.count for share in place.shares) * CARD == place.milli_cards
        for share in place.shares:
            assert spaces[spec.kind].free_on(share.node) & share.mask == share.mask
            spaces[spec.kind].take(share.node, share.mask)  # refuses what is used
        spent[spec.tenant] = spent.get(spec.tenant, 0) + place.hold
    assert all(spent[tenant] <= view.accounts[f"wallet/{tenant}"] for tenant in spent)


@given(views())
def test_nobody_is_passed_over_by_one_of_the_same_kind(drawn: tuple[dict[str, str], View]) -> None:
    _, view = drawn
    plan, memo = decide(view, {}, 0)
    served = {place.job for place in plan.places} | {unpaid.job for unpaid in plan.unpaid}
    for kind, queue in view.queues.items():
        waits = [job for job in queue if job not in served]
        assert list(queue)[len(queue) - len(waits) :] == waits, "those who wait are the last in the queue"
        assert memo.get(kind, ("", 0))[0] == (waits[0] if waits else "")


@given(views())
def test_to_decide_changes_nothing_and_what_it_proved_changes_no_plan(
    drawn: tuple[dict[str, str], View],
) -> None:
    _, view = drawn
    before = (
        {kind: insides(space) for kind, space in view.spaces.items()},
        {k: tuple(q) for k, q in view.queues.items()},
    )
    plan, memo = decide(view, {}, 0)
    after = (
        {kind: insides(space) for kind, space in view.spaces.items()},
        {k: tuple(q) for k, q in view.queues.items()},
    )
    assert before == after
    assert decide(view, {}, 0) == (plan, memo), "the same again"
    if plan is NOTHING:
        assert decide(view, memo, 0)[0] is NOTHING
