"""How long the command line takes to start."""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from starverse.bench.figure import Figure

TIMES = 7


def measure() -> Sequence[Figure]:
    """Whole processes, from start to end, the median of seven after one to warm up."""
    return (
        Figure("cli_version", "`starverse version`, cold process", _seconds("version"), "s", 0.3),
        Figure("cli_help", "`starverse --help`, cold process", _seconds("--help"), "s"),
    )


def _seconds(argument: str) -> float:
    command = [str(Path(sys.executable).with_name("starverse")), argument]
    taken = []
    for _ in range(TIMES + 1):
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - began)
    return median(taken[1:])
