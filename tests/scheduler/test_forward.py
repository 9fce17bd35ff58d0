"""What is not tried because it is plain that it would fail: it does fail when it is tried."""

from collections.abc import Sequence

import pytest
from tests.scheduler.pictures import Scene

from starverse.bench.crowd import Crowd, Site
from starverse.model import events as ev
from starverse.model.job import Priority
from starverse.model.units import HOUR_MS, MINUTE_MS
from starverse.scheduler import forward
from starverse.scheduler.book import Book
from starverse.scheduler.calendar import Slot
from starverse.scheduler.decide import decide
from starverse.scheduler.line import Request
from starverse.scheduler.lot import Lot
from starverse.scheduler.plan import Plan
from starverse.scheduler.space import Space
from starverse.scheduler.view import Promise


def test_whoever_plainly_starts_later_does(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = forward.lacks
    kept: list[bool] = []

    def tried(book: Book, other: Promise, slot: Slot, request: Request, first: Promise) -> int:
        others = forward.in_the_way(book, slot, request, first)
        mark, promises = len(book.undo), dict(book.promises)
        book.drop(first)
        book.claim(first.job, first.whose, request, slot)
        kept.append(forward.others_keep(book, others))
        book.take_back(mark)
        book.promises = promises
        said = plain(book, other, slot, request, first)
        assert not (said > 0 and kept[-1]), "it would have kept its start"
        said_of.append(said > 0)
        return said

    said_of: list[bool] = []
    monkeypatch.setattr(forward, "lacks", tried)
    of_one_class: Sequence[Priority] = ("on-demand",)
    of_two: Sequence[Priority] = ("on-demand", "preemptible")
    for seed in range(16):
        priorities = of_two if seed % 2 else of_one_class
        crowd = Crowd(Site(2, 3, 4, 4), 5, priorities, seed)
        for turn in range(150):
            if crowd.used > crowd.site.size * 9 // 10 and turn % 3:
                crowd.end_one()
            elif turn % 2:
                cards = crowd.chance.choice((8, 16, 32, 64))
                crowd.submit(crowd.spec(cards, 4, crowd.chance.choice((1, 4, 24)) * HOUR_MS, priorities[-1]))
            else:
                crowd.submit(crowd.spec(crowd.chance.choice((1, 2, 4)), 1, 2 * HOUR_MS, priorities[0]))
            crowd.settle()
    scene = Scene("aa bb", {"a": 60, "b": 90}).ask("1", 2, minutes=120).ask("2", 2).decide()
    assert (scene.promised("1"), scene.promised("2")) == (60, 90)
    scene.tell(ev.RunStopAsked("b.0", "drain", scene.now_ms + 30 * MINUTE_MS))
    scene.decide()
    assert (scene.promised("1"), scene.promised("2")) == (30, 60)
    assert any(said_of), "it never was plain"
    assert any(kept), "nobody ever could have come forward"


def test_what_is_plain_is_found_again_by_trying(monkeypatch: pytest.MonkeyPatch) -> None:
    after = forward.Still.after
    held: list[bool] = []

    def noted(
        still: forward.Still, first: Promise, space: Space, given: Lot | None, now_ms: int
    ) -> forward.Still | None:
        found = after(still, first, space, given, now_ms)
        held.append(found is not None)
        return found

    monkeypatch.setattr(forward.Still, "after", noted)
    of_one_class: Sequence[Priority] = ("on-demand",)
    of_two: Sequence[Priority] = ("on-demand", "preemptible")
    for seed in range(8):
        priorities = of_two if seed % 2 else of_one_class
        crowd = _Doubted(Site(2, 3, 4, 4), 5, priorities, seed)
        for turn in range(120):
            if crowd.used > crowd.site.size * 9 // 10 and turn % 3:
                crowd.end_one()
            elif turn % 2:
                cards = crowd.chance.choice((4, 8, 16, 32))
                crowd.submit(crowd.spec(cards, 4, crowd.chance.choice((1, 4, 24)) * HOUR_MS, priorities[-1]))
            else:
                crowd.submit(crowd.spec(crowd.chance.choice((1, 2, 4)), 1, 2 * HOUR_MS, priorities[0]))
            crowd.now_ms += crowd.chance.choice((0, 1, 20)) * MINUTE_MS
            crowd.settle()
    assert any(held), "nothing ever was plain"
    assert not all(held), "nothing ever changed"


class _Doubted(Crowd):
    """A crowd whose every decision is made again with nothing proven."""

    def decide(self) -> Plan:
        bare, _ = decide(self.state.view, {}, self.now_ms)
        plan = super().decide()
        assert plan == bare, "what was proven has changed the plan"
        return plan
