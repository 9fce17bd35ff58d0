"""Collectives as flows: the steps of an algorithm between given cards, on a network in a given state."""

from collections.abc import Sequence
from math import isqrt
from typing import NamedTuple

import numpy as np

from starverse.model.errors import BadInput
from starverse.physics.fabric import flows, loss, lossless
from starverse.physics.fabric.collectives import Timing
from starverse.physics.fabric.maxmin import fair_rates
from starverse.physics.fabric.network import NO_LINKS, Flags, Floats, Ints, Network, Routes, joined
from starverse.physics.fabric.steps import Step, steps
from starverse.physics.fabric.topology import Topology
from starverse.physics.fabric.wires import wire_bytes_per_s, wires_each

PAIRS_MAX = 100_000
"""An all-to-all of more flows is computed by the load of the links."""

FLOWS_MAX = 2_000_000
"""So many of them, by shifts between the ranks, stand for all there."""

GOLDEN = (5**0.5 - 1) / 2


class Conditions(NamedTuple):
    """What else is true of a network: all that is not said is well.

    `failed` and `speed_share` are over links; `others` are flows (source, target) of other jobs that never
    pause. `spread` routes adaptively (idealised), `head_of_line` counts waiting behind others on lossless
    Ethernet (one path a flow). Packets are lost with `loss_share`; a lost last packet waits `timeout_s`, and
    the sender hears of any other after `round_trip_s` (twice the way where it is not given).
    """

    failed: Flags = NO_LINKS
    speed_share: Floats | None = None
    others: tuple[Ints, Ints] | None = None
    spread: bool = False
    head_of_line: bool = False
    loss_share: float = 0.0
    recovery: str = "selective-repeat"
    timeout_s: float = 1e-3
    round_trip_s: float | None = None
    salt: int = 0


WELL = Conditions()


def collective(
    topology: Topology, kind: str, algorithm: str, cards: Ints, bytes_: float,
    conditions: Conditions = WELL, node_cards: int = 1, dims: Sequence[int] = (),
) -> Timing:  # fmt: skip
    """How long a collective between these cards takes on this network as it is, and what holds it up.

    Each step ends with its slowest flow: the latency of its way, its bytes at its rate. Rates are max-min
    fair among all flows that go on at the same time. Steps done many times in a row are a stream: what is
    lost shows by what follows, so only the last of them may wait for a timeout. A flow that has no way left
    raises BadInput.
    """
    net = _as_it_is(topology.network, conditions)
    wires = wire_bytes_per_s(topology, cards), wires_each(topology, kind, cards)
    if kind == "all-to-all" and algorithm == "direct" and cards.size * (cards.size - 1) > PAIRS_MAX:
        if conditions.head_of_line:
            raise BadInput(
                f"Who waits behind whom is not known where all of {cards.size:,} cards send to all.",
                f"Ask of {isqrt(PAIRS_MAX)} or fewer, or of a network that loses packets.",
            )
        total_s, link = _all_to_all_s(topology, net, cards, bytes_, conditions)
        return Timing(kind, cards.size, bytes_, total_s, wires[0], net.link_name(link), wires[1])
    others = _others(topology, conditions)
    total_s, slowest_s, bottleneck = 0.0, -1.0, ""
    for step in steps(kind, algorithm, cards, bytes_, node_cards, dims):
        routes = _routed(topology, step.source, step.target, conditions)
        once_s, link = _once_s(net, routes, step, others, conditions)
        time_s = step.times * once_s + step.fill * float(routes.latency_ns(net).mean()) * 1e-9
        time_s += loss.tail_s(conditions.loss_share, routes.flows, conditions.timeout_s)
        total_s += time_s
        if time_s > slowest_s:
            slowest_s, bottleneck = time_s, net.link_name(link) if link >= 0 else ""
    return Timing(kind, cards.size, bytes_, total_s, wires[0], bottleneck, wires[1])


def slowest_bytes_per_s(
    topology: Topology, source: Ints, target: Ints, conditions: Conditions = WELL
) -> float:  # fmt: skip
    """The least of the fair rates of these flows, all going on at once beside those of other jobs."""
    net = _as_it_is(topology.network, conditions)
    routes, others = _routed(topology, source, target, conditions), _others(topology, conditions)
    every = routes if others is None else joined([routes, others])
    return float(fair_rates(every, net.bytes_per_s)[: routes.flows].min())


def _all_to_all_s(
    topology: Topology, net: Network, cards: Ints, bytes_: float, conditions: Conditions
) -> tuple[float, int]:
    """The time of the fullest link, and which it is, when every card keeps sending to all others.

    By shifts between ranks, there and back, that are spread by the golden ratio, each standing for as many:
    within a tenth of what all would give. Beside flows of other jobs, a link carries what those leave, at
    least the share of all that cross it.
    """
    ranks = cards.size
    pairs = min(max(FLOWS_MAX // ranks, 2), ranks) // 2
    ahead = 1 + (np.arange(pairs) * GOLDEN % 1 * (ranks // 2)).astype(np.int64)
    shifts = np.unique(np.concatenate((ahead, ranks - ahead)))
    each = bytes_ / ranks * (ranks - 1) / shifts.size
    load, crossing, lag_s = np.zeros(net.links), np.zeros(net.links), 0.0
    for shift in shifts:
        routes = _routed(topology, cards, np.roll(cards, -shift), conditions)
        load += routes.load(np.full(ranks, each), net.links)
        crossing += routes.load(np.full(ranks, (ranks - 1) / shifts.size), net.links)
        lag_s = max(lag_s, float(routes.latency_ns(net).max()) * 1e-9)
    speed = net.bytes_per_s.copy()
    others = _others(topology, conditions)
    if others is not None and others.flows:
        beside = others.load(np.ones(others.flows), net.links)
        taken = others.load(fair_rates(others, net.bytes_per_s), net.links)
        fair = net.bytes_per_s * crossing / np.maximum(crossing + beside, 1e-9)
        speed = np.maximum(net.bytes_per_s - taken, fair)
    time_s = np.divide(load, speed, out=np.zeros(net.links), where=load > 0)
    link = int(np.argmax(time_s))
    window = loss.window_packets(float(net.bytes_per_s[link]), _round_trip_s(conditions, lag_s))
    share = loss.goodput_share(conditions.loss_share, window, conditions.recovery)
    tail_s = loss.tail_s(conditions.loss_share, ranks * (ranks - 1), conditions.timeout_s)
    return lag_s + float(time_s[link]) / share + tail_s, link


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
        on = np.arange(every.flows) >= routes.flows
        sizes = np.full(every.flows, step.bytes_each)
        body_s = lossless.finish_s(net, every, sizes, wire_s=0.0, endless=on)[: routes.flows]
    elif step.times == 1 and not step.fill:
        body_s = flows.finish_s(net, routes, bytes_each, others) - lag_s
    else:
        body_s = bytes_each / rates[: routes.flows]
    slow = int(np.argmax(lag_s + body_s))
    if not conditions.loss_share:
        return float(lag_s[slow] + body_s[slow]), link
    speed = step.bytes_each / body_s[slow]
    window = loss.window_packets(speed, _round_trip_s(conditions, lag_s[slow]))
    share = loss.goodput_share(conditions.loss_share, window, conditions.recovery)
    return float(lag_s[slow] + body_s[slow] / share), link


def _round_trip_s(conditions: Conditions, way_s: float) -> float:
    return 2 * way_s if conditions.round_trip_s is None else conditions.round_trip_s


def _as_it_is(net: Network, conditions: Conditions) -> Network:
    if conditions.speed_share is None:
        return net
    share = conditions.speed_share
    if share.shape != (net.links,) or (share < 0).any() or (share > 1).any():
        raise BadInput(f"speed_share has {share.size} entries.", f"Give each of {net.links} links 0 to 1.")
    return Network(
        net.cards, net.vertices, net.tail, net.head, net.bytes_per_s * share, net.latency_ns, net.vertex_name
    )
