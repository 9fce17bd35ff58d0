"""The layouts a model can have on some cards, and which of them steps quickest."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from math import ceil, gcd, inf
from typing import NamedTuple

from starverse.physics.training.layout import Card, Layout, Software
from starverse.physics.training.memory import memory
from starverse.physics.training.step import Step, step
from starverse.physics.training.transformer import Transformer

CONTEXT_MAX = 64
MICRO_MAX = 16
"""Sequences that go through a pipeline at a time, at most."""


@dataclass
class Search:
    """What a search has found so far: the quickest layout that fits, else the one that needs least memory.

    `tried` layouts were looked at, all that differ in pieces of stages and in recomputation counted as one;
    `full` says of those that fit in no way how many hold most in what. Where not even the leanest layout of a
    share of the cards fits, it alone was tried. `stepped` is how many of their steps were computed,
    the rest being ruled out by a bound.
    """

    best: Layout | None = None
    time_s: float = inf
    leanest: Layout | None = None
    bytes_: float = inf
    tried: int = 0
    stepped: int = 0
    full: dict[str, int] = field(default_factory=dict)


def quickest(model: Transformer, cards: int, batch: int, card: Card, software: Software) -> Search:
    """The layout with the quickest step, as exactly as if all had been computed.

    All on at most so many cards: tensor parallel cards that divide a node and the heads, contexts of powers
    of two, any pipeline in any number of pieces, data parallel cards and micro-batches that divide the batch,
    experts shared by powers of two, ZeRO 0 to 3, and as few layers of a stage recomputed as make it fit.
    Pipelines are those whose fullest stage is smaller than with any stage less, and those through which whole
    rounds can go: others are in one piece, and only wait longer for as full a stage.
    Shares of the cards are taken up in the order of a bound on their step (what each sequence takes of a
    stage, and the filling of the pipeline); the search ends where that is no quicker than what was found.
    With fewer data parallel cards each needs more memory: none fewer are looked at once the leanest layout
    does not fit. So a model that fits in no way is known after one layout of each length of a pipeline.
    """
    asked = _Asked(model, card, software)
    found = Search()
    for bound_s, share in merge(*_shares(asked, cards, batch, found), key=lambda each: each[0]):
        if bound_s >= found.time_s:
            break
        for layout in _filled(asked, share, found):
            _weigh(asked, layout, found)
    return found


class _Asked(NamedTuple):
    model: Transformer
    card: Card
    software: Software


_Shares = Iterator[tuple[float, Layout]]
"""Ways to share out the cards, each with the least seconds that a step can take so, ascending."""


def _shares(asked: _Asked, cards: int, batch: int, found: Search) -> Iterator[_Shares]:
    """How the cards can be shared out: for each tensor, context and pipeline the data parallel ones."""
    model, card, _ = asked
    contexts = [1, *(c for c in _powers(CONTEXT_MAX)[1:] if model.sequence % (2 * c) == 0)]
    replicas = _divisors(batch, cards)[::-1]
    for tensor in _divisors(gcd(model.heads, card.node_cards), card.node_cards):
        for context in contexts:
            room = cards // (tensor * context)
            most = min(model.layers, room)
            short = _lengths(model.layers, most)
            for stages in sorted({*short, *_divisors(batch, most)}):
                # In one piece, a stage less is as good wherever it leaves the fullest as it is.
                rounds = 1 if stages in short else stages
                data = [d for d in replicas if d * stages <= room and batch // d % rounds == 0]
                yield _replicated(asked, Layout(batch, 1, tensor, stages, context), data, found)


def _replicated(asked: _Asked, shape: Layout, replicas: Sequence[int], found: Search) -> _Shares:
    """The shape with so many data parallel cards, most first, as long as it can fit."""
    model, _, software = asked
    sequence_s, filling = 0.0, (shape.pipeline - 1) / shape.stage_layers(model)
    for data in replicas:
        share = replace(shape, data=data)
        if not _fits(asked, replace(share, zero=_zeros(share)[-1]), found):
            return
        sequence_s = sequence_s or _sequence_s(asked, shape)
        yield (shape.batch // data + filling) * sequence_s + software.step_s, share


def _sequence_s(asked: _Asked, shape: Layout) -> float:
    """The least that a sequence takes of a stage: going with as many as can, and waiting for nobody."""
    alone = replace(shape, batch=MICRO_MAX, micro_batch=MICRO_MAX)
    found = step(asked.model, alone, asked.card, asked.software)
    return (found.matmul_s + found.memory_s + found.tensor_s + found.context_s) / MICRO_MAX


def _fits(asked: _Asked, layout: Layout, found: Search) -> bool:
    """Whether a layout fits with one kind of recomputation or another; counts it as tried where none."""
    model, card, software = asked
    # A pipeline in one piece keeps fewer activations than in any other number.
    held, leanest = min(
        ((memory(model, kind, software), kind) for kind in _kinds(layout, software)),
        key=lambda each: each[0].total,
    )
    if held.fits(card):
        return True
    found.tried += 1
    found.full[held.largest] = found.full.get(held.largest, 0) + 1
    if held.total < found.bytes_:
        found.bytes_, found.leanest = held.total, leanest
    return False


def _kinds(layout: Layout, software: Software) -> list[Layout]:
    """The layout with nothing recomputed, with all layers, and, where scores are kept, with these alone."""
    kinds = [layout, replace(layout, recompute="full")]
    return kinds if software.flash else [*kinds, replace(layout, recompute="attention")]


def _zeros(share: Layout) -> Sequence[int]:
    """What there is to share among cards that hold the same; ZeRO 1 has all that ZeRO 0 has, and more."""
    return (1, 2, 3) if share.data * share.context > 1 else (0,)


def _zeros_that_fit(asked: _Asked, layout: Layout, zeros: Sequence[int], found: Search) -> Sequence[int]:
    """With which of them a layout fits: all from some one on, for each needs less memory than that before."""
    for at in reversed(range(len(zeros))):
        if not _fits(asked, replace(layout, zero=zeros[at]), found):
            return zeros[at + 1 :]
    return zeros


def _filled(asked: _Asked, share: Layout, found: Search) -> Iterator[Layout]:
    """What fits of what is left to choose once the cards are shared out, but for pieces and recomputation."""
    model = asked.model
    experts = [e for e in _powers(model.experts) if model.experts % e == 0 and share.data % e == 0]
    sizes = _divisors(share.batch // share.data, MICRO_MAX)
    spread = replace(share, expert=experts[-1])
    zeros = _zeros_that_fit(asked, spread, _zeros(share), found)
    if not zeros or _least_filled_s(asked, spread, zeros, sizes[-1]) >= found.time_s:
        return
    for expert in experts:
        left = zeros
        for micro in sizes:
            layout = replace(share, micro_batch=micro, expert=expert)
            left = _zeros_that_fit(asked, layout, left, found)
            yield from (replace(layout, zero=zero) for zero in left)


def _least_filled_s(asked: _Asked, spread: Layout, zeros: Sequence[int], micro: int) -> float:
    """The least that a step can take once the cards are shared out, by what is left to choose.

    With most sequences at a time it waits least for the network, and with experts spread most, but for the
    tokens that go to them, which are left out. With a sequence at a time least is recomputed, and pipelines
    fill quickest. The best of each is taken, whether or not they go together.
    """
    model, card, software = asked
    kinds = (_least_again(asked, kind) for kind in _kinds(replace(spread, zero=zeros[-1]), software))
    least_s = inf
    for kind in filter(None, kinds):
        for zero in zeros:
            found = step(model, replace(kind, zero=zero, micro_batch=micro), card, software)
            busy_s = found.matmul_s + found.memory_s + found.tensor_s + found.context_s
            sequence_s = busy_s * spread.data / spread.batch
            filling_s = (spread.pipeline - 1) / spread.stage_layers(model) * sequence_s
            least_s = min(least_s, found.time_s - found.expert_s - found.bubble_s + filling_s)
        if kind.recompute == "none":
            break  # what recomputes nothing is quickest where it fits
    return least_s


def _weigh(asked: _Asked, layout: Layout, found: Search) -> None:
    """Find the quickest number of pieces and of layers recomputed of a layout, if that is the best so far."""
    model, card, software = asked
    found.tried += 1
    cuts = _pieces(model, layout)
    for kind in _kinds(layout, software):
        whole = _least_again(asked, kind)
        if whole is None:
            continue
        found.stepped += 1
        if _least_s(model, whole, step(model, whole, card, software), cuts[-1]) >= found.time_s:
            continue
        for pieces in cuts:
            cut = _least_again(asked, replace(kind, interleave=pieces))
            if cut is None:
                continue
            found.stepped += 1
            time_s = step(model, cut, card, software).time_s
            if time_s < found.time_s:
                found.time_s, found.best = time_s, cut


def _least_s(model: Transformer, layout: Layout, plain: Step, pieces: int) -> float:
    """The least that a layout's step takes in up to so many pieces, from its step in one, nothing recomputed.

    Only the bubble gets shorter, and of it not what is spent sending: there are more pieces to send.
    """
    full_s = plain.bubble_s + plain.data_s + plain.optimiser_s + plain.beside_s
    hop_s = plain.pipeline_s / layout.micro_batches
    busy_s = (plain.time_s - full_s) / layout.micro_batches - hop_s
    filling_s = (layout.pipeline - 1) * (
        hop_s + busy_s * replace(layout, interleave=pieces).piece_share(model)
    )
    return plain.time_s - plain.bubble_s + filling_s


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
    # Memory falls by as much with each layer more; what rounding makes of that is tried from below.
    more = (most - card.memory_bytes) / (most - least) * (layers - 1)
    for again in range(1 + ceil(more - 1e-9), layers):
        whole = replace(layout, recompute_share=again / layers)
        if memory(model, whole, software).fits(card):
            return whole
    return layout


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
