"""How a model is laid out on cards, what cards there are, and what the software attains on them."""

from dataclasses import dataclass
from math import ceil

from starverse.model.errors import BadInput
from starverse.physics.training.transformer import Transformer


@dataclass(frozen=True)
class Card:
    """A card and its wires: peak of dense bf16, memory, NVLink-class domain, network, each way."""

    name: str
    peak_flops: float
    memory_bytes: float
    memory_bytes_per_s: float
    node_cards: int
    node_bytes_per_s: float
    network_bytes_per_s: float


# Data sheets; inside the node the measured bus bandwidth of an all-reduce (NVIDIA GTC24 S62129, p. 12).
A100 = Card("A100", 312e12, 80e9, 2.0e12, 8, 232e9, 25e9)
H100 = Card("H100", 989e12, 80e9, 3.35e12, 8, 370e9, 50e9)
H200 = Card("H200", 989e12, 141e9, 4.8e12, 8, 370e9, 50e9)
B200 = Card("B200", 2_250e12, 180e9, 8.0e12, 8, 640e9, 50e9)
CARDS = {card.name.lower(): card for card in (A100, H100, H200, B200)}


@dataclass(frozen=True)
class Layout:
    """The cards of a job by what they share: tensor × pipeline × context × data parallel.

    `expert` cards of the data-parallel ones share the experts. A stage of the pipeline holds its layers in
    `interleave` pieces, through which micro-batches go in rounds of as many as there are stages (Narayanan et
    al., SC 2021, 2.2.2). `micro_batch` sequences go through it at a time, `batch` in a step. `zero` is what
    data parallel cards share: nothing, the optimiser's state (1), gradients (2), parameters (3). `recompute`
    is none, attention (its scores only) or full, of `recompute_share` of the layers. `sequence_parallel`
    shares norms and dropout among the tensor parallel cards.
    """

    batch: int
    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    expert: int = 1
    interleave: int = 1
    micro_batch: int = 1
    zero: int = 1
    recompute: str = "none"
    recompute_share: float = 1.0
    sequence_parallel: bool = True

    @property
    def cards(self) -> int:
        """How many cards it takes."""
        return self.data * self.tensor * self.pipeline * self.context

    @property
    def again_share(self) -> float:
        """The share of the layers that go forward twice."""
        return self.recompute_share if self.recompute == "full" else 0.0

    @property
    def micro_batches(self) -> int:
        """How many go through a pipeline in a step."""
        return self.batch // (self.data * self.micro_batch)

    def stage_layers(self, model: Transformer) -> int:
        """The layers of the fullest stage."""
        return ceil(model.layers / self.pipeline)

    def piece_share(self, model: Transformer) -> float:
        """The fullest piece of the fullest stage, as a share of the stage."""
        layers = self.stage_layers(model)
        return ceil(layers / self.interleave) / layers

    def check(self, model: Transformer) -> None:
        """Raise BadInput where the model cannot be laid out so, with the number that does not divide."""
        sizes = (
            self.data,
            self.tensor,
            self.pipeline,
            self.context,
            self.expert,
            self.interleave,
            self.micro_batch,
        )
        if min(*sizes, self.batch) < 1:
            raise BadInput("A layout has one or more of everything.", "Give each size above zero.")
        if not 0 < self.recompute_share <= 1:
            raise BadInput(
                f"recompute_share = {self.recompute_share:g} is no share of layers.", "Give 0 to 1."
            )
        if self.zero not in range(4) or self.recompute not in {"none", "attention", "full"}:
            raise BadInput(
                f"zero = {self.zero}, recompute = {self.recompute} is not known.",
                "Give zero 0 to 3, and recompute none, attention or full.",
            )
        rules = (
            ("heads", model.heads, "tensor", self.tensor),
            ("sequence", model.sequence, "context × 2", 2 * self.context if self.context > 1 else 1),
            ("batch", self.batch, "data × micro_batch", self.data * self.micro_batch),
            ("experts", model.experts, "expert", self.expert),
            ("data", self.data, "expert", self.expert),
        )
        for what, whole, by, parts in rules:
            if whole % parts:
                raise BadInput(
                    f"{what} = {whole} does not divide by {by} = {parts}.", f"Change {what} or {by}."
                )
        if self.pipeline > model.layers or self.interleave > self.stage_layers(model):
            raise BadInput(
                f"{model.layers} layers do not fill {self.pipeline} × {self.interleave} pieces.",
                "Make pipeline or interleave smaller.",
            )
        if self.interleave > 1 and self.micro_batches % self.pipeline:
            raise BadInput(
                f"{self.micro_batches} micro-batches do not go in rounds of {self.pipeline} through pieces.",
                "Give interleave 1, or a batch of whole rounds.",
            )
        if self.interleave > 1 and self.pipeline == 1:
            raise BadInput("A pipeline of one stage has nothing to interleave.", "Give interleave 1.")


@dataclass(frozen=True)
class Software:
    """What a software stack attains: two constants fitted on runs of it, and what it is known to overlap.

    `matmul_share` is the part of a card's peak that its matrix products reach, `step_s` what every step
    takes beside all that is computed here: data, launching the optimiser, waiting for the slowest. `flash`
    keeps the attention's scores out of memory and skips their masked half. `tensor_overlap`,
    `pipeline_overlap` and `data_overlap` are the shares of that traffic hidden behind computing.
    """

    name: str
    matmul_share: float
    step_s: float
    flash: bool = True
    tensor_overlap: float = 0.0
    pipeline_overlap: float = 0.0
    data_overlap: float = 0.0
    gradient_bytes: int = 4
