"""Collectives as flows: the steps of an algorithm between given cards, on a network in a given state."""

from typing import NamedTuple

import numpy as np

from starverse.model.errors import BadInput
from starverse.physics.fabric import flows, loss, lossless
from starverse.physics.fabric.collectives import Timing, bus_factor
from starverse.physics.fabric.maxmin import fair_rates
from starverse.physics.fabric.network import NO_LINKS, Flags, Floats, Ints, Network, Routes, joined
from starverse.physics.fabric.topology import Topology

PAIRS_MAX = 100_000
"""An all-to-all of more flows is computed on shifts between ranks chosen evenly, each for several."""

OTHERS_LAST = 4
"""Where packets are followed one by one, flows of other jobs carry so many times more, to outlast a step."""


class Step(NamedTuple):
    """Flows from source to target (flows,) that carry so many bytes each, at once; done `times` in a row."""

    source: Ints
    target: Ints
    bytes_each: float
    times: int


class Conditions(NamedTuple):
    """What else is true of a network: all that is not said is well.

    `failed` and `speed_share` are over links; `others` are flows (source, target) of other jobs that never
    pause. `spread` routes adaptively (idealised), `head_of_line` counts waiting behind others on lossless
    Ethernet (one path a flow). Packets are lost with `loss_share`; a lost last packet waits `timeout_s`.
    """

    failed: Flags = NO_LINKS
    speed_share: Floats | None = None
    others: tuple[Ints, Ints] | None = None
    spread: bool = False
    head_of_line: bool = False
    loss_share: float = 0.0
    recovery: str = "selective-repeat"
    timeout_s: float = 1e-3
    salt: int = 0


WELL = Conditions()


def steps(kind: str, algorithm: str, cards: Ints, bytes_: float, node_cards: int = 1) -> list[Step]:
    """The steps of a collective over cards in the order of their ranks.

    `ring` (all-reduce, reduce-scatter, all-gather, and broadcast as a chain in blocks), `halving-doubling`
    (all-reduce between a power of two), `hierarchical` (all-reduce: in the node, between the nodes of each
    rank in them, in the node again; ranks come node by node) and `direct` (all-to-all).
    """
    ranks = cards.size
    bus_factor(kind, ranks)
    if np.unique(cards).size != ranks or ranks < 2:
        raise BadInput("A collective is between two or more different cards.", "Name each card once.")
    onward = np.roll(cards, -1)
    match kind, algorithm:
        case "all-reduce", "ring":
            return [Step(cards, onward, bytes_ / ranks, 2 * (ranks - 1))]
        case "reduce-scatter" | "all-gather", "ring":
            return [Step(cards, onward, bytes_ / ranks, ranks - 1)]
        case "broadcast", "ring":
            return [Step(cards[:-1], cards[1:], bytes_, 1)]
        case "all-to-all", "direct":
            return [_all_to_all(cards, bytes_)]
        case "all-reduce", "halving-doubling":
            return _halving_doubling(cards, bytes_)
        case "all-reduce", "hierarchical":
            return _hierarchical(cards, bytes_, node_cards)
    raise BadInput(
        f"There is no {kind} by the algorithm '{algorithm}' as flows.",
        "Say ring, direct (all-to-all), halving-doubling or hierarchical (all-reduce).",
    )


def _all_to_all(cards: Ints, bytes_: float) -> Step:
    ranks = cards.size
    shifts = np.arange(1, ranks)
    most = max(1, PAIRS_MAX // ranks)
    if shifts.size > most:
        shifts = np.unique(np.linspace(1, ranks - 1, most).round().astype(np.int64))
    rank = np.arange(ranks)
    source = np.repeat(cards, shifts.size)
    target = cards[(rank[:, None] + shifts) % ranks].reshape(-1)
    return Step(source, target, bytes_ / ranks * (ranks - 1) / shifts.size, 1)


def _halving_doubling(cards: Ints, bytes_: float) -> list[Step]:
    ranks = cards.size
    rounds = ranks.bit_length() - 1
    if ranks != 1 << rounds:
        raise BadInput(f"{ranks} cards are no power of two.", "Say ring, or take a power of two.")
    rank = np.arange(ranks)
    return [Step(cards, cards[rank ^ (1 << at)], bytes_ / (2 << at), 2) for at in range(rounds)]


def _hierarchical(cards: Ints, bytes_: float, size: int) -> list[Step]:
    if size < 1 or cards.size % size:
        raise BadInput(f"{cards.size} cards are no whole nodes of {size}.", "Give whole nodes, node by node.")
    nodes = cards.size // size
    grid = cards.reshape(nodes, size)
    found = []
    if size > 1:
        around = np.roll(grid, -1, 1).reshape(-1)
        found.append(Step(cards, around, bytes_ / size, 2 * (size - 1)))
    if nodes > 1:
        across = np.roll(grid, -1, 0).reshape(-1)
        found.append(Step(cards, across, bytes_ / size / nodes, 2 * (nodes - 1)))
    return found


def collective(
    topology: Topology, kind: str, algorithm: str, cards: Ints, bytes_: float,
    conditions: Conditions = WELL, node_cards: int = 1, step_ns: float = 0,
) -> Timing:  # fmt: skip
    """How long a collective between these cards takes on this network as it is, and what holds it up.

    Each step ends with its slowest flow: the latency of its way, `step_ns` of the cards themselves, its bytes
    at its rate. Rates are max-min fair among all flows that go on at the same time. Steps done many times in
    a row are a stream: what is lost shows by what follows, so only the last of them may wait for a timeout.
    A flow that has no way left raises BadInput.
    """
    net = _as_it_is(topology.network, conditions)
    others = _others(topology, conditions)
    total_s, slowest_s, bottleneck = 0.0, -1.0, ""
    for step in steps(kind, algorithm, cards, bytes_, node_cards):
        routes = _routed(topology, step.source, step.target, conditions)
        once_s, link = _once_s(net, routes, step, others, conditions)
        time_s = step.times * (once_s + step_ns * 1e-9)
        time_s += loss.tail_s(conditions.loss_share, routes.flows, conditions.timeout_s)
        if kind == "broadcast":
            time_s += float(routes.latency_ns(net).sum()) * 1e-9
        total_s += time_s
        if time_s > slowest_s:
            slowest_s, bottleneck = time_s, net.link_name(link) if link >= 0 else ""
    wire = float(net.bytes_per_s[np.isin(net.tail, cards)].max())
    return Timing(kind, cards.size, bytes_, total_s, wire, bottleneck)


def slowest_bytes_per_s(
    topology: Topology, source: Ints, target: Ints, conditions: Conditions = WELL
) -> float:  # fmt: skip
    """The least of the fair rates of these flows, all going on at once beside those of other jobs."""
    net = _as_it_is(topology.network, conditions)
    routes, others = _routed(topology, source, target, conditions), _others(topology, conditions)
    every = routes if others is None else joined([routes, others])
    return float(fair_rates(every, net.bytes_per_s)[: routes.flows].min())


def _routed(topology: Topology, source: Ints, target: Ints, conditions: Conditions) -> Routes:
    """The ways of flows that must all arrive."""
    routes = topology.route(source, target, conditions.salt, conditions.failed, conditions.spread)
    if routes.cut.any():
        lost = int(np.argmax(routes.cut))
        ends = (topology.network.vertex_name(int(card[lost])) for card in (source, target))
        raise BadInput(f"{' and '.join(ends)} are cut off from each other.", "Place the job without them.")
    return routes


def _others(topology: Topology, conditions: Conditions) -> Routes | None:
    """The ways of other jobs' flows, without those that are cut off."""
    if conditions.others is None:
        return None
    others = topology.route(*conditions.others, conditions.salt, conditions.failed, conditions.spread)
    return others.only(~others.cut)


def _once_s(
    net: Network, routes: Routes, step: Step, others: Routes | None, conditions: Conditions
) -> tuple[float, int]:  # fmt: skip
    """The time of a step done once, and the link that holds it up."""
    every = routes if others is None else joined([routes, others])
    rates = fair_rates(every, net.bytes_per_s)
    link = flows.tightest(net, routes, rates[: routes.flows], every.load(rates, net.links))
    bytes_each = np.full(routes.flows, step.bytes_each)
    lag_s = routes.latency_ns(net) * 1e-9
    if conditions.head_of_line:
        behind = np.full(every.flows, step.bytes_each * OTHERS_LAST)
        behind[: routes.flows] = step.bytes_each
        body_s = lossless.finish_s(net, every, behind, wire_s=0.0)[: routes.flows]
    elif step.times == 1:
        body_s = flows.finish_s(net, routes, bytes_each, others) - lag_s
    else:
        body_s = bytes_each / rates[: routes.flows]
    slow = int(np.argmax(lag_s + body_s))
    if not conditions.loss_share:
        return float(lag_s[slow] + body_s[slow]), link
    speed = step.bytes_each / body_s[slow]
    window = loss.window_packets(speed, 2 * lag_s[slow])
    share = loss.goodput_share(conditions.loss_share, window, conditions.recovery)
    return float(lag_s[slow] + body_s[slow] / share), link


def _as_it_is(net: Network, conditions: Conditions) -> Network:
    if conditions.speed_share is None:
        return net
    share = conditions.speed_share
    if share.shape != (net.links,) or (share < 0).any() or (share > 1).any():
        raise BadInput(f"speed_share has {share.size} entries.", f"Give each of {net.links} links 0 to 1.")
    return Network(
        net.cards, net.vertices, net.tail, net.head, net.bytes_per_s * share, net.latency_ns, net.vertex_name
    )
