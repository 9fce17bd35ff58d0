"""Collectives on symmetric fabrics in closed form."""

from collections.abc import Sequence

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
    """The time of an all-reduce over a box of a torus, in whole ns: rings axis by axis, the longest first.

    `dims` is the box, `torus` the whole, both in domains; `message_bytes` are a domain's, over its link.
    Along an axis of d domains, s bytes take 2(d - 1) steps of s/(dB) + a, and the next axis carries s/d
    (bucket algorithm on a torus: Chan et al., "Collective communication: theory, practice, and experience",
    2007; the same closed form as ASTRA-sim's ring per dimension). A box that does not span an axis has no
    wire from its last domain to its first there: the ring runs back over the same wires, and takes twice as
    long. An axis that is spanned goes first among equals.
    """
    total_ns = 0
    share = 1
    for length, is_open in sorted(((d, d < whole) for d, whole in zip(dims, torus, strict=True)), key=_first):
        steps = 2 * (length - 1)
        wire_ns = message_bytes * 1_000_000_000 // (share * length * link_bytes_per_s)
        total_ns += steps * (wire_ns + hop_ns) * (2 if is_open else 1)
        share *= length
    return total_ns


def _first(axis: tuple[int, bool]) -> tuple[int, bool]:
    length, is_open = axis
    return -length, is_open
