"""Servers, shims and engines that die at the worst moment, and what becomes of the runs."""

import json
import os
import random
import signal
import time
from pathlib import Path

import pytest

from starverse.engines import tree
from starverse.engines.clock import wall_ms
from starverse.engines.folder import read_claim, read_json
from starverse.model.commands import StopRun
from starverse.model.events import CheckpointSaved, NodeJoined, RunEnded, RunResumed, RunStarted

LOG_START = "echo started >> $STARVERSE_OUTPUT/starts; exec sleep 1000"
CRASHES = [12, pytest.param(100, marks=[pytest.mark.deep, pytest.mark.timeout(900)])]
STAYS = "trap 'echo no' TERM; setsid sleep 1000.5 & while :; do sleep 0.1; done"


def test_a_run_outlives_its_server_and_is_adopted_by_the_next(machine):
    server = machine.server(machine.order("j-a.0", "sh", "-c", "sleep 1; exit 7"), epoch=1)
    hear(server, "RunStarted")
    server.kill()
    server.wait()
    engine = machine.engine(2)
    events = machine.survey(engine, "j-a.0", "j-never.0")
    assert [type(event) for event in events] == [NodeJoined, RunStarted]
    assert "j-a.0" in engine._watches
    ended = machine.ended(engine, "j-a.0")
    assert (ended.how, ended.code) == ("exit", 7)


def test_what_happened_while_no_server_was_there_is_told_to_the_next(machine):
    lines = [
        {
            "kind": "step",
            "at_ms": wall_ms(),
            "step": 3,
            "steps": 9,
            "loss": 1.0,
            "finite": True,
            "tokens_per_s": None,
        },
        {"kind": "checkpoint", "at_ms": wall_ms(), "step": 3, "seconds": 0.1},
    ]
    echo = "".join(f"echo '{json.dumps(line)}' >> $STARVERSE_REPORT;" for line in lines)
    server = machine.server(machine.order("j-a.0", "sh", "-c", f"sleep 0.5; {echo} exit 5"))
    hear(server, "RunStarted")
    server.kill()
    shim = machine.shim("j-a.0")
    wait_for_end(machine, "j-a.0")
    ended_ms = read_json(machine.folder("j-a.0").status)["ended_ms"]
    later = machine.engine(2)
    events = machine.survey(later, "j-a.0")[1:]
    assert [type(event) for event in events] == [RunStarted, RunResumed, CheckpointSaved, RunEnded]
    assert (events[-1].code, events[-1].happened_ms) == (5, ended_ms)
    machine.quiet(later)
    assert tree.start_time(shim) is None


def test_a_lease_ends_without_any_server(machine):
    order = machine.order("j-a.0", "sh", "-c", STAYS, lease_ms=1500, grace_ms=700)
    server = machine.server(order)
    hear(server, "RunStarted")
    server.kill()
    wait_for_end(machine, "j-a.0")
    status = read_json(machine.folder("j-a.0").status)
    assert status["how"] == "lease"
    assert 0 <= status["ended_ms"] - order.lease_until_ms < 500
    assert "no" in machine.log("j-a.0")
    assert machine.processes("j-a.0") == []


@pytest.mark.parametrize("kind", ["machine", "bare"])
def test_when_its_shim_is_killed_all_of_a_run_dies_and_it_counts_as_lost(kind, request):
    machine = request.getfixturevalue(kind)
    engine = machine.engine()
    engine.act(machine.order("j-a.0", "sh", "-c", f"echo up; {STAYS}", cards=2, launch="per-card"))
    machine.wait_for_log("j-a.0", engine, lines=2)
    os.kill(machine.shim("j-a.0"), signal.SIGKILL)
    killed_ms = wall_ms()
    ended = machine.ended(engine, "j-a.0")
    assert ended.how == "lost"
    beat_ms = int(Path(machine.folder("j-a.0").heartbeat).read_text())
    assert ended.happened_ms == beat_ms
    assert killed_ms - 1500 < beat_ms <= killed_ms
    assert machine.processes("j-a.0") == []
    machine.quiet(engine)
    assert not Path(machine.folder("j-a.0").work).exists()
    later = machine.engine(2)
    assert machine.survey(later, "j-a.0")[-1] == ended


def test_without_a_server_the_ranks_of_a_killed_shim_die_too(machine):
    server = machine.server(machine.order("j-a.0", "sh", "-c", STAYS, cards=2, launch="per-card"))
    hear(server, "RunStarted")
    server.kill()
    os.kill(machine.shim("j-a.0"), signal.SIGKILL)
    machine.until_true(lambda: machine.processes("j-a.0") == [])
    ended = machine.survey(machine.engine(2), "j-a.0")[-1]
    assert (type(ended), ended.how) == (RunEnded, "lost")


def test_two_engines_at_once_start_a_run_once(machine):
    engines = [machine.engine(), machine.engine(), machine.engine()]
    orders = [machine.order(f"j-{n}.0", "sh", "-c", LOG_START) for n in range(4)]
    for order in orders:
        for engine in engines:
            engine.act(order)
    for order in orders:
        for engine in engines:
            machine.until(engine, RunStarted, order.run)
        machine.until_true(lambda order=order: started(machine, order.run))
        engines[0].act(StopRun(order.run, "person", wall_ms() + 1000))
    for order in orders:
        for engine in engines:
            assert machine.ended(engine, order.run).how == "signal"
    for engine in engines:
        machine.quiet(engine)
    for order in orders:
        assert (machine.output(order.run) / "starts").read_text() == "started\n"


@pytest.mark.parametrize("crashes", CRASHES)
def test_a_server_killed_at_any_moment_of_a_start_starts_it_once_in_the_end(crashes, machine):
    chance = random.Random(4)
    for n in range(crashes):
        order = machine.order(f"j-{n}.0", "sh", "-c", LOG_START, lease_ms=900_000)
        server = machine.server(order, epoch=n + 1)
        wait_for_server(server, order.run, machine)
        time.sleep(chance.uniform(0, 0.1))  # the moment is what is tried here
        server.kill()
        server.wait()
    engine = machine.engine(crashes + 1)
    runs = [f"j-{n}.0" for n in range(crashes)]
    machine.survey(engine, *runs)
    for run in runs:
        engine.act(machine.order(run, "sh", "-c", LOG_START, lease_ms=900_000))
    for run in runs:
        machine.until(engine, RunStarted, run)
        machine.until_true(lambda run=run: started(machine, run))
        engine.act(StopRun(run, "person", wall_ms() + 1000))
    for run in runs:
        assert machine.ended(engine, run).how == "signal"
        assert (machine.output(run) / "starts").read_text() == "started\n"
    machine.quiet(engine)


@pytest.mark.parametrize("crashes", CRASHES)
def test_a_shim_killed_at_any_moment_leaves_no_process_and_one_end(crashes, machine):
    chance = random.Random(5)
    engine = machine.engine()
    for n in range(crashes):
        run = f"j-{n}.0"
        engine.act(machine.order(run, "sh", "-c", STAYS))
        machine.until_true(lambda run=run: read_claim(machine.folder(run))[0] != "free")
        time.sleep(chance.uniform(0, 0.06))
        os.kill(int(read_claim(machine.folder(run))[1]["pid"]), signal.SIGKILL)
        assert machine.ended(engine, run).how == "lost"
        assert machine.processes(run) == []
    machine.quiet(engine)
    ends = [event for event in machine.heard if isinstance(event, RunEnded)]
    assert len(ends) == crashes


def hear(server, kind: str) -> None:
    for line in server.stdout:
        if json.loads(line)["type"] == kind:
            return
    raise AssertionError(f"the server ended without a {kind}")


def wait_for_server(server, run: str, machine) -> None:
    """Until it has begun to prepare the run."""
    machine.until_true(lambda: Path(machine.folder(run).path).exists() or server.poll() is not None)


def wait_for_end(machine, run: str) -> None:
    machine.until_true(lambda: "ended_ms" in (read_json(machine.folder(run).status) or {}))


def started(machine, run: str) -> bool:
    """Whether the job has come to its own first line."""
    file = machine.output(run) / "starts"
    return file.exists() and file.stat().st_size > 0
