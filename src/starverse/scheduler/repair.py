"""A place for a job that ran before: what is left of its cards stays, and only what is missing is sought."""

import numpy as np

from starverse.scheduler.calendar import place
from starverse.scheduler.kernels import Ints
from starverse.scheduler.line import Request
from starverse.scheduler.lot import Lot
from starverse.scheduler.placement import Chosen, tree
from starverse.scheduler.placement.rejoin import rejoin
from starverse.scheduler.space import Space


def swap(space: Space, room: Ints, want: int, request: Request, before: Lot) -> Chosen | None:
    """The nodes for so many members, as many of them as can be on the cards the job had, the rest near those.

    None where nothing of what it had is free, or the rest does not fit by its rule: then it is placed anew,
    as it is where that takes fewer nodes.
    """
    had = before.counts // request.member
    stays = np.minimum(room[before.nodes], had)
    kept = int(stays.sum())
    if not kept:
        return None
    own = np.zeros_like(room)
    own[before.nodes] = stays
    if kept >= want:
        return tree.place(space.topology, own, want, request.rule)
    held = Chosen(before.nodes[stays > 0], stays[stays > 0])
    added = rejoin(space.topology, room - own, want - kept, request.rule, held)
    if added is None:
        return None
    own[added.nodes] += added.members
    nodes = np.flatnonzero(own)
    anew = place(space, room, want, request)
    if anew and anew.nodes.size < nodes.size:
        return anew  # what is left of a node holds it together less well than a whole one
    nodes = nodes[np.argsort(space.topology.tree.leaf[nodes])]
    return Chosen(nodes, own[nodes])
