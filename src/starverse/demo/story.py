"""The story the demo tells, step by step, on a real server, with a real job and real kills."""

import json
import secrets
import shutil
import tempfile
import time
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from starverse.demo.figures import Figures, ledger_sum, seconds_to_next_step, steps_lost, whole
from starverse.faces import schemas as sc
from starverse.faces.client import Client
from starverse.faces.process import ServerProcess
from starverse.model.units import MINUTE_MS, format_duration, format_yuan

SCRIPT = Path(__file__).resolve().parents[1] / "train" / "examples" / "characters.py"
KILL_WORKER_AT = 0.35
KILL_SERVER_AT = 0.7
SERVER_AWAY_S = 1.0
CHECKPOINT_EVERY = 25


@dataclass
class Story:
    """One telling. Mutable: remembers what it saw.

    `operator` is a token that may inject faults; where only the owner's jobs are taken, the story is theirs.
    """

    console: Console
    server: ServerProcess
    api: str
    console_url: str
    operator: str
    steps: int = 400
    began: float = field(default_factory=time.monotonic)
    worker_killed_ms: int = 0
    worker_killed_in: str = ""
    server_killed_ms: int = 0

    def tell(self, ready_s: float) -> Figures:
        """Register, submit, follow, kill, and say what came of it."""
        say = partial(self.console.print, soft_wrap=True)
        with Client(self.api) as client, tempfile.TemporaryDirectory(prefix="starverse-demo-") as folder:
            sign_in = self._sign_in(client)
            directory = Path(folder)
            shutil.copy(SCRIPT, directory)
            ask = self._ask(client)
            preview = client.preview(ask)
            say(
                f"[bold]2[/]  Asked for {preview.cards_min} to {preview.cards_max} {preview.kind} cards at "
                f"{format_yuan(preview.price)} a card-hour; the wallet lasts {_lasts(preview)}."
            )
            snapshot = client.upload(directory)
            job = client.submit(replace(ask, snapshot=snapshot.snapshot))
            say(f"[bold]3[/]  Submitted [cyan]{job.job}[/]: a character model on Python's own documentation.")
            job = self._follow(client, job)
            return self._figures(client, job, ready_s, sign_in)

    def _sign_in(self, client: Client) -> str:
        """Be somebody new, or the owner where no others may run jobs; how to be that at the console."""
        say = partial(self.console.print, soft_wrap=True)
        client.token = self.operator
        if not client.cluster().accepts_foreign:
            has = format_yuan(client.wallet().available)
            say(f"[bold]1[/]  Jobs are not isolated here, so this is the owner's; their wallet holds {has}.")
            return "with a token that `starverse operator token` makes"
        email, password = f"demo-{secrets.token_hex(3)}@example.org", secrets.token_urlsafe(12)
        client.register(email, password)
        has = format_yuan(client.wallet().available)
        say(f"[bold]1[/]  Registered [cyan]{email}[/]: {has} of trial credit.")
        return f"as {email} with password {password}"

    def _ask(self, client: Client) -> sc.JobAsk:
        total = max((kind.cards for kind in client.cluster().kinds), default=1)
        command = ("characters.py", "--steps", str(self.steps), "--checkpoint-every", str(CHECKPOINT_EVERY))
        cards = "1:2" if total >= 2 else "1"
        return sc.JobAsk(command, cards=cards, name="characters", time_limit_ms=30 * MINUTE_MS)

    # -- the live part ------------------------------------------------------------------------------------

    def _follow(self, client: Client, job: sc.Job) -> sc.Job:
        columns = (
            TextColumn("    [progress.description]{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.completed:.0f}/{task.total:.0f} steps"),
            TextColumn("{task.fields[loss]}"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self.console, transient=False) as progress:
            bar = progress.add_task("waiting", total=self.steps, loss="")
            run = ""
            for event in client.stream(job.job):
                if isinstance(event, sc.Metric):
                    self._on_step(client, progress, bar, event, run)
                    run = event.run
                elif isinstance(event, sc.JobChanged):
                    progress.update(bar, description=event.job.phase)
                elif isinstance(event, sc.Reconnecting) and event.attempt == 1:
                    progress.console.print("       the connection is gone; waiting for the server")
                elif isinstance(event, sc.Ended):
                    progress.update(bar, description=event.job.outcome)
                    return event.job
        return client.job(job.job)

    def _on_step(self, client: Client, progress: Progress, bar: TaskID, step: sc.Metric, run: str) -> None:
        say = partial(progress.console.print, soft_wrap=True)
        loss = f"loss {step.loss:.3f}" if step.loss is not None else ""
        progress.update(bar, completed=step.step, loss=loss)
        if run and step.run != run:
            waited_ms = step.at_ms - self.worker_killed_ms
            say(f"       run {step.run} goes on at step {step.step}, {format_duration(waited_ms)} later")
        share = step.step / self.steps
        if not self.worker_killed_ms and share >= KILL_WORKER_AT:
            rank = self._kill_worker(client, step)
            say(f"[bold]4[/]  [red]Killed a worker[/] (SIGKILL, rank {rank}) at step {step.step}.")
        elif self.worker_killed_ms and not self.server_killed_ms and share >= KILL_SERVER_AT:
            self.server_killed_ms = _now_ms()
            pid = self.server.kill()
            say(f"[bold]5[/]  [red]Killed the server[/] (SIGKILL, pid {pid}) at step {step.step}.")
            time.sleep(SERVER_AWAY_S)
            ready_s = self.server.start()
            say(f"       started it again: ready in {ready_s:.1f} s; the job never noticed")

    def _kill_worker(self, client: Client, step: sc.Metric) -> int:
        """Kill the last rank of the run; which that was."""
        cards = next(
            int(run.cards) for run in client.runs(step.run.rpartition(".")[0]) if run.run == step.run
        )
        with Client(self.api, self.operator) as operator:
            self.worker_killed_ms, self.worker_killed_in = _now_ms(), step.run
            operator.inject_fault(step.run, cards - 1)
        return cards - 1

    # -- the outcome --------------------------------------------------------------------------------------

    def _figures(self, client: Client, job: sc.Job, ready_s: float, sign_in: str) -> Figures:
        metrics = whole(client.metrics(job.job, points=5_000))
        wallet = client.wallet()
        resumes = (
            seconds_to_next_step(metrics, self.worker_killed_ms, self.worker_killed_in),
            seconds_to_next_step(metrics, self.server_killed_ms),
        )
        figures = Figures(
            state=job.outcome or job.phase,
            steps=metrics[-1].step if metrics else 0,
            loss_first=metrics[0].loss if metrics else None,
            loss_last=metrics[-1].loss if metrics else None,
            runs=job.runs,
            faults=bool(self.worker_killed_ms) + bool(self.server_killed_ms),
            steps_lost=steps_lost(metrics),
            resume_s=tuple(seconds for seconds in resumes if seconds is not None),
            card_seconds=job.card_ms / 1000,
            charged_micro_yuan=job.charged,
            credited_micro_yuan=job.credited,
            balance_micro_yuan=wallet.available + wallet.held,
            ledger_balanced=ledger_sum(self.api) == 0,
            console_url=self.console_url,
            entropy_unigram=_entropy(client, job),
            ready_s=ready_s,
            demo_s=time.monotonic() - self.began,
        )
        self.console.print()
        self.console.print(figures.table())
        self.console.print(f"\nLook around: [link]{self.console_url}[/link], {sign_in}", soft_wrap=True)
        return figures


def _lasts(preview: sc.Preview) -> str:
    return "for ever" if preview.lasts_ms is None else format_duration(preview.lasts_ms)


def _entropy(client: Client, job: sc.Job) -> float | None:
    """The unigram entropy that the job itself computed and wrote beside its result."""
    if not any(file.path == "result.json" for file in client.files(job.job)):
        return None
    with tempfile.TemporaryDirectory(prefix="starverse-demo-") as folder:
        result = json.loads(client.download(job.job, "result.json", folder).read_text())
    return float(result["unigram_entropy"])


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
