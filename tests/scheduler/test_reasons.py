"""Why a job waits: every cause with its numbers, and a change that, made, really starts it."""

import re
from time import perf_counter

import pytest
from tests.scheduler.pictures import PRICE, START_MS, Scene
from tests.scheduler.pictures import insides_of as insides

from starverse.control.state import State
from starverse.model import events as ev
from starverse.model.allocation import Share
from starverse.model.job import JobSpec, Shape, Slice
from starverse.model.units import CARD, HOUR_MS, MINUTE_MS
from starverse.scheduler.decide import decide
from starverse.scheduler.reasons import why_waiting

CASES = [
    # sentence, cluster, runs (minutes), what is asked, causes, change
    ("too few are free", "a.", {"a": 60}, {"cards": 2}, ["1 is free."], "with 1 card."),
    ("none is free", "aa", {"a": 60}, {"cards": 1}, ["needs 1 cpu card at once; 0 are free."], ""),
    ("the least counts", "aa...", {"a": 60}, {"cards": 5, "most": 9},
     ["needs 5 cpu cards at once; 3 are free."], "with 3 cards."),
    ("cordoned, lost and broken cards are told apart", "a. -- !!! .#", {"a": 60}, {"cards": 6},
     ["2 are free, 2 cordoned, 3 lost, 1 broken.", "only 3 could be had, so no start is promised."],
     "with 2 cards."),
    ("more than there will ever be", "..", {}, {"cards": 3},
     ["2 are free.", "There are 2 such cards in all, and it asks for 3."], "with 2 cards."),
    ("members do not fit together on a node", "a..  b..", {"a": 60, "b": 60}, {"cards": 3, "member": 3},
     ["3 cpu cards at once; 4 are free; largest block 2 on one node.", "Each 3 must lie on one node."], ""),
    ("cards lie in two racks", "a. .. | b. ..", {"a": 60, "b": 60}, {"cards": 4, "require": "rack"},
     ["6 are free; largest block 3 in one rack.", "All must lie in one rack."], "without `require=rack`."),
    ("a card less is a smaller change than a rack more", "aaaa .... .... .... | bbb.",
     {"a": 60, "b": 60}, {"cards": 13, "require": "rack"},
     ["13 are free; largest block 12 in one rack.", "All must lie in one rack."], "with 12 cards."),
    ("slices do not fit", "a. .. | b. ..", {"a": 60, "b": 60},
     {"cards": 4, "slices": (Slice("rack", 4 * CARD),)},
     ["6 are free.", "apart: 0/1 slices fit on rack."], ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("cluster", "runs", "asks", "causes", "change"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_of_cards(
    cluster: str, runs: dict[str, int], asks: dict[str, object], causes: list[str], change: str
) -> None:
    scene = Scene(cluster, runs).ask("1", **asks).decide()  # type: ignore[arg-type]
    reason = scene.why("1")
    assert len(reason.causes) == len(causes), reason
    for cause, words in zip(reason.causes, causes, strict=True):
        assert cause.text.endswith(words), cause
    assert reason.change.removeprefix("It would start now ") == change


def test_it_tells_when_it_starts_at_the_latest() -> None:
    scene = Scene("aa", {"a": 60}).ask("1", 1).decide().at(10)
    assert scene.why("1").promised_ms == START_MS + HOUR_MS


def test_cards_that_are_kept_for_promised_starts_are_named_and_from_when() -> None:
    scene = Scene("a..", {"a": 60}).ask("large", 3).decide().ask("1", 1, minutes=61).decide()
    reason = scene.why("1")
    assert [cause.code for cause in reason.causes] == ["queue", "cards"]
    assert reason.causes[1].text.endswith("0 are free, 2 kept for promised starts in 1 h 00 min.")
    assert reason.change == "It would start now with a time limit of 1 h 00 min."


def test_cards_that_are_reserved_are_named_and_from_when() -> None:
    scene = Scene("....")
    lot = scene.state.spaces["cpu"].lot((Share.of("n0", [0, 1, 2]),))
    scene.state.spaces["cpu"].claim(lot, START_MS + 3 * HOUR_MS, START_MS + 4 * HOUR_MS, -1)
    scene.ask("1", 2, minutes=200).decide()
    reason = scene.why("1")
    assert reason.causes[0].text == "It needs 2 cpu cards at once; 1 is free, 3 reserved in 3 h 00 min."
    assert reason.change == "It would start now with a time limit of 3 h 00 min."


def test_of_f1_a_job_does_not_start_that_would_still_run_when_its_cards_are_reserved() -> None:
    scene = Scene("........")
    space = scene.state.spaces["cpu"]
    lot = space.lot((Share.of("n0", range(8)),))
    space.claim(lot, START_MS + 100 * MINUTE_MS, START_MS + 200 * MINUTE_MS, -1)
    scene.at(50).ask("1", 8, minutes=60).ask("2", 8, minutes=50).decide()
    assert scene.running() == "2"
    assert scene.promised("1") == 200


def test_of_resources_the_one_that_is_short_is_named() -> None:
    scene = Scene("....", milli_cpu=32_000, resources=(("nic", 2),))
    scene.ask("1", 2, needs=(("nic", 1),)).decide().ask("2", 1, needs=(("nic", 1),)).decide()
    assert scene.running() == "1"
    causes = {cause.code: cause.text for cause in scene.why("2").causes}
    assert causes.keys() == {"cards", "resources"}
    assert "of nic there is enough for 0" in causes["resources"]


def test_other_cards_are_offered_where_nothing_else_helps() -> None:
    scene = Scene("a", {"a": 60}).nodes("..", "h200").ask("1", 1).decide()
    assert scene.why("1").change == "It would start now on h200 cards."


def test_a_change_that_the_wallet_cannot_pay_for_is_not_offered() -> None:
    for money, change in ((19_999, "It would start now with 1 card."), (9_999, "")):
        scene = Scene("a.", {"a": 60}).pay("ann", money).ask("1", 2, price=PRICE).decide()
        reason = scene.why("1")
        assert [cause.code for cause in reason.causes] == ["cards", "wallet"]
        assert reason.change == change


def test_money_alone_says_how_much_is_enough() -> None:
    scene = Scene(".").pay("ann", 9_901).ask("1", 1, price=PRICE).decide()
    reason = scene.why("1")
    assert reason.causes[0].text == "The wallet is ¥0.0001 short of the shortest lease."
    assert reason.change == "Top up ¥0.0001 or more."


def test_who_waits_for_a_time_says_when() -> None:
    scene = Scene(".").ask("1", 1)
    view = scene.state.view
    failed = why_waiting(view, "1", START_MS, START_MS + 3_001)
    assert failed.causes[0].code == "backoff"
    assert failed.causes[0].text == "It failed and is tried again in 4 s."
    for why, says in (
        (
            "platform fault: the run vanished",
            "The platform failed it, again and again; it is tried again in 4 s.",
        ),
        ("it saved and asked to go on", "It saved nothing new before it asked to go on; it goes on in 4 s."),
    ):
        scene.state.jobs["1"].why = why
        assert why_waiting(view, "1", START_MS, START_MS + 3_001).causes[0].text == says
    scene.state.jobs["1"].spec = JobSpec("1", "ann", earliest_start_ms=START_MS + MINUTE_MS)
    assert (
        why_waiting(view, "1", START_MS, START_MS + MINUTE_MS).causes[0].text
        == "It was asked to start in 60 s."
    )


def test_of_k2_to_ask_why_leaves_the_state_as_it_is() -> None:
    scene = Scene("a.. b..", {"a": 60, "b": 30}).ask("1", 6).ask("2", 4, member=2).decide()
    before = insides(scene.state)
    for job in ("1", "2"):
        assert scene.why(job) == scene.why(job)
    assert insides(scene.state) == before


@pytest.mark.parametrize(
    "asks", [{"cards": 6, "minutes": 50}, {"cards": 3, "minutes": 90}, {"cards": 4, "require": "rack"}]
)
def test_of_k2_the_change_that_is_offered_starts_it(asks: dict[str, object]) -> None:
    scene = Scene("a. .. | b. .", {"a": 60, "b": 90}).ask("head", 6, minutes=30).decide()
    scene.ask("1", **asks).decide()  # type: ignore[arg-type]
    change = scene.why("1").change
    assert change, "a change is offered"
    scene.ask("2", **{**asks, **changed(change)}).decide()  # type: ignore[arg-type]
    assert "2" in scene.running()


def changed(change: str) -> dict[str, object]:
    """What is asked for after the change."""
    if fewer := re.search(r"with (\d+) card", change):
        return {"cards": int(fewer[1])}
    if limit := re.search(r"limit of (?:(\d+) h )?(\d+) min", change):
        return {"minutes": int(limit[1] or 0) * 60 + int(limit[2])}
    if "without `require" in change:
        return {"require": ""}
    raise AssertionError(f"what is meant by {change!r}?")


def test_the_reason_of_a_large_gang_on_a_large_cluster_is_found_at_once() -> None:
    state = State()
    state.apply(ev.LayoutSet(("pod", "rack")), 0)
    for n in range(3_750):
        state.apply(ev.NodeJoined(f"n{n}", "cpu", 8, (f"p{n // 125}", f"r{n // 5}")), 0)
    for n in range(3_750):
        spec = JobSpec(f"x{n}", "t", 6 * CARD, 6 * CARD, time_limit_ms=(n + 1) * 60_000)
        state.apply(ev.JobSubmitted(spec), 0)
        state.apply(ev.RunPlaced(f"x{n}.0", f"x{n}", 0, (Share.of(f"n{n}", range(6)),), 1 << 50), 0)
    shape = Shape(member=8 * CARD, require="pod")
    state.apply(ev.JobSubmitted(JobSpec("big", "t", 80 * CARD, 80 * CARD, shape=shape)), 0)
    plan, _ = decide(state.view, {}, 0)
    state.apply(ev.StartsPromised(plan.promises), 0)
    took = []
    for _ in range(5):
        begin = perf_counter()
        reason = why_waiting(state.view, "big", 0)
        took.append(perf_counter() - begin)
    assert reason.promised_ms
    assert min(took) < 0.010, f"{1000 * min(took):.1f} ms"
