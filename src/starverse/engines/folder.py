"""The files of a run and of a job: where each lies, who writes it, and how it is written whole.

They are the whole interface between engine, shim and readers, so either side can be killed and started again:

    HOME/runs/<run>/
        order.json      engine, before the shim: the StartRun, and how to launch it; the same after the claim
        claim           shim: a link that only one can make, to a file locked (flock) for all its life;
                        or engine: a tombstone (`tombstone_ms`, `text`) for a run that never was nor will be
        shim.json       shim: boot id, pid, start time of itself and of the run's first process; its port
        heartbeat       shim, every second: UTC milliseconds, the last proof of life
        lease.json      engine: until when it may live (`until_ms`; `deadline_ns` on the boot clock)
        stop.json       engine: why it must leave, and when all of it is killed (`kill_at_ms`, `deadline_ns`)
        kill.<rank>     engine: kill this rank now; the shim removes it
        status.json     shim: `started_ms`; then, durable, `ended_ms`, `how`, `code`, `rank`, `text`
        report.jsonl    the job: steps and checkpoints (see train/contract.py)
        stdout.<n>.log  shim: part n of what the ranks wrote; parts of LOG_PART_BYTES, the last two are kept
        stderr.<n>.log
        spare           shim: room kept on the disk, so that an end can be written down even when it is full
        shim.log        what the shim itself died of, if it did
        work/           the submitted snapshot, fresh for each run; tmp/ is its /tmp; in rendezvous/ ranks may
                        meet by files: all three are removed at the end
    HOME/jobs/<job>/
        checkpoints/ output/    what outlives a run

Times on the boot clock (CLOCK_BOOTTIME) go on through suspend and never jump, so a wrong wall clock kills
nothing. Only the standard library's cheapest parts are imported here: every shim loads this.
"""

import fcntl
import itertools
import json
import os
import time
from typing import Any, Literal

from starverse.model.errors import BadInput

ID_CHARACTERS_MAX = 128
LOG_PART_BYTES = 8 * 1024 * 1024
JSON_BYTES_MAX = 8 * 1024 * 1024
ClaimState = Literal["free", "tombstone", "held", "dead"]

PASSING = ("work", "tmp", "rendezvous")
"""The folders of a run that are removed at its end."""

_halves = itertools.count()


class RunFolder:
    """The paths of one run."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.run = os.path.basename(path)
        self.order = f"{path}/order.json"
        self.claim = f"{path}/claim"
        self.shim = f"{path}/shim.json"
        self.heartbeat = f"{path}/heartbeat"
        self.lease = f"{path}/lease.json"
        self.stop = f"{path}/stop.json"
        self.status = f"{path}/status.json"
        self.report = f"{path}/report.jsonl"
        self.spare = f"{path}/spare"
        self.shim_log = f"{path}/shim.log"
        self.work = f"{path}/work"
        self.tmp = f"{path}/tmp"  # noqa: S108 - its own
        self.rendezvous = f"{path}/rendezvous"

    @classmethod
    def of(cls, home: str, run: str) -> "RunFolder":
        """The folder of a run under HOME. Raises BadInput for an id that would leave it."""
        return cls(os.path.join(home, "runs", confined(run)))

    def kill(self, rank: int) -> str:
        """The file that asks for the death of a rank."""
        return f"{self.path}/kill.{rank}"

    def log(self, stream: str, part: int) -> str:
        """Part `part` of a log."""
        return f"{self.path}/{stream}.{part}.log"


class JobFolder:
    """The paths of one job, shared by its runs."""

    def __init__(self, home: str, job: str) -> None:
        self.path = os.path.join(home, "jobs", confined(job))
        self.checkpoints = f"{self.path}/checkpoints"
        self.output = f"{self.path}/output"


def confined(name: str) -> str:
    """The id, if it names one folder and nothing outside. Raises BadInput."""
    plain = name.isascii() and name.isprintable() and "/" not in name and not name.startswith(".")
    if not plain or not 0 < len(name) <= ID_CHARACTERS_MAX or ".." in name:
        raise BadInput(
            f"{name[:40]!r} is not the id of a run or a job.", "Ids look like j-abc123 and j-abc123.0."
        )
    return name


def write_json(path: str, value: dict[str, Any], durable: bool = False) -> None:
    """Write a file whole or not at all; `durable`: it is there even after a power cut."""
    half = _half(path)
    descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        data = memoryview(json.dumps(value).encode())
        while data:
            data = data[os.write(descriptor, data) :]
        if durable:
            os.fsync(descriptor)
        os.rename(half, path)
    except OSError:
        os.unlink(half)
        raise
    finally:
        os.close(descriptor)
    if durable:
        sync_folder(os.path.dirname(path))


def read_json(path: str) -> dict[str, Any] | None:
    """What `write_json` wrote, or None if the file isn't there, or empty since a power cut."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        value = json.loads(os.read(descriptor, JSON_BYTES_MAX))
    except ValueError:
        return None
    finally:
        os.close(descriptor)
    assert isinstance(value, dict), f"{path} holds no JSON object"
    return value


def take_claim(folder: RunFolder, content: dict[str, Any]) -> int | None:
    """Claim the run, which only one can ever do: the open file, or None where it was claimed before.

    The claim is locked before it can be seen, so whoever sees it unlocked knows that its owner is dead.
    """
    half = _half(folder.claim)
    descriptor = os.open(half, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, json.dumps(content).encode())
        os.link(half, folder.claim)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, FileExistsError):
            return None
        raise
    finally:
        os.unlink(half)
    return descriptor


def read_claim(folder: RunFolder) -> tuple[ClaimState, dict[str, Any]]:
    """Whether the run was claimed, and whether who did so lives; with what the claim says."""
    try:
        descriptor = os.open(folder.claim, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return "free", {}
    content = read_json(folder.claim) or {}
    if "tombstone_ms" in content:
        os.close(descriptor)
        return "tombstone", content
    try:  # shared, so that two who look at once don't take each other for the owner
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return "held", content
    finally:
        os.close(descriptor)
    return "dead", content


def boot_id() -> str:
    """Names this boot of the machine: no process lives on from another."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def boot_ns() -> int:
    """The boot clock, one for all processes of the machine."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def sync_folder(path: str) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _half(path: str) -> str:
    """A name for what is being written, of which no other process or thread makes the same."""
    return f"{path}.{os.getpid()}.{next(_halves)}~"
