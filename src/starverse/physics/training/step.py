"""The time of a training step, part by part."""

from dataclasses import dataclass

from starverse.physics.fabric.collectives import Wire, ring_allgather_s, ring_reduce_scatter_s
from starverse.physics.training.layout import Card, Layout, Software
from starverse.physics.training.memory import WEIGHT_BYTES, activation_bytes, shared_parameters
from starverse.physics.training.transformer import Transformer

TRAFFIC_FORWARD, TRAFFIC_BACKWARD = 2, 4
"""How often an activation crosses the card's memory: written, read; then twice more, and its gradient."""
MEMORY_SHARE = 0.8
"""Of the memory's bandwidth, what elementwise kernels reach."""
NETWORK_SHARE = 0.9
"""Of the network's line rate, what collectives reach (published plateaus: 95 to 96 %), skew included."""
ADAM_BYTES = 30
"""Memory traffic of the optimiser for a parameter: master copy and moments read and written, and more."""
HOP_S = 10e-6
"""A message between neighbours, as frameworks send it."""
RING_STEP_NS = 5_100
"""A step of a ring between nodes, as fitted to SimAI's table of efficiency by size and nodes."""


@dataclass(frozen=True)
class Step:
    """A step's seconds by part; what is hidden behind computing is not in them.

    `matmul_s` and `memory_s` are the busiest card's, `bubble_s` its waiting for the pipeline to fill and
    drain; `tensor_s`, `context_s`, `expert_s`, `pipeline_s` and `data_s` are exposed traffic; then the
    optimiser, and what the software takes beside.
    """

    matmul_s: float
    memory_s: float
    tensor_s: float
    context_s: float
    expert_s: float
    pipeline_s: float
    bubble_s: float
    data_s: float
    optimiser_s: float
    beside_s: float
    model_flops: float
    cards: int
    peak_flops: float

    @property
    def time_s(self) -> float:
        """All of it."""
        busy_s = self.matmul_s + self.memory_s + self.bubble_s + self.optimiser_s + self.beside_s
        return busy_s + self.exposed_s

    @property
    def exposed_s(self) -> float:
        """What is spent waiting for the network."""
        return self.tensor_s + self.context_s + self.expert_s + self.pipeline_s + self.data_s

    @property
    def mfu_share(self) -> float:
        """Model operations as papers count them (attention as if not masked) over what the cards could do."""
        return self.model_flops / (self.time_s * self.cards * self.peak_flops)


def step(model: Transformer, layout: Layout, card: Card, software: Software) -> Step:
    """The time of a step on the stage of the pipeline that has most to do (after Narayanan et al., SC 2021).

    Matrix products at the share of peak the software reaches; elementwise work by the bytes of activations
    (`memory.activation_bytes`); two all-reduces a layer and pass between tensor parallel cards; keys and
    values gathered forward, and backward once more, where their gradients are reduced and scattered (Llama 3,
    arXiv 2407.21783, 3.3.2, as Transformer Engine has it; rings of attention, arXiv 2310.01889, carry as
    much); a bubble of p - 1 times the fullest piece of a stage ((p - 1)/v micro-batches where all v are
    alike); gradients reduced and parameters gathered once. Constants that are fitted are in `Software` alone.
    """
    layout.check(model)
    tokens = layout.micro_batch * model.sequence / layout.context
    layers = layout.stage_layers(model)
    again = layout.again_share
    passes = 3 + again
    per_token = model.layer_flops(causal=software.flash) / layout.tensor
    scores = 4 * model.sequence * model.hidden / layout.tensor if layout.recompute == "attention" else 0.0
    logits = 6 * model.hidden * model.vocabulary / layout.tensor
    speed = card.peak_flops * software.matmul_share
    matmul_s = tokens * (layers * (passes * per_token + scores) + logits) / speed
    crossings = TRAFFIC_FORWARD * (1 + again) + TRAFFIC_BACKWARD
    moved = crossings * tokens * layers * activation_bytes(model, layout, software.flash)
    memory_s = moved / (card.memory_bytes_per_s * MEMORY_SHARE)
    tensor_s = (1 - software.tensor_overlap) * _tensor_s(model, layout, card, tokens) * layers * (2 + again)
    context_s = _context_s(model, layout, card, tokens) * layers * (3 + again)
    expert_s = _expert_s(model, layout, card, tokens) * layers * (2 + again)
    hop_s = HOP_S + 2 * tokens * model.hidden / layout.tensor / _bytes_per_s(layout, card, layout.cards)
    hops = 2 * layout.interleave if layout.pipeline > 1 else 0
    pipeline_s = (1 - software.pipeline_overlap) * hops * hop_s
    micro_s = matmul_s + memory_s + tensor_s + context_s + expert_s + pipeline_s
    count = layout.micro_batches
    return Step(
        matmul_s=count * matmul_s,
        memory_s=count * memory_s,
        tensor_s=count * tensor_s,
        context_s=count * context_s,
        expert_s=count * expert_s,
        pipeline_s=count * pipeline_s,
        bubble_s=(layout.pipeline - 1) * layout.piece_share(model) * micro_s,
        data_s=_data_s(model, layout, card, software, matmul_s + memory_s),
        optimiser_s=_optimiser_s(model, layout, card),
        beside_s=software.step_s,
        model_flops=model.step_flops(layout.batch),
        cards=layout.cards,
        peak_flops=card.peak_flops,
    )


def _optimiser_s(model: Transformer, layout: Layout, card: Card) -> float:
    """The state of all parameters that the card answers for, once through its memory."""
    own = sum(held / (alike if layout.zero else 1) for held, alike in shared_parameters(model, layout))
    return own * ADAM_BYTES / card.memory_bytes_per_s


def _tensor_s(model: Transformer, layout: Layout, card: Card, tokens: float) -> float:
    """Two all-reduces of the activations of a layer, one pass."""
    if layout.tensor == 1:
        return 0.0
    speed = _bytes_per_s(layout, card, layout.tensor)
    body = 2 * (layout.tensor - 1) / layout.tensor * 2 * tokens * model.hidden / speed
    return 2 * (body + HOP_S)


def _context_s(model: Transformer, layout: Layout, card: Card, tokens: float) -> float:
    """Keys and values of all other cards gathered once, or the gradients of theirs reduced and scattered."""
    if layout.context == 1:
        return 0.0
    own = 2 * 2 * tokens * model.hidden * model.kv_share / layout.tensor
    return HOP_S + (layout.context - 1) * own / _bytes_per_s(layout, card, layout.tensor * layout.context)


def _expert_s(model: Transformer, layout: Layout, card: Card, tokens: float) -> float:
    """Tokens sent to their experts and back, one pass: two all-to-alls."""
    if layout.expert == 1:
        return 0.0
    speed = _bytes_per_s(layout, card, layout.tensor * layout.context * layout.expert)
    sent = 2 * tokens * model.active_experts * model.hidden / layout.tensor
    return 2 * (HOP_S + sent * (1 - 1 / layout.expert) / speed)


def _data_s(model: Transformer, layout: Layout, card: Card, software: Software, micro_s: float) -> float:
    """Gradients reduced and parameters gathered among cards that hold the same, in rings: what shows of it.

    Once a step; gradients for each micro-batch when they are shared (ZeRO 2), parameters for each pass when
    they are (ZeRO 3). It can hide behind the computing of those micro-batches alone, `micro_s` each.
    """
    wire = Wire(_bytes_per_s(layout, card, layout.tensor * layout.context * layout.data), RING_STEP_NS)
    reduces = layout.micro_batches if layout.zero >= 2 else 1
    gathers = 2 * layout.micro_batches if layout.zero == 3 else 1
    time_s = 0.0
    for held, alike in shared_parameters(model, layout):
        if alike > 1:
            time_s += reduces * ring_reduce_scatter_s(alike, held * software.gradient_bytes, wire)
            time_s += gathers * ring_allgather_s(alike, held * WEIGHT_BYTES, wire)
    hidden_s = min(time_s, micro_s * max(reduces, gathers // 2))
    return time_s - software.data_overlap * hidden_s


def _bytes_per_s(layout: Layout, card: Card, block: int) -> float:
    """What a card carries to others of its block, where so many ranks in a row make one.

    Ranks count tensor parallel cards fastest, then context, data, pipeline, as Megatron does, from the first
    card of a node. No block reaches over a node's edge where nodes hold whole ones, or one node holds all.
    """
    inside = card.node_cards % block == 0 or layout.cards <= card.node_cards
    return card.node_bytes_per_s if inside else card.network_bytes_per_s * NETWORK_SHARE
