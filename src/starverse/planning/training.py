"""How to lay a model out on cards, how long a step and a whole training then take, and what does not fit."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from starverse.model.bounds import bounded
from starverse.model.errors import BadInput
from starverse.physics.fabric.topology import Topology
from starverse.physics.fabric.traffic import WELL, Conditions, slowest_bytes_per_s
from starverse.physics.training.layout import Card, Layout, Software
from starverse.physics.training.memory import Memory, memory
from starverse.physics.training.step import Step, step
from starverse.physics.training.transformer import Transformer
from starverse.planning.checkpoints import plan_checkpoint
from starverse.planning.layouts import quickest

EQUATION = (
    "time = (matmul + memory + exposed traffic) × micro-batches + bubble + data parallel traffic + optimiser"
)
SOURCE = "Narayanan et al., SC 2021; Korthikanti et al., 2022; constants fitted on published runs"
DAY_S = 86_400
CARDS_MAX = 1_000_000
BATCH_MAX = 1_000_000
SEQUENCE_MAX = 100_000_000
TOKENS_MAX = 1e18
LAYERS_MAX = 10_000


@dataclass(frozen=True)
class Plan:
    """A layout with its step and memory; and, where it was searched for, what the search met.

    `tried`, `stepped` and `full` are those of `layouts.Search`.
    """

    model: Transformer
    layout: Layout
    step: Step
    memory: Memory
    card: Card
    tried: int = 1
    stepped: int = 1
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


@dataclass(frozen=True)
class Days:
    """How long a training takes: its steps alone, and with what stops and checkpoints take of the time."""

    steps: float
    ettr: float
    stops_per_day: float

    @property
    def all(self) -> float:
        """With stops."""
        return self.steps / self.ettr


def days_at(
    parameters: float, tokens: float, cards: int, peak_flops: float, mfu_share: float
) -> Days:  # fmt: skip
    """The days of a training at a model operations' share of peak that is said, not computed.

    6 N D operations (Kaplan et al., arXiv 2001.08361) over cards × peak × MFU.
    """
    bounded(1, TOKENS_MAX, tokens=tokens)
    bounded(1, 1e16, parameters=parameters)
    bounded(1, CARDS_MAX, cards=cards)
    bounded(1e-3, 1, mfu_share=mfu_share)
    return with_stops(6 * parameters * tokens / (cards * peak_flops * mfu_share) / DAY_S, parameters, cards)


def with_stops(days: float, parameters: float, cards: int) -> Days:
    """Days of steps with the stops of so many cards, at Llama 3's rate, and the checkpoints for them."""
    kept = plan_checkpoint(parameters, cards)
    return Days(days, kept.ettr, 24 / kept.mtbf_h)


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
    What goes by a node's wires is what would were the ranks on whole nodes (`step`). Raises BadInput for a
    placement that is not of as many cards of the network, each once, as the layout has.
    """
    layout.check(model)
    ranks = _ranks(layout, topology, placement)
    shape = (layout.pipeline, layout.data, layout.context * layout.tensor)
    onward = np.roll(ranks.reshape(shape), -1, 1).reshape(-1)
    rate = slowest_bytes_per_s(topology, ranks, onward, conditions)
    placed = replace(card, network_bytes_per_s=min(card.network_bytes_per_s, rate))
    return train(model, layout, placed, software)


def best_layout(model: Transformer, cards: int, batch: int, card: Card, software: Software) -> Plan:
    """The layout with the quickest step on at most so many cards of those that fit (`layouts.quickest`).

    When nothing fits, the answer is the layout that needs least memory (`fits` is false, and `why_not` says
    what is missing).
    """
    bounded(1, CARDS_MAX, cards=cards)
    bounded(1, BATCH_MAX, batch=batch)
    bounded(1, SEQUENCE_MAX, sequence=model.sequence)
    bounded(1, LAYERS_MAX, layers=model.layers)
    found = quickest(model, cards, batch, card, software)
    chosen = found.best or found.leanest
    assert chosen is not None, "one card can be asked to hold anything"
    plan = train(model, chosen, card, software)
    return replace(plan, tried=found.tried, stepped=found.stepped, full=found.full)


def best_on(
    model: Transformer, cards: int, batch: int, card: Card, software: Software, topology: Topology
) -> Plan:
    """The layout with the quickest step on the first cards of a network, of those searched.

    Searched with the card's own wire, with what the first layout's rings left of it, and with halves of it
    down to a 32nd, as other layouts load the network otherwise, each on all cards and on the largest power of
    two of them; the quickest of those as they go on the network (`train_on`). That is no proof: a layout that
    none of these favours is not looked at.
    """
    found = _quickest_on(model, cards, batch, card, software, topology)
    fewer = 1 << cards.bit_length() - 1
    if fewer < cards:
        other = _quickest_on(model, fewer, batch, card, software, topology)
        if other.fits and other.step.time_s < found.step.time_s:
            found = replace(other, tried=found.tried, stepped=found.stepped, full=found.full)
    return found


def _quickest_on(
    model: Transformer, cards: int, batch: int, card: Card, software: Software, topology: Topology
) -> Plan:
    """The quickest of the layouts that are the best with some share of the card's wire."""
    first = best_layout(model, cards, batch, card, software)
    found = train_on(model, first.layout, card, software, topology)
    wire = card.network_bytes_per_s
    if found.fits and found.card.network_bytes_per_s < wire:
        wires = {found.card.network_bytes_per_s, *(wire / 2**halved for halved in range(1, 6))}
        slower = (replace(card, network_bytes_per_s=each) for each in sorted(wires, reverse=True))
        layouts = dict.fromkeys(best_layout(model, cards, batch, each, software).layout for each in slower)
        plans = [train_on(model, layout, card, software, topology) for layout in layouts]
        found = min((found, *(plan for plan in plans if plan.fits)), key=lambda plan: plan.step.time_s)
    return replace(found, tried=first.tried, stepped=first.stepped, full=first.full)


def _ranks(layout: Layout, topology: Topology, placement: Sequence[int]) -> NDArray[np.int64]:
    """The card of each rank, int64[cards of the layout]."""
    count = len(placement) or layout.cards
    if count != layout.cards or count > topology.cards:
        raise BadInput(
            f"{count} cards of {topology.cards} cannot hold a layout of {layout.cards}.",
            f"Lay out {topology.cards} cards at most, and place as many as the layout has.",
        )
    if not len(placement):
        return np.arange(count)
    for card in placement:
        if not 0 <= card < topology.cards:
            raise BadInput(f"There is no card {card}.", f"They are numbered 0 to {topology.cards - 1:,}.")
    ranks = np.array(placement, dtype=np.int64)
    cards, times = np.unique(ranks, return_counts=True)
    if times.max() > 1:
        raise BadInput(
            f"The placement names card {cards[times.argmax()]} {times.max()} times.", "Name each card once."
        )
    return ranks
