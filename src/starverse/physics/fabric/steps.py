"""What each algorithm of a collective sends from which card to which, step by step."""

from collections.abc import Sequence
from math import ceil, log2, prod
from typing import NamedTuple

import numpy as np

from starverse.model.errors import BadInput
from starverse.physics.fabric.collectives import bus_factor
from starverse.physics.fabric.network import Ints

AS_FLOWS = {
    "all-reduce": ("ring", "tree", "halving-doubling", "bucket", "hierarchical"),
    "reduce-scatter": ("ring", "halving-doubling", "bucket", "hierarchical"),
    "all-gather": ("ring", "halving-doubling", "bucket", "hierarchical"),
    "all-to-all": ("direct",),
    "broadcast": ("tree", "ring"),
}
"""The algorithms that are known step by step."""


class Step(NamedTuple):
    """Flows from source to target (flows,) that carry so many bytes each, at once; done `times` in a row.

    Where blocks are handed on as they come, the last arrives `fill` hops after the first. A card adds what it
    receives to its own `adds` times. Chunks of the buffer follow each other: a `server` (the wires of an
    axis, of a node) takes one at a time. With `back`, the second half of the steps is done once all that come
    after have ended, gathering what the first half has scattered.
    """

    source: Ints
    target: Ints
    bytes_each: float
    times: int
    fill: int = 0
    adds: int = 0
    server: int = 0
    back: bool = False


def steps(
    kind: str, algorithm: str, cards: Ints, bytes_: float, node_cards: int = 1, dims: Sequence[int] = (),
    between: str = "ring",
) -> list[Step]:  # fmt: skip
    """The steps of a collective over cards in the order of their ranks; raises BadInput for unknown ones.

    `ring`; `tree`, two binary trees with half of the buffer each, in blocks; `halving-doubling`, between a
    power of two; `bucket`, rings along each axis of a box of `dims`, the last axis counting fastest;
    `hierarchical`, in the node, `between` the nodes of each rank in them by ring or tree, in the node again,
    ranks coming node by node; `direct`. Of an all-reduce, a reduce-scatter is the first half and an
    all-gather the second, its steps in the opposite order.
    """
    ranks = cards.size
    bus_factor(kind, ranks)
    if np.unique(cards).size != ranks or ranks < 2:
        raise BadInput("A collective is between two or more different cards.", "Name each card once.")
    onward = np.roll(cards, -1)
    match kind, algorithm:
        case "all-reduce" | "reduce-scatter" | "all-gather", "ring":
            return [_rounds(kind, Step(cards, onward, bytes_ / ranks, ranks - 1))]
        case "broadcast", "ring":
            return [Step(cards[:-1], cards[1:], bytes_, 1, fill=ranks - 2)]
        case "all-to-all", "direct":
            rank = np.arange(ranks)
            target = cards[(rank[:, None] + np.arange(1, ranks)) % ranks].reshape(-1)
            return [Step(np.repeat(cards, ranks - 1), target, bytes_ / ranks, 1)]
        case "all-reduce" | "broadcast", "tree":
            return [_trees(cards[:, None], bytes_, both_ways=kind == "all-reduce")]
        case "all-reduce" | "reduce-scatter" | "all-gather", "halving-doubling":
            return _in_order(kind, _halving_doubling(kind, cards, bytes_))
        case "all-reduce" | "reduce-scatter" | "all-gather", "bucket":
            return _in_order(kind, _bucket(kind, cards, bytes_, tuple(dims)))
        case "all-reduce" | "reduce-scatter" | "all-gather", "hierarchical":
            return _in_order(kind, _hierarchical(kind, cards, bytes_, node_cards, between))
    known = " or ".join(AS_FLOWS[kind])
    raise BadInput(f"There is no {kind} by the algorithm '{algorithm}' as flows.", f"Say {known}.")


def _rounds(kind: str, step: Step) -> Step:
    """Steps that scatter what they reduce, gather what was scattered, or do both one after the other."""
    if kind == "all-reduce":
        return step._replace(times=2 * step.times, adds=step.times)
    return step._replace(adds=step.times if kind == "reduce-scatter" else 0, back=False)


def _in_order(kind: str, scattering: list[Step]) -> list[Step]:
    """What was scattered last is gathered first."""
    return scattering[::-1] if kind == "all-gather" else scattering


def _trees(cards: Ints, bytes_: float, both_ways: bool) -> Step:
    """Two trees in which no card is inner twice: the second is the first mirrored, or of odd ranks moved on.

    Sanders et al., 2009, as NCCL numbers them: a rank's lowest bit is its height. In each column of cards.
    """
    ranks = len(cards)
    child = np.arange(1, ranks)
    bit = child & -child
    parent = (child ^ bit) | (bit << 1)
    parent = np.where(parent < ranks, parent, child ^ bit)
    turned = (np.arange(ranks) + 1) % ranks if ranks % 2 else ranks - 1 - np.arange(ranks)
    child, parent = np.concatenate((child, turned[child])), np.concatenate((parent, turned[parent]))
    if not both_ways:  # the first card sends a half to the root of the other tree as well
        child, parent = np.append(child, turned[0]), np.append(parent, 0)
    source, target = cards[parent].reshape(-1), cards[child].reshape(-1)
    if both_ways:
        source, target = np.concatenate((source, target)), np.concatenate((target, source))
    depth = ceil(log2(ranks))
    if not both_ways:
        return Step(source, target, bytes_ / 2, 1, fill=depth)
    return Step(source, target, bytes_ / 2, 1, fill=2 * depth, adds=2)


def _halving_doubling(kind: str, cards: Ints, bytes_: float) -> list[Step]:
    ranks = cards.size
    rounds = ranks.bit_length() - 1
    if ranks != 1 << rounds:
        raise BadInput(f"{ranks} cards are no power of two.", "Say ring, or take a power of two.")
    rank = np.arange(ranks)
    return [
        _rounds(kind, Step(cards, cards[rank ^ (1 << at)], bytes_ / (2 << at), 1)) for at in range(rounds)
    ]


def _bucket(kind: str, cards: Ints, bytes_: float, dims: tuple[int, ...]) -> list[Step]:
    if not dims or prod(dims) != cards.size:
        shape = " × ".join(map(str, dims)) or "no axes"
        raise BadInput(f"{cards.size} cards do not fill a box of {shape}.", "Give dims that do.")
    grid, share, found = cards.reshape(dims), bytes_, []
    for axis, length in enumerate(dims):
        if length > 1:
            share /= length
            ahead = np.roll(grid, -1, axis).reshape(-1)
            found.append(_rounds(kind, Step(cards, ahead, share, length - 1, server=axis, back=True)))
    return found


def _hierarchical(kind: str, cards: Ints, bytes_: float, size: int, between: str) -> list[Step]:
    if size < 1 or cards.size % size:
        raise BadInput(f"{cards.size} cards are no whole nodes of {size}.", "Give whole nodes, node by node.")
    nodes = cards.size // size
    grid = cards.reshape(nodes, size)
    found = []
    if size > 1:
        around = np.roll(grid, -1, 1).reshape(-1)
        found.append(_rounds(kind, Step(cards, around, bytes_ / size, size - 1, back=True)))
    if nodes > 1 and kind == "all-reduce" and between == "tree":
        found.append(_trees(grid, bytes_ / size, both_ways=True)._replace(server=1))
    elif nodes > 1:
        across = np.roll(grid, -1, 0).reshape(-1)
        found.append(_rounds(kind, Step(cards, across, bytes_ / size / nodes, nodes - 1, server=1)))
    return found
