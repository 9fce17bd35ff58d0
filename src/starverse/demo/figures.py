"""What the demo measured, as a table for people and as JSON for programs."""

import json
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import httpx2
from msgspec import Struct
from msgspec.structs import asdict
from rich.table import Table

from starverse.faces import schemas as sc
from starverse.model.units import format_yuan


class Figures(Struct, frozen=True):
    """The outcome of one demo. `resume_s` has a figure for each fault: from the fault to the next optimizer
    step."""

    state: str
    steps: int
    loss_first: float | None
    loss_last: float | None
    runs: int
    faults: int
    steps_lost: int
    resume_s: tuple[float, ...]
    card_seconds: float
    charged_micro_yuan: int
    credited_micro_yuan: int
    balance_micro_yuan: int
    ledger_balanced: bool
    console_url: str
    entropy_unigram: float | None
    ready_s: float
    demo_s: float

    def write(self, file: Path) -> None:
        """The figures as one JSON document."""
        file.write_text(json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n")

    def table(self) -> Table:
        """The figures for people."""
        table = Table(title="What happened", show_header=False, title_justify="left", pad_edge=False)
        for name, value in self._rows():
            table.add_row(name, value)
        return table

    def _rows(self) -> list[tuple[str, str]]:
        below = (
            f" (unigram entropy of the text: {self.entropy_unigram:.2f} nat)" if self.entropy_unigram else ""
        )
        resumes = ", ".join(f"{seconds:.1f} s" for seconds in self.resume_s)
        return [
            ("job", self.state),
            ("steps", str(self.steps)),
            ("loss", f"{_nat(self.loss_first)} → {_nat(self.loss_last)} nat{below}"),
            ("runs", str(self.runs)),
            ("faults", f"{self.faults} (a worker killed, the server killed)"),
            ("steps lost", str(self.steps_lost)),
            ("fault to next step", resumes),
            ("card-seconds", f"{self.card_seconds:.1f}"),
            ("charged", format_yuan(self.charged_micro_yuan, 6)),
            ("credited for the fault", format_yuan(self.credited_micro_yuan, 6)),
            ("balance", format_yuan(self.balance_micro_yuan, 6)),
            ("ledger", "sums to zero" if self.ledger_balanced else "DOES NOT SUM TO ZERO"),
            ("server ready in", f"{self.ready_s:.1f} s"),
            ("whole demo", f"{self.demo_s:.1f} s"),
        ]


def _nat(loss: float | None) -> str:
    return "?" if loss is None else f"{loss:.3f}"


def steps_lost(metrics: tuple[sc.Metric, ...]) -> int:
    """Steps that were done twice: what each run did beyond the point that the next one took up at."""
    lost = 0
    for before, after in pairwise(metrics):
        if after.run != before.run:
            lost += max(0, before.step - (after.step - 1))
    return lost


def seconds_to_next_step(metrics: tuple[sc.Metric, ...], fault_ms: int, after_run: str = "") -> float | None:
    """From a fault to the first step after it, of another run than `after_run` if that is given."""
    for metric in metrics:
        if metric.at_ms > fault_ms and metric.run != after_run:
            return (metric.at_ms - fault_ms) / 1000
    return None


def ledger_sum(api: str) -> float | None:
    """What all accounts sum to, by the server's own figures for Prometheus; None if it does not say."""
    for line in httpx2.get(f"{api}/metrics", timeout=10).text.splitlines():
        name, _, value = line.rpartition(" ")
        if name == "starverse_ledger_sum_micro_yuan":
            return float(value)
    return None


def whole(metrics: Iterable[sc.Metric]) -> tuple[sc.Metric, ...]:
    """Metrics in the order they happened."""
    return tuple(sorted(metrics, key=lambda metric: metric.at_ms))
