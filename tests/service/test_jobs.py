"""Jobs as people see them: lists with cursors, why, timeline, and to stop or resume."""

from dataclasses import replace

import pytest
from tests.service.place import ECHO, Place

from starverse.model import events as ev
from starverse.model.errors import BadInput, NotAllowed, NotFound, Refused
from starverse.service import jobs, nodes, operations, outputs, projects, submitting
from starverse.service.access import Actor
from starverse.service.answers import Job
from starverse.train.contract import EXIT_NO_SPACE


def submit(place: Place, actor: Actor, cards: int = 1) -> Job:
    return submitting.submit(place.platform, actor, replace(ECHO, cards=cards), "")


def test_a_list_goes_on_where_the_page_before_ended(place: Place, ann: Actor, bob: Actor) -> None:
    mine = [submit(place, ann).job for _ in range(5)]
    submit(place, bob)
    seen, cursor = [], ""
    while True:
        page = jobs.list_jobs(place.platform, ann, "", "", cursor, 2, everyone=False)
        seen += [job.job for job in page.items]
        cursor = page.cursor
        if not cursor:
            break
    assert seen == mine[::-1]
    with pytest.raises(BadInput, match="not a cursor"):
        jobs.list_jobs(place.platform, ann, "", "", "zzz", 2, everyone=False)


def test_a_list_is_of_one_phase_or_of_everyone(place: Place, ann: Actor, bob: Actor) -> None:
    running, waiting = submit(place, ann, 2).job, submit(place, bob).job
    place.reach(running, "running")
    operator = place.operator()
    everyone = jobs.list_jobs(place.platform, operator, "", "waiting", "", 9, everyone=True).items
    assert [job.job for job in everyone] == [waiting]
    assert not jobs.list_jobs(place.platform, ann, "", "waiting", "", 9, everyone=False).items
    assert not jobs.list_jobs(place.platform, operator, "", "", "", 9, everyone=False).items
    with pytest.raises(NotAllowed):
        jobs.list_jobs(place.platform, ann, "", "", "", 9, everyone=True)


def test_a_job_of_others_is_not_there(place: Place, ann: Actor, bob: Actor) -> None:
    job = submit(place, ann).job
    for use_case in (jobs.show, jobs.stop, jobs.resume, jobs.why, jobs.runs, jobs.timeline, outputs.files):
        with pytest.raises(NotFound) as foreign:
            use_case(place.platform, bob, job)
        with pytest.raises(NotFound) as absent:
            use_case(place.platform, bob, "j-absent")
        assert str(foreign.value).replace(job, "j-absent") == str(absent.value)


def test_stopping_ends_a_job_and_again_does_nothing(place: Place, ann: Actor) -> None:
    job = submit(place, ann).job
    place.reach(job, "running")
    jobs.stop(place.platform, ann, job)
    place.reach(job, "ended")
    stopped = jobs.stop(place.platform, ann, job)
    assert (stopped.phase, stopped.outcome) == ("ended", "stopped")
    assert jobs.why(place.platform, ann, job).text == "It is stopped: stopped on request."


def test_a_viewer_sees_but_does_not_stop(place: Place, ann: Actor, bob: Actor) -> None:
    job = submit(place, ann).job
    projects.invite(place.platform, ann, "", "bob@example.com", "viewer")
    bob = replace(bob, projects=(*bob.projects, replace(ann.projects[0], role="viewer")))
    assert jobs.show(place.platform, bob, job).job == job
    with pytest.raises(NotAllowed):
        jobs.stop(place.platform, bob, job)


def test_why_tells_every_cause_and_what_would_help(place: Place, ann: Actor, bob: Actor) -> None:
    place.reach(submit(place, ann, 1).job, "running")
    job = submit(place, bob, 2).job
    why = jobs.why(place.platform, bob, job)
    assert why.phase == "waiting"
    assert why.text == "It needs 2 cpu cards at once; 1 is free."
    assert why.change == "It would start now with 1 card."
    assert why.promised_ms is not None
    assert why.promised_ms > place.platform.now_ms()
    behind = submit(place, ann, 1).job
    place.until(lambda: jobs.why(place.platform, ann, behind).promised_ms is not None)
    causes = jobs.why(place.platform, ann, behind).causes
    assert [cause.code for cause in causes] == ["queue", "cards"]
    assert "0 are free, 1 kept for promised starts in" in causes[1].text


def test_a_paused_job_says_why_and_goes_on(place: Place, ann: Actor) -> None:
    job = submit(place, ann).job
    place.reach(job, "running")
    with pytest.raises(Refused, match="not paused"):
        jobs.resume(place.platform, ann, job)
    place.engine.end(f"{job}.0", code=EXIT_NO_SPACE)
    place.reach(job, "paused")
    assert "No space for a checkpoint" in jobs.why(place.platform, ann, job).text
    jobs.resume(place.platform, ann, job)
    place.until(lambda: jobs.show(place.platform, ann, job).run == f"{job}.1")


def test_runs_and_timeline_tell_of_a_fault_and_its_credit(place: Place, ann: Actor) -> None:
    operator = place.operator()
    job = submitting.submit(place.platform, ann, replace(ECHO, cards=2, launch="per-card"), "").job
    place.reach(job, "running")
    place.engine.say(ev.CheckpointSaved(f"{job}.0", 5, place.platform.now_ms()))
    operations.inject_fault(place.platform, operator, f"{job}.0", 1)
    place.until(lambda: f"{job}.1" in place.engine.alive)
    place.reach(job, "running")
    place.engine.say(ev.RunResumed(f"{job}.1", 6, place.platform.now_ms()))
    place.engine.end(f"{job}.1")
    place.reach(job, "ended")
    first, second = jobs.runs(place.platform, ann, job)
    assert (first.how, first.code, first.rank, first.fault, first.injected) == ("signal", 9, 1, True, True)
    assert (first.cards, first.places[0].node, first.places[0].cards) == (2, "here", (0, 1))
    assert (second.attempt, second.resumed_step, second.how, second.fault) == (1, 6, "exit", False)
    told = jobs.timeline(place.platform, ann, job)
    assert [moment.seq for moment in told] == sorted(moment.seq for moment in told)
    text = "\n".join(moment.text for moment in told)
    for sentence in (
        "Submitted: 2 cpu cards at ¥3,600.0000 a card-hour.",
        "Run 0 got 2 cards on here.",
        "Checkpoint of step 5.",
        "A fault was injected: rank 1 is killed.",
        "Rank 1 was killed by signal 9.",
        "First step: 6.",
        "The run finished.",
        "The job is done.",
    ):
        assert sentence in text, text
    assert "credit" in {row.what for row in told} or "Gave back" in text


def test_only_operators_inject_faults_and_only_into_ranks_that_live(place: Place, ann: Actor) -> None:
    operator = place.operator()
    job = submit(place, ann, 2).job
    place.reach(job, "running")
    with pytest.raises(NotAllowed):
        operations.inject_fault(place.platform, ann, f"{job}.0", 0)
    with pytest.raises(BadInput, match="has no rank 1"):  # echo was started once, not on every card
        operations.inject_fault(place.platform, operator, f"{job}.0", 1)
    with pytest.raises(NotFound, match="is alive"):
        operations.inject_fault(place.platform, operator, f"{job}.7", 0)


def test_nodes_are_cordoned_drained_and_opened_by_operators(place: Place, ann: Actor) -> None:
    operator = place.operator()
    job = submit(place, ann, 2).job
    place.reach(job, "running")
    with pytest.raises(NotAllowed):
        nodes.cordon(place.platform, ann, "here")
    with pytest.raises(NotFound):
        nodes.cordon(place.platform, operator, "there")
    assert nodes.cordon(place.platform, operator, "here").cordoned
    assert nodes.list_nodes(place.platform)[0].used == 2
    assert nodes.cordon(place.platform, operator, "here", drain=True).cordoned
    place.reach(job, "waiting")
    assert not nodes.uncordon(place.platform, operator, "here").cordoned
    place.reach(job, "running")
    cluster = nodes.cluster(place.platform)
    assert (cluster.kinds[0].cards, cluster.kinds[0].free, cluster.running) == (2, 0, 1)
