"""The life of a job is a table: it has no holes, and the page that people read is drawn from it.

`python -m tests.model.test_job_life` draws docs/job-life.md anew.
"""

import re
from pathlib import Path
from typing import get_args

import pytest

from starverse.model import events as ev
from starverse.model.job import JOB_LIFE, TIME_LIMIT_DEFAULT_MS, Phase, Priority
from starverse.model.units import TIME_LIMIT_MAX_MS

PAGE = Path(__file__).parents[2] / "docs" / "job-life.md"
PHASES = get_args(Phase)
EVENTS = {event.__name__: event for event in get_args(ev.Event)}


def test_every_phase_can_be_reached_from_the_first() -> None:
    reached = {"waiting"}
    while more := {after for (before, _), after in JOB_LIFE.items() if before in reached} - reached:
        reached |= more
    assert reached == set(PHASES)


def test_every_phase_but_the_last_leads_to_the_end() -> None:
    ending = {"ended"}
    while more := {before for (before, _), after in JOB_LIFE.items() if after in ending} - ending:
        ending |= more
    assert ending == set(PHASES)
    assert not [before for before, _ in JOB_LIFE if before == "ended"]


def test_the_table_speaks_of_phases_and_events_that_exist() -> None:
    assert {event for _, event in JOB_LIFE} <= set(EVENTS)
    assert {phase for (before, _), after in JOB_LIFE.items() for phase in (before, after)} <= set(PHASES)


@pytest.mark.parametrize("phase", ["starting", "running", "stopping"])
def test_a_run_may_end_at_any_time_it_is_there(phase: Phase) -> None:
    assert JOB_LIFE[phase, "RunEnded"] == "settling"


def test_every_priority_has_a_time_limit_that_may_be_asked_for() -> None:
    assert set(TIME_LIMIT_DEFAULT_MS) == set(get_args(Priority))
    assert all(0 < limit_ms <= TIME_LIMIT_MAX_MS for limit_ms in TIME_LIMIT_DEFAULT_MS.values())


def test_the_page_is_drawn_from_the_table() -> None:
    assert PAGE.read_text() == drawn(), "docs/job-life.md is old: python -m tests.model.test_job_life"


SAID = {
    "waiting": "It waits for its turn, for cards, or for the time it may be tried again.",
    "starting": "It has cards; its processes are on their way. Nothing is charged yet.",
    "running": "Its processes are there, and it is charged.",
    "stopping": "It was asked to save and leave; one that had started is charged until it has left.",
    "settling": "Its run has ended; what becomes of the job is in the same transaction.",
    "paused": "It waits for a person: for money, or for room on the disk.",
    "ended": "It is over: done, failed, stopped, or expired at its time limit.",
}


def drawn() -> str:
    """The page, from the table."""
    arrows = "\n".join(f"    {before} --> {after}: {event}" for (before, event), after in JOB_LIFE.items())
    phases = "\n".join(f"| {phase} | {SAID[phase]} |" for phase in PHASES)
    moves = "\n".join(
        f"| {before} | {event} | {after} | {_said(event)} |" for (before, event), after in JOB_LIFE.items()
    )
    return f"""# The life of a job

Drawn from `JOB_LIFE` in [src/starverse/model/job.py](../src/starverse/model/job.py) by
`python -m tests.model.test_job_life`; a test keeps the two in step. An event that is not in the table for the
phase a job is in cannot happen to it.

```mermaid
stateDiagram-v2
    [*] --> waiting: JobSubmitted
{arrows}
    ended --> [*]
```

| phase | what it means |
|---|---|
{phases}

| from | what happens | to | that is |
|---|---|---|---|
{moves}
"""


def _said(event: str) -> str:
    doc = " ".join((EVENTS[event].__doc__ or "").split())
    return re.split(r"(?<=\.) ", doc)[0].replace("`", "")


if __name__ == "__main__":
    PAGE.write_text(drawn())
