"""What `starverse plan collective` prints: a network asked about."""

from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from starverse.main.plan import show_answer, text_of
from starverse.model import events as ev
from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.model.names import nearest
from starverse.model.spec import GBPS, Cluster, parse_cluster, preset
from starverse.physics.fabric.topology import Topology
from starverse.physics.fabric.traffic import Conditions
from starverse.planning.collective import plan_collective
from starverse.planning.network import network_of, topology_of
from starverse.planning.placement import cards_at, cards_of, in_place

WORDS = "torus:32x32x30"
"""The network where none is named."""


class _Run(msgspec.Struct, frozen=True):
    at_ms: int
    job: str
    cards: dict[str, tuple[int, ...]]


class _Solved(msgspec.Struct, frozen=True):
    """What is needed of the file that `starverse solve --json` writes."""

    events: list[tuple[int, ev.Event]]
    running: list[_Run]


class _Asked(NamedTuple):
    """A network, the names of its nodes in the order of their cards, and how many cards those have."""

    topology: Topology
    nodes: list[str]
    node_cards: int
    cards: int
    named: bool


def cluster_of(words: str) -> Cluster:
    """The cluster of a file, or of a preset's name."""
    file = Path(words)
    if file.suffix == ".toml" or file.is_file():
        return parse_cluster(text_of(file), str(file))
    return preset(words)


def collective(
    topology: str | None,
    cluster: str | None,
    kind: str,
    megabytes: float,
    cards: int,
    placement: str | None,
    job: str | None,
    algorithm: str,
    failed: list[str],
    node_cards: int | None,
    link_gbps: float | None,
    loss: float,
    recovery: str,
    *,
    beside: bool,
    json: bool,
) -> None:
    """Print how long a collective takes."""
    bounded(0, 0.999, loss=loss)
    asked = _network(topology, cluster, node_cards, link_gbps)
    conditions = Conditions(loss_share=loss, recovery=recovery)
    assumed: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    if placement:
        if cards:
            raise BadInput("--cards and --placement both say which cards.", "Leave one of them out.")
        ranks, others, assumed = _placed(asked, placement, job, beside=beside)
        if others[0].size:
            conditions = conditions._replace(others=others)
    elif job or beside:
        raise BadInput("--job and --beside are of a solved case.", "Name its file with --placement.")
    of = ranks or (cards or asked.cards)
    found = plan_collective(asked.topology, kind, megabytes * 1e6, of, algorithm, failed, conditions)
    timing = found.timing
    answer = {
        "kind": timing.kind,
        "cards": timing.cards,
        "bytes": timing.bytes_,
        "algorithm": found.algorithm,
        "time_s": timing.time_s,
        "alone_s": found.alone_s,
        "algorithm_bytes_per_s": timing.algorithm_bytes_per_s,
        "bus_bytes_per_s": timing.bus_bytes_per_s,
        "efficiency_share": timing.efficiency_share,
        "bottleneck": timing.bottleneck,
        "hops_mean": found.hops_mean,
        "hops_most": found.hops_most,
        "bisection_bytes_per_s": found.bisection_bytes_per_s,
        "equation": found.equation,
        "source": found.source,
        "assumed": assumed,
    }
    show_answer(answer, json=json)


def _network(
    words: str | None, cluster: str | None, node_cards: int | None, link_gbps: float | None
) -> _Asked:
    if not cluster:
        each, speed = node_cards or 1, 800.0 if link_gbps is None else link_gbps
        bounded(0.001, 1e6, link_gbps=speed)
        network = topology_of(words or WORDS, speed * GBPS, node_cards=each)
        nodes = [f"node{n}" for n in range(network.cards // each)]
        return _Asked(network, nodes, each, network.cards, named=False)
    given = {"a network in words": words, "--node-cards": node_cards, "--link-gbps": link_gbps}
    twice = [name for name, value in given.items() if value is not None]
    if twice:
        raise BadInput(f"--cluster and {twice[0]} both describe the network.", f"Leave out {twice[0]}.")
    spec = cluster_of(cluster)
    return _Asked(network_of(spec), spec.node_names(), spec.node.cards, spec.cards, named=True)


def _placed(
    asked: _Asked, placement: str, job: str | None, *, beside: bool
) -> tuple[tuple[int, ...], tuple[Any, Any], tuple[str, ...]]:
    """The cards of a placement, the flows of other jobs beside it, and what was assumed."""
    none = np.zeros(0, np.int64)
    file = Path(placement)
    if file.suffix != ".json":
        if job or beside:
            raise BadInput("--job and --beside are of a solved case.", "Give --placement its .json file.")
        words = text_of(file) if file.is_file() else placement
        return cards_at(words, asked.nodes, asked.node_cards, asked.cards), (none, none), ()
    try:
        solved = msgspec.json.decode(text_of(file), type=_Solved)
    except msgspec.DecodeError as wrong:
        what = f"{file} is not what `starverse solve CASE.toml --json FILE` writes: {wrong}."
        raise BadInput(what, "Solve the case anew.") from None
    run = _run(solved, job, str(file))
    joined = [event for _, event in solved.events if isinstance(event, ev.NodeJoined)]
    names = asked.nodes
    assumed = [f"placement: {run.job} on {', '.join(run.cards)}"]
    if not asked.named or not {node.node for node in joined} <= set(names):
        layout = next(
            (event for _, event in solved.events if isinstance(event, ev.LayoutSet)), ev.LayoutSet(())
        )
        names = in_place(layout, joined)
        assumed.append("the case's nodes are the network's in the order of their places")
    others = none, none
    if beside:
        rings = [
            np.array(cards_of(each.cards, names, asked.node_cards, asked.cards), np.int64)
            for each in solved.running
            if each.at_ms == run.at_ms and each.job != run.job and sum(map(len, each.cards.values())) > 1
        ]
        if rings:
            others = np.concatenate(rings), np.concatenate([np.roll(ring, -1) for ring in rings])
        assumed.append(f"{len(rings)} other jobs send in rings all the while")
    return cards_of(run.cards, names, asked.node_cards, asked.cards), others, tuple(assumed)


def _run(solved: _Solved, job: str | None, file: str) -> _Run:
    """The job's run at the last look in which it ran; without a name, of the only job there is."""
    jobs = list(dict.fromkeys(run.job for run in solved.running))
    if job is None and len(jobs) != 1:
        raise BadInput(f"{len(jobs)} jobs ran in {file}.", f"Name one with --job: {', '.join(jobs[:10])}.")
    if job is not None and job not in jobs:
        raise BadInput(
            f"No job '{job}' ran in {file}.", nearest(job, jobs) if jobs else "Look at it earlier."
        )
    return [run for run in solved.running if job in {None, run.job}][-1]
