"""Who starts now: what is free, who waits, and who gets what, as pictures (see pictures.py)."""

import pytest
from tests.scheduler.pictures import PRICE, Scene, queue

CASES = [
    # sentence, what is free, who waits, who gets what
    ("nobody waits, nothing happens", ". .", "", ". ."),
    ("a job that fits starts", "..", "1=1", "1."),
    ("a gang starts whole", ".... ..", "1=2", ".... 11"),
    ("a gang too large does not start in part", "... .", "1=5", "... ."),
    ("a gang may spread over nodes", ".. ..", "1=3", "11 1."),
    ("the first to come is the first to start", ".", "1=1 2=1", "1"),
    ("all who fit start at once", "....", "1=1 2=1 3=2", "1233"),
    ("one that no cards will ever suffice holds up nobody", "..", "1=3 2=1", "2."),
    ("an elastic job takes all that is free", "... #", "1=1-8", "111 #"),
    ("an elastic job takes no more than its most", "....", "1=1-3", "111."),
    ("an elastic job waits for its least", "..", "1=3-8", ".."),
    ("an elastic job leaves nothing to those behind it", "....", "1=1-8 2=1", "1111"),
    ("what the first leaves is the next one's", "....", "1=1-3 2=1-8", "1112"),
    ("broken cards are no cards", "#.#.", "1=3", "#.#."),
    ("elastic jobs go around broken cards", "#.#.", "1=1-8", "#1#1"),
    ("closed nodes are left alone", "-- ..", "1=1-8", "-- 11"),
    ("lost nodes are left alone", "!! ..", "1=1-8", "!! 11"),
]  # fmt: skip


@pytest.mark.parametrize(("free", "waits", "given"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_of_jobs_and_cards(free: str, waits: str, given: str) -> None:
    assert queue(Scene(free), waits).decide().picture() == given


def test_of_b1_two_gangs_of_all_nodes_one_runs_whole_and_the_other_holds_nothing() -> None:
    scene = Scene(" ".join(["."] * 100))
    scene.ask("1", 100, minutes=60).ask("2", 100, minutes=60).decide()
    assert scene.picture() == " ".join(["1"] * 100)
    assert scene.promised("2") == 60
    assert scene.at(60).running() == "2"


def test_of_b2_groups_start_whole_in_whatever_order_their_parts_come() -> None:
    scene = Scene(". . . .").ask("ab", 2, minutes=9).ask("cd", 2, minutes=9).ask("ef", 2, minutes=9).decide()
    assert scene.running() == "ab cd"
    assert scene.at(9).running() == "ef"


def test_of_b7_a_gang_that_is_too_large_starts_when_nodes_join() -> None:
    scene = Scene("........").ask("1", 10).decide()
    assert scene.running() == ""
    assert scene.promised("1") == 0, "it knows that no start can be promised"
    scene.nodes("..", "cpu").decide()
    assert scene.running() == "1"


def test_of_c2_a_tenant_of_weight_0_gets_only_what_is_idle() -> None:
    scene = Scene("..")
    scene.state.view.shares.weigh("idler", 0)
    scene.ask("1", 1, tenant="idler").ask("2", 1, tenant="ann").ask("3", 1, tenant="ann").decide()
    assert scene.running() == "2 3"
    scene.end("2").decide()
    assert scene.running() == "1 3"


def test_of_c9_a_card_whose_run_gave_way_is_never_in_two_jobs() -> None:
    scene = Scene("..").ask("1", 2, priority="preemptible", minutes=600).decide()
    scene.at(10).ask("2", 1).decide()  # the checker objects to a card with two jobs
    assert scene.running() == "2"
    assert scene.state.jobs["1"].retries_used == 0


def test_of_g6_ten_thousand_that_do_not_fit_do_not_hold_back_the_one_that_does() -> None:
    scene = Scene("..")
    scene.state.view.depth = 10
    for n in range(10_000):
        scene.ask(f"j{n}", 3)
    assert scene.ask("good", 1).decide().running() == "good"


def test_of_slurm_backfill_1_what_ends_before_the_large_one_starts_runs_now() -> None:
    scene = Scene(" ".join(["."] * 32))
    scene.ask("1", 1, minutes=10).ask("2", 32, minutes=10).ask("3", 31, minutes=5).decide()
    assert scene.running() == "1 3"
    assert scene.promised("2") == 10
    assert scene.at(10).running() == "2"


def test_of_slurm_backfill_2_nobody_of_the_same_or_larger_size_jumps() -> None:
    """None of these sizes of falling priority starts before one that stands before it."""
    scene = Scene(" ".join(["."] * 32))
    large = [(6, 10), (27, 15), (28, 14), (29, 13), (30, 12)]
    for n, (nodes, minutes) in enumerate(large):
        scene.ask(f"{n}", nodes, minutes=minutes)
    scene.ask("s", 5, minutes=9).ask("t", 5, minutes=9).ask("last", 30, minutes=11).decide()
    for minute in range(120):
        scene.at(minute)
    starts = [scene.starts.get(name, 0) for name in ("0", "1", "2", "3", "4", "last")]
    assert starts == sorted(starts)
    assert scene.state.jobs == {}


def test_of_slurm_backfill_3_all_that_wait_have_a_promise_up_to_a_thousand() -> None:
    scene = Scene("a", {"a": 10})
    for n in range(1_000):
        scene.ask(f"j{n}", 1, minutes=10)
    scene.decide()
    assert [scene.promised(f"j{n}") for n in range(1_000)] == [10 * (n + 1) for n in range(1_000)]


MONEY = [
    # sentence, what is free, who waits, wallets of ann and bob, who gets what, who cannot pay
    ("who cannot pay for the least steps aside", "..", "1=1 2=1@bob", (9_999, 10_000), "2.", "1"),
    ("who can just pay starts", ".", "1=1", (10_000, 0), "1", ""),
    ("who steps aside holds up nobody", "..", "1=2 2=2@bob", (19_999, 20_000), "22", "1"),
    ("one wallet does not pay twice", "..", "1=1 2=1", (69_999, 0), "1.", "2"),
    ("one wallet pays for as many as it can", "..", "1=1 2=1", (70_000, 0), "12", ""),
    ("an elastic job that cannot pay for all takes its least", "....", "1=1-4", (39_999, 0), "1...", ""),
    ("an elastic job that can pay for all takes all", "....", "1=1-4", (40_000, 0), "1111", ""),
    ("who is blocked is not asked for money", "..", "1=3", (0, 0), "..", ""),
]


@pytest.mark.parametrize(
    ("free", "waits", "money", "given", "unpaid"), [c[1:] for c in MONEY], ids=[c[0] for c in MONEY]
)
def test_of_money(free: str, waits: str, money: tuple[int, int], given: str, unpaid: str) -> None:
    scene = Scene(free)
    for tenant, amount in zip(("ann", "bob"), money, strict=True):
        scene.pay(tenant, amount)
    for word in waits.split():
        job, _, wants = word.partition("=")
        wants, _, tenant = wants.partition("@")
        low, _, high = wants.partition("-")
        scene.ask(job, int(low), int(high or low), tenant=tenant or "ann", price=PRICE)
    scene.decide()
    assert scene.picture() == given
    assert " ".join(name for name, job in scene.state.jobs.items() if job.phase == "paused") == unpaid


def test_of_d6_a_job_that_cannot_be_placed_is_charged_nothing() -> None:
    scene = Scene("..").pay("ann", 10**9).ask("1", 8, price=PRICE).decide()
    assert scene.state.accounts["wallet/ann"] == 10**9
    assert scene.state.view.shares.has[scene.state.view.shares.of("ann")] == 0


def test_of_kinds_each_is_served_by_itself() -> None:
    scene = Scene("..").nodes("..", "h200")
    scene.ask("1", 3).ask("2", 1).ask("3", 2, kind="h200").ask("4", 1, kind="none").decide()
    assert scene.running() == "2 3"
