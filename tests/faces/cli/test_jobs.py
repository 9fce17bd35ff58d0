"""Jobs: found by what a person calls them, listed, shown, stopped, resumed and explained."""

from collections.abc import Callable

from tests.faces.cli.served import Shell
from tests.service.place import Place

from starverse.model import events as ev
from starverse.train.contract import EXIT_NO_SPACE

Submit = Callable[..., str]


def faulty(place: Place, job: str) -> None:
    """A job that lost its first run at step 19, and goes on from step 11."""
    place.reach(job, "running")
    place.steps(f"{job}.0", 1, 19)
    place.engine.say(ev.RunResumed(f"{job}.0", 1, 1), ev.CheckpointSaved(f"{job}.0", 10, 2))
    place.engine.end(f"{job}.0", how="lost")
    place.until(lambda: f"{job}.1" in place.engine.alive)
    place.reach(job, "running")
    place.steps(f"{job}.1", 11, 40)
    place.engine.say(ev.RunResumed(f"{job}.1", 11, place.platform.now_ms()))


def test_a_job_is_found_by_id_beginning_name_or_as_the_last(ada: Shell, submitted: Submit) -> None:
    first = submitted("--name", "first", "--", "sleep", "9")
    again = submitted("--name", "first", "--", "sleep", "9")
    last = submitted("--", "sleep", "9")
    tail = last[2:]
    meant = {first: first, "first": again, "last": last, "-1": last, tail[:8]: last, f"j-{tail[:8]}": last}
    for text, job in meant.items():
        assert ada.json("job", "why", text)["job"] == job, text


def test_a_beginning_that_several_jobs_have_is_refused_with_them(ada: Shell, submitted: Submit) -> None:
    jobs = [submitted("--", "sleep", "9") for _ in range(2)]
    refused = ada("job", "stop", "j-", code=2).stderr
    assert "2 jobs begin with 'j-'" in refused
    assert all(job in refused for job in jobs)
    assert "You have no job 'absent'" in ada("job", "show", "absent", code=4).stderr
    assert "No job is named" in ada("job", "show", "", code=2).stderr


def test_without_any_jobs_last_says_how_to_make_one(ada: Shell) -> None:
    assert "You have no jobs yet." in ada("job", "show", "last", code=4).stderr
    assert ada("jobs").stdout == "No jobs. `starverse submit -- train.py` makes one.\n"


def test_the_list_shows_what_there_is_the_newest_first(ada: Shell, submitted: Submit, place: Place) -> None:
    first = submitted("--cards", "2", "--name", "大模型", "--", "sleep", "9")
    place.reach(first, "running")
    second = submitted("--cards", "1:2", "--", "sleep", "9")
    rows = ada("jobs").stdout.splitlines()
    assert rows[0].split() == ["JOB", "NAME", "PHASE", "CARDS", "KIND", "SUBMITTED", "TOOK", "COST", "WHY"]
    assert rows[1].split()[:4] == [second, "waiting", "1–2", "cpu"]
    assert rows[2].split()[:4] == [first, "大模型", "running", "2"]
    assert all(row == row.rstrip() for row in rows)
    assert [each["job"] for each in ada.json("jobs", "--phase", "running")["items"]] == [first]
    page = ada.json("jobs", "--limit", "1")
    assert ([each["job"] for each in page["items"]], bool(page["cursor"])) == ([second], True)
    assert "There are older ones" in ada("jobs", "--limit", "1").stdout
    assert len(ada.json("jobs", "--all")["items"]) == 2


def test_everyones_jobs_are_the_operators_to_list(ada: Shell, operator: Shell, submitted: Submit) -> None:
    job = submitted("--", "sleep", "9")
    assert [each["job"] for each in operator.json("jobs", "--everyone")["items"]] == [job]
    assert operator.json("jobs")["items"] == []


def test_a_job_that_crashed_shows_its_last_words_and_where_there_are_more(
    ada: Shell, submitted: Submit, place: Place
) -> None:
    job = submitted("--retries", "0", "--", "train.py")
    place.reach(job, "running")
    place.engine.end(f"{job}.0", code=1, text="Traceback:\n  line 3\nValueError: \x1b[2Jno data")
    place.reach(job, "ended")
    said = ada("job", "show", job).stdout
    assert f"The last lines of run 0; more: starverse job logs {job} --stderr" in said
    assert "    Traceback:\n      line 3\n    ValueError: no data\n" in said
    why = ada("job", "why", job).stdout
    assert why.startswith(f"{job}: It is failed: ")
    assert "    Traceback:\n      line 3\n    ValueError: no data\n" in why


def test_a_job_shows_its_runs_faults_and_cost(ada: Shell, submitted: Submit, place: Place) -> None:
    job = submitted("--name", "first", "--", "train.py")
    faulty(place, job)
    place.until(lambda: ada.json("job", "show", job)["runs"][1]["resumed_step"])
    said = ada("job", "show", job).stdout
    lines = dict(line.split("  ", 1) for line in said.splitlines() if "  " in line)
    assert said.startswith("first  running\n")
    assert lines["faults"].strip() == "1 fault, 1 resume, 9 steps lost"
    assert lines["progress"].strip().startswith("step 40 of 100 (40 %), loss 0.025, 10 tokens/s")
    assert "so far at ¥3,600.0000 a card-hour" in lines["cost"]
    assert "vanished (a fault of the platform's)" in said
    assert "Run 0 got 1 card on here." in said
    shown = ada.json("job", "show", job)
    assert list(shown) == ["job", "runs", "timeline"]
    assert [run["fault"] for run in shown["runs"]] == [True, False]


def test_stopping_a_job_and_again(ada: Shell, submitted: Submit, place: Place) -> None:
    job = submitted("--", "sleep", "9")
    place.reach(job, "running")
    assert ada("job", "stop", job).stdout == f"{job} is asked to save and leave.\n"
    place.reach(job, "ended")
    assert ada("job", "stop", job).stdout == f"{job} had ended already: stopped.\n"
    assert ada.json("job", "stop", job)["outcome"] == "stopped"
    later = waiting(ada, place, submitted)
    assert ada("job", "stop", later).stdout == f"{later} was waiting, with nothing running; it is stopped.\n"


def test_stopping_a_job_that_leaves_already_and_one_that_waits_again(
    ada: Shell, submitted: Submit, place: Place
) -> None:
    place.engine.saves = False
    job = submitted("--", "sleep", "9")
    place.reach(job, "running")
    ada("job", "stop", job)
    said = ada("job", "stop", job).stdout
    assert said == f"{job} was asked to save and leave already; it will not start again.\n"
    again = submitted("--cards", "2", "--", "sleep", "9")
    place.engine.saves = True
    place.engine.end(f"{job}.0", code=85)
    place.reach(again, "running")
    place.engine.end(f"{again}.0", code=1)
    place.reach(again, "waiting")
    assert "was waiting, with nothing running" in ada("job", "stop", again).stdout


def test_a_run_that_left_when_it_was_asked_to_is_shown_as_saved(
    ada: Shell, operator: Shell, submitted: Submit, place: Place
) -> None:
    job = submitted("--", "sleep", "9")
    place.reach(job, "running")
    operator("node", "drain", "here")
    place.reach(job, "waiting")
    said = ada("job", "show", job).stdout
    assert "saved and left" in said
    assert "The run saved and left." in said
    assert "exit code 85" not in said


def waiting(ada: Shell, place: Place, submitted: Submit) -> str:
    place.reach(submitted("--cards", "2", "--", "sleep", "9"), "running")
    return submitted("--cards", "2", "--name", "later", "--", "sleep", "9")


def test_why_tells_the_cause_and_what_would_help(ada: Shell, submitted: Submit, place: Place) -> None:
    job = waiting(ada, place, submitted)
    reason = ada.json("why", job)
    assert (reason["phase"], bool(reason["causes"])) == ("waiting", True)
    said = ada("why", "later").stdout
    assert reason["promised_ms"] > 0
    assert "It starts at the latest at 20" in said
    assert said.startswith(f"later: {reason['text']}\n")
    assert reason["causes"][0]["text"] in said
    assert ada("job", "why", job).stdout == said


def test_a_paused_job_is_resumed_by_hand(ada: Shell, submitted: Submit, place: Place) -> None:
    job = submitted("--", "train.py")
    place.reach(job, "running")
    place.engine.end(f"{job}.0", code=EXIT_NO_SPACE)
    place.reach(job, "paused")
    assert "No space for a checkpoint" in ada("job", "show", job).stdout
    assert ada("job", "resume", job).stdout.startswith(f"{job} is ")
    place.reach(job, "running")
    assert ada.json("job", "resume", job, code=5)["error"]["exit_code"] == 5


def test_another_tenants_job_is_not_there(ada: Shell, stranger: Shell, submitted: Submit) -> None:
    job = submitted("--name", "first", "--", "sleep", "9")
    stranger("register", "bob@example.com", "--password-stdin", typed="correct horse battery")
    for command in ("show", "stop", "resume", "why", "logs", "files", "get", "follow"):
        for text in (job, "first"):
            assert f"You have no job '{text}'" in stranger("job", command, text, code=4).stderr


SLIPS = [
    (["jobs", "--watch", "--json"], "--watch never ends"),
    (["jobs", "--watch", "--everyone"], "shows your own jobs"),
    (["jobs", "--phase", "done"], "'done' is not one of waiting,"),
    (["jobs", "--limit", "many"], "'many' is not a whole number"),
    (["jbos"], "Did you mean 'jobs'?"),
    (["job", "shwo", "x"], "Did you mean 'show'?"),
    (["job", "show"], "Missing argument 'JOB'"),
    (["job", "logs", "-f", "x", "--jsn"], "No such option: --jsn"),
]


def test_slips_of_the_keyboard_are_answered_with_what_was_meant(ada: Shell) -> None:
    for words, said in SLIPS:
        assert said in ada(*words, code=2).output, words
