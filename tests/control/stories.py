"""Whole stories by chance: nodes, wallets, jobs and what becomes of their runs, people and faults."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from random import Random
from traceback import extract_tb
from typing import Any

from tests.cluster import MIDNIGHT, Cluster
from tests.control.laws import Auditor
from tests.hall import Fate

from starverse.model import events as ev
from starverse.model import requests as rq
from starverse.model.job import JobSpec, Work
from starverse.model.units import CARD, MINUTE_MS, SECOND_MS, YUAN

START_MS = MIDNIGHT - 2 * MINUTE_MS
TENANTS = ("ann", "bob")
BACK_MS = MINUTE_MS + 250
"""After so long a lost node is back: between two ticks, so that it never comes and goes at one instant."""


@dataclass(frozen=True)
class Story:
    """What is there, and (when, what) people ask and the world does. `fates` are those of each job's runs."""

    nodes: tuple[ev.NodeJoined, ...]
    wallets: tuple[tuple[str, int], ...]
    acts: tuple[tuple[int, Any], ...]
    fates: tuple[tuple[str, tuple[Fate, ...]], ...]

    @property
    def jobs(self) -> dict[str, JobSpec]:
        return {act.spec.job: act.spec for _, act in self.acts if isinstance(act, rq.SubmitJob)}


@dataclass(frozen=True)
class Loss:
    """A node is lost, which is noticed `late_ms` later, and is back a minute after."""

    node: str
    late_ms: int


def story(seed: int, people: bool = True, faults: bool = True, rich: bool = False) -> Story:
    """The same story for the same seed: with or without `people` who meddle, `faults`, and money for all."""
    chance = Random(seed)
    kinds = chance.choice([("cpu",), ("cpu", "h200")])
    nodes = tuple(
        ev.NodeJoined(f"n{n}", chance.choice(kinds), chance.randint(1, 5))
        for n in range(chance.randint(1, 5))
    )
    cards = {node.kind: 0 for node in nodes}
    for node in nodes:
        cards[node.kind] += node.cards
    jobs = [f"j{n}" for n in range(chance.randint(1, 14))]
    wallets = tuple((tenant, 1_000 * YUAN if rich else _money(chance)) for tenant in TENANTS)
    acts = [(START_MS + _ticks(chance, 120), rq.SubmitJob(_spec(chance, job, cards))) for job in jobs]
    if people:
        acts += [
            (START_MS + _ticks(chance, 600), _meddling(chance, jobs)) for _ in range(chance.randint(0, 12))
        ]
    if people or faults:
        acts += [(START_MS + _ticks(chance, 600), _trouble(chance, jobs, nodes, people, faults))
                 for _ in range(chance.randint(0, 10))]  # fmt: skip
    fates = tuple((job, _fates(chance, faults)) for job in jobs)
    return Story(nodes, wallets, tuple(sorted(acts, key=lambda act: act[0])), fates)


def _ticks(chance: Random, most: int) -> int:
    """A time in half seconds: they are few, so that things meet at one instant."""
    return chance.randint(0, most) * SECOND_MS // 2


def _money(chance: Random) -> int:
    return chance.choice([0, 100_000, 400_000, 2_000_000, 1_000 * YUAN]) + chance.randint(0, 9_999)


PRIORITIES: list[dict[str, Any]] = [{}, {}, {"priority": "preemptible"}, {"priority": "reserved"}]


def _spec(chance: Random, job: str, cards: dict[str, int]) -> JobSpec:
    kind = chance.choice(sorted(cards))
    low = min(chance.choice([1, 1, 1, 2, 3, 8, 25]), cards[kind])
    part, more = chance.choice([0, 0, 0, 250, 400, 1]), chance.choice([0, 0, 2, 9])
    return JobSpec(
        job,
        chance.choice(TENANTS),
        part or low * CARD,
        part or (low + more) * CARD,
        kind,
        price=chance.choice([0, 1_850_000, 3_600_000, 1_234_567, 99_999_999]),
        time_limit_ms=chance.choice([7 * 24 * 60, 7 * 24 * 60, 2]) * MINUTE_MS,
        retries=chance.randint(0, 3),
        **chance.choice(PRIORITIES),
        work=Work(launch="per-card"),
        earliest_start_ms=chance.choice([0, 0, 0, 0, START_MS + 30 * SECOND_MS, MIDNIGHT + 5 * SECOND_MS]),
    )


def _fates(chance: Random, faults: bool) -> tuple[Fate, ...]:
    hows = ("exit", "exit", "exit", "signal", "lost", "unstarted") if faults else ("exit",)
    codes = (0, 0, 0, 1, 85, 86) if faults else (0, 0, 1)
    return (
        *(
            Fate(
                work_ms=_ticks(chance, chance.choice([4, 60, 400])),
                start_ms=_ticks(chance, chance.choice([0, 10, 90])),
                step_ms=_ticks(chance, 30),
                save_ms=chance.choice([0, 0, 7_000, 20_000]),
                leave_ms=_ticks(chance, 12),
                late_ms=chance.choice([0, 0, 0, 70, 700]),
                how=chance.choice(hows),  # type: ignore[arg-type]
                code=chance.choice(codes),
            )
            for _ in range(chance.randint(0, 4))
        ),
        Fate(20 * SECOND_MS, step_ms=2 * SECOND_MS),
    )


def _meddling(chance: Random, jobs: list[str]) -> rq.Request:
    job, tenant = chance.choice(jobs), chance.choice(TENANTS)
    return chance.choice([rq.StopJob(job), rq.ResumeJob(job), rq.TopUp(tenant, chance.randint(1, 3_000_000))])


def _trouble(
    chance: Random, jobs: list[str], nodes: tuple[ev.NodeJoined, ...], people: bool, faults: bool
) -> Any:
    node, run = chance.choice(nodes).node, f"{chance.choice(jobs)}.{chance.choice([0, 0, 0, 1])}"
    card = chance.randint(0, 1)
    asked = [
        rq.CordonNode(node, drain=chance.random() < 0.5),
        rq.UncordonNode(node),
        rq.InjectFault(run, chance.randint(0, 1)),
    ]
    found = [
        Loss(node, _ticks(chance, 10)),
        ev.CardHealthChanged(node, card, healthy=False),
        ev.CardHealthChanged(node, card, healthy=True),
    ]
    return chance.choice(asked * people + found * faults)


# -- telling it -------------------------------------------------------------------------------------------


def begin(story: Story, **how: Any) -> Cluster:
    """The cluster of a story, with all that is going to happen laid out."""
    cluster = Cluster(jobs=dict(story.fates), start_ms=START_MS, **{"watch": Auditor(), **how})
    for node in story.nodes:
        cluster.hear(node)
    for tenant, money in story.wallets:
        cluster.tenant(tenant, micro_yuan=money)
    joined = {node.node: node for node in story.nodes}
    for at_ms, act in story.acts:
        if isinstance(act, Loss):
            cluster.hear(ev.NodeLost(act.node, at_ms), at_ms + act.late_ms)
            cluster.hear(joined[act.node], at_ms + act.late_ms + BACK_MS)
        elif isinstance(act, ev.CardHealthChanged):
            cluster.hear(act, at_ms)
        else:
            cluster.ask(act, at_ms)
    return cluster


def play(story: Story, **how: Any) -> Cluster:
    """Tell a story until nothing happens any more."""
    cluster = begin(story, **how)
    cluster.settle()
    return cluster


def make_all_well(cluster: Cluster, story: Story) -> None:
    """Mend every node, fill every wallet, resume every job; then let time pass."""
    for node in story.nodes:
        cluster.hear(node)
        for card in (0, 1):
            cluster.hear(ev.CardHealthChanged(node.node, card, healthy=True))
        cluster.ask(rq.UncordonNode(node.node))
    for tenant, _ in story.wallets:
        cluster.ask(rq.TopUp(tenant, 100_000 * YUAN))
    cluster.settle()
    for _ in range(10):
        for job in tuple(cluster.state.jobs):
            cluster.ask(rq.ResumeJob(job))
        cluster.settle()


# -- many of them -----------------------------------------------------------------------------------------


def each(seeds: Iterable[int], test: Callable[[Story], object], **kind: bool) -> None:
    """Test the story of every seed; of the first that fails, show the smallest that fails as well."""
    for seed in seeds:
        told = story(seed, **kind)
        if failure := _failure(test, told):
            smallest = _smallest(told, test, failure)
            try:
                test(smallest)
            except Exception as error:
                raise AssertionError(
                    f"seed {seed} fails at {failure}; the smallest such story:\n{smallest}"
                ) from error


def _failure(test: Callable[[Story], object], story: Story) -> str:
    """Where a story fails, "" if it does not."""
    try:
        test(story)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told
        frame = extract_tb(error.__traceback__)[-1]
        return f"{frame.filename}:{frame.lineno}, {type(error).__name__}"
    return ""


def _smallest(story: Story, test: Callable[[Story], object], failure: str) -> Story:
    """Leave out, one by one, all that the failure does not need."""
    while smaller := next((each for each in _smaller(story) if _failure(test, each) == failure), None):
        story = smaller
    return story


def _smaller(story: Story) -> Iterator[Story]:
    for n, _ in enumerate(story.acts):
        yield replace(story, acts=story.acts[:n] + story.acts[n + 1 :])
    for n, (job, fates) in enumerate(story.fates):
        if job not in story.jobs:
            yield replace(story, fates=story.fates[:n] + story.fates[n + 1 :])
        for fewer in (fates[1:], fates[:1]) if len(fates) > 1 else ():
            yield replace(story, fates=(*story.fates[:n], (job, fewer), *story.fates[n + 1 :]))
    for n, _ in enumerate(story.nodes if len(story.nodes) > 1 else ()):
        yield replace(story, nodes=story.nodes[:n] + story.nodes[n + 1 :])
