"""The cluster as a picture: every node a box, every card a square in the colour of its state."""

from collections.abc import Mapping, Sequence

from starverse.faces import schemas as sc
from starverse.faces.console.markup import Markup, tag
from starverse.faces.console.voice import Voice

NODES_WITH_CARDS = 160
"""Beyond this a node is one small box, filled as far as its cards are used."""

NODES_SHOWN = 5000

STATES = ("free", "used", "mine", "closed", "broken")


def picture(voice: Voice, nodes: Sequence[sc.Node], mine: Mapping[str, frozenset[int]]) -> Markup:
    """All nodes by kind; `mine` are the cards, by node, that the reader's own jobs run on."""
    kinds = sorted({node.kind for node in nodes})
    small = len(nodes) > NODES_WITH_CARDS
    parts = []
    for kind in kinds:
        here = [node for node in nodes if node.kind == kind]
        cards = sum(node.cards for node in here)
        free = sum(_free(node) for node in here)
        title = tag(
            "div",
            tag("b", kind),
            tag(
                "span",
                voice.say("cluster.free_of", free=voice.number(free), cards=voice.number(cards)),
                cls="num",
            ),
            tag("span", voice.count("cluster.nodes", len(here)), cls="sv-dim"),
            cls="sv-kind-title",
        )
        draw = _small if small else _node
        boxes = [draw(voice, node, mine.get(node.node, frozenset())) for node in here[:NODES_SHOWN]]
        left_out = len(here) - len(boxes)
        more = tag("span", voice.count("cluster.nodes", left_out), "…", cls="sv-dim") if left_out else None
        parts.append(
            tag("section", title, tag("div", *boxes, more, cls="sv-nodes small" if small else "sv-nodes"))
        )
    return tag("div", *parts, _legend(voice, nodes, bool(mine)), cls="sv-cluster")


def card_states(node: sc.Node, mine: frozenset[int] = frozenset()) -> list[str]:
    """The state of each card. The API says how many are used, not which: those not mine come first."""
    states = ["free"] * node.cards
    for card in range(node.cards):
        if card in node.broken or node.lost:
            states[card] = "broken"
        elif card in mine:
            states[card] = "mine"
    others = node.used - states.count("mine")
    for card in range(node.cards):
        if states[card] == "free" and others > 0:
            states[card] = "used"
            others -= 1
        elif states[card] == "free" and node.cordoned:
            states[card] = "closed"
    return states


def _free(node: sc.Node) -> int:
    return card_states(node).count("free")


def _node(voice: Voice, node: sc.Node, mine: frozenset[int]) -> Markup:
    squares = [tag("i", cls=f"is-{state}") for state in card_states(node, mine)]
    title = _title(voice, node)
    return tag("div", tag("span", node.node, cls="sv-node-name"), tag("div", *squares, cls="sv-cards"),
               cls=f"sv-node{_mark(node)}", role="img", aria_label=title, title=title)  # fmt: skip


def _small(voice: Voice, node: sc.Node, mine: frozenset[int]) -> Markup:
    states = card_states(node, mine)
    part = 100 * (states.count("used") + states.count("mine")) // max(node.cards, 1)
    broken = " has-broken" if "broken" in states else ""
    kind = " has-mine" if "mine" in states else ""
    title = _title(voice, node)
    return tag("i", cls=f"sv-node{_mark(node)}{broken}{kind}", style=f"--part:{part}%", title=title)


def _mark(node: sc.Node) -> str:
    return " is-lost" if node.lost else " is-cordoned" if node.cordoned else ""


def _title(voice: Voice, node: sc.Node) -> str:
    say, states = voice.say, card_states(node)
    text = say(
        "cluster.node_title", node=node.node, used=node.used, cards=node.cards, free=states.count("free")
    )
    marks = [say(f"cluster.{mark}") for mark, on in (("cordoned", node.cordoned), ("lost", node.lost)) if on]
    broken = [voice.count("cluster.broken", len(node.broken))] if node.broken else []
    return ", ".join([text, *marks, *broken])


def _legend(voice: Voice, nodes: Sequence[sc.Node], any_mine: bool) -> Markup:
    there = {state for node in nodes for state in card_states(node)} | ({"mine"} if any_mine else set())
    items = [
        tag("span", tag("i", cls=f"is-{state}"), voice.say(f"cluster.legend_{state}"))
        for state in STATES
        if state in there or state in ("free", "used")
    ]
    return tag("div", *items, cls="sv-legend")
