"""A measured figure beside its target, and how it is shown."""

import json
import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict
from rich.table import Table


class Figure(Struct, frozen=True):
    """One row: `meets` is None where there is no target; `peer` is what another system does, if known."""

    id: str
    what: str
    value: float
    unit: str
    target: float | None = None
    better: Literal["more", "less"] = "less"
    peer: str = ""

    @property
    def meets(self) -> bool | None:
        """Whether the value is as good as its target."""
        if self.target is None:
            return None
        return self.value >= self.target if self.better == "more" else self.value <= self.target


Measure = Callable[[], Sequence[Figure]]
"""Measures something and says what came out; may take seconds."""


def machine() -> str:
    """The machine in a line."""
    lines = _lines("/proc/cpuinfo")
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.machine()
    load = os.getloadavg()[0]
    return (
        f"{model}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}, load {load:.1f}"
    )


def _lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text().splitlines() if file.exists() else []


def table(title: str, figures: Sequence[Figure]) -> Table:
    """The figures for people."""
    shown = Table(title=f"{title} · {machine()}", title_justify="left")
    for name in ("what", "measured", "target", "", "peer"):
        shown.add_column(name, justify="right" if name in {"measured", "target"} else "left")
    for figure in figures:
        sign = "" if figure.target is None else ("≥ " if figure.better == "more" else "≤ ")
        target = "" if figure.target is None else f"{sign}{_number(figure.target)} {figure.unit}"
        verdict = {None: "", True: "[green]meets[/]", False: "[red]misses[/]"}[figure.meets]
        shown.add_row(figure.what, f"{_number(figure.value)} {figure.unit}", target, verdict, figure.peer)
    return shown


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"


def one_by_one(parts: Sequence[tuple[str, Measure]]) -> Callable[[Callable[[str], None]], Sequence[Figure]]:
    """What runs all parts of a bench, one after the other; its argument hears what is measured now."""

    def run(say: Callable[[str], None]) -> Sequence[Figure]:
        figures: list[Figure] = []
        for what, measure in parts:
            say(what)
            figures += measure()
        return figures

    return run


def write(figures: Sequence[Figure], file: Path) -> None:
    """The figures as a list of rows `{id, what, value, unit, target, meets, peer}`."""
    rows = []
    for figure in figures:
        row = asdict(figure)
        del row["better"]
        rows.append({**row, "meets": figure.meets, "machine": machine()})
    file.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
