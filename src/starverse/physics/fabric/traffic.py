"""Collectives as flows: the steps of an algorithm between given cards, on a network in a given state."""

from collections.abc import Sequence
from math import inf, isqrt
from typing import NamedTuple

import numpy as np

from starverse.model.errors import BadInput
from starverse.physics.fabric import flows, loss, lossless
from starverse.physics.fabric.adaptive import mixed, spread_share
from starverse.physics.fabric.collectives import Timing
from starverse.physics.fabric.maxmin import fair_rates
from starverse.physics.fabric.network import NO_LINKS, Flags, Floats, Ints, Network, Routes, joined
from starverse.physics.fabric.phases import Phase, together_s
from starverse.physics.fabric.steps import Step, steps
from starverse.physics.fabric.topology import ENDS_NS, Topology
from starverse.physics.fabric.wires import wire_bytes_per_s, wires_each

PAIRS_MAX = 100_000
"""An all-to-all of more flows is computed by the load of the links."""

FLOWS_MAX = 2_000_000
"""So many of them, by shifts between the ranks, stand for all there."""

GOLDEN = (5**0.5 - 1) / 2


class Conditions(NamedTuple):
    """What else is true of a network: all that is not said is well.

    `failed` and `speed_share` are over links; `others` are flows (source, target) of other jobs that never
    pause. `spread` routes adaptively (idealised: over all paths that are as short, around over longer ones as
    far as that takes load off the fullest link), `head_of_line` counts waiting behind others on lossless
    Ethernet (one path a flow). Packets are lost with `loss_share`; a lost last packet waits `timeout_s`, and
    the sender hears of any other after `round_trip_s` (where it is not given, twice what the step's message
    takes). A message takes `ends_ns` beside its way; what is reduced is read twice and written once in a
    memory of `memory_bytes_per_s`.
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
    ends_ns: float = ENDS_NS
    memory_bytes_per_s: float = inf


WELL = Conditions()

Times = tuple[float, float, float]
"""Seconds without loss, with what is sent again, and with the timeouts of the slowest besides."""


def collective(
    topology: Topology, kind: str, algorithm: str, cards: Ints, bytes_: float,
    conditions: Conditions = WELL, node_cards: int = 1, dims: Sequence[int] = (), chunks: int = 0,
) -> Timing:  # fmt: skip
    """How long a collective between these cards takes on this network as it is, and what holds it up.

    Each step ends with its slowest flow: the ends and the latency of its way, its bytes at its rate. Rates
    are max-min fair among all flows that go on at the same time. Steps done many times in a row are a stream:
    what is lost shows by what follows, so only the last of them may wait for a timeout. The buffer of a
    bucket or a hierarchy goes in so many `chunks` (0: one for a bucket, the best for a hierarchy, which
    all-reduces by the better of ring and tree between nodes). A flow that has no way left raises
    BadInput.
    """
    net = _as_it_is(topology.network, conditions)
    if kind == "all-to-all" and algorithm == "direct" and cards.size * (cards.size - 1) > PAIRS_MAX:
        if conditions.head_of_line:
            raise BadInput(
                f"Who waits behind whom is not known where all of {cards.size:,} cards send to all.",
                f"Ask of {isqrt(PAIRS_MAX)} or fewer, or of a network that loses packets.",
            )
        (kept_s, mean_s, time_s), link = _all_to_all_s(topology, net, cards, bytes_, conditions)
    else:
        others = _others(topology, net, conditions)
        many = {"bucket": max(chunks, 1), "hierarchical": chunks}.get(algorithm, 1)
        tried = []
        trees = (kind, algorithm) == ("all-reduce", "hierarchical")
        for between in ("ring", "tree") if trees else ("ring",):
            done = steps(kind, algorithm, cards, bytes_, node_cards, dims, between)
            tried.append(_phases_s(topology, net, done, others, conditions, many))
        (kept_s, mean_s, time_s), link = min(tried, key=lambda one: one[0][-1])
    wires = wire_bytes_per_s(topology, cards), wires_each(topology, kind, cards)
    name = net.link_name(link) if link >= 0 else ""
    return Timing(kind, cards.size, bytes_, time_s, wires[0], name, wires[1], kept_s, mean_s)


def idle_s(
    topology: Topology, kind: str, algorithm: str, cards: Ints, bytes_: float, bytes_per_s: float,
    conditions: Conditions = WELL,
) -> float:  # fmt: skip
    """The same steps where nothing holds them up but the cards' own wires, one each of `bytes_per_s`.

    Their ways, ends and reductions are as in `collective`; a step takes as long as the card that sends or
    receives most in it.
    """
    if algorithm == "direct":
        routes = topology.route(np.full(cards.size - 1, cards[0]), cards[1:])
        way_s = (float(routes.latency_ns(topology.network).max()) + conditions.ends_ns) * 1e-9
        return way_s + bytes_ * (1 - 1 / cards.size) / bytes_per_s
    phases = []
    for step in steps(kind, algorithm, cards, bytes_):
        routes = topology.route(step.source, step.target)
        ways_s = (routes.latency_ns(topology.network) + conditions.ends_ns) * 1e-9
        most = max(int(np.bincount(end).max()) for end in (step.source, step.target))
        way_s = float(ways_s.mean() if step.fill else ways_s.max())
        add_s = 3 * step.bytes_each / conditions.memory_bytes_per_s
        phases.append(Phase(step, way_s, most * step.bytes_each / bytes_per_s, add_s))
    return together_s(phases, 1)


def arrivals_s(
    topology: Topology, source: Ints, target: Ints, bytes_each: float, conditions: Conditions = WELL
) -> Floats:  # fmt: skip
    """When each of these flows has arrived, all starting at 0 with so many bytes: seconds, (flows,)."""
    net = _as_it_is(topology.network, conditions)
    others = _others(topology, net, conditions)
    routes = _routed(topology, net, source, target, conditions, others)
    if not conditions.head_of_line:
        done_s = flows.finish_s(net, routes, np.full(routes.flows, bytes_each), others)
    else:
        every = routes if others is None else joined([routes, others])
        on = np.arange(every.flows) >= routes.flows
        wire_s = float(net.latency_ns.max()) * 1e-9  # what a pause takes to be heard
        sizes = np.full(every.flows, bytes_each)
        done_s = lossless.finish_s(net, every, sizes, wire_s=wire_s, endless=on)[: routes.flows]
    return done_s + conditions.ends_ns * 1e-9


def slowest_bytes_per_s(
    topology: Topology, source: Ints, target: Ints, conditions: Conditions = WELL
) -> float:  # fmt: skip
    """The least of the fair rates of these flows, all going on at once beside those of other jobs."""
    net = _as_it_is(topology.network, conditions)
    others = _others(topology, net, conditions)
    routes = _routed(topology, net, source, target, conditions, others)
    every = routes if others is None else joined([routes, others])
    return float(fair_rates(every, net.bytes_per_s)[: routes.flows].min())


def _all_to_all_s(
    topology: Topology, net: Network, cards: Ints, bytes_: float, conditions: Conditions
) -> tuple[Times, int]:
    """The times by the fullest link, and which it is, when every card keeps sending to all others.

    By all shifts between ranks, or, where those are too many flows, by some, there and back, spread by the
    golden ratio, each standing for as many: within a tenth of what all would give. Beside flows of other
    jobs, a link carries what those leave, at least the share of all that cross it.
    """
    ranks = cards.size
    pairs = min(max(FLOWS_MAX // ranks, 2), ranks) // 2
    if pairs == ranks // 2:
        shifts = np.arange(1, ranks)
        shares = np.full(ranks - 1, 1 / (ranks - 1))
    else:
        ahead = 1 + (np.arange(pairs) * GOLDEN % 1 * (ranks // 2)).astype(np.int64)
        shifts, times = np.unique(np.concatenate((ahead, ranks - ahead)), return_counts=True)
        shares = times / times.sum()
    others = _others(topology, net, conditions)
    beside = np.zeros(net.links) if others is None else _crossing(others, net)
    each, lags_s = np.zeros((1, net.links)), np.zeros(1)  # of the ways from which routing may choose
    for shift, share in zip(shifts, shares, strict=True):
        ends = cards, np.roll(cards, -shift)
        found = [_connected(topology, *ends, routes) for routes in _each_way(topology, *ends, conditions)]
        alike = np.full(ranks, (ranks - 1) * share)
        each = each + [routes.load(alike, net.links) for routes in found]
        lags_s = np.maximum(lags_s, [float(routes.latency_ns(net).max()) * 1e-9 for routes in found])
    around = spread_share(*((beside + all_) / net.bytes_per_s for all_ in each)) if len(each) == 2 else 0.0
    crossing = (1 - around) * each[0] + around * each[-1]
    lag_s = float((1 - around) * lags_s[0] + around * lags_s[-1]) + conditions.ends_ns * 1e-9
    speed = net.bytes_per_s.copy()
    if others is not None and others.flows:
        taken = others.load(fair_rates(others, net.bytes_per_s), net.links)
        fair = net.bytes_per_s * crossing / np.maximum(crossing + beside, 1e-9)
        speed = np.maximum(net.bytes_per_s - taken, fair)
    load = crossing * (bytes_ / ranks)
    time_s = np.divide(load, speed, out=np.zeros(net.links), where=load > 0)
    link = int(np.argmax(time_s))
    body_s = float(time_s[link])
    stretch = _stretch(conditions, float(net.bytes_per_s[link]), lag_s)
    tail_s = loss.tail_s(conditions.loss_share, ranks * (ranks - 1), conditions.timeout_s)
    mean_s = lag_s + body_s * stretch
    return (lag_s + body_s, mean_s, mean_s + tail_s), link


def _phases_s(
    topology: Topology, net: Network, done: Sequence[Step], others: Routes | None, conditions: Conditions,
    chunks: int,
) -> tuple[Times, int]:  # fmt: skip
    """The times of these steps together, and the link that holds up the longest of them."""
    kept, again, tail_s, slowest_s, link = [], [], 0.0, -1.0, -1
    for step in done:
        routes = _routed(topology, net, step.source, step.target, conditions, others)
        phase, stretch, tight = _phase(net, routes, step, others, conditions)
        kept.append(phase)
        again.append(phase._replace(body_s=phase.body_s * stretch))
        tail_s += loss.tail_s(conditions.loss_share, routes.flows, conditions.timeout_s)
        time_s = together_s(again[-1:], 1)
        if time_s > slowest_s:
            slowest_s, link = time_s, tight
    mean_s = together_s(again, chunks)
    return (together_s(kept, chunks), mean_s, mean_s + tail_s), link


def _routed(
    topology: Topology, net: Network, source: Ints, target: Ints, conditions: Conditions,
    others: Routes | None,
) -> Routes:  # fmt: skip
    """The ways of flows that must all arrive."""
    return _connected(topology, source, target, _ways(topology, net, source, target, conditions, others))


def _connected(topology: Topology, source: Ints, target: Ints, routes: Routes) -> Routes:
    """These ways from source to target; raises BadInput where one is cut off."""
    if routes.cut.any():
        lost = int(np.argmax(routes.cut))
        ends = (topology.network.vertex_name(int(card[lost])) for card in (source, target))
        raise BadInput(f"{' and '.join(ends)} are cut off from each other.", "Place the job without them.")
    return routes


def _ways(
    topology: Topology, net: Network, source: Ints, target: Ints, conditions: Conditions,
    others: Routes | None,
) -> Routes:  # fmt: skip
    """The ways of flows that all carry as much, and of which the others take no notice."""
    found = _each_way(topology, source, target, conditions)
    if len(found) == 1:
        return found[0]
    direct, around = found
    beside = np.zeros(net.links) if others is None else _crossing(others, net)
    direct_s, around_s = ((beside + _crossing(routes, net)) / net.bytes_per_s for routes in found)
    return mixed(direct, around, spread_share(direct_s, around_s))


def _each_way(topology: Topology, source: Ints, target: Ints, conditions: Conditions) -> list[Routes]:
    """The ways as they are; directly and around where routing that adapts may choose."""
    spreads = (False, True) if conditions.spread and topology.detours else (conditions.spread,)
    return [topology.route(source, target, conditions.salt, conditions.failed, each) for each in spreads]


def _crossing(routes: Routes, net: Network) -> Floats:
    """How many of the flows cross each link, by their shares; shape (links,)."""
    return routes.load(np.ones(routes.flows), net.links)


def _others(topology: Topology, net: Network, conditions: Conditions) -> Routes | None:
    """The ways of other jobs' flows, without those that are cut off."""
    if conditions.others is None:
        return None
    others = _ways(topology, net, *conditions.others, conditions, None)
    return others.only(~others.cut)


def _phase(
    net: Network, routes: Routes, step: Step, others: Routes | None, conditions: Conditions
) -> tuple[Phase, float, int]:  # fmt: skip
    """A step without loss, how many times as long its bytes take with it, and the link that holds it up."""
    every = routes if others is None else joined([routes, others])
    rates = fair_rates(every, net.bytes_per_s)
    link = flows.tightest(net, every, rates, routes.flows)
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
    lag_s += conditions.ends_ns * 1e-9
    slow = int(np.argmax(body_s if step.fill else lag_s + body_s))
    way_s = float(lag_s.mean() if step.fill else lag_s[slow])
    phase = Phase(step, way_s, float(body_s[slow]), 3 * step.bytes_each / conditions.memory_bytes_per_s)
    return phase, _stretch(conditions, step.bytes_each / phase.body_s, way_s), link


def _stretch(conditions: Conditions, bytes_per_s: float, way_s: float) -> float:
    """How many times as long bytes at this speed take for the packets that are lost, timeouts apart."""
    trip_s = 2 * way_s if conditions.round_trip_s is None else conditions.round_trip_s
    window = loss.window_packets(bytes_per_s, trip_s)
    return 1 / loss.goodput_share(conditions.loss_share, window, conditions.recovery)


def _as_it_is(net: Network, conditions: Conditions) -> Network:
    if conditions.speed_share is None:
        return net
    share = conditions.speed_share
    if share.shape != (net.links,) or (share < 0).any() or (share > 1).any():
        raise BadInput(f"speed_share has {share.size} entries.", f"Give each of {net.links} links 0 to 1.")
    return Network(
        net.cards, net.vertices, net.tail, net.head, net.bytes_per_s * share, net.latency_ns, net.vertex_name
    )
