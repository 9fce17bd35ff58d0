"""Flows on Ethernet that pauses instead of dropping, packet by packet, with what waits behind others."""

import numpy as np
from numba import njit

from starverse.model.errors import BadInput
from starverse.physics.fabric.network import NO_LINKS, Flags, Floats, Ints, Network, Routes

MTU_BYTES = 4096
ACK_BYTES = 64
"""What each packet brings back on the same cables."""
PAUSE_ABOVE, RESUME_BELOW = 15, 12
"""Packets of one input that wait in a switch when it pauses the sender, and when it lets it go on."""
WIRE_S = 1e-6
PACKETS_MAX = 4096
SLOTS_MAX = 4_000_000
FOREVER = 1 << 40
"""Packets of a flow that goes on: more than there are slots."""


def finish_s(
    network: Network, routes: Routes, bytes_each: Floats, mtu_bytes: int = MTU_BYTES, wire_s: float = WIRE_S,
    endless: Flags = NO_LINKS,
) -> Floats:  # fmt: skip
    """When each flow has arrived, all starting at 0 at line rate: seconds, shape (flows,).

    RoCE with priority flow control (IEEE 802.1Qbb) and no other brake: a link sends first come, first
    served; a switch pauses an input from which more than 15 packets wait in it, until they are fewer than 12.
    So a flow whose own way is free waits behind one whose way is not, which max-min rates know nothing of.
    Time goes in slots of one packet on the fastest link; a pause takes a wire there and back to work. Nothing
    in it is fitted. Flows that are `endless`, shape (flows,), go on until all others have arrived; theirs
    is 0. A flow of more than 4,096 packets is sent in as many larger ones.
    """
    if (routes.share < 1).any():
        raise BadInput("A flow on a lossless network takes one path.", "Route without spread.")
    if bytes_each.size == 0 or not (bytes_each > 0).all():
        raise BadInput("A flow carries at least one byte.", "Leave out the flows that carry nothing.")
    grain = max(mtu_bytes, float(bytes_each.max()) / PACKETS_MAX)
    if not routes.link.size:
        return np.zeros(routes.flows)
    fastest = float(network.bytes_per_s[routes.link].max())
    slot_s = (grain + ACK_BYTES * grain / mtu_bytes) / fastest
    delay = max(1, round(2 * wire_s / slot_s))
    packets = np.ceil(bytes_each / grain).astype(np.int64)
    used, link = np.unique(routes.link, return_inverse=True)
    if endless.size:
        packets[endless] = FOREVER
    slots = _slots(routes.first, link, network.bytes_per_s[used] / fastest, packets, delay)
    if (slots < 0).any():
        raise BadInput(
            "Pausing links block each other in a ring for good.",
            "A torus needs virtual channels: leave it out.",
        )
    hops = np.diff(routes.first)
    return np.where(hops > 0, slots * slot_s + hops * wire_s, 0.0)


@njit(cache=True)
def _slots(first: Ints, link: Ints, speed: Floats, packets: Ints, delay: int) -> Ints:
    """The slot in which the last packet of each flow arrives; -1 when it never does.

    A packet is a number: `owner` is its flow, `hop` the link it waits for, as a place in `link`. The packets
    that wait for a link form a chain from `front` over `behind` to `back`; a link that flows start on takes
    theirs in turn when none waits. `held` counts, for each link, the packets that came over it and wait in
    the switch at its end, `pauses` whether they were too many in each of the last slots.
    """
    links = speed.size
    left, to_come = packets.copy(), packets.copy()
    turn, after = _starts(first, link, links)
    arrived = np.where((first[1:] > first[:-1]) & (packets < FOREVER), -1, 0)
    most = min(packets.sum(), links * (PAUSE_ABOVE + delay + 3)) + 1
    owner, hop, behind, unused = np.arange(most), np.arange(most), np.arange(most), np.arange(most)
    front, back, moving = np.full(links, -1), np.full(links, -1), np.full(links, -1)
    held, credit = np.zeros(links, np.int64), np.zeros(links)
    pauses = np.zeros((delay + 1, links), np.bool_)
    spare, todo, slot, quiet = most, np.count_nonzero(arrived), 0, 0
    while todo and slot < SLOTS_MAX and quiet < 100 * (delay + 1):
        _pause(held, pauses[(slot - 1) % (delay + 1)], pauses[slot % (delay + 1)])
        stops, quiet = pauses[(slot + 1) % (delay + 1)], quiet + 1
        for at in range(links):
            moving[at] = -1
            credit[at] = min(credit[at] + speed[at], 1.0 + speed[at])
            if stops[at] or credit[at] < 1.0 - 1e-9:
                continue
            one = front[at]
            if one >= 0:
                front[at] = behind[one]
                held[link[hop[one] - 1]] -= 1
            elif turn[at] >= 0:
                flow = _whose_turn(turn, after, left, at)
                if flow < 0:
                    continue
                left[flow], spare = left[flow] - 1, spare - 1
                one = unused[spare]
                owner[one], hop[one] = flow, first[flow]
            else:
                continue
            moving[at], quiet = one, 0
            credit[at] -= 1.0
        begin = slot * 7919 % links  # who joins a line first is not always the same
        for step in range(begin, begin + links):
            at = step if step < links else step - links
            one = moving[at]
            if one < 0:
                continue
            hop[one], flow = hop[one] + 1, owner[one]
            if hop[one] < first[flow + 1]:
                held[at] += 1
                _join(front, back, behind, link[hop[one]], one)
                continue
            unused[spare] = one
            spare += 1
            to_come[flow] -= 1
            if to_come[flow] == 0:
                arrived[flow] = slot + 1
                todo -= 1
        slot += 1
    return arrived


@njit(cache=True)
def _pause(held: Ints, before: Flags, now: Flags) -> None:
    """Whether each link is to pause: when too much is held, until there is room again."""
    for at in range(held.size):
        now[at] = held[at] >= RESUME_BELOW if before[at] else held[at] > PAUSE_ABOVE


@njit(cache=True)
def _starts(first: Ints, link: Ints, links: int) -> tuple[Ints, Ints]:
    """For each link a flow that starts on it, -1 without; for each flow the next on its link: a ring."""
    turn, after = np.full(links, -1), np.full(first.size - 1, -1)
    for flow in range(first.size - 1):
        if first[flow] < first[flow + 1]:
            start = link[first[flow]]
            after[flow] = flow
            if turn[start] >= 0:
                after[flow] = after[turn[start]]
                after[turn[start]] = flow
            turn[start] = flow
    return turn, after


@njit(cache=True)
def _whose_turn(turn: Ints, after: Ints, left: Ints, at: int) -> int:
    """The next flow with packets left that starts on the link, -1 when all are sent."""
    flow = turn[at]
    while left[flow] == 0:
        flow = after[flow]
        if flow == turn[at]:
            turn[at] = -1
            return -1
    turn[at] = after[flow]
    return int(flow)


@njit(cache=True)
def _join(front: Ints, back: Ints, behind: Ints, at: int, one: int) -> None:
    """A packet waits for a link, behind those that wait already."""
    behind[one] = -1
    if front[at] < 0:
        front[at] = one
    else:
        behind[back[at]] = one
    back[at] = one
