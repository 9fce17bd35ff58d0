"""What people ask reaches the loop once, and its answer reaches them."""

import threading
import time
from collections import Counter

import pytest
from sqlalchemy import Engine, insert, text, update

from starverse.control.ports import Asked, Taken
from starverse.model import requests as rq
from starverse.model.errors import BadInput, Conflict
from starverse.model.job import JobSpec
from starverse.store import schema, tenants
from starverse.store.journal import SqlJournal
from starverse.store.requests import LOOK_EVERY_MS, Requests

T = 1_000_000


def asked_of(engine: Engine) -> Requests:
    requests = Requests(engine, lambda: T)
    requests.poll(T)  # what an earlier life left
    return requests


def submit(job: str) -> rq.SubmitJob:
    return rq.SubmitJob(JobSpec(job, "ada"))


def test_each_is_handed_out_once_in_order_and_again_after_a_restart(engine: Engine) -> None:
    requests = asked_of(engine)
    numbers = [requests.submit(submit(job)) for job in "abc"]
    heard = requests.poll(T)
    assert heard == [Asked(number, submit(job)) for number, job in zip(numbers, "abc", strict=True)]
    assert requests.poll(T) == ()
    assert requests.poll(T + 10 * LOOK_EVERY_MS) == []
    journal = SqlJournal(engine, requests.answered)
    journal.lead()
    journal.append(T, [], [Taken(numbers[1], "")])
    assert [each.id for each in Requests(engine, lambda: T).poll(T)] == [numbers[0], numbers[2]]


def test_nothing_is_heard_before_the_commit_and_all_of_it_after(engine: Engine) -> None:
    requests, woken = asked_of(engine), threading.Event()
    requests.wake = woken.set
    with engine.begin() as connection:
        tenants.add_tenant(connection, "ada", "Ada", T)
        number = requests.put(connection, rq.OpenTenant("ada"))
        assert requests.poll(T) == ()
        assert not woken.is_set()
    assert woken.is_set()
    assert requests.poll(T) == [Asked(number, rq.OpenTenant("ada"))]


def test_what_was_taken_back_is_never_heard(engine: Engine) -> None:
    requests = asked_of(engine)
    with engine.connect() as connection:
        requests.put(connection, submit("a"))
        connection.rollback()
    assert requests.poll(T) == []
    requests.submit(submit("a"))
    assert len(requests.poll(T)) == 1


def test_what_another_process_wrote_is_found_within_a_second(engine: Engine) -> None:
    requests = asked_of(engine)
    row = {"made_ms": T, "body": '{"type":"OpenTenant","tenant":"ada"}'}
    with engine.begin() as connection:
        connection.execute(insert(schema.requests), row)
    assert requests.poll(T + LOOK_EVERY_MS - 1) == ()
    assert [each.request for each in requests.poll(T + LOOK_EVERY_MS)] == [rq.OpenTenant("ada")]


def test_a_job_is_submitted_once_ever(engine: Engine) -> None:
    requests = asked_of(engine)
    with engine.begin() as connection:
        requests.put(connection, submit("a"))
        with pytest.raises(Conflict, match="Job a was submitted before"):
            requests.put(connection, submit("a"))
        requests.put(connection, submit("b"))  # and the transaction goes on
    with pytest.raises(Conflict):
        requests.submit(submit("b"))
    assert len(requests.poll(T)) == 2


def test_a_request_beyond_reason_is_refused_at_once(engine: Engine) -> None:
    with pytest.raises(BadInput, match="bytes to ask for"):
        asked_of(engine).submit(rq.TopUp("ada", 1, "x" * 2_000_000))


def test_a_request_nobody_can_read_is_answered_and_stops_nothing(engine: Engine) -> None:
    requests = asked_of(engine)
    with engine.begin() as connection:
        row = {"made_ms": T, "body": '{"type":"Nonsense"}'}
        number = connection.execute(insert(schema.requests).returning(schema.requests.c.id), row).scalar_one()
    requests.submit(submit("a"))
    assert [each.request for each in requests.poll(T)] == [submit("a")]
    assert "cannot be read" in (requests.answer_of(number, 0) or "")


# -- answers ----------------------------------------------------------------------------------------------


def test_the_answer_is_waited_for_and_comes_at_once(engine: Engine) -> None:
    requests = asked_of(engine)
    journal = SqlJournal(engine, requests.answered)
    journal.lead()
    granted, refused = requests.submit(submit("a")), requests.submit(submit("b"))

    def hear() -> None:
        taken = [Taken(each.id, "" if each.id == granted else "Not now.") for each in requests.poll(T)]
        time.sleep(0.1)
        journal.append(T, [], taken)

    loop = threading.Thread(target=hear)
    loop.start()
    begun_s = time.monotonic()
    assert requests.answer_of(granted, 30) == ""
    assert requests.answer_of(refused, 30) == "Not now."
    assert time.monotonic() - begun_s < LOOK_EVERY_MS / 1000 * 0.9  # told, not found out by looking
    loop.join()
    assert requests.answer_of(refused, 0) == "Not now."  # also long afterwards
    assert not requests._answers
    assert not requests._waiters


def test_an_answer_that_does_not_come_is_none(engine: Engine) -> None:
    requests = asked_of(engine)
    assert requests.answer_of(requests.submit(submit("a")), 0.05) is None
    assert requests.answer_of(12345, 0) is None


def test_an_answer_given_by_another_process_is_found(engine: Engine) -> None:
    requests = asked_of(engine)
    number = requests.submit(submit("a"))

    def elsewhere() -> None:
        time.sleep(0.1)
        with engine.begin() as connection:
            connection.execute(update(schema.requests), {"taken_ms": T, "refusal": "No."})

    other = threading.Thread(target=elsewhere)
    other.start()
    assert requests.answer_of(number, 10) == "No."
    other.join()


def test_many_ask_at_once_and_each_is_answered_exactly_once(engine: Engine) -> None:
    requests = asked_of(engine)
    journal = SqlJournal(engine, requests.answered)
    journal.lead()
    heard: Counter[int] = Counter()
    answers: dict[str, str | None] = {}
    done, ring = threading.Event(), threading.Event()
    requests.wake = ring.set

    def loop() -> None:
        while not done.is_set():
            asked = requests.poll(T)
            heard.update(each.id for each in asked)
            if asked:
                journal.append(T, [], [Taken(each.id, f"answer {each.id}") for each in asked])
            else:
                ring.wait(0.5)
                ring.clear()

    def person(name: str) -> None:
        for count in range(10):
            number = requests.submit(submit(f"{name}{count}"))
            answer = requests.answer_of(number, 30)
            answers[f"{name}{count}"] = answer if answer == f"answer {number}" else None

    turning = threading.Thread(target=loop)
    people = [threading.Thread(target=person, args=(name,)) for name in "abcdef"]
    for thread in (turning, *people):
        thread.start()
    for thread in people:
        thread.join()
    done.set()
    turning.join()
    assert len(answers) == 60
    assert None not in answers.values()
    assert set(heard.values()) == {1}
    with engine.begin() as connection:
        assert connection.execute(text("SELECT COUNT(*) FROM requests WHERE taken_ms IS NULL")).scalar() == 0
