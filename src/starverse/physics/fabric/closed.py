"""Collectives on symmetric fabrics in closed form."""

from collections.abc import Sequence
from math import prod

LINK_BYTES_PER_S = 100_000_000_000
"""A link of 800 Gbit/s each way. Here a link is all that joins two neighbouring domains: one cable where none
is said. Where a cluster's file lays several (`network.cables`), `planning.network.link_of` has their speed
together. The scheduler only compares boxes with each other, and finds the same cheapest ones with either."""

HOP_NS = 2_800
"""What a step of a ring costs however little it carries."""

MESSAGE_BYTES = 1 << 30


def allreduce_in_box_ns(
    dims: Sequence[int],
    torus: Sequence[int],
    message_bytes: int = MESSAGE_BYTES,
    link_bytes_per_s: int = LINK_BYTES_PER_S,
    hop_ns: int = HOP_NS,
) -> int:
    """The time of an all-reduce over a box of a torus, in whole ns, ring by ring along its axes.

    `dims` is the box, `torus` the whole, both in domains; `message_bytes` are a domain's, over its link.
    Along an axis of d domains, s bytes take 2(d - 1) steps of s/(dB) + a, and the next axis carries s/d
    (bucket algorithm on a torus: Chan et al., "Collective communication: theory, practice, and experience",
    2007; the same closed form as ASTRA-sim's ring per dimension). In whatever order, the bytes of n domains
    add up to 2(1 - 1/n) S/B. A box that does not span an axis has no wire from its last domain to its first
    there: that flow goes back in the other direction of the same wires, which nobody else uses (links are
    full duplex), or on around the torus where that is shorter; each step waits for its hops.
    """
    domains = prod(dims)
    wire_ns = 2 * (domains - 1) * message_bytes * 1_000_000_000 // (domains * link_bytes_per_s)
    hops = sum(2 * (d - 1) * _hops_to_close(d, whole) for d, whole in zip(dims, torus, strict=True))
    return wire_ns + hops * hop_ns


def _hops_to_close(length: int, whole: int) -> int:
    """From the last of so many domains in a row to the first, the shorter way around."""
    return min(length - 1, whole - length + 1)
