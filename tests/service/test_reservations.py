"""Booking cards as a tenant does: had, or answered with what could be; seen by its own only."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.service.place import ECHO, Place

from starverse.model.errors import BadInput, Conflict, NotAllowed, NotFound, Refused
from starverse.model.requests import SetPrice
from starverse.model.units import DAY_MS, HOUR_MS, MINUTE_MS
from starverse.service import jobs, reservations, submitting
from starverse.service.access import Actor
from starverse.service.agreements import Reservation, ReservationAsk
from starverse.service.shapes import ShapeAsk

LENGTH_MS = 2 * MINUTE_MS


def ask_of(place: Place, in_ms: int = HOUR_MS, cards: int = 2, **more: Any) -> ReservationAsk:
    from_ms = place.platform.now_ms() + in_ms
    return ReservationAsk(cards, from_ms, from_ms + LENGTH_MS, **more)


def reserve(place: Place, actor: Actor, ask: ReservationAsk, key: str = "") -> Reservation:
    return reservations.reserve(place.platform, actor, ask, key)


def listed(place: Place, actor: Actor, everyone: bool = False) -> list[str]:
    found = reservations.list_reservations(place.platform, actor, "", everyone)
    return [each.reservation for each in found]


def test_what_is_booked_is_seen_by_its_own_and_the_operator(place: Place, ann: Actor, bob: Actor) -> None:
    operator = place.operator()
    made = reserve(place, ann, ask_of(place, label="night"))
    assert (made.label, made.kind, made.cards, made.open, made.windows_left) == ("night", "cpu", 2, False, 1)
    assert made.nodes == ("here",)
    assert listed(place, ann) == listed(place, operator, everyone=True) == [made.reservation]
    assert listed(place, bob) == listed(place, operator) == []
    assert reservations.show(place.platform, ann, "night") == made
    assert reservations.show(place.platform, operator, made.reservation) == made
    for name in ("night", made.reservation, "v-never"):
        with pytest.raises(NotFound):
            reservations.show(place.platform, bob, name)
        with pytest.raises(NotFound):
            reservations.cancel(place.platform, bob, name)
        with pytest.raises(NotFound):
            submitting.submit(place.platform, bob, replace(ECHO, reservation=name), "")
    with pytest.raises(NotAllowed):
        listed(place, bob, everyone=True)
    same = reserve(place, bob, ask_of(place, 2 * HOUR_MS, label="night"))
    assert listed(place, bob) == [same.reservation], "two tenants may call theirs alike"
    reservations.cancel(place.platform, ann, "night")
    assert listed(place, ann) == []
    reservations.cancel(place.platform, operator, same.reservation)
    assert listed(place, bob) == []


def test_what_is_no_more_is_listed_for_its_own_only(place: Place, ann: Actor, bob: Actor) -> None:
    operator = place.operator()

    def ended(actor: Actor, project: str = "", everyone: bool = False) -> list[tuple[str, str]]:
        found = reservations.list_reservations(place.platform, actor, project, everyone, ended=True)
        assert all(not each.windows and each.ended_ms for each in found)
        return [(each.label, each.state) for each in found]

    assert ended(ann) == ended(operator, everyone=True) == []
    made = reserve(place, ann, ask_of(place, 0, label="short"))
    assert made.state == "open"
    reserve(place, ann, ask_of(place, label="dropped"))
    reservations.cancel(place.platform, ann, "dropped")
    assert ended(ann) == [("dropped", "cancelled")]
    place.platform.ask(lambda state: None)
    assert ended(bob) == ended(operator) == []
    assert ended(operator, everyone=True) == [("dropped", "cancelled")]
    with pytest.raises(NotAllowed):
        ended(bob, everyone=True)
    with pytest.raises(NotFound):
        ended(bob, project=ann.projects[0].project)
    (gone,) = reservations.list_reservations(place.platform, ann, "", False, ended=True)
    assert (gone.cards, gone.nodes, gone.open, gone.windows_left) == (2, ("here",), False, 0)
    assert reservations.show(place.platform, ann, gone.reservation) == gone
    assert reservations.show(place.platform, operator, gone.reservation) == gone
    for actor, name in ((bob, gone.reservation), (ann, "dropped"), (ann, "")):
        with pytest.raises(NotFound):
            reservations.show(place.platform, actor, name)
    with pytest.raises(NotFound):
        reservations.cancel(place.platform, ann, gone.reservation)


def test_what_cannot_be_had_is_answered_with_what_could_be(place: Place, ann: Actor, bob: Actor) -> None:
    made = reserve(place, ann, ask_of(place, cards=1))
    ask = ask_of(place)
    offer = reservations.preview(place.platform, bob, ask)
    assert (offer.fits, offer.cards, offer.nearest_ms) == (False, 1, made.to_ms)
    assert offer.costs == 2 * 120_000_000, "a yuan a card-second"
    with pytest.raises(Refused, match="cannot be had as asked") as refused:
        reserve(place, bob, ask)
    assert "all 2 cards from" in refused.value.remedy
    assert "1 cards at the time asked" in refused.value.remedy
    assert reservations.preview(place.platform, bob, replace(ask, cards=1)).fits


def test_a_job_inside_starts_there_and_nowhere_else(place: Place, ann: Actor) -> None:
    later = reserve(place, ann, ask_of(place, label="later"))
    now = reserve(place, ann, ask_of(place, 0, cards=1, label="now"))
    assert now.open
    ask = replace(ECHO, reservation="now", priority="reserved")
    assert submitting.preview(place.platform, ann, ask).starts_now
    inside = submitting.submit(place.platform, ann, ask, "")
    assert inside.reservation == now.reservation
    place.reach(inside.job, "running")
    waits = submitting.submit(place.platform, ann, replace(ask, reservation=later.reservation), "")
    assert "begins at" in jobs.why(place.platform, ann, waits.job).text
    assert not submitting.preview(place.platform, ann, replace(ask, reservation="later")).starts_now
    with pytest.raises(BadInput, match="Reservation now has 1 cpu cards"):
        submitting.submit(place.platform, ann, replace(ask, cards=2), "")
    reservations.cancel(place.platform, ann, "now")
    place.reach(inside.job, "ended")


def test_sent_again_under_its_key_it_is_the_same_booking(place: Place, ann: Actor) -> None:
    ask = ask_of(place)
    again = {reserve(place, ann, ask, "key").reservation for _ in range(3)}
    assert listed(place, ann) == list(again)
    with pytest.raises(Conflict):
        reserve(place, ann, replace(ask, cards=1), "key")
    reservations.cancel(place.platform, ann, again.pop())
    with pytest.raises(Refused, match="was made under this key, and is over"):
        reserve(place, ann, ask, "key")


def test_it_recurs_by_the_clocks_of_its_zone(place: Place, ann: Actor) -> None:
    ask = ask_of(place, repeat="daily", zone="Asia/Shanghai")
    made = reserve(place, ann, replace(ask, until_ms=ask.from_ms + 3 * DAY_MS))
    assert made.windows_left == 3
    assert [each.from_ms - ask.from_ms for each in made.windows] == [0, DAY_MS, 2 * DAY_MS]


def test_cards_are_promised_to_those_only_who_can_pay_for_them(place: Place, ann: Actor) -> None:
    reserve(place, ann, ask_of(place))
    reserve(place, ann, ask_of(place, 2 * HOUR_MS))
    with pytest.raises(Refused, match=r"holds ¥1,010\.0000; all that is booked costs ¥1,080"):
        reserve(place, ann, _five_minutes(place))
    with pytest.raises(Refused, match="The wallet holds"):
        reserve(place, place.person("cyd"), ask_of(place, 4 * HOUR_MS))


def test_a_tenant_books_a_thousand_cards_for_a_year(tmp_path: Path) -> None:
    """Row U4 of the claims, at its price."""
    place = Place(tmp_path, cards=1_000)
    try:
        place.tell(SetPrice("cpu", 1_850_000, 0))
        eve = place.person("eve", yuan=16_206_000)
        ask = ask_of(place, DAY_MS, cards=1_000)
        made = reserve(place, eve, replace(ask, to_ms=ask.from_ms + 365 * DAY_MS))
        assert (made.cards, made.to_ms - made.from_ms, made.missing) == (1_000, 365 * DAY_MS, 0)
        assert listed(place, eve) == [made.reservation]
    finally:
        place.close()


def _five_minutes(place: Place) -> ReservationAsk:
    ask = ask_of(place, 3 * HOUR_MS)
    return replace(ask, to_ms=ask.from_ms + 5 * MINUTE_MS)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"cards": 3}, "This cluster has 2 cpu cards; you asked for 3"),
    ({"cards": 0}, "0 cards cannot be booked"),
    ({"kind": "cpus"}, "Did you mean 'cpu'"),
    ({"in_ms": -DAY_MS}, "would be over already"),
    ({"in_ms": 4 * 366 * DAY_MS, "label": "x"}, "Reservation x reaches more than three years ahead"),
    ({"zone": "Asia/Shanghia"}, "Did you mean 'Asia/Shanghai'"),
    ({"zone": "America", "repeat": "daily"}, "no time zone 'America'"),
    ({"repeat": "daily"}, "needs an end"),
    ({"shape": ShapeAsk(require="rack")}, "no level 'rack'"),
    ({"shape": ShapeAsk(member=2, slices={"node": 1})}, "cannot be cut into slices of 1"),
    ({"shape": ShapeAsk(cpu=2)}, "A booking is of cards, not of `cpu`"),
    ({"shape": ShapeAsk(memory_mb=1)}, "A booking is of cards, not of `memory_mb`"),
    ({"shape": ShapeAsk(apart="db")}, "A booking is of cards, not of `apart`"),
    ({"label": "a\nb"}, "label is too long or not plain"),
]


@pytest.mark.parametrize(("change", "says"), REFUSED)
def test_what_makes_no_sense_is_refused(place: Place, ann: Actor, change: dict[str, Any], says: str) -> None:
    ask = ask_of(place, **change)
    with pytest.raises(BadInput, match=says):
        reserve(place, ann, ask)
    with pytest.raises(BadInput, match=says):
        reservations.preview(place.platform, ann, ask)
    assert listed(place, ann) == []
