"""What the ranks write, kept in bounded files: parts of one size, of which the last two stay.

Byte N of all that was ever written to a stream lies in part N // LOG_PART_BYTES, so a reader's place survives
every rotation (see reading.py).
"""

import os

from starverse.engines.folder import LOG_PART_BYTES, RunFolder

STREAMS = ("stdout", "stderr")
READ_BYTES = 64 * 1024
READS_A_TURN = 8  # then the others, and the clock, get their turn
LINE_BYTES_MAX = 16 * 1024
TAIL_BYTES = 4096
TAIL_LINES = 20


class Log:
    """The file of one stream, shared by all ranks. Mutable owner of where it stands."""

    def __init__(self, folder: RunFolder, stream: str, part_bytes: int = LOG_PART_BYTES) -> None:
        self._folder, self._stream, self._part_bytes = folder, stream, part_bytes
        self._part, self._room, self._file = -1, 0, -1

    def write(self, data: bytes) -> None:
        """Append; what the disk has no room for is lost, since a log must never stop a run."""
        rest = memoryview(data)
        while rest:
            try:
                if self._room == 0:
                    self._turn_the_page()
                written = os.write(self._file, rest[: self._room])
            except OSError:
                return
            self._room -= written
            rest = rest[written:]

    def _turn_the_page(self) -> None:
        path = self._folder.log(self._stream, self._part + 1)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        if self._file >= 0:
            os.close(self._file)
        self._part, self._room, self._file = self._part + 1, self._part_bytes, file
        if self._part >= 2:
            os.unlink(self._folder.log(self._stream, self._part - 2))


class Spout:
    """One stream of one rank, on its way from a pipe to a log: line by line where several share it."""

    def __init__(self, pipe: int, log: Log, prefix: str) -> None:
        self.pipe = pipe
        self.tail = b""
        self._log, self._prefix = log, prefix.encode()
        self._line, self._stale = b"", False
        os.set_blocking(pipe, False)

    def pour(self) -> bool:
        """Take what is there, within reason; False when the pipe has ended."""
        for _ in range(READS_A_TURN):
            try:
                data = os.read(self.pipe, READ_BYTES)
            except BlockingIOError:
                return True
            if not data:
                self.flush()
                return False
            self._take(data)
        return True

    def tick(self) -> None:
        """Once a second: a line that waits for its end since the last tick is written as it is."""
        if self._stale:
            self.flush()
        self._stale = bool(self._line)

    def flush(self) -> None:
        """Write the unfinished line as if it were finished."""
        if self._line:
            self._log.write(self._prefix + self._line + b"\n")
            self._line = b""

    def _take(self, data: bytes) -> None:
        self.tail = (self.tail + data)[-TAIL_BYTES:]
        if not self._prefix:
            self._log.write(data)
            return
        whole, end, self._line = (self._line + data).rpartition(b"\n")
        self._stale = False
        if end:
            self._log.write(self._prefix + whole.replace(b"\n", b"\n" + self._prefix) + end)
        if len(self._line) > LINE_BYTES_MAX:
            self.flush()


class Ear:
    """A pipe whose words are for the shim, and so few that what is beyond reason is dropped."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe
        self.heard = b""
        os.set_blocking(pipe, False)

    def pour(self) -> bool:
        """Take what is there; False when the pipe has ended."""
        try:
            data = os.read(self.pipe, READ_BYTES)
        except BlockingIOError:
            return True
        self.heard = (self.heard + data)[:READ_BYTES]
        return bool(data)

    def lines(self) -> list[str]:
        """The lines that are complete, each given once."""
        whole, _, self.heard = self.heard.rpartition(b"\n")
        return whole.decode(errors="replace").splitlines()


def last_lines(tail: bytes) -> str:
    """The last lines of what a rank wrote, as text that can go anywhere."""
    lines = tail.decode(errors="replace").replace("\0", "").splitlines()
    return "\n".join(line.rstrip() for line in lines[-TAIL_LINES:]).strip("\n")
