"""The checker objects to what it should: it would be of no use else."""

import pytest
from tests.scheduler.checker import Checker

from starverse.model import events as ev
from starverse.model.allocation import Share
from starverse.model.job import JobSpec, Shape
from starverse.model.units import CARD


def told(*events: object) -> Checker:
    checker = Checker(0)
    base = (ev.NodeJoined("a", "cpu", 4, ("r0",)), ev.NodeJoined("b", "cpu", 4, ("r1",)))
    for event in (*base, *events):
        checker.hear(event, 1)
    checker.instant_is_over(1)
    return checker


def job(name: str, cards: int = 1, **shape: object) -> ev.JobSubmitted:
    return ev.JobSubmitted(JobSpec(name, "t", cards * CARD, cards * CARD, shape=Shape(**shape)))  # type: ignore[arg-type]


def placed(name: str, *shares: Share) -> ev.RunPlaced:
    return ev.RunPlaced(f"{name}.0", name, 0, shares, 9)


def promised(name: str, at_ms: int, *cards: int) -> ev.StartsPromised:
    return ev.StartsPromised((ev.Promised(name, at_ms, (Share.of("a", cards),) if cards else ()),))


ON_A, ON_B = Share.of("a", [0]), Share.of("b", [0])

WRONG = [
    ("is given twice", (job("1"), job("2"), placed("1", ON_A), placed("2", ON_A))),
    ("cordoned", (job("1"), ev.NodeCordoned("a"), placed("1", ON_A))),
    ("lost", (job("1"), ev.NodeLost("a", 1), placed("1", ON_A))),
    ("broken", (job("1"), ev.CardHealthChanged("a", 0, False), placed("1", ON_A))),
    ("has 1000 milli-cards", (job("1", 2), placed("1", ON_A))),
    ("cut in two", (job("1", 2, member=2 * CARD), placed("1", ON_A, ON_B))),
    ("two racks", (job("1", 2, require="rack"), placed("1", ON_A, ON_B))),
    ("does not wait", (job("1"), placed("1", ON_A), placed("1", ON_B))),
    ("put off", (job("1"), promised("1", 50, 0), promised("1", 51, 0))),
    ("put off", (job("1"), promised("1", 50, 0), promised("1", 0))),
    ("promised to", (job("1"), job("2"), promised("1", 50, 0), promised("2", 51, 0))),
]


@pytest.mark.parametrize(("words", "events"), WRONG, ids=[f"{n} {w[0]}" for n, w in enumerate(WRONG)])
def test_it_objects(words: str, events: tuple[object, ...]) -> None:
    with pytest.raises(AssertionError, match=words):
        told(*events)


def test_it_lets_pass_what_may_be() -> None:
    told(job("1", 2), promised("1", 50, 0, 1), ev.NodeCordoned("b"), promised("1", 60, 0, 1))
    told(job("1"), job("2"), placed("1", ON_A), placed("2", ON_B))
