"""Following a job: its story as lines, and on a terminal a bar below them that shows how far it is."""

import contextlib
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import typer

from starverse.faces.cli import exits, words
from starverse.faces.cli.show import STYLES, console, line, line_now, note
from starverse.faces.cli.story import Line, Story
from starverse.model.errors import StarverseError
from starverse.model.units import format_duration, format_yuan

if TYPE_CHECKING:
    from starverse.faces.client import Client
    from starverse.faces.schemas import Job

REDRAW_S = 0.1
PLAIN_EVERY_S = 5.0
LAST_LINES = 20
LAST_BYTES = 16_384

OF_KIND = {"log": "", "note": "dim", "bad": "red", "good": "green"}


def follow(client: "Client", job: str, quiet: bool = False, logs: bool = True) -> "Job":
    """Show what happens to a job until it ends, or is paused and waits for a person; the job as it is then.

    `quiet` shows nothing. A broken connection is taken up again. Ctrl-C leaves the job running: typer.Exit.
    """
    from starverse.faces.schemas import Ended, JobChanged

    story = Story()
    last_words: list[Line] = []
    screen = _Nothing() if quiet else _screen()
    try:
        with screen:
            for event in client.stream(job):
                said = [each for each in story.hear(event) if logs or each.kind != "log"]
                if isinstance(event, Ended):
                    last_words = said
                    break
                for each in said:
                    screen.say(each)
                screen.draw(story)
                if isinstance(event, JobChanged) and event.job.phase == "paused":
                    return event.job
    except KeyboardInterrupt:
        note(f"The job goes on. See it again: starverse job follow {job}. End it: starverse job stop {job}.")
        raise typer.Exit(exits.INTERRUPTED) from None
    for each in last_words:  # below the bar, which then stands still
        screen.say(each)
    ended = story.job
    assert ended is not None, "a stream ends with Ended"
    if not quiet and ended.outcome == "failed" and not logs:
        _show_last_lines(client, job)
    return ended


def exit_with(job: "Job", quiet: bool = False) -> None:
    """Leave with the code that says how a followed job came out."""
    if job.phase == "paused":
        if not quiet:
            note(f"It waits for you: `starverse job resume {job.job}` when that is done.")
        raise typer.Exit(exits.REFUSED)
    if job.outcome != "done":
        raise typer.Exit(exits.FAILED)


def _show_last_lines(client: "Client", job: str) -> None:
    """The end of what a failed job wrote: what went wrong usually stands there."""
    with contextlib.suppress(StarverseError):
        for stream in ("stderr", "stdout"):
            text = client.logs(job, stream=stream, offset=-LAST_BYTES).text
            if text.strip():
                line(f"The last of its {stream}:")
                for each in text.splitlines()[-LAST_LINES:]:
                    line(f"  {words.harmless(each)}")
                return


class _Nothing:
    """A screen that nobody looks at."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def say(self, each: Line) -> None:
        """Keep a line."""

    def draw(self, story: Story) -> None:
        """Show how far it is."""


class _Plain(_Nothing):
    """For pipes and simple terminals: lines only, with one on the progress now and then."""

    def __init__(self) -> None:
        self._told_s = -PLAIN_EVERY_S
        self._told: object = None

    def say(self, each: Line) -> None:
        """Print a line."""
        line_now(each.text)

    def draw(self, story: Story) -> None:
        """Print how far it is, unless that was just said."""
        metric = story.metric
        if metric is None or metric is self._told:
            return
        last = metric.steps is not None and metric.step >= metric.steps
        now_s = time.monotonic()
        if last or now_s - self._told_s >= PLAIN_EVERY_S:
            self._told, self._told_s = metric, now_s
            line_now("  ".join(_measures(story)))


class _Live(_Nothing):
    """For terminals: lines above, and the bar at the bottom."""

    def __init__(self, board: Any) -> None:
        from rich.live import Live

        self._board = board
        self._live = Live("", console=board, auto_refresh=False)
        self._drawn_s = 0.0
        self._story: Story | None = None

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._story:
            self._live.update(_bar(self._story, self._board.width), refresh=True)
        self._live.__exit__(kind, error, trace)

    def say(self, each: Line) -> None:
        """Print a line above the bar."""
        from rich.text import Text

        if each.kind == "log":
            self._board.print(Text.from_ansi(words.harmless(each.text.rpartition("\r")[2])))
        else:
            self._board.print(Text(each.text, OF_KIND[each.kind]))

    def draw(self, story: Story) -> None:
        """Redraw the bar, not more often than eyes can follow."""
        self._story = story
        now_s = time.monotonic()
        if now_s - self._drawn_s >= REDRAW_S:
            self._drawn_s = now_s
            self._live.update(_bar(story, self._board.width), refresh=True)


def _screen() -> _Nothing:
    board = console()
    return _Live(board) if board.is_terminal and not board.is_dumb_terminal else _Plain()


def _measures(story: Story) -> list[str]:
    """How far it is, in words; the most important ones first."""
    metric = story.metric
    if metric is None:
        return []
    of = f"/{metric.steps:,} {100 * metric.step // metric.steps} %" if metric.steps else ""
    measures = [f"step {metric.step:,}{of}"]
    if metric.loss is not None:
        measures.append(f"loss {words.number(metric.loss)}")
    if metric.tokens_per_s is not None:
        measures.append(f"{words.number(metric.tokens_per_s)} tokens/s")
    if story.left_ms:
        measures.append(f"{format_duration(story.left_ms)} left")
    return measures


def _bar(story: Story, width: int) -> Any:
    """Two lines: who and how it stands; the bar, the numbers and the curve, as far as they fit."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    job = story.job
    if job is None:
        return Text("Connecting …" if not story.away else "The server is away …", "dim")
    state = "the server is away" if story.away else words.standing(job.phase, job.outcome)
    head = Text(no_wrap=True, overflow="ellipsis")
    head.append(words.one_line(job.name) or job.job, "bold").append("  ")
    head.append(state, "yellow" if story.away else STYLES.get(state, ""))
    if story.faults:
        head.append(f"  {words.many(story.faults, 'fault')}", "red")
    head.append(f"  {format_yuan(job.cost)}", "dim")
    metric = story.metric
    if metric is None:
        return head
    measures = _measures(story)
    while len(measures) > 1 and len("  ".join(measures)) > width - 12:
        measures.pop()
    text = "  ".join(measures)
    room = width - len(text) - 2
    row = Table.grid(padding=(0, 2, 0, 0))
    parts: list[Any] = []
    if metric.steps and room >= 10:
        bar_width = min(room, 30) if room < 24 else min(room * 3 // 5, 40)
        parts.append(ProgressBar(metric.steps, metric.step, width=bar_width))
        room -= bar_width + 2
    parts.append(Text(text, no_wrap=True))
    if room >= 8:
        curve = Text(words.spark(story.curve, min(room, 24), story.marks), "cyan", no_wrap=True)
        curve.highlight_words([words.MARK], "red")
        parts.append(curve)
    row.add_row(*parts)
    return Group(head, row)
