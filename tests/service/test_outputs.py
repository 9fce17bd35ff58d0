"""What a job has written: metrics over its runs, logs in whole characters, files that lie inside."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.service.place import ECHO, Place

from starverse.engines.folder import JobFolder
from starverse.model.errors import NotFound
from starverse.service import jobs, outputs, submitting
from starverse.service.access import Actor


@pytest.fixture
def job(place: Place, ann: Actor) -> str:
    job = submitting.submit(place.platform, ann, replace(ECHO, retries=2), "").job
    place.reach(job, "running")
    return job


def test_metrics_of_all_runs_come_in_order_and_thinned(place: Place, ann: Actor, job: str) -> None:
    place.steps(f"{job}.0", 1, 500)
    place.engine.end(f"{job}.0", code=1)
    place.until(lambda: f"{job}.1" in place.engine.alive)
    place.reach(job, "running")
    place.steps(f"{job}.1", 400, 999)
    assert [m.step for m in outputs.metrics(place.platform, ann, job, 5000)] == [
        *range(1, 501),
        *range(400, 1000),
    ]
    few = outputs.metrics(place.platform, ann, job, 10)
    assert len(few) == 10
    assert (few[0].step, few[-1].step, few[-1].run) == (1, 999, f"{job}.1")
    progress = jobs.show(place.platform, ann, job).progress
    assert progress is not None
    assert (progress.step, progress.steps) == (999, 100)


def test_a_job_that_reports_nothing_has_no_progress(place: Place, ann: Actor, job: str) -> None:
    assert outputs.metrics(place.platform, ann, job, 10) == ()
    assert jobs.show(place.platform, ann, job).progress is None
    assert outputs.logs(place.platform, ann, job, "", "stdout", 0, 100).text == ""


def test_logs_are_read_on_from_where_they_ended(place: Place, ann: Actor, job: str) -> None:
    place.writes(f"{job}.0", "stdout", "步 one\n步 two\n".encode())
    text, offset = "", 0
    while True:
        part = outputs.logs(place.platform, ann, job, "", "stdout", offset, 4)
        text += part.text
        offset = part.next_offset
        if not part.more:
            break
    assert text == "步 one\n步 two\n"
    assert outputs.logs(place.platform, ann, job, "", "stdout", -4, 100).text == "two\n"
    with pytest.raises(NotFound):
        outputs.logs(place.platform, ann, job, "j-other.0", "stdout", 0, 100)


def test_logs_are_kept_after_a_job_was_stopped(place: Place, ann: Actor, job: str) -> None:
    place.writes(f"{job}.0", "stderr", b"last words\n")
    jobs.stop(place.platform, ann, job)
    place.reach(job, "ended")
    assert outputs.logs(place.platform, ann, job, "", "stderr", 0, 100).text == "last words\n"


def test_a_job_that_never_ran_has_empty_logs(place: Place, ann: Actor, job: str) -> None:
    waiting = submitting.submit(place.platform, ann, replace(ECHO, cards=2), "").job
    part = outputs.logs(place.platform, ann, waiting, "", "stdout", 0, 100)
    assert (part.text, part.more) == ("", False)


def test_files_are_listed_and_fetched_and_nothing_leads_out(place: Place, ann: Actor, job: str) -> None:
    place.output(job, "deep/result.json", b"{}")
    Path(JobFolder(str(place.home), job).output, "link").symlink_to("/etc/passwd")
    assert [(file.path, file.bytes) for file in outputs.files(place.platform, ann, job)] == [
        ("deep/result.json", 2)
    ]
    size, pieces = outputs.content(place.platform, ann, job, "deep/result.json")
    assert (size, b"".join(pieces)) == (2, b"{}")
    for path in ("link", "../output/deep/result.json", "/etc/passwd", "deep", "", "a\0b"):
        with pytest.raises(NotFound):
            outputs.content(place.platform, ann, job, path)


@given(st.text(), st.integers(0, 12))
def test_text_is_never_cut_inside_a_character(text: str, cut: int) -> None:
    data = text.encode(errors="ignore")[: max(len(text.encode(errors="ignore")) - cut, 0)]
    shown, left = outputs.whole_text(data)
    assert shown.encode() == data[: len(data) - left]
    assert left < 4
    assert left or shown.encode() == data


@given(st.binary())
def test_what_is_no_text_is_shown_all_the_same(data: bytes) -> None:
    shown, left = outputs.whole_text(data)
    assert left < 4
    assert bool(shown) == bool(data[: len(data) - left])
