"""How long a node that comes and goes takes no new runs: longer each time, and forgotten in the end."""

from starverse.control.truth import Node
from starverse.model.units import HOUR_MS, MINUTE_MS

REST_FIRST_MS = 1 * MINUTE_MS
"""The rest after the second loss; each further one doubles it."""

REST_MAX_MS = 1 * HOUR_MS

FORGIVEN_MS = 6 * HOUR_MS
"""A node that was not lost for so long begins anew; longer than any rest, so that the time spent in one alone
does not make up for what led to it."""


def lose(node: Node, now_ms: int) -> None:
    """Count a loss of the node."""
    if now_ms - node.lost_ms >= FORGIVEN_MS:
        node.losses = 0
    node.losses += 1
    node.lost_ms = now_ms


def come_back(node: Node, now_ms: int) -> None:
    """Let a node that is back rest, unless it was lost for the first time: a restart of a machine is no
    flapping (routers damp routes that flap in the same way, RFC 2439)."""
    if node.losses > 1:
        doublings = min(node.losses - 2, (REST_MAX_MS // REST_FIRST_MS).bit_length())
        node.rests_until_ms = now_ms + min(REST_FIRST_MS << doublings, REST_MAX_MS)


def forgive(node: Node) -> None:
    """Forget all losses, and end the rest."""
    node.losses = node.rests_until_ms = 0
