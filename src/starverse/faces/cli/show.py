"""What commands print: one JSON document for programs, or tables and lines for people."""

import os
import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from starverse.faces.cli.words import one_line

if TYPE_CHECKING:
    from rich.console import Console

WIDTH_OF_PIPES = 100_000
"""Nothing is cut to fit where no person looks."""

STYLES: dict[str, str] = {
    "running": "green",
    "done": "green",
    "free": "green",
    "starting": "cyan",
    "waiting": "yellow",
    "stopping": "yellow",
    "cordoned": "yellow",
    "paused": "magenta",
    "failed": "red",
    "expired": "red",
    "lost": "red",
    "broken": "red",
    "stopped": "dim",
    "credit": "green",
    "trial credit": "green",
}
"""How a word for a state is coloured."""


class Column(NamedTuple):
    """A column of a table; one that is `loose` is cut first where the terminal is narrow."""

    title: str
    right: bool = False
    loose: bool = False


def now_ms() -> int:
    """This machine's clock, to say how long ago something was."""
    return time.time_ns() // 1_000_000


def document(answer: Any) -> None:
    """Print an answer as the one JSON document on stdout."""
    import msgspec

    sys.stdout.write(msgspec.json.format(msgspec.json.encode(answer)).decode() + "\n")


def line(text: str = "") -> None:
    """Print a line of what was asked for."""
    sys.stdout.write(f"{text}\n")


def note(text: str) -> None:
    """Tell a person something beside what was asked for."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], nothing: str = "") -> None:
    """Print rows under their columns, or the line `nothing` when there are none."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    if not cells and nothing:
        line(nothing)
        return
    board = console()
    with board.capture() as printed:
        board.print(grid(columns, cells))
    for each in printed.get().splitlines():
        line(each.rstrip())


def grid(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> Any:
    """The rows as something rich prints; a cell that is a state, or money gained, has its colour."""
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        drawn.add_column(column.title, justify="right" if column.right else "left", no_wrap=not column.loose)
    for row in rows:
        cells = (Text(cell, _style(cell), no_wrap=True, overflow="ellipsis") for cell in row)
        drawn.add_row(*cells)
    return drawn


def facts(pairs: Iterable[tuple[str, str]]) -> None:
    """Print what is known of one thing, a name and a value a line; those without a value are left out."""
    known = [(name, value) for name, value in pairs if value]
    widest = max((len(name) for name, _ in known), default=0)
    for name, value in known:
        line(f"{name:<{widest}}  {one_line(value)}")


def coloured(text: str, code: str, stream: TextIO) -> str:
    """Text in a colour (an SGR code) where the stream is a terminal that shows it; needs no rich."""
    plain = not stream.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if plain else f"\x1b[{code}m{text}\x1b[0m"


def console(stream: TextIO | None = None) -> "Console":
    """A rich console on a stream (stdout, unless given), as wide as its lines may get there."""
    from rich.console import Console

    stream = stream or sys.stdout
    width = None if stream.isatty() else WIDTH_OF_PIPES
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False, soft_wrap=False)


def _style(cell: str) -> str:
    return "green" if cell.startswith("+") else STYLES.get(cell, "")
