"""How to lay a model out on cards, how long a step and a whole training then take, and what does not fit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.physics.fabric.topology import Topology
from starverse.physics.fabric.traffic import WELL, Conditions, slowest_bytes_per_s
from starverse.physics.training.layout import Card, Layout, Software
from starverse.physics.training.memory import Memory, memory
from starverse.physics.training.step import Step, step
from starverse.physics.training.transformer import Transformer

EQUATION = (
    "time = (matmul + memory + exposed traffic) × micro-batches + bubble + data parallel traffic + optimiser"
)
SOURCE = "Narayanan et al., SC 2021; Korthikanti et al., 2022; constants fitted on published runs"
DAY_S = 86_400
CARDS_MAX = 1_000_000
BATCH_MAX = 1_000_000
SEQUENCE_MAX = 100_000_000
TOKENS_MAX = 1e18
LONG_SEQUENCE = 16_384
"""From here on splitting a sequence among cards is tried."""


@dataclass(frozen=True)
class Plan:
    """A layout with its step and memory; and, where it was searched for, what the search met.

    `tried` layouts divide evenly; `full` says of those that do not fit how many hold most in what.
    """

    model: Transformer
    layout: Layout
    step: Step
    memory: Memory
    card: Card
    tried: int = 1
    full: dict[str, int] = field(default_factory=dict)

    @property
    def fits(self) -> bool:
        """Whether the card holds it."""
        return self.memory.fits(self.card)

    @property
    def tokens_per_s(self) -> float:
        """Tokens a second of all cards."""
        return self.layout.batch * self.model.sequence / self.step.time_s

    def days(self, tokens: float) -> float:
        """Days of steps for so many tokens, without stops."""
        bounded(1, TOKENS_MAX, tokens=tokens)
        return tokens / self.tokens_per_s / DAY_S

    def why_not(self) -> str:
        """Why it does not fit, in a sentence; empty when it does."""
        if self.fits:
            return ""
        need, have = self.memory.total / 1e9, self.card.memory_bytes / 1e9
        return (
            f"The fullest card needs {need:,.0f} GB of {have:,.0f} GB, "
            f"most of it {self.memory.largest} ({getattr(self.memory, self.memory.largest) / 1e9:,.0f} GB)."
        )


def train(model: Transformer, layout: Layout, card: Card, software: Software) -> Plan:
    """A step of a model in a given layout; raises BadInput where it cannot be laid out so."""
    return Plan(model, layout, step(model, layout, card, software), memory(model, layout, software), card)


def train_on(
    model: Transformer, layout: Layout, card: Card, software: Software, topology: Topology,
    placement: Sequence[int] = (), conditions: Conditions = WELL,
) -> Plan:  # fmt: skip
    """A step on a network as it is: cards carry between nodes what the slowest of their rings gets.

    Ranks count tensor parallel cards fastest, then context, data, pipeline (as Megatron does), over the cards
    of `placement` (the first ones when empty). All data parallel rings go at once, each rank to the next, and
    get max-min fair rates beside the traffic of `conditions`, but no more than the card's own wire carries.
    """
    layout.check(model)
    ranks = np.arange(layout.cards) if not len(placement) else np.array(placement, dtype=np.int64)
    if ranks.size != layout.cards or ranks.max() >= topology.cards:
        raise BadInput(
            f"{ranks.size} cards of {topology.cards} cannot hold a layout of {layout.cards}.",
            "Place as many cards as the layout has.",
        )
    shape = (layout.pipeline, layout.data, layout.context * layout.tensor)
    onward = np.roll(ranks.reshape(shape), -1, 1).reshape(-1)
    rate = slowest_bytes_per_s(topology, ranks, onward, conditions)
    placed = replace(card, network_bytes_per_s=min(card.network_bytes_per_s, rate))
    return train(model, layout, placed, software)


def best_layout(model: Transformer, cards: int, batch: int, card: Card, software: Software) -> Plan:
    """The layout with the quickest step on at most so many cards of those that fit.

    Tensor parallel cards stay in a node; all that divides evenly is tried, with as many data parallel cards
    as divide the batch, and from none to all of the layers recomputed in quarters. When nothing fits, the
    answer is the layout that needs least memory (`fits` is false, and `why_not` says what is missing). Raises
    BadInput when not even one layout divides.
    """
    bounded(1, CARDS_MAX, cards=cards)
    bounded(1, BATCH_MAX, batch=batch)
    bounded(1, SEQUENCE_MAX, sequence=model.sequence)
    best: tuple[float, Layout] | None = None
    tightest: tuple[float, Layout] | None = None
    full: dict[str, int] = {}
    tried = 0
    for layout in layouts(model, cards, batch, card.node_cards):
        tried += 1
        held = memory(model, layout, software)
        if tightest is None or held.total < tightest[0]:
            tightest = held.total, layout
        if not held.fits(card):
            full[held.largest] = full.get(held.largest, 0) + 1
            continue
        time_s = step(model, layout, card, software).time_s
        if best is None or time_s < best[0]:
            best = time_s, layout
    chosen = best or tightest
    if chosen is None:
        raise BadInput(
            f"No layout of {model.heads} heads and a batch of {batch} divides over {cards} cards.",
            "Give a batch with more divisors.",
        )
    return replace(train(model, chosen[1], card, software), tried=tried, full=full)


def best_on(
    model: Transformer, cards: int, batch: int, card: Card, software: Software, topology: Topology
) -> Plan:
    """The layout with the quickest step on the first cards of a network, of those searched.

    Searched twice: with the card's own wire, then with what the first layout's rings left of it; the quicker
    of both as they go on the network (`train_on`).
    """
    first = best_layout(model, cards, batch, card, software)
    found = train_on(model, first.layout, card, software, topology)
    if found.fits and found.card.network_bytes_per_s < card.network_bytes_per_s:
        again = best_layout(model, cards, batch, found.card, software)
        found = min(
            found, train_on(model, again.layout, card, software, topology), key=lambda plan: plan.step.time_s
        )
    return replace(found, tried=first.tried, full=first.full)


def layouts(model: Transformer, cards: int, batch: int, node_cards: int) -> Iterator[Layout]:
    """All layouts on at most so many cards that divide evenly; of those that differ in nothing, one."""
    tensors = [t for t in _powers(node_cards) if model.heads % t == 0]
    contexts = _powers(64) if model.sequence >= LONG_SEQUENCE else [1]
    for tensor, context in product(tensors, contexts):
        room = cards // (tensor * context)
        if model.sequence % (2 * context) and context > 1:
            continue
        for stages in _stages(model.layers, room):
            for micro in (1, 2, 4, 8):
                if batch % micro:
                    continue
                data = _most(batch // micro, room // stages)
                shape = Layout(batch, data, tensor, stages, context, 1, 1, micro)
                yield from _choices(model, shape)


def _choices(model: Transformer, shape: Layout) -> Iterator[Layout]:
    """What is left to choose once the cards are shared out."""
    whole = -(-model.layers // shape.pipeline)
    pieces = sorted({1, 2, whole}) if shape.pipeline > 1 and model.layers >= 2 * shape.pipeline else [1]
    pieces = [v for v in pieces if v * shape.pipeline <= model.layers]
    experts = [e for e in _powers(model.experts) if model.experts % e == 0 and shape.data % e == 0]
    zeros = (1, 2, 3) if shape.data > 1 else (0,)
    for interleave, expert, zero, again in product(pieces, experts, zeros, (0, 0.25, 0.5, 0.75, 1)):
        layout = replace(shape, interleave=interleave, expert=expert, zero=zero)
        yield replace(layout, recompute="full", recompute_share=again) if again else layout


def _powers(most: int) -> list[int]:
    return [1 << at for at in range(most.bit_length()) if 1 << at <= most]


def _stages(layers: int, room: int) -> list[int]:
    """Pipelines whose fullest stage shrinks with each stage more."""
    lengths: dict[int, int] = {}
    for stages in range(1, min(layers, room) + 1):
        lengths.setdefault(-(-layers // stages), stages)
    return list(lengths.values())


def _most(number: int, limit: int) -> int:
    """The greatest divisor of a number that is no more than the limit."""
    best = 1
    at = 1
    while at * at <= number:
        if number % at == 0:
            for divisor in (at, number // at):
                if best < divisor <= limit:
                    best = divisor
        at += 1
    return best
