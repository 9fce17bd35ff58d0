"""What keeps a job from the server's files and from other tenants: users, and views of files, of their own.

Which of it works is found out by trying (`probe`), strongest first:

    users+view  root, and bubblewrap works: each tenant is a Unix user; each run has its own view of
                files, processes, /tmp and /dev/shm, and only the cards it was given
    users       root, but bubblewrap doesn't work (some containers): a Unix user per tenant
    view        not root, but bubblewrap works (user namespaces): the view, all under the server's own user
    none        neither: only the owner's own jobs may run

The network is shared with the machine in all of them.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from starverse.engines.folder import JobFolder, RunFolder

Mode = Literal["users+view", "users", "view", "none"]
MODES: tuple[Mode, ...] = ("users+view", "users", "view", "none")
SENTENCES: dict[Mode, str] = {
    "users+view": "Jobs are isolated: a Unix user per tenant, and each run has its own processes and files.",
    "users": "Jobs are isolated by a Unix user per tenant, but see each other's processes.",
    "view": "Jobs are isolated: each run has its own processes and view of files.",
    "none": "Jobs are not isolated here, so only the owner's are accepted.",
}
REMEDIES: dict[Mode, str] = {
    "users": "Where bubblewrap works (apt-get install bubblewrap), they would not.",
    "none": "To let others in, make bubblewrap work (apt-get install bubblewrap), or start as root with a "
    "STARVERSE_HOME that every user may pass through.",
}
PACKAGE = Path(__file__).resolve().parents[1]
"""The folder `starverse`, which every job must be able to read."""

PROBE_UID = 61_000
PROBE_WITHIN_S = 20.0
PROBE = """
import os, sys
if not os.access(sys.executable, os.X_OK):  # setpriv could, but what it starts can not
    sys.exit("other users can't reach " + sys.executable)
os.chdir(sys.argv[3])
sys.path.insert(0, sys.argv[1])
import starverse.engines.launch
open("written", "w").close()
try:
    open(sys.argv[2]).close()
except OSError:
    print("apart")
"""
NVIDIA_SHARED = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset", "nvidia-caps")


@dataclass(frozen=True)
class Isolation:
    """How jobs are kept apart here; `reason`: why not better."""

    mode: Mode
    reason: str = ""

    @property
    def sentence(self) -> str:
        """What `up` says of it."""
        why = f"({self.reason})" if self.reason and self.mode in REMEDIES else ""
        return " ".join(filter(None, (SENTENCES[self.mode], why, REMEDIES.get(self.mode, ""))))

    @property
    def accepts_foreign(self) -> bool:
        """Whether others than the server's owner may run jobs."""
        return self.mode != "none"

    @property
    def namespace(self) -> bool:
        """Whether each run has processes, /tmp, /dev/shm and devices of its own."""
        return self.mode in {"users+view", "view"}

    def user(self, uid: int) -> int:
        """The Unix user that a tenant's processes and files really have."""
        return uid if self.mode in {"users+view", "users"} else os.getuid()

    def wrap(
        self, home: str, run: RunFolder, job: JobFolder, uid: int, minors: Sequence[int] = ()
    ) -> list[str]:
        """What stands before a command line to run it in the sandbox; `minors` are NVIDIA devices it has."""
        become = list(_become(uid)) if self.user(uid) == uid != os.getuid() else []
        return [*_view(self.mode, home, run, job, minors), *become] if self.namespace else become

    def guard(self) -> list[str]:
        """What stands before a rank's command line for it to die with its launcher, where need be."""
        setpriv = None if self.namespace else shutil.which("setpriv")
        return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []

    def close(self, home: str) -> None:
        """Make HOME private; only where tenants must pass through it to their runs, it lets them pass."""
        Path(home).chmod(0o711 if self.mode == "users" else 0o700)
        for entry in os.scandir(home):
            if entry.name not in {"runs", "jobs"} and not entry.is_symlink():
                with suppress(FileNotFoundError):  # a database's passing files come and go
                    Path(entry.path).chmod(entry.stat().st_mode & 0o700)


def probe(home: Path, modes: Iterable[Mode] = MODES) -> Isolation:
    """The strongest isolation, of these, that works here: a small program was really run in it."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    reason = ""
    for mode in modes:
        isolation = Isolation(mode, reason)
        if mode == "none":
            return isolation
        # only root can become others; and a view of files alone is nothing to root, who may read them all
        if (mode in {"users+view", "users"}) != (os.getuid() == 0):
            continue
        failure = _missing(mode) or _try(isolation, str(home.resolve()))
        if not failure:
            return isolation
        reason = reason or failure
    return Isolation("none", reason)


def _missing(mode: Mode) -> str:
    needed = {"users+view": ("bwrap", "setpriv"), "users": ("setpriv",), "view": ("bwrap",)}[mode]
    return next((f"{program} is not installed" for program in needed if shutil.which(program) is None), "")


def _try(isolation: Isolation, home: str) -> str:
    """Run the probe; what went wrong, or ""."""
    isolation.close(home)
    run = RunFolder(tempfile.mkdtemp(prefix="probe-", dir=_passable(Path(home, "runs"))))
    job = JobFolder(home, run.run)
    try:
        secret = Path(run.order)
        secret.touch(mode=0o600)
        lay_out(isolation, run, job, PROBE_UID)
        argv = [sys.executable, "-I", "-S", "-c", PROBE, str(PACKAGE.parent), str(secret), run.work]
        wrapped = [*isolation.wrap(home, run, job, PROBE_UID), *argv]
        if isolation.namespace:
            wrapped[1:1] = ["--as-pid-1"]  # leaves no orphan
        found = subprocess.run(wrapped, env={}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                               timeout=PROBE_WITHIN_S, check=False)  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    finally:
        shutil.rmtree(run.path, ignore_errors=True)
        shutil.rmtree(job.path, ignore_errors=True)
    if found.returncode != 0:
        return (found.stderr.strip().splitlines() or [f"exit code {found.returncode}"])[-1]
    return "" if found.stdout.strip() == "apart" else "a job could read the server's files"


def lay_out(isolation: Isolation, run: RunFolder, job: JobFolder, uid: int) -> None:
    """Make the folders and the report file that a run needs, such that its user, and no other, may use
    them."""
    user = isolation.user(uid)
    for folder in map(Path, (run.path, job.path)):
        _passable(folder.parent)
        _passable(folder)
    for folder in map(Path, (run.work, run.tmp, run.rendezvous, job.checkpoints, job.output)):
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid != user:
            os.chown(folder, user, user)
    os.close(os.open(run.report, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    if user != os.getuid():
        os.chown(run.report, user, user)


def _passable(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o711)
    return folder


def _become(uid: int) -> Iterator[str]:
    setpriv = shutil.which("setpriv")
    assert setpriv, "setpriv was there when the server started"
    yield from (setpriv, "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "--inh-caps=-all")
    yield from ("--no-new-privs", "--")


def _view(mode: Mode, home: str, run: RunFolder, job: JobFolder, minors: Sequence[int]) -> Iterator[str]:
    """bubblewrap, with all of the machine's files to read, but no one's home, and of HOME only what is the
    run's."""
    bwrap = shutil.which("bwrap")
    assert bwrap, "bubblewrap was there when the server started"
    yield from (bwrap, "--die-with-parent", "--unshare-pid", "--unshare-ipc")
    if mode == "view":
        yield "--unshare-user"
    else:  # what it takes to become the tenant's user, and no more
        yield from ("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
    yield from ("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev")
    yield from ("--perms", "1777", "--tmpfs", "/dev/shm", "--bind", run.tmp, "/tmp")  # noqa: S108
    for name in (*NVIDIA_SHARED, *(f"nvidia{minor}" for minor in minors)) if minors else ():
        yield from ("--dev-bind-try", f"/dev/{name}", f"/dev/{name}")
    needed = _python_places()
    hidden = _hidden(home, needed)
    for folder in hidden:
        yield from ("--perms", "0755", "--tmpfs", folder)
    covers = [*hidden, "/tmp"]  # noqa: S108
    for place in needed:
        yield from _show(place, covers, "--ro-bind")
    if any(_inside(home, place) for place in needed):
        yield from ("--perms", "0755", "--tmpfs", home)
        covers = [home]
    for place in (run.work, run.rendezvous, run.report, job.checkpoints, job.output):
        yield from _show(place, covers, "--bind")
    yield "--"


def _python_places() -> list[str]:
    """The folders without which this Python, and `starverse` in it, can't run; none inside another."""
    folders = (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, str(PACKAGE))
    return _outermost({*folders, *map(os.path.realpath, folders)})


def _hidden(home: str, needed: Sequence[str]) -> list[str]:
    """What is shown empty: people's homes, Starverse's own, and any folder on the way to what is needed that
    other users may not pass."""
    closed = {
        str(parent)
        for place in (home, *needed)
        for parent in Path(place).parents
        if not parent.stat().st_mode & 0o001 and not parent.is_relative_to("/tmp")  # noqa: S108
    }
    homes = {folder for folder in ("/root", "/home") if os.path.isdir(folder)}
    return _outermost({*closed, *homes, home})


def _outermost(folders: set[str]) -> list[str]:
    return sorted(each for each in folders if not any(_inside(each, other) for other in folders))


def _inside(place: str, folder: str) -> bool:
    return place.startswith(folder.rstrip("/") + "/")


def _show(place: str, hidden: Sequence[str], how: str) -> Iterator[str]:
    """Bind back what lies in a hidden folder, and make the way there passable (bubblewrap's own would be
    0700)."""
    over = next((folder for folder in hidden if _inside(place, folder)), None)
    if over is None:
        return
    for parent in reversed(Path(place).parents):
        if _inside(str(parent), over):
            yield from ("--perms", "0755", "--dir", str(parent))
    yield from (how, place, place)
