from datetime import UTC, datetime
from itertools import pairwise

import pytest
from tests.cluster import NOON, TERMS

from starverse.model.errors import BadInput
from starverse.model.reservation import Reservation, windows_of
from starverse.model.units import CARD, DAY_MS, HOUR_MS, MINUTE_MS
from starverse.scheduler.bookings import Booking
from starverse.scheduler.reservations import Booked, Offer, book, mend
from starverse.scheduler.space import Space
from starverse.scheduler.view import View


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1000


def utc(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%m-%d %H:%M")


def ask(from_ms: int, length_ms: int, cards: int = 8, name: str = "r", **more: object) -> Reservation:
    return Reservation(name, "ann", "cpu", cards * CARD, from_ms, from_ms + length_ms, **more)  # type: ignore[arg-type]


def view_of(nodes: int, cards: int = 8) -> View:
    view = View({}, {}, TERMS)
    space = view.spaces["cpu"] = Space()
    for n in range(nodes):
        space.join(f"n{n}", (1 << cards) - 1, is_open=True)
    return view


def made(view: View, wish: Reservation) -> Booking:
    found = book(view, wish, NOON)
    assert isinstance(found, Booked), found
    booking = Booking(wish, len(view.bookings) + 1, view.spaces["cpu"], *found)
    view.bookings[wish.name] = booking
    booking.claim(NOON)
    return booking


# -- when -------------------------------------------------------------------------------------------------


def test_i1_half_past_two_in_new_york_comes_once_on_the_days_the_clocks_change() -> None:
    spring = ask(ms("2027-03-12T07:30"), HOUR_MS, repeat="daily", zone="America/New_York",
                 until_ms=ms("2027-03-17T00:00"))  # fmt: skip
    assert [utc(start) for start, _ in windows_of(spring, ms("2027-01-01T00:00"))] == [
        "03-12 07:30",
        "03-13 07:30",
        "03-14 07:30",  # 02:30 is skipped: it is 03:30 by the new time
        "03-15 06:30",
        "03-16 06:30",
    ]
    autumn = ask(ms("2027-11-05T06:30"), HOUR_MS, repeat="daily", zone="America/New_York",
                 until_ms=ms("2027-11-10T00:00"))  # fmt: skip
    assert [utc(start) for start, _ in windows_of(autumn, ms("2027-01-01T00:00"))] == [
        "11-05 06:30",
        "11-06 06:30",
        "11-07 07:30",  # 02:30 comes once; 01:30 would come twice
        "11-08 07:30",
        "11-09 07:30",
    ]
    twice = ask(ms("2027-11-06T05:30"), HOUR_MS, repeat="daily", zone="America/New_York",
                until_ms=ms("2027-11-09T00:00"))  # fmt: skip
    assert [utc(start) for start, _ in windows_of(twice, ms("2027-01-01T00:00"))] == [
        "11-06 05:30",
        "11-07 05:30",  # the first 01:30 of the two
        "11-08 06:30",
    ]


def test_each_week_at_the_same_time_for_three_years() -> None:
    wish = ask(NOON + DAY_MS, HOUR_MS, repeat="weekly", until_ms=NOON + 3 * 365 * DAY_MS)
    windows = windows_of(wish, NOON)
    assert len(windows) == 157
    assert {later[0] - sooner[0] for sooner, later in pairwise(windows)} == {7 * DAY_MS}


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        (ask(NOON, 0), "end after it begins"),
        (ask(NOON, 367 * DAY_MS), "within a year"),
        (ask(NOON - 2 * HOUR_MS, HOUR_MS), "over already"),
        (ask(NOON + 3 * 366 * DAY_MS, HOUR_MS), "three years"),
        (ask(NOON, HOUR_MS, repeat="daily", until_ms=NOON + 1_099 * DAY_MS), "three years"),
        (ask(NOON, DAY_MS, repeat="daily", until_ms=NOON + 9 * DAY_MS), "begins again"),
        (ask(NOON, HOUR_MS, repeat="daily", until_ms=NOON + 9 * DAY_MS, zone="Mars/Base"), "no time zone"),
        (ask(NOON, HOUR_MS, cards=0), "whole cards"),
    ],
)
def test_what_makes_no_sense_is_refused(wish: Reservation, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        windows_of(wish, NOON)


# -- which cards ------------------------------------------------------------------------------------------


def test_f5_f7_two_bookings_for_one_time_have_no_card_in_common() -> None:
    view = view_of(2)
    one = made(view, ask(NOON + DAY_MS, DAY_MS, cards=6, name="one"))
    two = made(view, ask(NOON + DAY_MS + HOUR_MS, DAY_MS, cards=6, name="two"))
    cards = [set(zip(b.lot.nodes.tolist(), b.lot.masks.tolist(), strict=True)) for b in (one, two)]
    assert not cards[0] & cards[1]
    assert made(view, ask(NOON + 3 * DAY_MS, DAY_MS, cards=16, name="after"))


def test_f4_what_cannot_be_had_is_answered_with_the_nearest_date_and_the_nearest_size() -> None:
    view = view_of(125)
    made(view, ask(NOON + DAY_MS, 365 * DAY_MS, cards=1_000, name="year"))
    made(view, ask(NOON + 370 * DAY_MS, DAY_MS, cards=300, name="day"))
    assert book(view, ask(NOON + 2 * DAY_MS, 30 * DAY_MS, cards=900), NOON) == Offer(NOON + 371 * DAY_MS, 0)
    found = book(view, ask(NOON + 370 * DAY_MS, DAY_MS, cards=701), NOON)
    assert found == Offer(NOON + 371 * DAY_MS, 700 * CARD)
    assert book(view, ask(NOON, DAY_MS, cards=1_001), NOON) == Offer(0, 1_000 * CARD)


def test_f9_j5_a_whole_cluster_can_be_booked_from_day_364_for_365_days() -> None:
    view = view_of(3_750)
    booking = made(view, ask(NOON + 364 * DAY_MS, 365 * DAY_MS, cards=30_000))
    (window,) = booking.windows
    card_seconds = booking.reservation.milli_cards // CARD * (window[1] - window[0]) // 1000
    assert card_seconds == 946_080_000_000
    assert view.spaces["cpu"].slot.shape[2] == 2


def test_a_thousand_windows_are_a_handful_of_claims_and_are_minded_each() -> None:
    view = view_of(1)
    until_ms = NOON + 3 * 365 * DAY_MS
    booking = made(view, ask(NOON + HOUR_MS, HOUR_MS, repeat="daily", until_ms=until_ms, name="first"))
    assert len(booking.windows) == 1_095
    assert view.spaces["cpu"].slot.shape[2] <= 16
    again = {"repeat": "daily", "until_ms": until_ms}
    assert isinstance(book(view, ask(NOON + HOUR_MS + 30 * MINUTE_MS, HOUR_MS, **again), NOON), Offer)
    assert isinstance(book(view, ask(NOON + 2 * HOUR_MS, 22 * HOUR_MS, **again), NOON), Booked)


def test_f3_what_is_lost_is_replaced_by_an_equal_node_if_there_is_one() -> None:
    view = view_of(4)
    space = view.spaces["cpu"]
    booking = made(view, ask(NOON + DAY_MS, DAY_MS, cards=16))
    made(view, ask(NOON + DAY_MS, HOUR_MS, cards=8, name="other"))
    space.join("n0", 255, is_open=False)
    lot, missing = mend(view, booking, NOON)
    assert (sorted(space.names[row] for row in lot.nodes), missing) == (["n1", "n3"], 0)
    space.join("n3", 255, is_open=False)
    assert mend(view, booking, NOON)[1] == 8
