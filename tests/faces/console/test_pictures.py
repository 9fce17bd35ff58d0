"""Pictures of cards and of lives: what is where, and nothing that somebody else wrote as markup."""

from dataclasses import replace
from typing import Any

import pytest
from tests.faces.console.world import World

from starverse.faces import schemas as sc
from starverse.faces.console import cluster_picture, lives
from starverse.faces.console.job_facts import reason, title
from starverse.faces.console.markup import tag
from starverse.faces.console.output import plain
from starverse.faces.console.rows import jobs_table
from starverse.faces.console.statement import statement
from starverse.faces.console.voice import Voice

VOICE = Voice("en")
NODE = sc.Node("n1", "cpu", 4, 0, (), False, False)


@pytest.mark.parametrize(
    ("change", "mine", "cards"),
    [
        ({}, (), "free free free free"),
        ({"used": 3}, (1,), "used mine used free"),
        ({"used": 1, "broken": (0,)}, (), "broken used free free"),
        ({"used": 1, "cordoned": True}, (), "used closed closed closed"),
        ({"lost": True}, (), "broken broken broken broken"),
    ],
)
def test_cards_of_a_node(change: dict[str, Any], mine: tuple[int, ...], cards: str) -> None:
    assert cluster_picture.card_states(replace(NODE, **change), frozenset(mine)) == cards.split()


def test_a_large_cluster_is_drawn_in_little() -> None:
    nodes = [replace(NODE, node=f"n{n}", cards=8, used=n % 9) for n in range(3750)]
    drawn = cluster_picture.picture(VOICE, nodes, {})
    assert drawn.count('<i class="sv-node') == 3750
    assert len(drawn) < 1_000_000


def job_of(world: World, **ask: Any) -> sc.Job:
    given = {"cards": "2", "command": ["train.py"], "name": "x", "priority": "on-demand", "time_limit_ms": 0,
             "snapshot": "", "environment": {}}  # fmt: skip
    return world.submit(given | ask)


RUN = sc.Run(run="j-1.0", attempt=0, cards=2, places=(), placed_ms=0, started_ms=0, resumed_ms=10_000,
             resumed_step=1, checkpoint_ms=60_000, checkpoint_step=50, ended_ms=90_000, how="signal", code=9,
             rank=1, text="", fault=True, injected=True)  # fmt: skip


def test_a_fault_of_the_platform_undoes_what_was_done_since_the_checkpoint() -> None:
    assert lives.lost_ms(RUN) == 30_000
    assert lives.lost_ms(replace(RUN, fault=False)) == 0
    assert lives.lost_ms(replace(RUN, checkpoint_ms=None)) == 90_000
    after = replace(
        RUN, run="j-1.1", attempt=1, placed_ms=91_000, resumed_ms=97_500, ended_ms=None, fault=False
    )
    assert lives.resume_ms(RUN, after) == 7_500
    job = replace(job_of(World()), submitted_ms=0)
    drawn = lives.picture(VOICE, job, [RUN, after], [], 120_000)
    assert "left:50.0%;width:25.000%" in drawn, "work lost: from 60 to 90 of 120 s"
    assert "30.0 s of work lost, not charged" in drawn
    assert "back after 7.5 s" in drawn
    assert "rank 1 killed by signal 9 (a drill)" in drawn


EVIL = "<img src=x onerror=alert(1)>\"'&"


def test_nothing_that_was_typed_becomes_markup() -> None:
    job = replace(
        job_of(World(), name=EVIL, command=[EVIL], environment={"A": EVIL}), why=EVIL, phase="paused"
    )
    node = replace(NODE, node=EVIL)
    posting = sc.Posting(1, 0, EVIL, job.job, EVIL, 1, 1, 1, 1, None, None, EVIL)
    why = sc.Why(job.job, "paused", EVIL, (sc.Cause("x", EVIL),), EVIL)
    drawn = [
        jobs_table(VOICE, [job], 0, with_owner=True),
        title(VOICE, job),
        reason(VOICE, job, why),
        cluster_picture.picture(VOICE, [node], {}),
        statement(VOICE, [posting], {job.job: EVIL}),
        lives.picture(
            VOICE, job, [replace(RUN, text=EVIL)], [sc.Moment(1, 0, "CheckpointSaved", "j-1.0", EVIL)], 0
        ),
        tag("a", EVIL, href=EVIL),
    ]
    for markup in drawn:
        assert "<img" not in markup
        assert 'onerror=alert(1)>"' not in markup


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m\n", "red\n"),
        ("10%\r50%\r100%\ndone\n", "100%\ndone\n"),
        ("windows\r\n", "windows\r\n"),
        ("\x1b]0;title\x07x\0y", "xy"),
    ],
)
def test_output_is_shown_as_plain_text(text: str, shown: str) -> None:
    assert plain(text) == shown
