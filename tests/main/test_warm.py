"""What is said while the scheduler's loops are compiled, and where: never in the server's own process."""

import io
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from starverse.main.warm import Progress, _loops
from starverse.main.warming import COMPILING
from starverse.scheduler import kernels, later

LOOK = """
import sys
from starverse.main.warm import warm
warm()
from starverse.scheduler import kernels
print(sorted(kernels.refresh.stats.cache_misses.values()), "scipy.linalg" in sys.modules)
"""


def ended(loop: object) -> SimpleNamespace:
    return SimpleNamespace(data={"dispatcher": loop})


def test_the_first_loop_is_said_at_once_and_the_end_too() -> None:
    out = io.StringIO()
    with Progress(out, 51) as progress:
        progress.on_start(ended(kernels.bits))
        for loop in (kernels.bits, later.moments, later.moments):
            progress.on_end(ended(loop))
    first, last = out.getvalue().splitlines()
    assert first == f"{COMPILING}: 0 of 51, 0 s"
    assert last == f"{COMPILING}: done, 0 s"


def test_a_terminal_sees_one_line_that_counts() -> None:
    out = io.StringIO()
    out.isatty = lambda: True  # type: ignore[method-assign]
    with Progress(out, 51) as progress:
        progress.on_start(ended(kernels.bits))
        for loop in (kernels.bits, later.moments, later.moments):
            progress.on_end(ended(loop))
    said = out.getvalue().split("\r\x1b[K")[1:]
    assert [line.partition(": ")[2].partition(",")[0] for line in said] == [
        "0 of 51", "1 of 51", "2 of 51", "2 of 51", "done",
    ]  # fmt: skip
    assert out.getvalue().count("\n") == 1


def test_nothing_is_said_where_nothing_is_compiled() -> None:
    out = io.StringIO()
    with Progress(out, _loops()):
        pass
    assert out.getvalue() == ""
    assert _loops() > 40


@pytest.mark.deep  # it compiles all there is
def test_an_empty_cache_is_filled_by_another_process(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", LOOK]
    for says in (True, False):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        *said, last = done.stdout.splitlines()
        # one miss is the look that found nothing; had it been compiled here, there would be another
        assert last == ("[1] False" if says else "[] False")
        assert bool(said) is says
        assert all(line.startswith(COMPILING) for line in said)
