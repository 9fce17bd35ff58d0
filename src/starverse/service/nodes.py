"""The cluster as people see it, and what an operator may do to its nodes."""

import starverse
from starverse.control.state import State
from starverse.model import requests as rq
from starverse.model.errors import NotFound
from starverse.service import asking
from starverse.service.access import Actor, must_operate
from starverse.service.answers import Cluster, Kind, Node
from starverse.service.loop import tell
from starverse.service.platform import Platform


def cluster(platform: Platform) -> Cluster:
    """What there is to rent, at what price, and within which limits."""
    now_ms = platform.now_ms()

    def look(state: State) -> tuple[asking.Now, int, int]:
        running = len(state.runs)
        waiting = sum(state.view.waiting(kind) for kind in state.view.lines)
        return asking.now_of(state, "", now_ms), waiting, running

    now, waiting, running = platform.ask(look)
    limits = platform.blobs.limits
    return Cluster(
        version=starverse.__version__,
        kinds=tuple(Kind(kind, it.cards, it.free, it.price) for kind, it in sorted(now.kinds.items())),
        isolation=platform.isolation,
        accepts_foreign=platform.accepts_foreign,
        snapshot_bytes_max=limits.bytes,
        snapshot_files_max=limits.files,
        waiting=waiting,
        running=running,
        levels=(*now.levels, "node"),
        resources=tuple(sorted({name for it in now.kinds.values() for name in it.resources})),
        licences=dict(sorted(now.licences.items())),
    )


def list_nodes(platform: Platform) -> tuple[Node, ...]:
    """All nodes, by name."""
    nodes = platform.ask(lambda state: [_node(state, name) for name in state.nodes])
    return tuple(sorted(nodes, key=lambda node: node.node))


def cordon(platform: Platform, actor: Actor, node: str, drain: bool = False) -> Node:
    """Let no new runs come to a node; with `drain`, ask those there to save and leave."""
    must_operate(actor)
    _known(platform, node)
    tell(platform, rq.CordonNode(node, actor.user, drain))
    return _known(platform, node)


def uncordon(platform: Platform, actor: Actor, node: str) -> Node:
    """Let runs come to a node again."""
    must_operate(actor)
    _known(platform, node)
    tell(platform, rq.UncordonNode(node, actor.user))
    return _known(platform, node)


def _known(platform: Platform, node: str) -> Node:
    found = platform.ask(lambda state: _node(state, node) if node in state.nodes else None)
    if found is None:
        raise NotFound(f"There is no node {node[:80]!r}.", "`starverse nodes` lists them.")
    return found


def _node(state: State, name: str) -> Node:
    node = state.nodes[name]
    used = state.spaces[node.kind].used_on(name).bit_count()
    broken = tuple(card for card in range(node.cards) if node.broken >> card & 1)
    rests_until_ms = node.rests_until_ms if node.rests_until_ms > state.now_ms else None
    return Node(name, node.kind, node.cards, used, broken, node.cordoned, node.lost, rests_until_ms)
