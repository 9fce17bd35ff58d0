"""The layouts a model can have on some cards, and which of them steps quickest."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import ceil, gcd, inf
from typing import NamedTuple

from starverse.physics.training.layout import Card, Layout, Software
from starverse.physics.training.memory import memory
from starverse.physics.training.step import step
from starverse.physics.training.transformer import Transformer

CONTEXT_MAX = 64
MICRO_MAX = 16
"""Sequences that go through a pipeline at a time, at most."""


@dataclass
class Search:
    """What a search has found so far: the quickest layout that fits, else the one that needs least memory.

    `tried` layouts were looked at, all that differ in pieces of stages and in recomputation counted as one;
    `full` says of those that fit in no way how many hold most in what. `stepped` is how many steps were
    computed, the rest being ruled out by a bound.
    """

    best: Layout | None = None
    time_s: float = inf
    leanest: Layout | None = None
    bytes_: float = inf
    tried: int = 0
    stepped: int = 0
    full: dict[str, int] = field(default_factory=dict)


class _Asked(NamedTuple):
    model: Transformer
    card: Card
    software: Software


def quickest(model: Transformer, cards: int, batch: int, card: Card, software: Software) -> Search:
    """The layout with the quickest step, as exactly as if all had been computed.

    All on at most so many cards: tensor parallel cards that divide a node and the heads, contexts of powers
    of two, any pipeline in any number of pieces, data parallel cards and micro-batches that divide the batch,
    experts shared by powers of two, ZeRO 0 to 3, and as few layers of a stage recomputed as make it fit.
    Pipelines are those whose fullest stage is smaller than with any stage less: others only wait longer.
    Shares of the cards are taken up in the order of a bound on their step (what each sequence takes of a
    stage, and the filling of the pipeline); the search ends where that is no quicker than what was found.
    """
    asked = _Asked(model, card, software)
    found = Search()
    for bound_s, shape in sorted(_shares(asked, cards, batch), key=lambda each: each[0]):
        if bound_s >= found.time_s:
            break
        for layout in _filled(model, shape):
            _weigh(asked, layout, found)
    return found


def _shares(asked: _Asked, cards: int, batch: int) -> Iterator[tuple[float, Layout]]:
    """How the cards can be shared out, each with the least that a step can take so."""
    model, card, software = asked
    contexts = [1, *(c for c in _powers(CONTEXT_MAX)[1:] if model.sequence % (2 * c) == 0)]
    replicas = _divisors(batch, cards)
    for tensor in _divisors(gcd(model.heads, card.node_cards), card.node_cards):
        for context in contexts:
            room = cards // (tensor * context)
            for stages in _lengths(model.layers, min(model.layers, room)):
                shape = Layout(batch, 1, tensor, stages, context)
                sequence_s = _sequence_s(asked, shape)
                filling = (stages - 1) / shape.stage_layers(model)
                for data in replicas:
                    if data * stages <= room:
                        bound_s = (batch // data + filling) * sequence_s + software.step_s
                        yield bound_s, replace(shape, data=data)


def _sequence_s(asked: _Asked, shape: Layout) -> float:
    """The least that a sequence takes of a stage: going with as many as can, and waiting for nobody."""
    alone = replace(shape, batch=MICRO_MAX, micro_batch=MICRO_MAX)
    found = step(asked.model, alone, asked.card, asked.software)
    return (found.matmul_s + found.memory_s + found.tensor_s + found.context_s) / MICRO_MAX


def _filled(model: Transformer, shape: Layout) -> Iterator[Layout]:
    """What is left to choose once the cards are shared out, but for pieces and recomputation."""
    experts = [e for e in _powers(model.experts) if model.experts % e == 0 and shape.data % e == 0]
    zeros = (1, 2, 3) if shape.data * shape.context > 1 else (0,)  # ZeRO 1 has all that ZeRO 0 has, and more
    for micro in _divisors(shape.batch // shape.data, MICRO_MAX):
        for expert in experts:
            for zero in zeros:
                yield replace(shape, micro_batch=micro, expert=expert, zero=zero)


def _weigh(asked: _Asked, layout: Layout, found: Search) -> None:
    """Find the quickest number of pieces and of layers recomputed of a layout, if that is the best so far."""
    model, card, software = asked
    found.tried += 1
    kinds = [layout, replace(layout, recompute="full")]
    if not software.flash:
        kinds.append(replace(layout, recompute="attention"))
    # A pipeline in one piece keeps fewer activations than in any other number.
    held, leanest = min(((memory(model, kind, software), kind) for kind in kinds), key=lambda it: it[0].total)
    if not held.fits(card):
        found.full[held.largest] = found.full.get(held.largest, 0) + 1
        if held.total < found.bytes_:
            found.bytes_, found.leanest = held.total, leanest
        return
    found.stepped += 1
    plain = step(model, layout, card, software)
    cuts = _pieces(model, layout)
    busy_s = (plain.time_s - plain.bubble_s - plain.data_s - plain.optimiser_s - plain.beside_s) / (
        layout.micro_batches
    )
    hop_s = plain.pipeline_s / layout.micro_batches
    filling_s = (layout.pipeline - 1) * (
        hop_s + (busy_s - hop_s) * replace(layout, interleave=cuts[-1]).piece_share(model)
    )
    if plain.time_s - plain.bubble_s + filling_s >= found.time_s:
        return
    for pieces in cuts:
        for kind in kinds:
            whole = _least_again(asked, replace(kind, interleave=pieces))
            if whole is None:
                continue
            found.stepped += 1
            time_s = step(model, whole, card, software).time_s
            if time_s < found.time_s:
                found.time_s, found.best = time_s, whole


def _least_again(asked: _Asked, layout: Layout) -> Layout | None:
    """The layout with as few layers of its fullest stage recomputed as make it fit; none when it cannot."""
    model, card, software = asked
    if layout.recompute != "full":
        return layout if memory(model, layout, software).fits(card) else None
    layers = layout.stage_layers(model)
    one = replace(layout, recompute_share=1 / layers)
    most, least = (memory(model, kind, software).total for kind in (one, layout))
    if least > card.memory_bytes:
        return None
    if most <= card.memory_bytes or layers == 1:
        return one
    # Memory falls by as much with each layer more.
    again = 1 + ceil((most - card.memory_bytes) / (most - least) * (layers - 1) - 1e-9)
    return replace(layout, recompute_share=min(again, layers) / layers)


def _pieces(model: Transformer, layout: Layout) -> list[int]:
    """How many pieces to cut a stage in: one; where rounds are whole, any that makes the fullest smaller."""
    if layout.pipeline == 1 or layout.micro_batches % layout.pipeline:
        return [1]
    layers = layout.stage_layers(model)
    return _lengths(layers, layers)


def _lengths(whole: int, most: int) -> list[int]:
    """In how many parts to cut a whole, up to the most, so that the fullest is smaller than in any fewer."""
    parts: dict[int, int] = {}
    for count in range(1, most + 1):
        parts.setdefault(ceil(whole / count), count)
    return list(parts.values())


def _powers(most: int) -> list[int]:
    return [1 << at for at in range(most.bit_length())]


def _divisors(number: int, most: int) -> list[int]:
    """The divisors of a number, ascending, that are no greater than the most."""
    low = [at for at in range(1, int(number**0.5) + 1) if number % at == 0]
    return sorted({each for at in low for each in (at, number // at) if each <= most})
