"""What a job can see and do: its own, and nothing of the server's or of other tenants'."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from starverse.engines import sandbox
from starverse.engines.folder import JobFolder, RunFolder
from starverse.engines.sandbox import _python_places, probe
from starverse.model.events import RunStarted

PROBE = """
import json, os, sys
def reads(path):
    try:
        return os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(10).decode(errors="replace")
    except OSError:
        return None
def writes(path):
    try:
        open(path, "w").close()
        return True
    except OSError:
        return False
home, other_job, other_run = sys.argv[1:]
own = os.environ
print(json.dumps({
    "uid": os.getuid(), "gid": os.getgid(), "groups": os.getgroups(),
    "home": reads(home), "database": reads(home + "/starverse.db"), "epoch": reads(home + "/epoch"),
    "runs": reads(home + "/runs"), "jobs": reads(home + "/jobs"),
    "run": reads(os.path.dirname(own["STARVERSE_REPORT"])),
    "order": reads(os.path.dirname(own["STARVERSE_REPORT"]) + "/order.json"),
    "other checkpoint": reads(f"{home}/jobs/{other_job}/checkpoints/model"),
    "other work": reads(f"{home}/runs/{other_run}/work"),
    "root": reads("/root"), "homes": reads("/home"), "shadow": reads("/etc/shadow"), "tmp": reads("/tmp"),
    "shared memory": reads("/dev/shm"), "processes": [p for p in os.listdir("/proc") if p.isdigit()],
    "writes": [p for p in ("/etc/x", "/usr/x", sys.prefix + "/x", home + "/x", "/x") if writes(p)],
    "writes own": [writes(p + "/x") for p in (own["STARVERSE_CHECKPOINTS"], own["STARVERSE_OUTPUT"],
                   own["STARVERSE_RENDEZVOUS"], own["HOME"], own["TMPDIR"], "/dev/shm")],
}))
"""


@pytest.fixture
def looked_around(machine):
    """What a job of Bob's found out while one of Alice's was there."""
    if machine.isolation.mode != "users+view":
        pytest.skip("needs root and bubblewrap")
    (machine.home / "starverse.db").write_text("all accounts")
    engine = machine.engine()
    save = "echo weights > $STARVERSE_CHECKPOINTS/model; touch $STARVERSE_OUTPUT/done; exec sleep 1000"
    engine.act(machine.order("j-alice.0", "sh", "-c", save))
    machine.until(engine, RunStarted, "j-alice.0")
    machine.until_true((machine.output("j-alice.0") / "done").exists)
    Path("/dev/shm/not-bobs").touch()
    arguments = (str(machine.home), "j-alice", "j-alice.0")
    order = machine.order("j-bob.0", "look.py", *arguments, files={"look.py": PROBE}, tenant="bob")
    engine.act(order)
    try:
        assert machine.ended(engine, "j-bob.0").code == 0, machine.log("j-bob.0", "stderr")
    finally:
        Path("/dev/shm/not-bobs").unlink()
    return json.loads(machine.log("j-bob.0"))


def test_a_job_cannot_see_the_server_or_another_tenant(looked_around):
    seen = looked_around
    for what in ("database", "epoch", "order", "other checkpoint", "other work", "shadow"):
        assert seen[what] is None, what
    assert seen["home"] in (["jobs", "runs"], ["runs", "jobs"])
    assert (seen["runs"], seen["jobs"]) == (["j-bob.0"], ["j-bob"])
    assert set(seen["run"]) == {"work", "rendezvous", "report.jsonl"}
    places = [Path(place) for place in _python_places() if Path(place).is_relative_to("/root")]
    python = {place.relative_to("/root").parts[0] for place in places}
    assert set(seen["root"] or []) == python
    assert not seen["homes"]
    assert [name for name in seen["tmp"] if not name.startswith("starverse-")] == []  # the way to its home
    assert seen["shared memory"] == []
    assert len(seen["processes"]) <= 3


def test_a_job_is_a_user_of_its_own_and_writes_only_where_it_may(looked_around):
    assert (looked_around["uid"], looked_around["gid"], looked_around["groups"]) == (61_002, 61_002, [])
    assert looked_around["writes"] == []
    assert all(looked_around["writes own"])


def test_only_the_owner_may_be_served_without_isolation(tmp_path):
    isolation = probe(tmp_path, ["none"])
    assert not isolation.accepts_foreign
    assert "only the owner's are accepted" in isolation.sentence


def test_what_does_not_work_is_not_chosen_and_the_reason_is_told(tmp_path, monkeypatch):
    which = shutil.which
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: None if name == "bwrap" else which(name))
    found = probe(tmp_path)
    assert found.mode in {"users", "none"}
    assert "bwrap is not installed" in found.sentence
    assert "apt-get install bubblewrap" in found.sentence


def test_a_home_and_a_python_behind_closed_doors_are_shown_alone(machine, monkeypatch, tmp_path_factory):
    """As where root has both under a folder that nobody else may enter."""
    if machine.isolation.mode != "users+view":
        pytest.skip("needs root and bubblewrap")
    closed = Path(tempfile.mkdtemp(prefix="closed-", dir="/var/tmp"))  # 0700, and not under /tmp
    try:
        for name in ("python", "private", "home"):
            (closed / "deep" / name).mkdir(parents=True)
        (closed / "deep" / "python" / "library").write_text("code")
        places = [*sandbox._python_places(), str(closed / "deep" / "python")]
        monkeypatch.setattr(sandbox, "_python_places", lambda: places)
        home = machine.home
        machine.home = closed / "deep" / "home"
        engine = machine.engine()
        look = f"pwd; find {closed}/deep -maxdepth 2; cat {closed}/deep/python/library"
        engine.act(machine.order("j-a.0", "sh", "-c", look))
        assert machine.ended(engine, "j-a.0").code == 0
        lines = machine.log("j-a.0").splitlines()
        assert lines[0] == machine.folder("j-a.0").work
        below = {Path(line).relative_to(closed / "deep").as_posix() for line in lines[1:-1]}
        assert below == {".", "home", "home/runs", "home/jobs", "python", "python/library"}
        machine.quiet(engine)
        machine.home = home
    finally:
        shutil.rmtree(closed)


@pytest.fixture
def reachable_python() -> str:
    """A Python like ours that every user can start."""
    for python in (sys.executable, "/usr/bin/python3"):
        show = "import sys; print(*sys.version_info[:2])"
        argv = [
            "setpriv",
            "--reuid",
            "65534",
            "--regid",
            "65534",
            "--clear-groups",
            "sh",
            "-c",
            f"{python} -c '{show}'",
        ]
        found = subprocess.run(argv, capture_output=True, text=True, check=False)
        if found.stdout.split() == [str(part) for part in sys.version_info[:2]]:
            return python
    pytest.skip("no Python of this version that every user can start")


def test_without_bubblewrap_the_users_keep_tenants_apart(reachable_python, monkeypatch, machine):
    if os.getuid() != 0:
        pytest.skip("needs root")
    monkeypatch.setattr(sys, "executable", reachable_python)
    (machine.home / "starverse.db").write_text("all accounts")
    (machine.home / "starverse.db").chmod(0o644)
    machine.isolation = probe(machine.home, ["users", "none"])
    assert machine.isolation.mode == "users"
    engine = machine.engine()
    save = "id -u; echo weights > $STARVERSE_CHECKPOINTS/model; ls $STARVERSE_CHECKPOINTS $TMPDIR"
    engine.act(machine.order("j-alice.0", "sh", "-c", save))
    assert machine.ended(engine, "j-alice.0").code == 0, machine.log("j-alice.0", "stderr")
    job, run = JobFolder(str(machine.home), "j-alice"), machine.folder("j-alice.0")
    tries = [f"{machine.home}/starverse.db", f"{job.checkpoints}/model", run.order, run.report]
    peep = "id -u; for f in " + " ".join(tries) + "; do cat $f && echo SEEN $f; done; ls " + str(machine.home)
    engine.act(machine.order("j-bob.0", "sh", "-c", peep, tenant="bob"))
    machine.ended(engine, "j-bob.0")
    assert machine.log("j-bob.0") == "61002\n"


def test_an_ordinary_user_with_bubblewrap_gives_each_run_its_own_view(reachable_python, tmp_path_factory):
    if os.getuid() != 0 or shutil.which("bwrap") is None:
        pytest.skip("needs root, to become an ordinary user, and bubblewrap")
    site = next(path for path in sys.path if path.endswith("site-packages"))
    home = tempfile.mkdtemp(prefix="starverse-")
    os.chown(home, 65534, 65534)
    try:
        argv = [
            "setpriv",
            "--reuid",
            "65534",
            "--regid",
            "65534",
            "--clear-groups",
            reachable_python,
            "-c",
            ORDINARY,
        ]
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{sandbox.PACKAGE.parent}:{site}"}
        found = subprocess.run(
            [*argv, home], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert found.stdout.split() == ["view", "exit", "0"], found.stdout + found.stderr
        assert Path(RunFolder.of(home, "j-a.0").log("stdout", 0)).read_text() == "j-a.0\n"
    finally:
        shutil.rmtree(home)


ORDINARY = """
import sys, time
from pathlib import Path
from starverse.engines.cards import Cards
from starverse.engines.clock import wall_ms
from starverse.engines.local import LocalEngine
from starverse.engines.sandbox import probe
from starverse.model.allocation import Share
from starverse.model.commands import StartRun
from starverse.model.events import RunEnded
from starverse.model.job import Work
home = Path(sys.argv[1])
isolation = probe(home)
engine = LocalEngine(home, node="here", cards=Cards("cpu", 1), now_ms=wall_ms, isolation=isolation, epoch=1,
                     unpack=lambda snapshot, destination: None, secrets_of=lambda tenant, names: {},
                     uid_of=lambda tenant: 61001)
work = Work(("sh", "-c", f"cd {home}/runs; ls; cat {home}/epoch; exit 0"))
engine.act(StartRun("j-a.0", "j-a", "alice", 0, "cpu", (Share("here", 1),), wall_ms() + 60000, 1000, work))
events = []
while not events or not isinstance(events[-1], RunEnded):
    events += engine.poll(wall_ms())
print(isolation.mode, events[-1].how, events[-1].code)
while engine._watches: engine.poll(wall_ms())
"""
