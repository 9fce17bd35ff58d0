"""Processes and what they leave behind: who is whose child, who still lives, and how to make an end of it."""

import ctypes
import os
import re
import signal
from collections.abc import Iterable, Iterator

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - it is looked at, not written to
_LEFT_BY_PROGRAMS = re.compile(r"(torch_|psm_|sem\.|mp-|nccl-|cuda\.|gloo)")


def adopt_orphans() -> None:
    """Make this process the parent of every descendant whose own parent dies, so that none gets lost."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the kernel can't make this process a subreaper")


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot: with the pid, its name for ever. None: dead or a
    zombie."""
    fields = _stat(pid)
    return None if fields is None or fields[0] in "ZX" else int(fields[19])


def is_alive(pid: int, started: int) -> bool:
    """Whether this very process lives, not another that was given its number."""
    return start_time(pid) == started


def descendants(pid: int) -> list[int]:
    """All processes under this one, zombies too."""
    children: dict[int, list[int]] = {}
    for each in _processes():
        fields = _stat(each)
        if fields is not None:
            children.setdefault(int(fields[1]), []).append(each)
    found = list(children.get(pid, ()))
    for each in found:  # grows while it is walked
        found += children.get(each, ())
    return found


def marked(run: str) -> list[int]:
    """The processes that were started with STARVERSE_RUN=<run>."""
    mark = f"STARVERSE_RUN={run}".encode()
    return [pid for pid in _processes() if pid != os.getpid() and mark in _environment(pid).split(b"\0")]


def kill(pids: Iterable[int]) -> None:
    """SIGKILL to each that is still there."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue


def remove_shared_memory(uid: int, since_s: float) -> None:
    """Remove what a run left in /dev/shm where it has none of its own.

    That is: of this user, made since then, of a name that programs give, and in use by no living process.
    """
    left = {
        entry.path
        for entry in os.scandir(_SHARED_MEMORY)
        if _LEFT_BY_PROGRAMS.match(entry.name)
        and (found := entry.stat(follow_symlinks=False)).st_uid == uid
        and found.st_ctime >= since_s
    }
    for pid in _processes() if left else ():
        left -= _mapped(pid)
    for path in left:
        try:
            os.unlink(path)
        except OSError:
            continue


def _processes() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/<pid>/stat from the state on; the name before them may hold anything."""
    content = _read(f"/proc/{pid}/stat")
    return content.rpartition(b")")[2].decode().split() if content else None


def _environment(pid: int) -> bytes:
    return _read(f"/proc/{pid}/environ")


def _mapped(pid: int) -> set[str]:
    lines = _read(f"/proc/{pid}/maps").decode(errors="replace").splitlines()
    return {line[line.index(_SHARED_MEMORY) :] for line in lines if _SHARED_MEMORY in line}


def _read(path: str) -> bytes:
    """A file of /proc, empty if its process is gone or not ours to see."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
