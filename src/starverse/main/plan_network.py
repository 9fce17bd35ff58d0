"""What `starverse plan collective` prints: a network asked about."""

import tomllib
from collections.abc import Sequence
from dataclasses import asdict
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from starverse.main.answer import show_answer
from starverse.main.plan import text_of
from starverse.model import events as ev
from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.model.names import nearest, shown
from starverse.model.spec import GBPS, Cluster, parse_cluster, preset_text
from starverse.physics.fabric.bucket import CHUNKS_MAX
from starverse.physics.fabric.loss import step_stretch
from starverse.physics.fabric.topology import ENDS_NS, Topology
from starverse.physics.fabric.traffic import Conditions
from starverse.planning.collective import Answer, plan_collective
from starverse.planning.network import cards_said, network_of, topology_of
from starverse.planning.permutation import plan_permutation
from starverse.planning.placement import cards_at, cards_of, in_place

WORDS = "torus:32x32x30"
"""The network where none is named,"""
LINK_GBPS, HOP_NS = 800.0, 500.0
"""and its links."""
DRAWS_MAX, SEED_MAX = 100, 2**32


def cluster_of(words: str) -> Cluster:
    """The cluster of a file, or of a preset's name."""
    return parse_cluster(_said(words), words)


def _said(words: str) -> str:
    file = Path(words)
    return text_of(file) if file.suffix == ".toml" or file.is_file() else preset_text(words)


class Question(NamedTuple):
    """What a person asked of a collective; None where nothing was said."""

    topology: str | None
    cluster: str | None
    kind: str
    megabytes: float
    cards: int
    placement: str | None
    job: str | None
    beside: bool
    algorithm: str
    failed: list[str]
    slow: list[str]
    node_cards: int | None
    link_gbps: float | None
    hop_ns: float | None
    loss: float
    recovery: str
    round_trip_us: float | None
    exposed_share: float | None
    adaptive: bool
    lossless: bool
    chunks: int | None
    memory_gb_per_s: float | None
    ends_ns: float | None
    draws: int | None
    seed: int | None


def collective(question: Question, *, json: bool) -> None:
    """Print how long a collective takes."""
    bounded(0, 0.999, loss=question.loss)
    bounded(0, 1e9, round_trip_us=question.round_trip_us)
    bounded(0, 1, exposed_share=question.exposed_share)
    bounded(0, 1e9, ends_ns=question.ends_ns)
    bounded(0.001, 1e9, memory_gb_per_s=question.memory_gb_per_s)
    bounded(1, CHUNKS_MAX, chunks=question.chunks)
    _refuse_what_does_not_apply(question)
    asked = _network(question)
    ranks, conditions, assumed = _conditions(question, asked)
    if question.cards > asked.cards:
        what = f"{question.cards:,} cards, of {asked.cards:,} there are, were asked for."
        raise BadInput(what, f"Give 2 or more, numbered 0 to {asked.cards - 1}.")
    network = asked.topology, ranks or (question.cards or asked.cards), conditions, asked.assumed + assumed
    if question.kind == "permutation":
        _permutation(question, *network, json=json)
    else:
        _collective(question, *network, json=json)


def _collective(
    question: Question, topology: Topology, cards: int | tuple[int, ...], conditions: Conditions,
    assumed: tuple[str, ...], *, json: bool,
) -> None:  # fmt: skip
    found = plan_collective(
        topology,
        question.kind,
        question.megabytes * 1e6,
        cards,
        question.algorithm,
        question.failed,
        conditions,
        dict(map(_slowed, question.slow)),
        question.chunks or 0,
    )
    timing, exposed = found.timing, question.exposed_share
    stretches = timing.loss_stretch_mean, timing.loss_stretch_slowest
    mean, slowest = (None if exposed is None else step_stretch(exposed, each) - 1 for each in stretches)
    answer = {
        "kind": timing.kind,
        "cards": timing.cards,
        "bytes": timing.bytes_,
        "algorithm": found.algorithm,
        "time_s": timing.time_s,
        "alone_s": found.alone and found.alone.time_s,
        "alone_efficiency_share": found.alone and found.alone.efficiency_share,
        "alone_wire_share": found.alone and found.alone.wire_share,
        "algorithm_bytes_per_s": timing.algorithm_bytes_per_s,
        "bus_bytes_per_s": timing.bus_bytes_per_s,
        "efficiency_share": timing.efficiency_share,
        "wire_share": timing.wire_share,
        "bottleneck": timing.bottleneck,
        "loss_stretch_mean": timing.loss_stretch_mean,
        "loss_stretch_slowest": timing.loss_stretch_slowest,
        "step_longer_mean_share": mean,
        "step_longer_slowest_share": slowest,
        **(_exact(found) if json else _at_a_glance(found)),
        "bisection_bytes_per_s": found.bisection_bytes_per_s,
        "equation": found.equation,
        "source": found.source,
        "assumed": assumed,
    }
    show_answer(answer, json=json)


def _exact(found: Answer) -> dict[str, Any]:
    """How far cards are apart, for programs."""
    return {
        "hops_mean": found.hops_mean,
        "hops_most": found.hops_most,
        "message_mean_ns": found.message_mean_ns,
        "message_most_ns": found.message_most_ns,
        "hops_shares": found.hops,
        "message_ns_shares": found.message_ns,
    }


def _at_a_glance(found: Answer) -> dict[str, str]:
    """The same for people, each distribution in a line."""
    mean_us = found.message_mean_ns / 1e3
    return {
        "hops": _ranked(found.hops, found.hops_mean),
        "message": f"{_ranked([(ns / 1e3, share) for ns, share in found.message_ns], mean_us)} µs",
    }


def _ranked(shares: Sequence[tuple[float, float]], mean: float) -> str:
    """The mean, what half, 90 and 99 % of pairs stay within, and the most: of rising (value, share)."""
    values, share = zip(*shares, strict=True)
    at = np.searchsorted(np.cumsum(share), np.array([0.5, 0.9, 0.99]) - 1e-9)
    ranks = (f"p{rank} {values[int(one)]:.3g}" for rank, one in zip((50, 90, 99), at, strict=True))
    return ", ".join((f"mean {mean:.3g}", *ranks, f"most {values[-1]:.3g}"))


def _permutation(
    question: Question, topology: Topology, cards: int | tuple[int, ...], conditions: Conditions,
    assumed: tuple[str, ...], *, json: bool,
) -> None:  # fmt: skip
    """Print how long flows take of which each card sends one."""
    seed, many = question.seed or 0, cards if isinstance(cards, int) else len(cards)
    draws = [
        np.random.default_rng(seed + draw).permutation(many) for draw in range(question.draws or 1)
    ]  # each a seed of its own, so that more draws begin with the same
    slowed = dict(map(_slowed, question.slow))
    bytes_ = question.megabytes * 1e6
    found = plan_permutation(topology, bytes_, draws, cards, question.failed, conditions, slowed)
    answer = {"kind": question.kind, "cards": many, "bytes": bytes_, **asdict(found), "assumed": assumed}
    show_answer(answer, json=json)


def _refuse_what_does_not_apply(question: Question) -> None:
    permuted = question.kind == "permutation"
    if question.adaptive and question.lossless:
        raise BadInput("--lossless counts flows of one path each.", "Leave out --adaptive.")
    if question.lossless and question.loss:
        raise BadInput("A lossless network loses no packets.", "Leave out --lossless or --loss.")
    if not permuted and (question.draws is not None or question.seed is not None):
        raise BadInput(
            "--draws and --seed are of a permutation.", "Add --kind permutation, or leave them out."
        )
    bounded(1, DRAWS_MAX, draws=question.draws)
    bounded(0, SEED_MAX, seed=question.seed)
    reduces = question.kind in {"all-reduce", "reduce-scatter"}
    if question.memory_gb_per_s is not None and not reduces:
        raise BadInput(f"A {question.kind} reduces nothing in memory.", "Leave out --memory-gb-per-s.")
    chunked = reduces or question.kind == "all-gather"
    chunked = chunked and question.algorithm in {"best", "bucket", "hierarchical"}
    if question.chunks is not None and not chunked:
        raise BadInput("--chunks are of a collective by bucket or hierarchical.", "Leave them out.")
    given = {
        "--loss": question.loss or None,
        "--exposed-share": question.exposed_share,
        "--algorithm": None if question.algorithm == "best" else question.algorithm,
    }
    for name, value in given.items():
        if value is not None and permuted:
            raise BadInput(f"A permutation knows no {name}.", "Leave it out.")


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
    assumed: tuple[str, ...] = ()


def _slowed(words: str) -> tuple[str, float]:
    """A switch or cable and the share of its speed, of `leaf 0 -> spine 3=0.5`."""
    name, _, share = words.rpartition("=")
    try:
        return name.strip(), float(share)
    except ValueError:
        raise BadInput(f"{shown(words)} says no share.", "Write it like 'leaf 0 -> spine 3=0.5'.") from None


def _conditions(question: Question, asked: _Asked) -> tuple[tuple[int, ...], Conditions, tuple[str, ...]]:
    """The cards that were named (none if only how many), what is true of the network, what is assumed."""
    trip_us = question.round_trip_us
    conditions = Conditions(
        loss_share=question.loss,
        recovery=question.recovery,
        round_trip_s=None if trip_us is None else trip_us / 1e6,
        spread=question.adaptive,
        head_of_line=question.lossless,
        ends_ns=ENDS_NS if question.ends_ns is None else question.ends_ns,
        memory_bytes_per_s=inf if question.memory_gb_per_s is None else question.memory_gb_per_s * 1e9,
    )
    if question.placement is None:
        if question.job or question.beside:
            raise BadInput("--job and --beside are of a solved case.", "Name its file with --placement.")
        return (), conditions, ()
    if question.cards:
        raise BadInput("--cards and --placement both say which cards.", "Leave one of them out.")
    ranks, others, assumed = _placed(asked, question.placement, question.job, beside=question.beside)
    return ranks, conditions._replace(others=others) if others[0].size else conditions, assumed


def _network(question: Question) -> _Asked:
    words, each, speed, hop_ns = question.topology, question.node_cards, question.link_gbps, question.hop_ns
    if not question.cluster:
        bounded(0.001, 1e6, link_gbps=speed)
        network = topology_of(
            words or WORDS,
            (LINK_GBPS if speed is None else speed) * GBPS,
            HOP_NS if hop_ns is None else hop_ns,
            each or 1,
        )
        nodes = [f"node{n}" for n in range(network.cards // (each or 1))]
        many = cards_said(words or WORDS, network)
        left = f"the first {many:,} of {network.cards:,} ports have cards; hops and bisection are of all"
        assumed: tuple[str, ...] = (left,) if many < network.cards else ()
        return _Asked(network, nodes, each or 1, many, False, assumed)
    given = {"a network in words": words, "--node-cards": each, "--link-gbps": speed, "--hop-ns": hop_ns}
    twice = [name for name, value in given.items() if value is not None]
    if twice:
        raise BadInput(f"--cluster and {twice[0]} both describe the network.", f"Leave out {twice[0]}.")
    spec = cluster_of(question.cluster)
    assumed = tuple(f"{each}, as {question.cluster} does not say" for each in _unsaid(question.cluster, spec))
    return _Asked(
        network_of(spec), spec.node_names(), spec.node.cards, spec.cards, named=True, assumed=assumed
    )


def _unsaid(words: str, spec: Cluster) -> list[str]:
    """What the links of a cluster are taken to be where its file leaves them out."""
    said = tomllib.loads(_said(words)).get("network", {})
    net = spec.network
    taken = {"link_gbps": f"links of {net.link_gbps:g} Gbit/s", "hop_ns": f"hops of {net.hop_ns:g} ns"}
    return [what for key, what in taken.items() if key not in said]


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
