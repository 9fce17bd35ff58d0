"""A pretended cluster that a test shapes at will: jobs run, fail and resume by the clock on the wall."""

import math
import secrets
import time
from dataclasses import replace
from typing import Any

from starverse.faces import schemas as sc

ACCOUNT = sc.Account("u-1", "ada@example.com", True, (sc.Membership("p-1", "ada", "t-1", "owner"),))
STEPS = 400


def now_ms() -> int:
    return int(time.time() * 1000)


class World:
    """Mutable owner of what the pretended server knows."""

    def __init__(self) -> None:
        self.operator = True
        self.user = f"u-{secrets.randbelow(10**9)}"  # somebody new, who likes nothing yet
        self.passwords = {"ada@example.com": "correct horse battery"}
        self.tokens: dict[str, sc.Token] = {}
        self.nodes = {"this-machine": sc.Node("this-machine", "cpu", 2, 0, (), False, False)}
        self.price = 400_000
        self.reservations: dict[str, sc.Reservation] = {}
        self.gone: list[sc.Reservation] = []
        self.limits = sc.Limits()
        self.jobs: dict[str, sc.Job] = {}
        self.runs: dict[str, list[sc.Run]] = {}
        self.moments: dict[str, list[sc.Moment]] = {}
        self.metrics: dict[str, list[sc.Metric]] = {}
        self.logs: dict[str, str] = {}
        self.files: dict[str, dict[str, bytes]] = {}
        self.postings: list[sc.Posting] = []
        self.submitted: dict[str, str] = {}  # idempotency key -> job
        self.speed = 6
        self.fault_at = 0
        self.requests: list[str] = []
        self.addresses: list[str] = []  # whom those who signed in said they speak for
        self.seq = 0

    def post(self, kind: str, amount: int, wallet: int, held: int, **more: Any) -> None:
        self.seq += 1
        given = {"job": "", "run": "", "card_ms": 0, "from_ms": None, "to_ms": None, "note": ""} | more
        self.postings.append(
            sc.Posting(self.seq, now_ms(), kind, wallet=wallet, held=held, amount=amount, **given)
        )

    @property
    def account(self) -> sc.Account:
        return replace(ACCOUNT, user=self.user, operator=self.operator)

    def wallet(self) -> sc.Wallet:
        available = sum(p.wallet for p in self.postings)
        held = sum(p.held for p in self.postings)
        live = [j for j in self.jobs.values() if j.phase == "running"]
        rate = sum(j.price * j.cards_max for j in live)
        empty = now_ms() + (available + held) * 3_600_000 // rate if rate else None
        return sc.Wallet("t-1", available, held, sum(j.cost - j.charged for j in live), rate, empty)

    def cluster(self) -> sc.Cluster:
        kinds: dict[str, list[int]] = {}
        for node in self.nodes.values():
            seen = kinds.setdefault(node.kind, [0, 0])
            seen[0] += node.cards
            seen[1] += 0 if node.cordoned or node.lost else node.cards - node.used - len(node.broken)
        shown = tuple(sc.Kind(kind, cards, free, self.price) for kind, (cards, free) in kinds.items())
        waiting = sum(j.phase == "waiting" for j in self.jobs.values())
        running = sum(j.phase == "running" for j in self.jobs.values())
        return sc.Cluster(
            version="0.1.0",
            kinds=shown,
            isolation="A Unix user per tenant.",
            accepts_foreign=True,
            snapshot_bytes_max=1 << 30,
            snapshot_files_max=100_000,
            waiting=waiting,
            running=running,
        )

    def reserve(self, ask: dict[str, Any]) -> sc.Reservation:
        name = f"v-{len(self.reservations):04d}kmxwpq"
        first = sc.Window(ask["from_ms"], ask["to_ms"])
        rest = {key: ask[key] for key in ("label", "cards", "from_ms", "to_ms", "repeat", "zone", "until_ms")}
        left = {"windows": (first,), "windows_left": 1, "open": False, "nodes": (), "missing": 0}
        made = sc.Reservation(name, tenant="t-1", kind="cpu", shape=sc.ShapeAsk(), **rest, **left)
        self.reservations[name] = made
        return made

    def tell(self, job: str, what: str, run: str, text: str) -> None:
        self.seq += 1
        self.moments[job].append(sc.Moment(self.seq, now_ms(), what, run, text))

    def submit(self, ask: dict[str, Any]) -> sc.Job:
        name = f"j-{len(self.jobs):04d}kmxwpq"
        low, _, high = str(ask["cards"]).partition(":")
        cards = int(low), int(high or low)
        script = ask["command"][0].endswith(".py")
        job = sc.Job(
            job=name,
            project="p-1",
            tenant="t-1",
            owner="u-1",
            name=ask["name"],
            phase="waiting",
            outcome="",
            why="",
            kind="cpu",
            cards_min=cards[0],
            cards_max=cards[1],
            price=self.price,
            priority=ask["priority"],
            time_limit_ms=ask["time_limit_ms"] or 7 * 86_400_000,
            submitted_ms=now_ms(),
            started_ms=None,
            ended_ms=None,
            run="",
            runs=0,
            command=tuple(ask["command"]),
            launch="per-card" if script else "once",
            snapshot=ask["snapshot"],
            environment=ask["environment"],
            secrets=(),
            cost=0,
            charged=0,
            credited=0,
            card_ms=0,
        )
        self.runs[name], self.moments[name], self.metrics[name] = [], [], []
        self.files[name] = {}
        self.tell(name, "JobSubmitted", "", f"Submitted: {low} cpu cards at ¥0.4000 a card-hour.")
        self.jobs[name] = job  # last: the server's thread looks at what there is
        return job

    # -- time passes --------------------------------------------------------------------------------------

    def tick(self) -> None:
        for name, job in list(self.jobs.items()):
            node = self.nodes.get("this-machine")
            if (
                job.phase == "waiting"
                and node
                and not node.cordoned
                and node.used + job.cards_min <= node.cards
            ):
                self.place(name)
            elif job.phase == "running":
                self.step(name)

    def place(self, name: str) -> None:
        job, node, at = self.jobs[name], self.nodes["this-machine"], now_ms()
        cards = min(job.cards_max, node.cards - node.used)
        run = f"{name}.{job.runs}"
        done = self.runs[name][-1].checkpoint_step if self.runs[name] else 0
        places = (sc.Place(node.node, tuple(range(node.used, node.used + cards))),)
        self.nodes[node.node] = replace(node, used=node.used + cards)
        self.runs[name].append(
            sc.Run(
                run,
                job.runs,
                cards,
                places,
                at,
                at,
                at + 400,
                done,
                None,
                None,
                None,
                "",
                0,
                -1,
                "",
                False,
                False,
            )
        )
        self.jobs[name] = replace(
            job, phase="running", run=run, runs=job.runs + 1, why="", started_ms=job.started_ms or at
        )
        self.tell(name, "RunPlaced", run, f"Run {job.runs} got {cards} cards on {node.node}.")
        self.tell(name, "RunStarted", run, "The run started: metering begins.")
        self.post("hold", 0, -40_000 * cards, 40_000 * cards, job=name, run=run)
        self.logs[run] = ""

    def step(self, name: str) -> None:
        job, run, at = self.jobs[name], self.runs[name][-1], now_ms()
        last = (
            job.progress.step
            if job.progress and self.metrics[name][-1].run == run.run
            else run.resumed_step or 0
        )
        for step in range(last + 1, min(last + self.speed, STEPS) + 1):
            noise = 0.05 * math.sin(step * 12.9898) * math.cos(step * 4.1)
            loss = 1.4 + 2.4 * math.exp(-step / 90) + noise
            self.metrics[name].append(sc.Metric(run.run, at, step, STEPS, loss, 26_000.0 + 900 * noise * 20))
            if step % 50 == 0:
                run = replace(run, checkpoint_ms=at, checkpoint_step=step)
                self.tell(name, "CheckpointSaved", run.run, f"Checkpoint of step {step}.")
            if step % 10 == 0:
                self.logs[run.run] += f"step {step}: loss {loss:.3f} nat, letters alone 3.254\n"
        last = min(last + self.speed, STEPS)
        cost = job.charged + job.price * run.cards * (at - (run.started_ms or at)) // 3_600_000 - job.credited
        progress = sc.Progress(last, STEPS, self.metrics[name][-1].loss, 26_000.0, at)
        self.jobs[name] = replace(job, progress=progress, cost=cost)
        self.runs[name][-1] = run
        if self.fault_at and last >= self.fault_at and run.attempt == 0:
            self.end(name, "signal", 9, fault=True)
        elif last >= STEPS:
            self.end(name, "exit", 0)

    def end(
        self, name: str, how: str, code: int, fault: bool = False, outcome: str = "done", why: str = ""
    ) -> None:
        job, run, at = self.jobs[name], self.runs[name][-1], now_ms()
        if fault:
            self.tell(name, "FaultInjected", run.run, "A fault was injected: rank 0 is killed.")
        self.runs[name][-1] = replace(
            run, ended_ms=at, how=how, code=code, rank=0 if code else -1, fault=fault, injected=fault
        )
        card_ms = (at - (run.started_ms or at)) * run.cards
        due = job.price * card_ms // 3_600_000
        of = {"job": name, "run": run.run, "card_ms": card_ms, "from_ms": run.started_ms, "to_ms": at}
        self.post("charge", -due, 40_000 * run.cards - due, -40_000 * run.cards, **of)
        credit = 0
        if fault:
            lost_ms = at - (run.checkpoint_ms or run.started_ms or at)
            credit = job.price * run.cards * lost_ms // 3_600_000
            self.post("credit", credit, credit, 0, job=name, run=run.run, card_ms=lost_ms * run.cards,
                      note="work lost to a platform fault")  # fmt: skip
        node = self.nodes["this-machine"]
        self.nodes[node.node] = replace(node, used=node.used - run.cards)
        self.tell(
            name, "RunEnded", run.run, "Rank 0 was killed by signal 9." if fault else "The run finished."
        )
        charged, credited = job.charged + due, job.credited + credit
        job = replace(
            job, charged=charged, credited=credited, cost=charged - credited, card_ms=job.card_ms + card_ms
        )
        if fault:
            self.jobs[name] = replace(job, phase="waiting", why="platform fault: rank 0 killed by signal 9")
        else:
            self.jobs[name] = replace(job, phase="ended", outcome=outcome, why=why, ended_ms=at)
            self.files[name] = {"result.json": b'{"steps": 400}', "model/weights.pt": bytes(1_300_000)}
