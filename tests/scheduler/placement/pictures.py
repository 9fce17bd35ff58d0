"""Trees and placements as pictures: a line is a domain with its path, a digit the room of a node in it.

b1/r1   2 . 3       the nodes of rack r1 in block b1 could take 2, 0 and 3 members
"""

import numpy as np

from starverse.scheduler.placement import Chosen, Ints
from starverse.scheduler.topology import Topology


def tree_of(picture: str, levels: str) -> tuple[Topology, Ints]:
    """The tree of a picture and the room of its nodes; nodes joined in the order of the picture."""
    topology = Topology(tuple(levels.split()))
    room: list[int] = []
    for line in picture.split("\n"):
        path, _, nodes = line.strip().partition(" ")
        for node in nodes.split():
            topology.join([name for name in path.split("/") if name])
            room.append(0 if node == "." else int(node))
    return topology, np.array(room, np.int64)


def picture_of(picture: str, chosen: Chosen | None) -> str:
    """The same picture with what each node was given; "" without a place."""
    if chosen is None:
        return ""
    given = dict(zip(chosen.nodes.tolist(), chosen.members.tolist(), strict=True))
    lines: list[str] = []
    node = 0
    for line in filter(None, map(str.strip, picture.split("\n"))):
        path, _, nodes = line.partition(" ")
        words = []
        for _ in nodes.split():
            words.append(str(given.get(node) or "."))
            node += 1
        lines.append(" ".join([path, *words]))
    return "\n".join(lines)


def same(picture: str) -> str:
    """A picture without the spaces that only please the eye."""
    return "\n".join(" ".join(line.split()) for line in picture.split("\n") if line.strip())
