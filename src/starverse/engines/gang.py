"""The processes of one run as its shim sees them: the sandbox, the launcher, the pipes, and their end."""

import fcntl
import json
import os
import re
import select
import signal
import time
from contextlib import suppress
from typing import Any, NamedTuple

from starverse.engines import tree
from starverse.engines.folder import RunFolder
from starverse.engines.logs import STREAMS, Ear, Log, Spout, last_lines

PIPE_BYTES = 64 * 1024  # what a pipe holds unless told otherwise
ORDER_PIPE_BYTES = 1024 * 1024
_END = re.compile(r"end (\d{1,6}) (exit|signal) (\d{1,3})")
_CHILD_PID = re.compile(rb'"child-pid": *(\d+)')


class End(NamedTuple):
    """How one rank ended: by `exit` with a code, or by a `signal` of that number."""

    rank: int
    how: str
    code: int


class Gang:
    """All processes of the run. Mutable owner of their pipes and of what they said."""

    def __init__(self, folder: RunFolder, order: dict[str, Any], wake: int) -> None:
        self.ranks = len(order["ranks"])
        self.started = False
        self.failure = ""
        self.ends: list[End] = []
        self.status: int | None = None  # of the launcher (or of the sandbox around it), once it has ended
        self.first: tuple[int, int] | None = None  # pid and start time of the first process in the sandbox
        self._order = order
        self._namespace: bool = order["namespace"]
        self._pid = self._first_pidfd = self._control = -1
        self._wake = wake
        self._poll = select.poll()
        self._poll.register(wake, select.POLLIN)
        self._pipes: dict[int, Spout | Ear] = {}
        self._logs = {stream: Log(folder, stream) for stream in STREAMS}
        self._spouts: dict[tuple[int, str], Spout] = {}

    def start(self, secrets: dict[str, str], port: int) -> None:
        """Start the launcher in its sandbox and tell it what to run. Raises OSError where there is no
        sandbox."""
        control, self._control = os.pipe2(os.O_CLOEXEC)
        results, self._results = self._ear()
        info, self._info = self._ear()
        errors, self._errors = self._ear()
        outputs = [self._spout(rank, stream) for rank in range(self.ranks) for stream in STREAMS]
        wrap = list(self._order["wrap"])
        if self._namespace:
            wrap[1:1] = ["--info-fd", str(info)]
        argv = [*wrap, *self._order["launcher"], *map(str, (control, results, *outputs))]
        try:
            self._pid = self._spawn(argv, (control, results, info, *outputs), errors)
        finally:
            for descriptor in (control, results, info, errors, *outputs):
                os.close(descriptor)
        self._instruct(secrets, port)

    def turn(self, timeout_ms: float) -> None:
        """Wait until there is something to hear, or a signal came, or the time is over; take it in."""
        for descriptor, _ in self._poll.poll(max(0.0, timeout_ms)):
            if descriptor == self._wake:
                os.read(descriptor, 4096)
            elif not self._pipes[descriptor].pour():
                self._poll.unregister(descriptor)
                del self._pipes[descriptor]
                os.close(descriptor)
        self._hear()
        self._reap()

    def tell(self, words: str) -> None:
        """Say something to the launcher, if it still listens."""
        data = memoryview(words.encode() + b"\n")
        try:
            while data:
                data = data[os.write(self._control, data) :]
        except BrokenPipeError:
            return

    def tick(self) -> None:
        """Once a second."""
        for spout in self._spouts.values():
            spout.tick()

    def kill(self, within_s: float) -> bool:
        """Kill every process of the run; whether all are surely dead by then, and reaped.

        All are descendants of the shim, orphans too, so all are dead when it has no child left to wait for.
        """
        end_s, pause_s = time.monotonic() + within_s, 0.001
        if self._first_pidfd >= 0:  # with the first process of a pid namespace the kernel kills all in it
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._first_pidfd, signal.SIGKILL)
        while not self._reap():
            tree.kill(tree.descendants(os.getpid()))
            if time.monotonic() > end_s:
                return False
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, 0.05)
        return True

    def drain(self) -> None:
        """Take in what the dead have left in their pipes."""
        for pipe in self._pipes.values():
            pipe.pour()
        for spout in self._spouts.values():
            spout.flush()
        self._hear()

    def last_words(self, rank: int) -> str:
        """The last lines of a rank's errors, or else of its output; of rank 0 where no rank is known."""
        of = max(rank, 0)
        texts = (last_lines(self._spouts[of, stream].tail) for stream in ("stderr", "stdout"))
        return next((text for text in texts if text), "")

    def complaint(self) -> str:
        """What the sandbox, or the launcher in it, said on its way down."""
        return last_lines(self._errors.heard)

    def _spawn(self, argv: list[str], inherited: tuple[int, ...], errors: int) -> int:
        for descriptor in inherited:
            os.set_inheritable(descriptor, True)
        streams = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, errors, 1),
            (os.POSIX_SPAWN_DUP2, errors, 2),
        ]
        return os.posix_spawn(
            argv[0],
            argv,
            self._order["wrap_environment"],
            file_actions=streams,
            setsid=True,
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGTERM],
        )

    def _instruct(self, secrets: dict[str, str], port: int) -> None:
        """The order, secrets and all, through the pipe; the launcher reads it once it is up."""
        master = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        told = {key: self._order[key] for key in ("command", "interpreter", "guard", "work", "once")}
        told |= {key: self._order[key] for key in ("commands", "onces") if key in self._order}
        told["environment"] = {**self._order["environment"], **secrets}
        told["ranks"] = [{**rank, **master} for rank in self._order["ranks"]]
        text = json.dumps(told)
        if len(text) >= PIPE_BYTES:
            fcntl.fcntl(self._control, fcntl.F_SETPIPE_SZ, ORDER_PIPE_BYTES)
        self.tell(text)

    def _hear(self) -> None:
        for line in self._results.lines():
            if end := _END.fullmatch(line):
                self.ends.append(End(int(end[1]), end[2], int(end[3])))
            elif line == "started":
                self.started = True
            elif line.startswith("failed "):
                self.failure = line.removeprefix("failed ")
        if self._first_pidfd < 0 and (child := _CHILD_PID.search(self._info.heard)):
            self._meet(int(child[1]))

    def _meet(self, pid: int) -> None:
        """Get hold of the first process in the sandbox, so that its number can't come to mean another."""
        started = tree.start_time(pid)
        if started is not None:
            self._first_pidfd, self.first = os.pidfd_open(pid), (pid, started)
        self._info.heard = b""

    def _reap(self) -> bool:
        """Take leave of the dead; whether there is no child left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                return False
            if pid == self._pid:
                self.status = os.waitstatus_to_exitcode(status)

    def _ear(self) -> tuple[int, Ear]:
        reading, writing = os.pipe2(os.O_CLOEXEC)
        ear = Ear(reading)
        self._listen(ear)
        return writing, ear

    def _spout(self, rank: int, stream: str) -> int:
        reading, writing = os.pipe2(os.O_CLOEXEC)
        prefix = f"[{rank}] " if self.ranks > 1 else ""
        self._spouts[rank, stream] = Spout(reading, self._logs[stream], prefix)
        self._listen(self._spouts[rank, stream])
        return writing

    def _listen(self, pipe: Spout | Ear) -> None:
        self._pipes[pipe.pipe] = pipe
        self._poll.register(pipe.pipe, select.POLLIN)
