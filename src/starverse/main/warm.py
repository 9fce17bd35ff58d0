"""Compiles, or fetches from the cache, all that a decision runs: so that no job waits for the compiler."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TextIO

from numba.core import event
from numba.core.dispatcher import Dispatcher

from starverse.main.warming import COMPILING
from starverse.twin import case_file
from starverse.twin.cases import play

CASE = Path(__file__).with_name("warm.toml")
SAID_EVERY_S = 2.0
OURS = "starverse.scheduler"


def warm() -> None:
    """Fetch all loops into this process; takes half a second, and longer the first time on a machine, for
    which it says on stdout how far it is."""
    try:
        with _listening(_Refusing()):
            _play()
    except _MustCompile:
        # in a process of its own: the compiler leaves 140 MB behind
        subprocess.run(
            ["setpriv", "--pdeathsig", "KILL", "--", sys.executable, "-m", __name__],
            stdin=subprocess.DEVNULL,
            check=False,
        )
        _play()  # what could not be kept is compiled here


def main() -> None:
    """Compile what is not in the cache."""
    with Progress(sys.stdout, _loops()) as progress, _listening(progress):
        _play()


def _play() -> None:
    with _without_linear_algebra():
        play(case_file.read(CASE), lambda played, look: None)


@contextmanager
def _without_linear_algebra() -> Iterator[None]:
    """Numba looks for SciPy's BLAS when it begins, for dot products: no loop has any, and that is 13 MB."""
    name = "scipy.linalg"
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]  # how Python says that an import is to fail
    try:
        yield
    finally:
        del sys.modules[name]


def _loops() -> int:
    """How many loops there are to compile, at most."""
    rooms = [room for name, room in sys.modules.items() if name.startswith(OURS)]
    return len({id(each) for room in rooms for each in vars(room).values() if isinstance(each, Dispatcher)})


# -- what the compiler tells ------------------------------------------------------------------------------


class _MustCompile(Exception):
    """A loop is not in the cache."""


class _Refusing(event.Listener):
    """Lets nothing be compiled in this process."""

    def on_start(self, event: Any) -> None:
        raise _MustCompile

    def on_end(self, event: Any) -> None:
        pass


class Progress(event.Listener):
    """Says how many of `loops` are compiled: in place on a terminal, now and then a line elsewhere."""

    def __init__(self, out: TextIO, loops: int) -> None:
        self._out = out
        self._loops = loops
        self._done: set[Any] = set()
        self._spoke = False
        self._began_s = self._said_s = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._spoke:
            self._say("done", end="\n")

    def on_start(self, event: Any) -> None:
        """The first one: say at once what this wait is for."""
        if not self._spoke:
            self._say(f"0 of {self._loops}")

    def on_end(self, event: Any) -> None:
        """One more is there; one that is compiled again for other arguments counts once, Numba's never."""
        loop = event.data["dispatcher"]
        if loop.py_func.__module__.startswith(OURS):
            self._done.add(loop)
        if self._out.isatty() or time.monotonic() - self._said_s >= SAID_EVERY_S:
            self._say(f"{len(self._done)} of {self._loops}")

    def _say(self, what: str, end: str = "") -> None:
        self._spoke = True
        self._said_s = time.monotonic()
        text = f"{COMPILING}: {what}, {self._said_s - self._began_s:.0f} s"
        with suppress(OSError):  # nobody listens any more
            self._out.write(f"\r\x1b[K{text}{end}" if self._out.isatty() else f"{text}\n")
            self._out.flush()


@contextmanager
def _listening(listener: event.Listener) -> Iterator[None]:
    with event.install_listener("numba:compile", listener):
        yield


if __name__ == "__main__":
    main()
