"""Compiles, or fetches from the cache, all that a decision runs: so that no job waits for the compiler."""

from pathlib import Path

from starverse.twin import case_file
from starverse.twin.cases import play

CASE = Path(__file__).with_name("warm.toml")


def warm() -> None:
    """Play a small case through the loop; takes seconds the first time on a machine."""
    play(case_file.read(CASE), lambda played, look: None)
