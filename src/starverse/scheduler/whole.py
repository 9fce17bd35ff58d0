"""What all nodes of one kind could hold if each of them were here, open, healthy and empty."""

from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np

from starverse.scheduler.calendar import place
from starverse.scheduler.kernels import Ints
from starverse.scheduler.line import Request
from starverse.scheduler.placement.blocks import fits_by_level, largest_block, sentence
from starverse.scheduler.space import CPU, MEMORY, ROW, Space

_TOLD_MOST = 4096
"""So many requests are remembered with their answers."""


class Node(Protocol):
    """A node as people know it: what it has, what of it is broken, whether it is closed and why."""

    @property
    def kind(self) -> str: ...
    @property
    def cards(self) -> int: ...
    @property
    def broken(self) -> int: ...
    @property
    def cordoned(self) -> bool: ...
    @property
    def lost(self) -> bool: ...
    @property
    def rests_until_ms(self) -> int: ...
    @property
    def milli_cpu(self) -> int: ...
    @property
    def memory_mb(self) -> int: ...
    @property
    def resources(self) -> tuple[tuple[str, int], ...]: ...


class Whole:
    """All cards of one kind, by row of its space; made anew when a node comes or has other cards.

    `cards` are those of each row, `total` their sum, `stock` what each row has of each resource.
    """

    def __init__(self, space: Space, nodes: Mapping[str, Node], kind: str) -> None:
        self.space = space
        self.cards: Ints = np.zeros(space.size, np.int64)
        self.stock: Ints = np.zeros((len(space.stocks), space.size), np.int64)
        for name, rows in space.rows.items():
            node = nodes.get(name)
            if node is None or node.kind != kind:
                continue
            for place_, row in enumerate(rows):
                self.cards[row] = min(max(node.cards - place_ * ROW, 0), ROW)
            for resource, amount in stock_of(node):
                self.stock[space.row(resource), rows[0]] = amount
        self.total = int(self.cards.sum())
        self._told: dict[Request, str] = {}

    def room(self, request: Request) -> Ints:
        """How many members of a request each row could take."""
        room = self.cards // request.member
        for resource, need in enumerate(request.need):
            if need:
                there = self.stock[resource] if resource < len(self.stock) else np.zeros_like(room)
                room = np.minimum(room, there // need)
        return room

    def never(self, request: Request) -> str:
        """Why a request can never start on these nodes, in a sentence; "" if it could on them all."""
        if len(self._told) == _TOLD_MOST:
            self._told.clear()
        told = self._told.get(request)
        if told is None:
            told = self._told[request] = self._never(request)
        return told

    def _never(self, request: Request) -> str:
        need = request.least * request.member
        if need > self.total:
            return f"There are {self.total} such cards in all, and it asks for {need}."
        room = self.room(request)
        topology, rule = self.space.topology, request.rule
        if not room.any():
            return f"No node can hold a member of {request.member} with what it needs beside its cards."
        most = int(room.sum())
        if most < request.least:
            members = f"{most} members of {request.member}"
            return f"All nodes together can hold {members}, and it asks for {request.least}."
        if place(self.space, room, request.least, request):
            return ""
        if rule.require >= 0:
            names = (*topology.levels, "node")
            block = largest_block(topology, room, rule.require, rule) * request.member
            if block < need:
                return f"One {names[rule.require]} can hold {block} of its cards, and it asks for {need}."
        if rule.slices:
            fits = sentence(topology, fits_by_level(topology, room, request.least, rule.slices))
            return f"Its slices do not fit: {fits}."
        return "Its cards cannot lie as it asks on any of the nodes."


def stock_of(node: Node) -> Iterable[tuple[str, int]]:
    """What a node has beside cards."""
    return (CPU, node.milli_cpu), (MEMORY, node.memory_mb), *node.resources
