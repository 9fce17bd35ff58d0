"""A transformer by its shape: what it has in parameters and takes in operations."""

from dataclasses import dataclass
from math import ceil, floor, log

from starverse.model.errors import BadInput

DENSE_ASPECT = 128
"""Hidden size over layers where only a count of parameters is given, as in GPT-3 175B (12,288 / 96)."""
HEAD = 128
"""The size of a head there."""
DEPTHS = (2, 3, 4, 6, 8, 12, 16)
"""Stages of pipelines in use."""
NEAR = 0.01
"""A size is met within this share of it where possible,"""
FAR = 0.25
"""and a model that is off by more than this one is not taken for it."""


@dataclass(frozen=True)
class Transformer:
    """A decoder-only transformer, dense or with experts.

    `ffn` is the inner size of the feed-forward part (4 × hidden when 0), in three matrices when `gated`, else
    two. `kv_heads` are the heads of keys and values (all when 0). With `experts`, each layer has so many
    feed-forward parts, of which a token visits `active_experts`.
    """

    layers: int
    hidden: int
    heads: int
    vocabulary: int
    sequence: int
    ffn: int = 0
    gated: bool = False
    kv_heads: int = 0
    experts: int = 1
    active_experts: int = 1

    def __post_init__(self) -> None:
        """Refuse what is no transformer."""
        if min(self.layers, self.hidden, self.heads, self.vocabulary, self.sequence) < 1:
            raise BadInput("A transformer has one or more of everything.", "Give each size above zero.")
        if self.hidden % self.heads:
            raise BadInput(
                f"hidden = {self.hidden} does not divide into {self.heads} heads.", "Change one of them."
            )
        if not 1 <= self.active_experts <= self.experts:
            raise BadInput(
                f"A token cannot visit {self.active_experts} of {self.experts} experts.",
                "Give active_experts from 1 to experts.",
            )

    @property
    def inner(self) -> int:
        """The inner size of a feed-forward part."""
        return self.ffn or 4 * self.hidden

    @property
    def kv_share(self) -> float:
        """The heads of keys and values over all heads."""
        return (self.kv_heads or self.heads) / self.heads

    @property
    def attention_parameters(self) -> float:
        """The parameters of a layer's attention: queries, keys, values, output."""
        return self.hidden**2 * (2 + 2 * self.kv_share)

    @property
    def expert_parameters(self) -> float:
        """The parameters of one feed-forward part."""
        return (3 if self.gated else 2) * self.hidden * self.inner

    @property
    def parameters(self) -> float:
        """All parameters, with one table for embedding and output; biases and norms left out (< 0.1 %)."""
        layer = self.attention_parameters + self.experts * self.expert_parameters
        return self.layers * layer + self.vocabulary * self.hidden

    @property
    def active_parameters(self) -> float:
        """The parameters a token meets."""
        layer = self.attention_parameters + self.active_experts * self.expert_parameters
        return self.layers * layer + self.vocabulary * self.hidden

    def layer_flops(self, causal: bool = False) -> float:
        """Operations forward of a token in one layer: two a parameter, and the attention over the sequence.

        24 h² + 4 s h for the plain shape (Narayanan et al., SC 2021, appendix); `causal` counts only the half
        of the attention that is not masked.
        """
        reach = 2 * self.sequence * self.hidden if causal else 4 * self.sequence * self.hidden
        return 2 * (self.attention_parameters + self.active_experts * self.expert_parameters) + reach

    def step_flops(self, batch: int, recompute: bool = False, causal: bool = False) -> float:
        """Operations of a step over `batch` sequences as papers count them: forward, and twice that backward.

        `recompute` adds the layers' forward once more (hardware operations). 96 B s l h² (1 + s/6h + V/16lh)
        with it and 72 B s l h² (1 + s/6h + V/12lh) without, for the plain shape.
        """
        passes = 4 if recompute else 3
        token = passes * self.layers * self.layer_flops(causal) + 6 * self.hidden * self.vocabulary
        return batch * self.sequence * token


def of_size(parameters: float, sequence: int, vocabulary: int = 128_000) -> Transformer:
    """A dense transformer of about so many parameters as people build them: heads of 128, like GPT-3's.

    Within a percent of the size where a shape with hidden over layers within 3/2 of GPT-3's allows it; of
    those, the one whose layers divide into most pipelines of use, then the nearest to GPT-3's. Heads divide
    among 8 tensor parallel cards (4 below 20e9 parameters, whatever there is below 1e9).
    """
    if not 1e6 <= parameters <= 1e15:
        raise BadInput(f"parameters = {parameters:g} is no model's size.", "Give 1e6 to 1e15.")
    grain = 8 if parameters >= 20e9 else 4 if parameters >= 1e9 else 1
    plain = (parameters / 12 * DENSE_ASPECT) ** (1 / 3)  # the hidden size, had it no vocabulary
    shapes = []
    for heads in range(grain, ceil(1.5 * plain / HEAD) + grain, grain):
        hidden = HEAD * heads
        layers = (parameters - vocabulary * hidden) / (12 * hidden**2)
        shapes += [
            Transformer(whole, hidden, heads, vocabulary, sequence)
            for whole in {floor(layers), ceil(layers)}
            if whole >= 1 and 2 / 3 <= hidden / whole / DENSE_ASPECT <= 3 / 2
        ]
    small = Transformer(1, HEAD, 1, vocabulary, sequence)
    likely = min(shapes or [small], key=lambda shape: _unlikely(shape, parameters))
    if abs(likely.parameters / parameters - 1) > FAR:
        raise BadInput(
            f"No model with a vocabulary of {vocabulary:,} has about {parameters:g} parameters.",
            f"Give {small.parameters:.2g} or more.",
        )
    return likely


def _unlikely(shape: Transformer, parameters: float) -> tuple[float, int, float]:
    """The lower, the likelier that somebody builds a model of so many parameters like this."""
    off = abs(shape.parameters / parameters - 1)
    depths = sum(shape.layers % depth == 0 for depth in DEPTHS)
    return (0 if off <= NEAR else off), -depths, abs(log(shape.hidden / shape.layers / DENSE_ASPECT))
