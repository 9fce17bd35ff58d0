"""Where a job's cards are: from words, or as a case was solved."""

import re
from collections.abc import Mapping, Sequence

from starverse.model.errors import BadInput
from starverse.model.events import LayoutSet, NodeJoined
from starverse.model.names import Pattern, nearest, shown

_CARDS = re.compile(r"(\d{1,7})(?:-(\d{1,7}))?")
EXAMPLE = "Write it like 0-63,128-191, or node[0-7] for whole nodes."


def cards_at(words: str, nodes: Sequence[str], node_cards: int, cards: int) -> tuple[int, ...]:
    """The cards that words name, in their order: numbers and ranges of cards, names of whole nodes.

    `0-63,128` are 65 cards; `pod1-rack[1-2]-node[1-5]` are ten nodes. `nodes` are the names of all nodes in
    the order of their cards, of which there are `cards`. Raises BadInput for what is not there or twice.
    """
    found: list[int] = []
    number: dict[str, int] = {}
    for part in filter(None, re.split(r"[,\s]+", words)):
        match = _CARDS.fullmatch(part)
        if match:
            low, high = int(match[1]), int(match[2] or match[1])
            if not low <= high < cards:
                raise BadInput(f"There are no cards {shown(part)}.", f"They are numbered 0 to {cards - 1:,}.")
            found += range(low, high + 1)
            continue
        number = number or {name: at for at, name in enumerate(nodes)}
        for name in Pattern(part, "placement").names:
            if name not in number:
                raise BadInput(f"There is no node {shown(name)}.", nearest(name, nodes[:1000]))
            found += range(number[name] * node_cards, (number[name] + 1) * node_cards)
    return _once(found)


def in_place(layout: LayoutSet, joined: Sequence[NodeJoined]) -> list[str]:
    """The names of nodes by their places: along the torus if there is one, else domain by domain.

    Domains and nodes come in the order they were first seen.
    """
    seen: dict[tuple[str, ...], int] = {}
    order: dict[str, tuple[int, ...]] = {}
    for node in joined:
        if node.node in order:
            continue
        domains = [node.place[: depth + 1] for depth in range(len(node.place))]
        rank = [seen.setdefault(domain, len(seen)) for domain in domains]
        torus = layout.levels.index(layout.torus_level) if layout.torus_level else -1
        order[node.node] = (*node.at, *rank[torus + 1 :], len(order)) if torus >= 0 else (*rank, len(order))
    return sorted(order, key=order.__getitem__)


def cards_of(
    shares: Mapping[str, Sequence[int]], nodes: Sequence[str], node_cards: int, cards: int
) -> tuple[int, ...]:
    """The numbers of a run's cards, given by node as `starverse solve --json` writes them.

    `nodes` are the names of all nodes in the order of their cards. Raises BadInput for a node or card that
    the network has not.
    """
    number = {name: at for at, name in enumerate(nodes)}
    found = []
    for node, own in shares.items():
        if node not in number:
            raise BadInput(f"There is no node {shown(node)}.", nearest(node, nodes[:1000]))
        if number[node] * node_cards >= cards or max(own, default=0) >= node_cards:
            raise BadInput(
                f"The network has no card {max(own, default=0)} on a node number {number[node]}.",
                f"Its {cards:,} cards make nodes of {node_cards}: name the network of the case.",
            )
        found += [number[node] * node_cards + card for card in own]
    return _once(sorted(found))


def _once(found: Sequence[int]) -> tuple[int, ...]:
    if len(set(found)) < len(found):
        twice = next(card for card in found if found.count(card) > 1)
        raise BadInput(f"The placement names card {twice} twice.", "Name each card once.")
    if len(found) < 2:
        raise BadInput("A collective is between two or more cards.", EXAMPLE)
    return tuple(found)
