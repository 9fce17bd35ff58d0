"""Collectives over several dimensions, chunk by chunk: each dimension serves one chunk at a time."""

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush

from starverse.model.errors import BadInput
from starverse.physics.fabric.collectives import Wire

CHUNKS_MAX = 1024


def torus_bucket_s(kind: str, dims: Sequence[int], bytes_: float, wire: Wire, chunks: int = 1) -> float:
    """The time of an all-reduce over a whole torus of `dims` cards, ring by ring, in seconds.

    The bucket algorithm (Chan et al., "Collective communication: theory, practice, and experience", 2007):
    a chunk of s bytes is reduce-scattered along each axis of k cards in k - 1 steps of a + s/(kB) + 3s/(kM),
    the next axis carrying s/k, then gathered back along them in steps of a + s/(kB). M is the memory that
    the reduction reads twice and writes once. The chunks follow each other through the axes, each axis a
    server of one chunk at a time (a re-entrant flow shop). As in ASTRA-sim, which this equals to 0.01 %,
    each part of a step counts in whole ns. Uses one direction of every wire, one axis at a time a chunk.
    Of `kind` reduce-scatter it is the first half, of all-gather the second.
    """
    stages: list[tuple[int, int]] = []
    back: list[tuple[int, int]] = []
    share = bytes_ / checked(chunks)
    for axis, length in enumerate(dims):
        share /= length
        send_ns = int(share / wire.bytes_per_s * 1e9) + int(wire.step_ns)
        add_ns = 3 * int(share / wire.reduce_bytes_per_s * 1e9)
        stages.append((axis, (length - 1) * (send_ns + add_ns)))
        back.append((axis, (length - 1) * send_ns))
    back.reverse()
    halves = {"reduce-scatter": stages, "all-gather": back}
    return flow_shop(halves.get(kind, stages + back), chunks) * 1e-9


def flow_shop(stages: Sequence[tuple[int, float]], chunks: int) -> float:
    """When the last of equal chunks has passed all stages, each a (server, time); in the unit of the times.

    All chunks are there at 0. A server takes one at a time, in the order in which they come to it.
    """
    servers = 1 + max(server for server, _ in stages)
    waiting: list[deque[tuple[int, int]]] = [deque() for _ in range(servers)]
    waiting[stages[0][0]].extend((chunk, 0) for chunk in range(chunks))
    busy = [False] * servers
    ends: list[tuple[float, int, int, int]] = []  # (when, which came first, chunk, stage)
    now, count = 0.0, 0
    while True:
        for server in range(servers):
            if waiting[server] and not busy[server]:
                chunk, stage = waiting[server].popleft()
                busy[server] = True
                heappush(ends, (now + stages[stage][1], count, chunk, stage))
                count += 1
        if not ends:
            return now
        now, _, chunk, stage = heappop(ends)
        busy[stages[stage][0]] = False
        if stage + 1 < len(stages):
            waiting[stages[stage + 1][0]].append((chunk, stage + 1))


def checked(chunks: int) -> int:
    """The number of chunks; raises BadInput for none and for more than 1,024."""
    if not 1 <= chunks <= CHUNKS_MAX:
        raise BadInput(f"{chunks} chunks are not possible.", f"Give 1 to {CHUNKS_MAX} chunks.")
    return chunks
