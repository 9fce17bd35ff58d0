"""The life of a run, from the order to its end, in all the ways it can go."""

import json
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from msgspec import structs

from starverse.engines import tree
from starverse.engines.clock import wall_ms
from starverse.engines.folder import read_json
from starverse.model.commands import KillRank, StopRun
from starverse.model.errors import StaleEpoch
from starverse.model.events import CheckpointSaved, NodeJoined, RunEnded, RunResumed, RunStarted
from starverse.model.units import DAY_MS

IGNORES_SIGTERM = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, lambda *_: print("no", flush=True))
subprocess.Popen(["setsid", "sleep", "1000.25"])
print("ready", flush=True)
while True: time.sleep(0.1)
"""


def test_the_node_joins_once_with_its_cards(machine):
    engine = machine.engine()
    assert engine.poll(wall_ms()) == [NodeJoined("here", "cpu", 8)]
    assert engine.poll(wall_ms()) == []


def test_a_run_that_fails_says_with_what_code_and_what_it_said_last(machine):
    engine, before_ms = machine.engine(), wall_ms()
    code = "import sys\nfor i in range(100): print('line', i, file=sys.stderr)\nsys.exit(3)"
    engine.act(machine.order("j-a.0", "fail.py", files={"fail.py": code}))
    ended = machine.ended(engine, "j-a.0")
    assert (ended.how, ended.code, ended.rank) == ("exit", 3, 0)
    assert ended.text.splitlines() == [f"line {i}" for i in range(80, 100)]
    started = machine.until(engine, RunStarted, "j-a.0")
    assert before_ms <= started.happened_ms <= ended.happened_ms <= wall_ms()


def test_a_run_that_ends_well_leaves_its_logs_and_output_and_nothing_else(machine):
    engine = machine.engine()
    command = "echo hello; echo careful >&2; echo kept > $STARVERSE_OUTPUT/result; sleep 1000 & exit 0"
    engine.act(machine.order("j-a.0", "sh", "-c", command))
    assert machine.ended(engine, "j-a.0") == RunEnded("j-a.0", machine.heard[-1].happened_ms)
    assert (machine.log("j-a.0"), machine.log("j-a.0", "stderr")) == ("hello\n", "careful\n")
    machine.quiet(engine)
    left = {path.name for path in Path(machine.folder("j-a.0").path).iterdir()}
    assert left == {
        "claim", "heartbeat", "order.json", "report.jsonl", "shim.json", "shim.log", "status.json",
        "stderr.0.log", "stdout.0.log",
    }  # fmt: skip
    assert (machine.output("j-a.0") / "result").read_text() == "kept\n"
    assert machine.processes("j-a.0") == []


def test_each_card_gets_a_rank_that_knows_its_place(machine):
    engine = machine.engine()
    script = "import os, json; print(json.dumps(dict(os.environ)))"
    engine.act(machine.order("j-a.0", "show.py", files={"show.py": script}, cards=2, launch="per-card"))
    assert machine.ended(engine, "j-a.0").code == 0
    lines = dict(line.split(" ", 1) for line in machine.log("j-a.0").splitlines())
    ranks = [json.loads(lines[f"[{rank}]"]) for rank in range(2)]
    for rank, environment in enumerate(ranks):
        assert environment["RANK"] == environment["LOCAL_RANK"] == str(rank)
        assert (
            environment["WORLD_SIZE"]
            == environment["LOCAL_WORLD_SIZE"]
            == environment["STARVERSE_CARDS"]
            == "2"
        )
        assert environment["MASTER_ADDR"] == "127.0.0.1"
        assert 20_000 <= int(environment["MASTER_PORT"]) < 30_000
    assert ranks[0]["MASTER_PORT"] == ranks[1]["MASTER_PORT"]


def test_a_command_started_once_is_no_rank_of_a_gang(machine):
    engine = machine.engine()
    engine.act(machine.order("j-a.0", "env", cards=2, environment={"MINE": "yes", "STARVERSE_JOB": "forged"}))
    assert machine.ended(engine, "j-a.0").code == 0
    environment = dict(line.split("=", 1) for line in machine.log("j-a.0").splitlines())
    assert not {"RANK", "WORLD_SIZE", "LOCAL_RANK"} & set(environment)
    assert environment["MINE"] == "yes"
    assert environment["STARVERSE_JOB"] == "j-a"
    assert environment["STARVERSE_CARDS"] == "2"


def test_runs_side_by_side_meet_at_different_ports(machine):
    engine = machine.engine()
    runs = [f"j-{n}.0" for n in range(4)]
    for run in runs:
        engine.act(machine.order(run, "sh", "-c", "echo $MASTER_PORT; sleep 1000"))
    for run in runs:
        machine.until(engine, RunStarted, run)
    ports = {machine.wait_for_log(run) for run in runs}
    assert len(ports) == len(runs)
    for run in runs:
        engine.act(StopRun(run, "person", wall_ms()))
        machine.ended(engine, run)
    machine.quiet(engine)
    for port in ports:  # both the lock and the port are free again
        with socket.socket(socket.AF_UNIX) as lock, socket.socket() as trial:
            lock.bind(f"\0starverse-port-{port.strip()}")
            trial.bind(("", int(port)))


def test_when_one_rank_is_killed_its_peers_follow_at_once(machine):
    engine = machine.engine()
    script = (
        "import os, signal, time\nif os.environ['RANK'] == '1': os.kill(os.getpid(), 9)\n" + IGNORES_SIGTERM
    )
    engine.act(machine.order("j-a.0", "train.py", files={"train.py": script}, cards=2, launch="per-card"))
    started = machine.until(engine, RunStarted, "j-a.0")
    ended = machine.ended(engine, "j-a.0")
    assert (ended.how, ended.code, ended.rank) == ("signal", 9, 1)
    assert ended.happened_ms - started.happened_ms < 1500


def test_a_fault_can_be_injected_into_one_rank(machine):
    engine = machine.engine()
    engine.act(machine.order("j-a.0", "sleep", "1000", cards=3, launch="per-card"))
    machine.until(engine, RunStarted, "j-a.0")
    engine.act(KillRank("j-a.0", 2))
    ended = machine.ended(engine, "j-a.0")
    assert (ended.how, ended.code, ended.rank) == ("signal", 9, 2)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["trane.py"], "There is no script 'trane.py' in what was submitted."),
        (["no-such-program"], "There is no command 'no-such-program'"),
        (["./plain.txt"], "'./plain.txt' is not executable"),
        (["./broken"], "'./broken' can't be started: Exec format error."),
        ([], "The job has no command."),
    ],
)
def test_what_cannot_be_started_says_why(machine, command, says):
    engine = machine.engine()
    files = {"plain.txt": "", "broken": "no program"}
    order = machine.order("j-a.0", *command, files=files)

    def unpack(snapshot, destination):
        machine.unpack(snapshot, destination)
        (destination / "broken").chmod(0o755)

    engine._unpack = unpack
    engine.act(order)
    ended = machine.ended(engine, "j-a.0")
    assert ended.how == "unstarted"
    assert says in ended.text
    assert not any(isinstance(event, RunStarted) for event in machine.heard)


@pytest.mark.parametrize(
    ("run", "how", "says"),
    [
        ("j-a.0", {"snapshot": "lost"}, "There is no snapshot 'lost'."),
        ("j-a.0", {"secrets": ("TOKEN", "KEY")}, "You have no secret 'KEY'."),
        ("j-a.0", {"environment": {"A=B": "c"}}, "The environment variable 'A=B' can't be set."),
        ("j-a.0", {"environment": {"A": "b" * 600_000}}, "larger than 512 KiB"),
        ("../../etc", {}, "'../../etc' is not the id of a run"),
    ],
)
def test_what_cannot_be_prepared_says_why_and_stays_so(machine, run, how, says):
    engine = machine.engine()
    order = machine.order(run, "true", **how)
    engine.act(order)
    ended = machine.ended(engine, run)
    assert (ended.how, says in ended.text) == ("unstarted", True), ended
    if ".." not in run:
        machine.engine(2).act(order)  # as a later server would
        assert machine.ended(machine.engines[-1], run).text == ended.text


def test_an_order_said_again_starts_nothing(machine):
    engine = machine.engine()
    order = machine.order("j-a.0", "sh", "-c", "echo once >> $STARVERSE_OUTPUT/starts; sleep 0.3")
    for _ in range(3):
        engine.act(order)
    machine.until(engine, RunStarted, "j-a.0")
    engine.act(order)
    machine.ended(engine, "j-a.0")
    engine.act(order)
    machine.quiet(engine)
    engine.act(order)
    machine.quiet(engine)
    assert (machine.output("j-a.0") / "starts").read_text() == "once\n"
    assert [type(event) for event in machine.heard[1:]] == [RunStarted, RunEnded]


def test_steps_and_checkpoints_are_heard_from_the_report(machine):
    engine = machine.engine()
    lines = [
        {"kind": "started", "at_ms": 1, "world_size": 1, "resumed_from": None},
        step(4, at_ms=2**50),
        step(5, at_ms=2**50),
        {"kind": "checkpoint", "at_ms": 1, "step": 5, "seconds": 0.1},
        {"kind": "saved", "at_ms": 1, "step": 6},
    ]
    text = "nonsense\n" + "\n".join(json.dumps(line) for line in lines) + "\n"
    files = {"report": text, "go.sh": "cat report >> $STARVERSE_REPORT"}
    before_ms = wall_ms()
    engine.act(machine.order("j-a.0", "sh", "go.sh", files=files))
    ended = machine.ended(engine, "j-a.0")
    resumed, saved = machine.heard[2:-1]
    assert (type(resumed), resumed.step) == (RunResumed, 4)
    assert (type(saved), saved.step) == (CheckpointSaved, 6), "of two at once the newest"
    for event in (resumed, saved):  # whatever the job says its time was
        assert before_ms <= event.happened_ms <= ended.happened_ms


def test_a_job_that_saves_without_a_pause_is_told_of_once_a_second_and_at_its_end(machine):
    engine = machine.engine()
    text = (
        "import json, os, time\n"
        "with open(os.environ['STARVERSE_REPORT'], 'a') as report:\n"
        "    for step in range(1, 151):\n"
        "        line = {'kind': 'checkpoint', 'at_ms': 1, 'step': step, 'seconds': 0.1}\n"
        "        print(json.dumps(line), file=report, flush=True)\n"
        "        time.sleep(0.01)\n"
    )
    engine.act(machine.order("j-a.0", "python", "go.py", files={"go.py": text}))
    machine.ended(engine, "j-a.0")
    saved = [event for event in machine.heard if type(event) is CheckpointSaved]
    assert 2 <= len(saved) <= 6
    assert saved[-1].step == 150
    assert [event.step for event in saved] == sorted(event.step for event in saved)


def test_a_stale_epoch_is_refused(machine):
    old = machine.engine(epoch=3)
    machine.engine(epoch=4)
    with pytest.raises(StaleEpoch, match="epoch 4, ours is 3"):
        old.act(StopRun("j-a.0", "person", wall_ms()))
    with pytest.raises(StaleEpoch):
        machine.engine(epoch=2).act(StopRun("j-a.0", "person", wall_ms()))


def test_a_disk_without_room_postpones_an_order(machine, monkeypatch):
    engine = machine.engine()
    engine.act(machine.order("j-a.0", "sleep", "1000"))
    machine.until(engine, RunStarted, "j-a.0")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("starverse.engines.local.write_json", full)
    engine.act(StopRun("j-a.0", "person", wall_ms() + 500))
    assert read_json(machine.folder("j-a.0").stop) is None
    monkeypatch.undo()
    assert machine.ended(engine, "j-a.0").code == signal.SIGTERM


def test_an_end_can_be_written_down_on_a_full_disk(machine):
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "full", machine.home], check=False
    ).returncode:
        pytest.skip("needs the right to mount a small disk")
    try:
        engine = machine.engine()
        fill = "cat /dev/zero > $STARVERSE_CHECKPOINTS/half; exit 86"
        engine.act(machine.order("j-a.0", "sh", "-c", fill))
        ended = machine.ended(engine, "j-a.0")
        assert ended.code == 86
        assert "No space left" in ended.text
        engine.act(machine.order("j-b.0", "sh", "go.sh", files={"go.sh": "#" * 1_000_000}))
        ended = machine.ended(engine, "j-b.0")
        assert (ended.how, "No space left on device" in ended.text) == ("unstarted", True)
        machine.quiet(engine)
    finally:
        subprocess.run(["umount", "--lazy", machine.home], check=True)


def test_the_job_has_nothing_of_the_servers_environment(machine, monkeypatch):
    monkeypatch.setenv("SERVER_PASSWORD", "hush")
    engine = machine.engine()
    engine.act(machine.order("j-a.0", "sh", "-c", "env; cat /proc/*/environ"))
    machine.ended(engine, "j-a.0")
    assert "STARVERSE_JOB=j-a" in machine.log("j-a.0")
    assert "hush" not in machine.log("j-a.0")


def test_secrets_reach_the_job_and_nothing_else(machine):
    engine = machine.engine()
    engine.act(machine.order("j-a.0", "sh", "-c", "echo $TOKEN; exec sleep 1000", secrets=("TOKEN",)))
    assert machine.wait_for_log("j-a.0", engine) == "open-sesame-4711\n"
    for path in Path(machine.folder("j-a.0").path).rglob("*.json"):
        assert "open-sesame" not in path.read_text()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        assert b"open-sesame" not in path.read_bytes()
    shim = machine.shim("j-a.0")
    assert b"open-sesame" not in Path(f"/proc/{shim}/environ").read_bytes()


def test_a_clock_that_is_wrong_by_days_kills_nothing_and_keeps_its_own_time(machine, monkeypatch):
    engine = machine.engine()
    monkeypatch.setattr(engine, "_now_ms", lambda: wall_ms() - 3 * DAY_MS)
    order = machine.order("j-a.0", "sh", "-c", "sleep 0.5; echo lived", grace_ms=100)
    engine.act(structs.replace(order, lease_until_ms=engine._now_ms() + 10_000))
    before_ms = engine._now_ms()
    ended = machine.ended(engine, "j-a.0")
    assert machine.log("j-a.0") == "lived\n"
    assert before_ms + 500 <= ended.happened_ms <= engine._now_ms()


def test_nothing_stays_in_shared_memory_where_all_share_it(bare):
    engine = bare.engine()
    script = "from multiprocessing.shared_memory import SharedMemory; import os\n"
    script += "s = SharedMemory(create=True, size=10)\n"
    script += "open('/dev/shm/of-the-owner', 'w').close(); print(s.name, flush=True); os._exit(0)"
    engine.act(bare.order("j-a.0", "leave.py", files={"leave.py": script}))
    try:
        assert bare.ended(engine, "j-a.0").code == 0
        bare.quiet(engine)
        name = bare.log("j-a.0").strip()
        assert name.startswith("psm_")
        assert not Path("/dev/shm", name).exists()
        assert Path("/dev/shm/of-the-owner").exists()  # a file that nobody but its owner can judge
    finally:
        Path("/dev/shm/of-the-owner").unlink()


def test_no_zombie_stays(machine):
    before = set(tree.descendants(os.getpid()))  # a database that other tests keep, say
    engine = machine.engine()
    for n in range(5):
        engine.act(machine.order(f"j-{n}.0", "sh", "-c", "sleep 1000 & setsid sleep 1000 & true"))
    for n in range(5):
        machine.ended(engine, f"j-{n}.0")
    machine.quiet(engine)
    children = set(tree.descendants(os.getpid())) - before
    assert [Path(f"/proc/{pid}/cmdline").read_text() for pid in children] == []


def step(number: int, at_ms: int) -> dict[str, object]:
    """A report of an optimizer step, as the train kit writes it."""
    rest = {"steps": 9, "loss": 1.0, "finite": True, "tokens_per_s": None}
    return {"kind": "step", "at_ms": at_ms, "step": number} | rest
