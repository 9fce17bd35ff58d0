"""What a model takes of a card's memory, and whether it fits."""

from dataclasses import dataclass

from starverse.physics.training.layout import Card, Layout, Software
from starverse.physics.training.transformer import Transformer

WEIGHT_BYTES = 2
OPTIMISER_BYTES = 12
"""A master copy and two moments in 32 bits (Rajbhandari et al., "ZeRO", SC 2020)."""
BESIDE_BYTES = 4e9
"""Contexts, communication buffers and what fragments: what no tensor of the model can have."""


@dataclass(frozen=True)
class Memory:
    """Bytes on the fullest card, by what they hold."""

    weights: float
    gradients: float
    optimiser: float
    activations: float
    logits: float
    beside: float = BESIDE_BYTES

    @property
    def total(self) -> float:
        """All of it."""
        return self.weights + self.gradients + self.optimiser + self.activations + self.logits + self.beside

    @property
    def largest(self) -> str:
        """What holds most."""
        parts = ("weights", "gradients", "optimiser", "activations", "logits")
        return max(parts, key=lambda part: float(getattr(self, part)))

    def fits(self, card: Card) -> bool:
        """Whether the card holds it."""
        return self.total <= card.memory_bytes


def memory(model: Transformer, layout: Layout, software: Software) -> Memory:
    """What the fullest card holds: the first stage's activations in flight, a whole stage's parameters.

    Parameters, gradients and optimiser in 2, 2 or 4, and 12 bytes, shared by ZeRO's stages. The first stage
    of a pipeline keeps the activations of p micro-batches, 1 + (p - 1)/pv times as many when interleaved
    (Narayanan et al., SC 2021; Korthikanti et al., 2022).
    """
    weights = gradients = optimiser = 0.0
    for held, alike in shared_parameters(model, layout):
        weights += WEIGHT_BYTES * held / (alike if layout.zero >= 3 else 1)
        gradients += software.gradient_bytes * held / (alike if layout.zero >= 2 else 1)
        optimiser += OPTIMISER_BYTES * held / (alike if layout.zero >= 1 else 1)
    tokens = layout.micro_batch * model.sequence / layout.context
    more = (layout.pipeline - 1) * layout.piece_share(model) if layout.interleave > 1 else 0
    in_flight = min(layout.micro_batches, layout.pipeline + more)
    a_layer = activation_bytes(model, layout, software.flash or layout.recompute == "attention")
    layers = layout.stage_layers(model)
    if layout.recompute == "full":
        kept = 2 * model.hidden / (layout.tensor if layout.sequence_parallel else 1)
        share = layout.again_share
        activations = tokens * (in_flight * layers * (share * kept + (1 - share) * a_layer) + a_layer)
    else:
        activations = tokens * in_flight * layers * a_layer
    logits = 6 * tokens * model.vocabulary / layout.tensor
    return Memory(weights, gradients, optimiser, activations, logits)


def shared_parameters(model: Transformer, layout: Layout) -> tuple[tuple[float, int], tuple[float, int]]:
    """Parameters on the fullest card, and how many hold the same: all but the experts', then the experts'.

    One table for embedding and output stands at the end of the pipeline.
    """
    layers = layout.stage_layers(model)
    alike = layout.data * layout.context
    table = model.vocabulary * model.hidden
    dense = layers * model.attention_parameters + table
    experts = layers * model.experts * model.expert_parameters
    if model.experts == 1:
        return ((dense + experts) / layout.tensor, alike), (0.0, 1)
    return (dense / layout.tensor, alike), (experts / layout.tensor / layout.expert, alike // layout.expert)


def activation_bytes(model: Transformer, layout: Layout, flash: bool) -> float:
    """Bytes of activations of a token in a layer on each of the tensor parallel cards.

    34 h + 5 a s in all (Korthikanti et al., "Reducing activation recomputation in large transformer models",
    2022), 10 h of it split among them only by sequence parallelism; 16 h of the rest are the feed-forward
    part's. Without the scores where they never leave the chip.
    """
    whole = 10 * model.hidden
    ffn = 4 * model.active_experts * model.inner * (1.5 if model.gated else 1)
    attention = (4 + 4 * model.kv_share) * model.hidden
    split = attention + ffn + (0 if flash else 5 * model.heads * model.sequence)
    return (whole / layout.tensor if layout.sequence_parallel else whole) + split / layout.tensor
