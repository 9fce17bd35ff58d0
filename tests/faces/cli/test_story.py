"""The story of a job as its live events tell it."""

from collections.abc import Iterable
from dataclasses import replace

from starverse.faces import schemas as sc
from starverse.faces.cli.story import CURVE_MAX, Line, Story, steps_lost

JOB = sc.Job(
    job="j-1", project="p", tenant="t", owner="u", name="first", phase="running", outcome="", why="",
    kind="cpu", cards_min=2, cards_max=2, price=1, priority="on-demand", time_limit_ms=1, submitted_ms=0,
    started_ms=1_000, ended_ms=None, run="j-1.0", runs=1, command=("train.py",), launch="per-card",
    snapshot="", environment={}, secrets=(), cost=0, charged=0, credited=0, card_ms=0,
)  # fmt: skip
RUN = sc.Run(
    run="j-1.0", attempt=0, cards=2, places=(sc.Place("here", (0, 1)),), placed_ms=500, started_ms=1_000,
    resumed_ms=None, resumed_step=None, checkpoint_ms=None, checkpoint_step=None, ended_ms=None, how="",
    code=0, rank=-1, text="", fault=False, injected=False,
)  # fmt: skip
FIRST = replace(RUN, resumed_ms=2_000, resumed_step=1)
DEAD = replace(FIRST, ended_ms=10_000, how="signal", code=9, rank=1, fault=True, injected=True)
SECOND = replace(RUN, run="j-1.1", attempt=1, placed_ms=11_000, started_ms=12_000)
BACK = replace(SECOND, resumed_ms=16_200, resumed_step=101)


ALL_IN_ALL = "400 steps; loss 4 → 1.5; 1 fault, 19 steps lost; cost ¥1.2300 (¥0.0200 credited)"


def step(run: str, number: int, loss: float | None = 1.0, at_ms: int | None = None) -> sc.Metric:
    return sc.Metric(run, number * 100 if at_ms is None else at_ms, number, 400, loss, 1234.5)


def told(story: Story, *events: sc.StreamEvent) -> list[Line]:
    return [line for event in events for line in story.hear(event)]


def texts(lines: Iterable[Line]) -> list[str]:
    return [line.text for line in lines]


def test_a_fault_and_the_resume_after_it_are_told_with_what_was_lost() -> None:
    story = Story()
    said = told(
        story,
        sc.JobChanged(replace(JOB, phase="waiting", run="", runs=0)),
        sc.JobChanged(replace(JOB, phase="starting"), (RUN,)),
        sc.JobChanged(JOB, (FIRST,)),
        step("j-1.0", 1, 4.0),
        step("j-1.0", 119, 3.0),
        sc.JobChanged(
            replace(JOB, phase="waiting", why="platform fault: rank 1 killed by signal 9"), (DEAD,)
        ),
        sc.JobChanged(JOB, (DEAD, SECOND)),
        sc.JobChanged(JOB, (DEAD, BACK)),
        step("j-1.1", 101, 3.1),
        step("j-1.1", 400, 1.5),
        sc.Ended(
            replace(JOB, phase="ended", outcome="done", ended_ms=61_000, cost=1_230_000, credited=20_000)
        ),
    )
    assert texts(said) == [
        "waiting for cards; `starverse why j-1` says why",
        "run 0: 2 cards on here",
        "✗ fault in run 0: rank 1 killed by signal 9 (the platform's, injected: what is lost is not charged)",
        "waiting: platform fault: rank 1 killed by signal 9",
        "run 1: 2 cards on here",
        "↻ run 1 goes on with step 101, 6.2 s later, 19 steps lost",
        f"✓ done; took 1 min 00 s; {ALL_IN_ALL}",
    ]
    assert [line.kind for line in said] == ["note", "note", "bad", "note", "note", "good", "good"]
    assert (story.faults, story.steps_lost, story.marks) == (1, 19, [2])


def test_nothing_is_told_twice_when_the_stream_begins_again() -> None:
    story = Story()
    before = sc.JobChanged(JOB, (DEAD, BACK))
    assert len(told(story, before)) == 4
    blink = sc.Reconnecting(1, 0.25, "the server closed the stream")
    assert told(story, blink, before) == []
    away = sc.Reconnecting(2, 0.5, "No server at http://x.")
    assert texts(told(story, blink, away, replace(away, attempt=3))) == [
        "The server is away (No server at http://x); trying again."
    ]
    assert story.away
    assert texts(told(story, before)) == ["The server is back."]
    assert not story.away


def test_who_comes_late_hears_the_end_right() -> None:
    story = Story()
    ended = replace(JOB, phase="ended", outcome="done", ended_ms=61_000)
    told(story, sc.JobChanged(ended, (DEAD, replace(BACK, ended_ms=61_000, how="exit"))))
    told(story, step("j-1.0", 119), step("j-1.1", 101))
    assert "1 fault, 19 steps lost" in texts(told(story, sc.Ended(ended)))[0]


def test_a_crash_of_its_own_is_no_fault_of_the_platforms() -> None:
    crashed = replace(RUN, ended_ms=3_000, how="exit", code=1, rank=0)
    story = Story()
    failed = replace(JOB, phase="ended", outcome="failed", why="exit code 1, 3 runs tried", ended_ms=4_000)
    said = told(story, sc.JobChanged(failed, (crashed,)), sc.Ended(failed))
    assert said[1:] == [
        Line("bad", "✗ run 0: rank 0 ended with exit code 1"),
        Line("bad", "✗ failed: exit code 1, 3 runs tried; took 3.0 s; cost ¥0.0000"),
    ]


def test_what_it_wrote_is_told_before_how_it_ended() -> None:
    crashed = replace(RUN, ended_ms=3_000, how="exit", code=1, rank=0)
    failed = replace(JOB, phase="ended", outcome="failed", ended_ms=4_000)
    last = sc.LogText("j-1.0", "stderr", "ValueError: no data")
    assert texts(told(Story(), sc.JobChanged(failed, (crashed,)), last, sc.Ended(failed))) == [
        "run 0: 2 cards on here",
        "ValueError: no data",
        "✗ run 0: rank 0 ended with exit code 1",
        "✗ failed; took 3.0 s; cost ¥0.0000",
    ]


def test_a_run_that_saved_and_left_is_no_failure() -> None:
    saved = replace(RUN, ended_ms=3_000, how="exit", code=85, rank=0)
    waiting = replace(JOB, phase="waiting", why="asked to leave: drain")
    assert told(Story(), sc.JobChanged(JOB, (RUN,)), sc.JobChanged(waiting, (saved,)))[1:] == [
        Line("note", "run 0: saved and left"),
        Line("note", "waiting: asked to leave: drain"),
    ]


def test_a_job_that_a_person_stopped_is_no_failure() -> None:
    stopped = replace(JOB, phase="ended", outcome="stopped", why="stopped on request", ended_ms=4_000)
    saved = replace(RUN, ended_ms=4_000, how="exit", code=85, rank=0)
    assert told(Story(), sc.JobChanged(stopped, (saved,)), sc.Ended(stopped))[1:] == [
        Line("note", "run 0: saved and left"),
        Line("note", "■ stopped: stopped on request; took 3.0 s; cost ¥0.0000"),
    ]


def test_a_pause_says_what_it_waits_for() -> None:
    paused = replace(JOB, phase="paused", why="The wallet is empty.")
    assert told(Story(), sc.JobChanged(paused)) == [Line("bad", "paused: The wallet is empty.")]


def test_output_comes_in_whole_lines_of_each_stream() -> None:
    story = Story()
    pieces = [("stdout", "one\ntw"), ("stderr", "warn"), ("stdout", "o\r\nthree"), ("stderr", "ing\n")]
    said = told(story, *(sc.LogText("j-1.0", stream, text) for stream, text in pieces))  # type: ignore[arg-type]
    assert texts(said) == ["one", "two", "warning"]
    assert texts(told(story, sc.Ended(JOB)))[0] == "three"


def test_a_line_without_end_is_not_kept_for_ever() -> None:
    story = Story()
    said = [line for _ in range(20) for line in told(story, sc.LogText("j-1.0", "stdout", "x" * 10_000))]
    assert sum(len(line.text) for line in said) >= 130_000


def test_the_time_left_follows_the_pace_of_the_present_run() -> None:
    story = Story()
    assert story.left_ms is None
    told(story, step("j-1.0", 100, at_ms=1_000), step("j-1.0", 101, at_ms=9_000))
    told(story, step("j-1.1", 100, at_ms=50_000))
    assert story.left_ms is None
    told(story, step("j-1.1", 200, at_ms=60_000))
    assert story.left_ms == 20_000


def test_the_curve_stays_bounded_and_keeps_its_shape() -> None:
    story = Story()
    for number in range(1, 4 * CURVE_MAX):
        told(story, step("j-1.0", number, float(number)))
    assert len(story.curve) <= CURVE_MAX
    assert story.curve == sorted(story.curve)
    assert story.first_loss == 1.0


def test_a_loss_that_is_no_number_is_left_out_of_the_curve() -> None:
    story = Story()
    told(story, step("j-1.0", 1, None), step("j-1.0", 2, 3.0))
    assert (story.curve, story.first_loss) == ([3.0], 3.0)


def test_steps_lost_add_up_over_runs() -> None:
    runs = [
        FIRST,
        replace(BACK, run="j-1.1"),
        replace(RUN, run="j-1.2"),
        replace(BACK, run="j-1.3", resumed_step=151),
    ]
    last = {"j-1.0": 119, "j-1.1": 160, "j-1.3": 400}
    assert steps_lost(runs, last) == 19 + 10
    assert steps_lost([], {}) == 0
