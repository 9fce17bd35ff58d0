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

GAP = 2
LOOSE_LEAST = 10
"""What can still be read of a column that is cut."""

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
    """A column of a table; a narrow terminal leaves `spare` ones out, then cuts `loose` ones."""

    title: str
    right: bool = False
    loose: bool = False
    spare: bool = False


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


def line_now(text: str) -> None:
    """Print a line that whoever reads a pipe must not wait for."""
    line(text)
    sys.stdout.flush()


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
        board.print(grid(columns, cells, board.width))
    for each in printed.get().splitlines():
        line(each.rstrip())


def grid(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> Any:
    """The rows as something rich prints; a cell that is a state, or money gained, has its colour."""
    from rich.table import Table
    from rich.text import Text

    kept = _fitting(columns, rows, width)
    columns, rows = [columns[i] for i in kept], [[row[i] for i in kept] for row in rows]
    drawn = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
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


def _fitting(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Which columns to show: all, or without the spare ones from the right, until the others have room."""
    from rich.cells import cell_len

    def needs(i: int) -> int:
        widest = max((cell_len(text) for text in (columns[i].title, *(row[i] for row in rows))), default=0)
        return (min(widest, LOOSE_LEAST) if columns[i].loose else widest) + GAP

    kept = list(range(len(columns)))
    for i in reversed(range(len(columns))):
        if columns[i].spare and sum(map(needs, kept)) - GAP > width:
            kept.remove(i)
    return kept


def _style(cell: str) -> str:
    return "green" if cell.startswith("+¥") else STYLES.get(cell, "")
