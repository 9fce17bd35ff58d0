"""Who waits: equal requests are one class, and each tenant's jobs stand in the order they came."""

import pytest

from starverse.model.events import LayoutSet
from starverse.model.job import JobSpec, Shape
from starverse.model.units import CARD
from starverse.scheduler.line import Line, request_of, whose
from starverse.scheduler.shares import Shares
from starverse.scheduler.space import Space


class Waiting:
    """A line with its tenants."""

    def __init__(self) -> None:
        self.line, self.shares, self.space = Line(), Shares(), Space(LayoutSet(("rack",)))
        self.orders = 0

    def add(self, job: str, tenant: str = "ann", order: int = 0, again: bool = False, **what: object) -> None:
        self.orders += 1
        spec = JobSpec(job, tenant, **what)  # type: ignore[arg-type]
        number = self.shares.of(tenant)
        self.line.add(job, spec, order or self.orders, number, spec.time_limit_ms, again, self.space)

    def owed(self) -> list[str]:
        """The jobs in the order they are promised a start."""
        found = []
        while turn := self.line.next_owed(self.shares, ()):
            found.append(turn.job)
        return found


def test_equal_requests_are_one_class_whoever_asks() -> None:
    waiting = Waiting()
    waiting.add("a", "ann")
    waiting.add("b", "bob")
    waiting.add("c", "bob", cards_min=2 * CARD, cards_max=2 * CARD)
    numbers = {job: stand.number for job, stand in waiting.line.stands.items()}
    assert numbers["a"] == numbers["b"] != numbers["c"]
    assert waiting.line.count[numbers["a"]] == 2


def test_a_job_that_comes_back_stands_where_it_stood() -> None:
    waiting = Waiting()
    for job in "abc":
        waiting.add(job)
    waiting.line.remove("b")
    waiting.add("b", order=2)
    assert waiting.owed() == ["a", "b", "c"]


def test_of_b3_one_that_ran_before_is_served_first_in_its_class_of_priority() -> None:
    waiting = Waiting()
    waiting.add("first")
    waiting.add("better", priority="reserved")
    waiting.add("worse", priority="preemptible")
    waiting.add("broken", again=True)
    assert waiting.owed() == ["better", "broken", "first", "worse"]


def test_who_has_less_is_promised_first() -> None:
    waiting = Waiting()
    waiting.add("a", "ann")
    waiting.add("b", "bob")
    waiting.shares.add(waiting.shares.of("ann"), CARD)
    assert waiting.owed() == ["b", "a"]


def test_claims_are_numbered_by_rank_then_by_order() -> None:
    space = Space()
    early, late = (
        request_of(JobSpec("j", "t", priority=p), 1, False, space) for p in ("reserved", "on-demand")
    )
    assert whose(early, 99) < whose(late, 1) < whose(late, 2) < late.below


def test_a_level_that_is_none_is_an_error() -> None:
    with pytest.raises(ValueError, match="not in tuple"):
        request_of(JobSpec("j", "t", shape=Shape(require="pod")), 1, False, Space(LayoutSet(("rack",))))


def test_many_classes_that_come_and_go_do_not_grow_the_line() -> None:
    waiting = Waiting()
    for n in range(2_000):
        waiting.add(f"j{n}", time_limit_ms=1_000 + n)
        waiting.line.remove(f"j{n}")
    assert len(waiting.line.requests) < 600
