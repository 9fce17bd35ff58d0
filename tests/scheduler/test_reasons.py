"""Why a job waits: every cause with its numbers, and a change that, made, really starts it."""

import re
from collections import deque

import msgspec
import pytest
from hypothesis import given
from tests.scheduler.pictures import Waiting, view_of
from tests.scheduler.test_decide import views

from starverse.model.units import CARD, YUAN
from starverse.scheduler.decide import decide
from starverse.scheduler.reasons import Reason, why_waiting
from starverse.scheduler.view import View

NOW = 1_000_000

RICH = 10**9

CASES = [
    # sentence, free cards, queue, ann's money, asked of, causes, change
    ("cards", "x.", "1=2", RICH, "1", ["needs 2 cpu cards at once; 1 is free"], "start now with 1 card."),
    ("no card at all", "xx", "1=2", RICH, "1", ["needs 2 cpu cards at once; 0 are free"], ""),
    ("least", "...", "1=5-9", RICH, "1", ["needs 5 cpu cards at once; 3 are free"],
     "start now with 3 cards."),
    ("one before it", "..", "1=3 2=1", RICH, "2", ["1 job stands before it"], ""),
    ("two before it, and cards", ".", "1=3 2=1 3=2", RICH, "3",
     ["2 jobs stand before it", "needs 2 cpu cards at once; 1 is free"], ""),
    ("cards and money", ".", "1=2", 9_999, "1",
     ["needs 2 cpu cards at once; 1 is free", "¥0.0101 short of the shortest lease"], ""),
    ("cards and money, where fewer cards cure both", "..", "1=3", 20_000, "1",
     ["needs 3 cpu cards at once; 2 are free", "¥0.0100 short of the shortest lease"],
     "start now with 2 cards."),
    ("cards and money, where fewer cards cure neither", "..", "1=3", 19_999, "1",
     ["needs 3 cpu cards at once; 2 are free", "¥0.0101 short of the shortest lease"], ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("free", "queue", "money", "job", "causes", "change"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_reason(free: str, queue: str, money: int, job: str, causes: list[str], change: str) -> None:
    reason = why_waiting(view_of({"cpu": free}, {"cpu": queue}, {"ann": money}), job, NOW)
    assert len(reason.causes) == len(causes)
    for cause, words in zip(reason.causes, causes, strict=True):
        assert cause.text.endswith(f"{words}.")
    assert reason.change.removeprefix("It would ") == change


def aside(free: str, money: int, **spec: int) -> tuple[View, str]:
    """A view with a job that is not in the queue: it waits for a time, or for money."""
    view = view_of({"cpu": free}, {"cpu": "1=1"}, {"ann": money})
    view.queues["cpu"].clear()  # type: ignore[attr-defined]
    if spec:
        view.jobs["1"] = Waiting(msgspec.structs.replace(view.jobs["1"].spec, **spec))  # type: ignore[index]
    return view, "1"


def test_a_job_that_failed_says_when_it_is_tried_again() -> None:
    reason = why_waiting(*aside(".", 10**9), NOW, NOW + 3_001)
    assert [cause.code for cause in reason.causes] == ["backoff"]
    assert reason.causes[0].text == "It failed and is tried again in 4 s."
    assert reason.change == ""


def test_a_job_asked_for_later_does_not_say_that_it_failed() -> None:
    view, job = aside(".", 10**9, earliest_start_ms=NOW + 60_000)
    reason = why_waiting(view, job, NOW, NOW + 60_000)
    assert reason == Reason((reason.causes[0],))
    assert reason.causes[0].text == "It was asked to start in 60 s."


def test_a_job_that_is_not_in_the_queue_is_behind_nobody() -> None:
    view, job = aside(".", 10**9)
    view.queues["cpu"].extend(["a", "b", "c"])  # type: ignore[attr-defined]
    assert [cause.code for cause in why_waiting(view, job, NOW, NOW + 1).causes] == ["backoff"]


def test_a_job_that_is_paused_for_money_says_how_much_is_enough() -> None:
    reason = why_waiting(*aside(".", 9_901), NOW)
    assert reason.causes[0].text == "The wallet is ¥0.0001 short of the shortest lease."
    assert reason.change == "Top up ¥0.0001 or more."


def test_a_job_that_is_paused_is_promised_nothing_while_others_wait() -> None:
    view, job = aside("..", 0)
    view.queues["cpu"].append("other")  # type: ignore[attr-defined]
    assert why_waiting(view, job, NOW).change == ""


def test_a_job_that_is_paused_is_not_promised_to_start_with_fewer_cards() -> None:
    view, job = aside(".", 10**9, cards_min=2 * CARD, cards_max=2 * CARD)
    assert why_waiting(view, job, NOW).change == ""


def with_the_change(view: View, job: str, change: str) -> View:
    """The view after the change was made."""
    if fewer := re.fullmatch(r"It would start now with (\d+) cards?\.", change):
        cards = int(fewer[1]) * CARD
        view.jobs[job] = Waiting(
            msgspec.structs.replace(view.jobs[job].spec, cards_min=cards, cards_max=cards)
        )  # type: ignore[index]
    elif top_up := re.fullmatch(r"Top up ¥([\d,.]+) or more\.", change):
        account = f"wallet/{view.jobs[job].spec.tenant}"
        view.accounts[account] += round(float(top_up[1].replace(",", "")) * YUAN)  # type: ignore[index]
        view.queues[view.jobs[job].spec.kind].append(job)
    else:
        raise AssertionError(f"what is meant by {change!r}?")
    return view


@given(views())
def test_whoever_waits_has_a_cause_and_the_change_offered_starts_it(
    drawn: tuple[dict[str, str], View],
) -> None:
    _, view = drawn
    plan, _ = decide(view, {}, 0)
    for place in plan.places:  # they start
        view.queues[view.jobs[place.job].spec.kind].remove(place.job)
        view.accounts[f"wallet/{view.jobs[place.job].spec.tenant}"] -= place.hold  # type: ignore[index]
        for share in place.shares:
            view.spaces[view.jobs[place.job].spec.kind].take(share.node, share.mask)
    for unpaid in plan.unpaid:  # they are paused
        view.queues[view.jobs[unpaid.job].spec.kind].remove(unpaid.job)
    waiting = {job for queue in view.queues.values() for job in queue} | {
        unpaid.job for unpaid in plan.unpaid
    }
    for job in sorted(waiting):
        reason = why_waiting(view, job, 0)
        assert reason.causes
        if reason.change:
            queues = {kind: deque(queue) for kind, queue in view.queues.items()}
            changed = View(queues, view.spaces, dict(view.jobs), dict(view.accounts), view.terms)
            started = decide(with_the_change(changed, job, reason.change), {}, 0)[0]
            assert job in {place.job for place in started.places}, f"{reason.change} does not start it"
