"""The figures at /metrics, read afresh for each scrape."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import select

from starverse.control.state import State
from starverse.money.ledger import HELD, WALLET
from starverse.service.platform import Platform
from starverse.store import schema
from starverse.store.database import reading
from starverse.store.reading import jobs_by_outcome

MEDIA_TYPE = "text/plain; version=1.0.0; charset=utf-8"


class _Alive:
    """What the loop knows at one instant."""

    def __init__(self, state: State) -> None:
        self.seq = state.truth.seq
        self.cards: Counter[tuple[str, str]] = Counter()
        self.nodes: Counter[str] = Counter()
        for node in state.nodes.values():
            rests = "resting" if node.rests_until_ms > state.now_ms else "open"
            status = "lost" if node.lost else "cordoned" if node.cordoned else rests
            self.nodes[status] += 1
            self.cards[node.kind, "used"] += state.spaces[node.kind].used_on(node.node).bit_count()
            self.cards[node.kind, "broken"] += node.broken.bit_count()
        for kind, space in state.spaces.items():
            self.cards[kind, "free"] = space.free
        self.phases = Counter(job.phase for job in state.jobs.values())
        self.runs = len(state.runs)


class _Figures(Collector):
    def __init__(self, platform: Platform, requests: Counter[tuple[str, str]]) -> None:
        self._platform = platform
        self._requests = requests

    def collect(self) -> Iterator[Metric]:
        """The families, each complete."""
        alive = self._platform.ask(_Alive)
        yield _gauge("cards", "Cards by kind and use", ["kind", "use"], alive.cards)
        yield _gauge("nodes", "Nodes by status", ["status"], {(k,): v for k, v in alive.nodes.items()})
        yield _gauge("jobs", "Jobs alive by phase", ["phase"], {(k,): v for k, v in alive.phases.items()})
        yield GaugeMetricFamily("starverse_runs", "Runs alive", alive.runs)
        yield CounterMetricFamily("starverse_journal_events", "Rows of the journal", alive.seq)
        yield from self._money()
        family = CounterMetricFamily(
            "starverse_http_requests", "Answers by method and class of status", labels=["method", "status"]
        )
        for labels, count in sorted(self._requests.items()):
            family.add_metric(labels, count)
        yield family

    def _money(self) -> Iterator[Metric]:
        balances = schema.balances
        with reading(self._platform.database) as connection:
            outcomes = {(k,): v for k, v in jobs_by_outcome(connection).items()}
            totals: Counter[str] = Counter()
            for account, amount in connection.execute(select(balances.c.account, balances.c.amount)):
                totals["sum"] += amount
                for kind in (WALLET, HELD):
                    if account.startswith(kind):
                        totals[kind] += amount
        family = CounterMetricFamily("starverse_jobs_ended", "Jobs ended by outcome", labels=["outcome"])
        for labels, count in sorted(outcomes.items()):
            family.add_metric(labels, count)
        yield family
        yield GaugeMetricFamily(
            "starverse_ledger_sum_micro_yuan", "Sum of all accounts: zero, always", totals["sum"]
        )
        yield GaugeMetricFamily("starverse_wallets_micro_yuan", "Sum of all wallets", totals[WALLET])
        yield GaugeMetricFamily("starverse_held_micro_yuan", "Sum of all holds", totals[HELD])


def text(platform: Platform, requests: Counter[tuple[str, str]]) -> bytes:
    """All figures in Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures(platform, requests))
    return generate_latest(registry)


def _gauge(name: str, says: str, labels: list[str], values: Mapping[Any, int]) -> Metric:
    family = GaugeMetricFamily(f"starverse_{name}", says, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(list(key), value)
    return family
