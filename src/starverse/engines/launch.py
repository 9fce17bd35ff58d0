"""Starts the ranks of a run and reports how each ended; lives inside the sandbox, as the tenant's user.

The shim speaks to it through one pipe: a line of JSON with the order (secrets included, which therefore stand
in no file and on no command line), then the words `stop` and `kill <rank>`. It answers through another, a
line each: `failed <text>`, or `started`, then `end <rank> exit|signal <number>`. Standard library only: its
start is part of every run's start.
"""

import json
import os
import select
import signal
import sys
import time
from typing import Any

ORDER_BYTES_MAX = 1024 * 1024
PATIENCE_S = {"exit": 2.0, "signal": 0.3}
"""How long the others may go on once a rank failed: one that was killed takes its peers along, and the sooner
they are gone, the sooner the job resumes; after an error the others may have something to say."""
PATIENCE_SAVED_S = 10.0
EXIT_SAVED = 85  # train/contract.py, which takes too long to import
GROUP_LOOK_S = 0.05
TO_DEFAULT = [signal.SIGPIPE, signal.SIGXFSZ]  # Python ignores these two, and children would inherit that


class Unstartable(Exception):
    """The command can't be started; the text says why."""


def main() -> None:
    """Run the ranks. Arguments: the pipe to hear from, the pipe to answer through, and two more for each
    rank."""
    control, results, *outputs = (int(argument) for argument in sys.argv[1:])
    for descriptor in (control, results, *outputs):
        os.set_inheritable(descriptor, False)
    line, rest = _first_line(control)
    launcher = Launcher(json.loads(line), control, results, outputs)
    launcher.run(rest)


class Launcher:
    """The ranks, from their start to the end of the last. Mutable owner of who lives."""

    def __init__(self, order: dict[str, Any], control: int, results: int, outputs: list[int]) -> None:
        self._order, self._control, self._results, self._outputs = order, control, results, outputs
        ranks = len(order["ranks"])
        self._commands: list[list[str]] = order.get("commands") or [order["command"]] * ranks
        self._onces: list[bool] = order.get("onces") or [order["once"]] * ranks
        self._pids: dict[int, int] = {}  # rank -> pid, the living ones
        self._groups: set[int] = set()
        self._shells: set[int] = set()  # groups of those that were started once, and may have left children
        self._stopping = False
        self._kill_s: float | None = None
        self._woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run(self, heard: bytes) -> None:
        """Start all ranks, or none; then wait for them."""
        try:
            self._start()
        except Unstartable as error:
            self._kill()
            self._say(f"failed {error}")
            return
        self._say("started")
        self._obey(heard)
        while self._pids or self._stragglers():
            self._wait()

    def _start(self) -> None:
        order = self._order
        _be_the_first_to_die()
        os.umask(0o022)  # the server's own is its own affair
        try:
            os.chdir(order["work"])
        except OSError as error:
            raise Unstartable(f"The job's folder can't be entered: {error.strerror}.") from None
        for rank, extra in enumerate(order["ranks"]):
            environment = {**order["environment"], **extra}
            command = resolve(self._commands[rank], order["interpreter"], environment.get("PATH", ""))
            self._pids[rank] = self._spawn(rank, [*order["guard"], *command], environment)

    def _spawn(self, rank: int, command: list[str], environment: dict[str, str]) -> int:
        out, err = self._outputs[2 * rank : 2 * rank + 2]
        streams = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, out, 1),
            (os.POSIX_SPAWN_DUP2, err, 2),
        ]
        try:
            return os.posix_spawn(command[0], command, environment, file_actions=streams, setpgroup=0,
                                  setsigdef=TO_DEFAULT)  # fmt: skip
        except OSError as error:
            raise Unstartable(f"'{command[0]}' can't be started: {error.strerror}.") from None
        except ValueError as error:
            raise Unstartable(f"The command or its environment is malformed: {error}.") from None

    def _wait(self) -> None:
        timeout_ms = GROUP_LOOK_S * 1000 if not self._pids else None
        if self._kill_s is not None:
            timeout_ms = max(0.0, (self._kill_s - time.monotonic()) * 1000)
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        ready = [descriptor for descriptor, _ in poll.poll(timeout_ms)]
        if self._woken in ready:
            os.read(self._woken, 4096)
        if self._control in ready:
            heard = os.read(self._control, 4096)
            if not heard:  # the shim is dead: nobody watches these any more
                self._kill()
                os._exit(1)
            self._obey(heard)
        self._reap()
        if self._kill_s is not None and time.monotonic() >= self._kill_s:
            self._kill()
            self._kill_s = None

    def _obey(self, heard: bytes) -> None:
        for line in heard.decode().splitlines():
            match line.split():
                case ["stop"]:
                    self._stopping = True
                    self._terminate()
                case ["kill", rank] if int(rank) in self._pids:
                    os.kill(self._pids[int(rank)], signal.SIGKILL)

    def _reap(self) -> None:
        ends: list[tuple[int, int, str, int]] = []
        for rank, pid in list(self._pids.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                del self._pids[rank]
                self._groups.add(pid)
                if self._onces[rank]:
                    self._shells.add(pid)
                code = os.waitstatus_to_exitcode(status)
                ends.append((code >= 0, rank, "exit", code) if code >= 0 else (False, rank, "signal", -code))
        # of those that fell together, the one that was killed is the cause, and the errors are its echo
        for _, rank, how, code in sorted(ends):
            self._say(f"end {rank} {how} {code}")
            self._react(how, code)

    def _react(self, how: str, code: int) -> None:
        """A rank that fails takes the others along; not while they leave anyhow, busy saving."""
        if (how, code) == ("exit", 0) or self._stopping or self._kill_s is not None:
            return
        saved = (how, code) == ("exit", EXIT_SAVED)
        self._kill_s = time.monotonic() + (PATIENCE_SAVED_S if saved else PATIENCE_S[how])
        if not saved:
            self._terminate()

    def _terminate(self) -> None:
        """SIGTERM to each rank, as torchrun does: its data loaders must live until it has saved. A command
        that was started once may be a shell, which passes nothing on: its whole process group is told."""
        for rank, pid in self._pids.items():
            try:
                (os.killpg if self._onces[rank] else os.kill)(pid, signal.SIGTERM)
            except ProcessLookupError:
                continue

    def _kill(self) -> None:
        for pid in (*self._pids.values(), *self._groups):
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def _stragglers(self) -> bool:
        """Whether a shell that was told to stop has left children behind which are still saving."""
        if not self._stopping:
            return False
        for pid in list(self._shells):
            try:
                os.killpg(pid, 0)
            except ProcessLookupError:
                self._shells.discard(pid)
                self._groups.discard(pid)
        return bool(self._shells)

    def _say(self, line: str) -> None:
        os.write(self._results, " ".join(line.split("\n")).encode(errors="replace") + b"\n")


def resolve(command: list[str], interpreter: str, path: str) -> list[str]:
    """The command line to execute. A Python script, or `-m module`, runs with the platform's own interpreter,
    as torchrun would; anything else is looked up as a shell would. Raises Unstartable."""
    if not command or not command[0]:
        raise Unstartable("The job has no command.")
    name = command[0]
    if name == "-m":
        return [interpreter, *command]
    if name.endswith(".py"):
        if not os.path.isfile(name):
            raise Unstartable(f"There is no script '{name}' in what was submitted.")
        return [interpreter, *command]
    places = [name] if "/" in name else [os.path.join(folder, name) for folder in path.split(":") if folder]
    found = [place for place in places if os.path.isfile(place)]
    if not found:
        where = (
            "in what was submitted" if "/" in name else "on the node, nor in what was submitted as ./" + name
        )
        raise Unstartable(f"There is no command '{name}' {where}.")
    if not os.access(found[0], os.X_OK):
        raise Unstartable(f"'{name}' is not executable: make it so with chmod +x, and submit again.")
    return [found[0], *command[1:]]


def _first_line(control: int) -> tuple[bytes, bytes]:
    heard = b""
    while b"\n" not in heard and len(heard) < ORDER_BYTES_MAX:
        data = os.read(control, 65536)
        if not data:
            os._exit(1)  # the shim died before it had said what to do
        heard += data
    line, _, rest = heard.partition(b"\n")
    return line, rest


def _be_the_first_to_die() -> None:
    """When memory runs out, the kernel should take a rank, not the shim that would tell of it."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("500")
    except OSError:
        pass
