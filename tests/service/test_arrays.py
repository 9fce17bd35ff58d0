"""Arrays, gangs with roles, and jobs that come after others, as a tenant meets them."""

from dataclasses import replace

import pytest
from tests.service.place import ECHO, Place

from starverse.model.errors import BadInput, NotFound, Refused
from starverse.service import jobs, submitting
from starverse.service.access import Actor
from starverse.service.answers import Job, JobAsk, RoleAsk


def submit(place: Place, actor: Actor, **change: object) -> Job:
    return submitting.submit(place.platform, actor, replace(ECHO, **change), "")  # type: ignore[arg-type]


def listed(place: Place, actor: Actor, phase: str = "", array: str = "", fold: bool = False) -> list[Job]:
    found: list[Job] = []
    cursor = ""
    while True:
        page = jobs.list_jobs(place.platform, actor, "", phase, cursor, 2, False, array, fold)
        found += page.items
        cursor = page.cursor
        if not cursor:
            return found


def test_an_array_is_submitted_listed_and_stopped_as_one(place: Place, ann: Actor, bob: Actor) -> None:
    first = submit(place, ann, array="0-4%1")
    array = first.array
    assert first.job == f"{array}_0"
    single = submit(place, ann)
    place.reach(first.job, "running")
    place.reach(single.job, "running")
    submit(place, bob, array="0-2")
    assert place.engine.alive[f"{first.job}.0"].array_index == 0
    assert [job.array_index for job in listed(place, ann, array=array)] == [4, 3, 2, 1, 0]
    folded = listed(place, ann, fold=True)
    assert [job.job for job in folded] == [single.job, first.job]
    place.until(lambda: listed(place, ann, fold=True)[1].array_jobs == {"running": 1, "waiting": 4})
    place.until(lambda: [job.job for job in listed(place, ann, "waiting", fold=True)] == [f"{array}_1"])
    why = jobs.why(place.platform, ann, f"{array}_3")
    assert why.text == "Of its array at most 1 job may run at once."
    with pytest.raises(NotFound):
        jobs.stop(place.platform, bob, array)
    jobs.stop(place.platform, ann, array)
    for job in listed(place, ann, array=array):
        place.reach(job.job, "ended")
    place.until(lambda: listed(place, ann, fold=True)[1].array_jobs == {"stopped": 5})
    assert jobs.stop(place.platform, ann, array).job == first.job, "again does nothing"


def test_an_array_sent_again_under_its_key_is_the_same(place: Place, ann: Actor) -> None:
    ask = replace(ECHO, array="0-2")
    again = {submitting.submit(place.platform, ann, ask, "key").job for _ in range(3)}
    assert len(again) == 1
    assert place.platform.ask(lambda state: state.truth.submitted) == 3


def test_what_comes_after_waits_or_is_refused(place: Place, ann: Actor, bob: Actor) -> None:
    place.engine.hold = True
    train = submit(place, ann, cards=2)
    place.reach(train.job, "starting")
    evaluate = submit(place, ann, after=(train.job,))
    clean = submit(place, ann, after_any=(train.job, train.job))
    assert (evaluate.after, evaluate.after_any, clean.after_any) == ((train.job,), (), (train.job,))
    why = jobs.why(place.platform, ann, evaluate.job)
    assert [cause.code for cause in why.causes] == ["after"]
    assert train.job in why.text
    assert not submitting.preview(place.platform, ann, replace(ECHO, after=(train.job,))).starts_now
    with pytest.raises(NotFound) as foreign:
        submit(place, bob, after=(train.job,))
    with pytest.raises(NotFound) as unknown:
        submit(place, bob, after=("j-never",))
    assert str(foreign.value).replace(train.job, "j-never") == str(unknown.value)
    jobs.stop(place.platform, ann, train.job)
    place.reach(evaluate.job, "ended")
    place.until(lambda: jobs.show(place.platform, ann, evaluate.job).phase == "ended")
    ended = jobs.show(place.platform, ann, evaluate.job)
    assert (ended.outcome, ended.why) == ("stopped", f"it comes after job {train.job}, which is stopped")
    place.until(lambda: f"{clean.job}.0" in place.engine.alive)
    with pytest.raises(Refused, match=rf"Job {train.job} is stopped, so what comes after .* never starts"):
        submit(place, ann, after=(train.job,))
    assert submit(place, ann, after_any=(train.job,)).after_any == (), "nothing is left to wait for"


def test_what_comes_after_an_array_waits_for_all_of_it(place: Place, ann: Actor) -> None:
    first = submit(place, ann, array="1-2", cards=1)
    last = submit(place, ann, after=(first.array,))
    for index in (1, 2):
        assert place.phase(last.job) == "waiting"
        place.until(lambda run=f"{first.array}_{index}.0": run in place.engine.alive)
        place.engine.end(f"{first.array}_{index}.0")
    place.reach(last.job, "running")
    place.until(lambda: listed(place, ann, fold=True)[1].array_jobs == {"done": 2})
    assert submit(place, ann, after=(first.array,)).after == ()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"array": "0-10000"}, "An array has 10,000 jobs at most."),
        ({"array": "x"}, "'x' names no indices of an array."),
        ({"array": "0-4999", "environment": {"A": "x" * 20_000}}, "are more than 64 MiB"),
        ({"after": tuple(f"j-{n}" for n in range(101))}, "100 jobs at most"),
    ],
)
def test_bad_input_gets_a_clear_sentence(
    place: Place, ann: Actor, change: dict[str, object], says: str
) -> None:
    with pytest.raises(BadInput) as error:
        submit(place, ann, **change)
    assert says in str(error.value)
    assert not place.platform.ask(lambda state: state.truth.submitted)


def test_a_script_may_be_an_array(place: Place, ann: Actor) -> None:
    snapshot = place.snapshot(ann).snapshot
    job = submitting.submit(place.platform, ann, JobAsk(("train.py",), array="3", snapshot=snapshot), "")
    place.reach(job.job, "running")
    order = place.engine.alive[f"{job.job}.0"]
    assert (order.array, order.array_index) == (job.array, 3)


SERVE, TRAIN = (
    RoleAsk("serve", ("python", "serve"), 1),
    RoleAsk("train", ("-m", "train"), 1, environment={"A": "b"}),
)


def test_a_gang_with_roles_starts_as_one(place: Place, ann: Actor) -> None:
    job = submit(place, ann, command=(), roles=(SERVE, TRAIN))
    assert (job.cards_min, job.cards_max) == (2, 2)
    assert [(role.name, role.cards, role.launch) for role in job.roles] == [
        ("serve", 1, "once"), ("train", 1, "per-card"),
    ]  # fmt: skip
    place.reach(job.job, "running")
    order = place.engine.alive[f"{job.job}.0"]
    assert [role.work.command for role in order.roles] == [SERVE.command, TRAIN.command]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({}, "A job with roles has no command of its own."),
        ({"command": (), "cards": 3}, "The roles have 2 cards; `cards` says 3."),
        ({"command": (), "cards": "1:2"}, "The roles have 2 cards; `cards` says 1:2."),
        ({"command": (), "roles": (SERVE, SERVE)}, "each name once"),
        ({"command": (), "roles": (replace(SERVE, name="a b"),)}, "'a b' is no name of a role."),
        ({"command": (), "roles": (replace(SERVE, cards=0),)}, "Role serve: 0 cards cannot be had."),
        ({"command": (), "roles": (replace(SERVE, command=()),)}, "Role serve: There is no command to run."),
        (
            {"command": (), "roles": (replace(SERVE, environment={"STARVERSE_X": "1"}),)},
            "Role serve: STARVERSE_X",
        ),
        ({"command": (), "roles": (replace(SERVE, command=("a.py",)),)}, "'a.py' needs the directory"),
        ({"command": (), "roles": (replace(SERVE, cards=3),)}, "you asked for 3"),
    ],
)
def test_roles_that_make_no_sense_are_refused(
    place: Place, ann: Actor, change: dict[str, object], says: str
) -> None:
    with pytest.raises(BadInput) as error:
        submit(place, ann, **{"roles": (SERVE, TRAIN), **change})
    assert says in str(error.value)
