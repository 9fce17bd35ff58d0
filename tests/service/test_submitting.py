"""Submitting: all that can be checked is checked, nothing starts twice, and the cost is told before."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from tests.service.place import ECHO, Place

from starverse.model import events as ev
from starverse.model.errors import BadInput, Conflict, NotAllowed, NotFound, Refused, StarverseError
from starverse.model.requests import TopUp
from starverse.model.units import HOUR_MS, YUAN
from starverse.service import jobs, projects, secrets, submitting
from starverse.service.access import Actor
from starverse.service.answers import JobAsk


def test_a_job_is_submitted_and_runs(place: Place, ann: Actor) -> None:
    snapshot = place.snapshot(ann).snapshot
    ask = JobAsk(("train.py", "--steps", "4"), "1:2", snapshot=snapshot, name="first", environment={"A": "b"})
    job = submitting.submit(place.platform, ann, ask, "")
    assert (job.cards_min, job.cards_max, job.kind, job.launch) == (1, 2, "cpu", "per-card")
    assert (job.name, job.environment, job.command) == ("first", {"A": "b"}, ask.command)
    place.reach(job.job, "running")
    assert place.engine.alive[f"{job.job}.0"].work.snapshot == snapshot


@pytest.mark.parametrize("cards", [0.25, "0.25"])
def test_a_job_may_have_a_part_of_a_card_and_pays_for_that(
    place: Place, ann: Actor, cards: float | str
) -> None:
    ask = replace(ECHO, cards=cards)
    preview = submitting.preview(place.platform, ann, ask)
    assert (preview.cards_min, preview.cards_max, preview.starts_now) == (0.25, 0.25, True)
    assert preview.per_hour_min * 4 == preview.price
    first, second = (submitting.submit(place.platform, ann, ask, "") for _ in range(2))
    assert first.cards_min == 0.25
    for job in (first, second):
        place.reach(job.job, "running")
    shares = [place.engine.alive[f"{job.job}.0"].shares for job in (first, second)]
    assert shares[0] == shares[1]
    assert [run.cards for run in jobs.runs(place.platform, ann, first.job)] == [0.25]
    whole = submitting.preview(place.platform, ann, replace(ECHO, cards=2.0))
    assert (whole.cards_min, whole.cards_free, whole.starts_now) == (2, 1, False)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cards": 5}, "This cluster has 2 cpu cards; you asked for 5. Ask for 2 or fewer."),
        ({"cards": "3:9"}, "This cluster has 2 cpu cards; you asked for 3."),
        ({"cards": 0}, "0 cards cannot be had."),
        ({"cards": -1}, "-1 cards cannot be had."),
        ({"cards": 10**30}, "So many cards cannot be had."),
        ({"cards": "many"}, "'many' is not a number of cards."),
        ({"cards": "4:2"}, "Write the smaller number first."),
        ({"cards": 1.5}, "'1.5' is not a number of cards. Write 2, 1:8 for an elastic job, or 0.25"),
        ({"cards": float("nan")}, "'nan' is not a number of cards."),
        ({"kind": "abacus"}, "This cluster has no 'abacus' cards. It has: cpu."),
        ({"command": ()}, "There is no command to run."),
        ({"command": ("",)}, "There is no command to run."),
        ({"command": ("echo", "a\0b")}, "The command holds a NUL character."),
        ({"command": ("echo", "x" * 200_000)}, "longer than 128 KiB"),
        ({"command": ("train.py",)}, "'train.py' needs the directory it is in."),
        ({"time_limit_ms": -1}, "The time limit is out of bounds."),
        ({"time_limit_ms": 10}, "The time limit is out of bounds."),
        ({"time_limit_ms": 400 * 24 * HOUR_MS}, "The time limit is out of bounds."),
        ({"retries": -1}, "-1 retries cannot be had."),
        ({"name": "a\nb"}, "not plain text"),
        ({"name": "x" * 200}, "too long"),
        ({"image": "debian"}, "Jobs cannot name an image yet."),
        ({"environment": {"A B": "x"}}, "'A B' is not the name of a variable."),
        ({"environment": {"STARVERSE_RUN": "x"}}, "STARVERSE_RUN is set by the platform."),
        ({"environment": {"A": "x" * 70_000}}, "larger than 64 KiB"),
        ({"secrets": ("KEY",)}, "There is no secret 'KEY'. Set it first."),
        ({"snapshot": "f" * 64}, "That snapshot was not sent."),
        ({"snapshot": "../../etc"}, "That snapshot was not sent."),
        ({"priority": "reserved"}, "needs a reservation"),
    ],
)
def test_bad_input_gets_a_clear_sentence(place: Place, ann: Actor, change: dict[str, Any], says: str) -> None:
    with pytest.raises(StarverseError) as error:
        submitting.submit(place.platform, ann, replace(ECHO, **change), "")
    assert says in str(error.value)
    assert error.value.remedy
    assert not place.platform.ask(lambda state: state.truth.submitted)


def test_a_script_that_was_not_submitted_is_named_with_those_alike(place: Place, ann: Actor) -> None:
    snapshot = place.snapshot(ann, {"code/train.py": b"", "other.py": b""}).snapshot
    ask = JobAsk(("train.py",), snapshot=snapshot)
    with pytest.raises(BadInput, match=r"There is no script 'train.py'.*Did you mean code/train.py\?"):
        submitting.submit(place.platform, ann, ask, "")
    submitting.submit(place.platform, ann, replace(ask, command=("./code/../code/train.py",)), "")


def test_a_snapshot_of_another_tenant_is_not_known(place: Place, ann: Actor, bob: Actor) -> None:
    snapshot = place.snapshot(ann).snapshot
    with pytest.raises(BadInput, match="was not sent"):
        submitting.submit(place.platform, bob, JobAsk(("train.py",), snapshot=snapshot), "")


def test_an_empty_wallet_says_what_is_missing(place: Place) -> None:
    poor = place.person("poor")  # 10 yuan; the shortest lease is 4 s of 2 cards at a yuan a second
    submitting.submit(place.platform, poor, replace(ECHO, cards=2), "")
    place.until(lambda: place.engine.alive)
    with pytest.raises(Refused, match="to start, this job needs ¥8"):
        submitting.submit(place.platform, poor, replace(ECHO, cards=2), "")


def test_the_same_key_submits_once_however_often_and_wherever(place: Place, ann: Actor) -> None:
    with ThreadPoolExecutor(8) as pool:
        tried = list(pool.map(lambda _: submitting.submit(place.platform, ann, ECHO, "key"), range(24)))
    assert len({job.job for job in tried}) == 1
    assert place.platform.ask(lambda state: state.truth.submitted) == 1
    with pytest.raises(Conflict, match="used for another request"):
        submitting.submit(place.platform, ann, replace(ECHO, cards=2), "key")


def test_a_key_is_ones_own(place: Place, ann: Actor, bob: Actor) -> None:
    mine = submitting.submit(place.platform, ann, ECHO, "key")
    assert submitting.submit(place.platform, bob, ECHO, "key").job != mine.job


def test_a_key_is_answered_even_when_the_job_could_not_be_submitted_today(place: Place) -> None:
    poor = place.person("poor")
    first = submitting.submit(place.platform, poor, replace(ECHO, cards=2), "key")
    place.until(lambda: place.engine.alive)
    assert submitting.submit(place.platform, poor, replace(ECHO, cards=2), "key").job == first.job


def test_a_refused_ask_does_not_use_up_its_key(place: Place, ann: Actor) -> None:
    ask = JobAsk(("echo",), secrets=("KEY",))
    with pytest.raises(BadInput):
        submitting.submit(place.platform, ann, ask, "key")
    secrets.put(place.platform, ann, "", "KEY", "value")
    assert submitting.submit(place.platform, ann, ask, "key").secrets == ("KEY",)


def test_a_preview_tells_the_cost_and_submits_nothing(place: Place, ann: Actor) -> None:
    ask = replace(ECHO, cards="1:2", time_limit_ms=HOUR_MS)
    preview = submitting.preview(place.platform, ann, ask)
    assert (preview.per_hour_min, preview.per_hour_max) == (3600 * YUAN, 7200 * YUAN)
    assert (preview.for_time_limit_min, preview.for_time_limit_max) == (3601 * YUAN, 7202 * YUAN)
    assert (preview.available, preview.lasts_ms) == (1010 * YUAN, 505_000)
    assert (preview.cards_free, preview.cards_total, preview.starts_now) == (2, 2, True)
    assert not place.platform.ask(lambda state: state.truth.submitted)


def test_a_viewer_may_not_submit_and_a_stranger_sees_no_project(place: Place, ann: Actor, bob: Actor) -> None:
    project = ann.projects[0].project
    with pytest.raises(NotFound):
        submitting.submit(place.platform, bob, replace(ECHO, project=project), "")
    projects.invite(place.platform, ann, project, "bob@example.com", "viewer")
    bob = replace(bob, projects=(*bob.projects, replace(ann.projects[0], role="viewer")))
    with pytest.raises(NotAllowed, match="you are viewer"):
        submitting.submit(place.platform, bob, replace(ECHO, project=project), "")


def test_a_member_submits_at_the_cost_of_the_project(place: Place, ann: Actor, bob: Actor) -> None:
    project = ann.projects[0].project
    projects.invite(place.platform, ann, project, "bob@example.com", "member")
    bob = replace(bob, projects=(*bob.projects, replace(ann.projects[0], role="member")))
    job = submitting.submit(place.platform, bob, replace(ECHO, project=project), "")
    assert (job.tenant, job.owner) == (ann.projects[0].tenant, bob.user)
    assert jobs.show(place.platform, ann, job.job).job == job.job


def test_where_jobs_are_not_kept_apart_only_the_owner_submits(place: Place, ann: Actor) -> None:
    owner = place.operator()
    place.platform.__dict__.update(accepts_foreign=False, isolation="Nothing keeps jobs apart here.")
    place.tell(TopUp(owner.projects[0].tenant, YUAN * 100))
    with pytest.raises(Refused, match=r"only its owner's jobs\. Nothing keeps jobs apart here"):
        submitting.submit(place.platform, ann, ECHO, "")
    assert submitting.submit(place.platform, owner, ECHO, "").job


def test_of_b7_a_job_for_cards_of_a_node_that_is_only_lost_waits(place: Place, ann: Actor) -> None:
    place.engine.say(ev.NodeLost("here", place.platform.now_ms()))
    place.until(lambda: place.platform.ask(lambda state: state.nodes["here"].lost))
    job = submitting.submit(place.platform, ann, replace(ECHO, cards=2), "").job
    assert place.phase(job) == "waiting"
    with pytest.raises(BadInput, match="has 2 cpu cards"):
        submitting.submit(place.platform, ann, replace(ECHO, cards=3), "")
