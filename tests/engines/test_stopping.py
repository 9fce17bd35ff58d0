"""How a run is asked to leave: by a stop, by the end of its lease, by a shutdown; and what if it will not."""

import os
import signal

import pytest

from starverse.engines.clock import wall_ms
from starverse.model.commands import RenewLease, StopRun

IGNORES_SIGTERM = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, lambda *_: print("no", flush=True))
subprocess.Popen(["setsid", "sleep", "1000.25"])
print("ready", flush=True)
while True: time.sleep(0.1)
"""
SAVES_ON_SIGTERM = """
import os, signal, sys, time
def leave(*_):
    time.sleep(0.2)
    os._exit(85)
signal.signal(signal.SIGTERM, leave)
print("ready", flush=True)
while True: time.sleep(0.1)
"""


def test_a_stop_before_the_start_leaves_a_tombstone(machine):
    engine = machine.engine()
    engine.act(StopRun("j-a.0", "person", wall_ms()))
    ended = machine.ended(engine, "j-a.0")
    assert (ended.how, ended.text) == ("unstarted", "The run was stopped before it started.")
    later = machine.engine(2)
    later.act(machine.order("j-a.0", "sh", "-c", "echo started > $STARVERSE_OUTPUT/starts"))
    machine.quiet(later)
    assert not machine.output("j-a.0").exists()
    assert machine.heard.count(ended) == 2  # each engine says it once


def test_a_stop_right_behind_the_start_ends_it_either_way(machine):
    engine = machine.engine()
    for n in range(5):
        engine.act(machine.order(f"j-{n}.0", "sleep", "1000"))
        engine.act(StopRun(f"j-{n}.0", "person", wall_ms() + 1000))
    assert {machine.ended(engine, f"j-{n}.0").how for n in range(5)} <= {"unstarted", "signal"}
    machine.quiet(engine)


def test_asked_to_stop_a_run_may_save_and_leave(machine):
    engine = machine.engine()
    engine.act(
        machine.order("j-a.0", "save.py", files={"save.py": SAVES_ON_SIGTERM}, cards=2, launch="per-card")
    )
    machine.wait_for_log("j-a.0", engine, lines=2)
    engine.act(StopRun("j-a.0", "drain", wall_ms() + 10_000))
    ended = machine.ended(engine, "j-a.0")
    assert (ended.how, ended.code, ended.text) == ("exit", 85, "")


@pytest.mark.parametrize("kind", ["machine", "bare"])
def test_what_ignores_the_request_is_killed_to_the_last_grandchild(kind, request):
    machine = request.getfixturevalue(kind)
    engine = machine.engine()
    engine.act(machine.order("j-a.0", "stay.py", files={"stay.py": IGNORES_SIGTERM}))
    machine.wait_for_log("j-a.0", engine)
    kill_at_ms = wall_ms() + 500
    engine.act(StopRun("j-a.0", "person", kill_at_ms))
    ended = machine.ended(engine, "j-a.0")
    assert (ended.how, ended.code) == ("signal", 9)
    assert kill_at_ms <= ended.happened_ms < kill_at_ms + 1000
    assert "no" in machine.log("j-a.0")
    assert machine.processes("j-a.0") == []


def test_a_shell_is_given_time_for_what_it_left_behind(machine):
    engine = machine.engine()
    command = "(trap 'sleep 0.3; echo saved; exit 0' TERM; echo ready; while :; do sleep 0.05; done) & wait"
    engine.act(machine.order("j-a.0", "sh", "-c", command))
    machine.wait_for_log("j-a.0", engine)
    engine.act(StopRun("j-a.0", "person", wall_ms() + 10_000))
    machine.ended(engine, "j-a.0")
    assert machine.log("j-a.0") == "ready\nsaved\n"


def test_a_lease_that_ends_is_told_in_time_and_then_kills(machine):
    engine = machine.engine()
    order = machine.order(
        "j-a.0", "stay.py", files={"stay.py": IGNORES_SIGTERM}, lease_ms=2000, grace_ms=1000
    )
    engine.act(order)
    ended = machine.ended(engine, "j-a.0")
    assert ended.how == "lease"
    assert order.lease_until_ms <= ended.happened_ms < order.lease_until_ms + 1000
    assert "no" in machine.log("j-a.0")


def test_a_renewed_lease_lets_it_live(machine):
    engine = machine.engine()
    engine.act(machine.order("j-a.0", "sh", "-c", "sleep 1.5; echo lived", lease_ms=1200, grace_ms=300))
    engine.act(RenewLease("j-a.0", wall_ms() + 60_000))
    assert machine.ended(engine, "j-a.0").how == "exit"
    assert machine.log("j-a.0") == "lived\n"


def test_a_machine_that_shuts_down_gives_the_run_its_grace(machine):
    engine = machine.engine()
    engine.act(machine.order("j-a.0", "save.py", files={"save.py": SAVES_ON_SIGTERM}))
    machine.wait_for_log("j-a.0", engine)
    os.kill(machine.shim("j-a.0"), signal.SIGTERM)
    assert machine.ended(engine, "j-a.0").code == 85


def test_a_run_that_is_nowhere_to_be_found_is_lost_when_its_lease_is_renewed(machine):
    engine = machine.engine()
    engine.act(RenewLease("j-gone.0", wall_ms() + 60_000))
    end = machine.ended(engine, "j-gone.0")
    assert (end.how, end.happened_ms) == ("lost", 0), "with no proof of life, nothing more is paid for"
    assert not (machine.home / "runs" / "j-gone.0").exists()
