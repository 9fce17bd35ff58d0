"""Training runs as published, and what the software attained in them."""

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from starverse.model.errors import BadInput
from starverse.model.names import nearest, shown
from starverse.physics.training.layout import A100, H100, Card, Layout, Software
from starverse.physics.training.step import step
from starverse.physics.training.transformer import Transformer


class Run(NamedTuple):
    """A run and its step's time, as published or from the operations a second and card that were."""

    name: str
    model: Transformer
    layout: Layout
    card: Card
    time_s: float
    fitted: bool


def _run(
    name: str,
    model: Transformer,
    layout: Layout,
    card: Card,
    tflops: float,
    fitted: bool,
    causal: bool = False,
) -> Run:
    """The time from TFLOP/s a card, recomputation counted where there was any."""
    flops = model.step_flops(layout.batch, recompute=layout.recompute == "full", causal=causal)
    return Run(name, model, layout, card, flops / (tflops * 1e12 * layout.cards), fitted)


def _megatron_2021() -> list[Run]:
    """Narayanan et al., SC 2021, table 1; pieces not published: 2 or 3 where they divide."""
    runs = []
    for size, hidden, layers, heads, parallel, cards, batch, tflops in (
        (1.7, 2304, 24, 24, 1, 32, 512, 137),
        (3.6, 3072, 30, 32, 2, 64, 512, 138),
        (7.5, 4096, 36, 32, 4, 128, 512, 142),
        (18.4, 6144, 40, 48, 8, 256, 1024, 135),
        (39.1, 8192, 48, 64, 16, 512, 1536, 138),
        (76.1, 10240, 60, 80, 32, 1024, 1792, 140),
        (145.6, 12288, 80, 96, 64, 1536, 2304, 148),
        (310.1, 16384, 96, 128, 128, 1920, 2160, 155),
        (529.6, 20480, 105, 128, 280, 2520, 2520, 163),
        (1008.0, 25600, 128, 160, 512, 3072, 3072, 163),
    ):
        tensor = min(8, parallel)
        stages = parallel // tensor
        pieces = next((v for v in (2, 3) if stages > 1 and layers // stages % v == 0), 1)
        layout = Layout(
            batch, cards // parallel, tensor, stages,
            interleave=pieces, zero=0, recompute="full", sequence_parallel=False,
        )  # fmt: skip
        model = Transformer(layers, hidden, heads, 51_200, 2048)
        runs.append(_run(f"Megatron {size:g}B", model, layout, A100, tflops, size in {1.7, 1008.0}))
    return runs


def _megatron_core() -> list[Run]:
    """Megatron-LM README, images/model_table.png (Megatron Core 0.8).

    Assumed: without a pipeline all of a card's sequences at once, with one a layer a piece.
    """
    runs = []
    for size, heads, hidden, layers, tensor, stages, batch, tflops in (
        (1.7, 16, 2048, 24, 1, 1, 192, 408.8),
        (7.1, 32, 4096, 30, 2, 1, 192, 465.9),
        (16, 48, 6144, 32, 4, 1, 192, 489.1),
        (32, 56, 7168, 48, 8, 1, 192, 459.6),
        (70, 64, 8192, 84, 8, 2, 384, 419.7),
        (119, 80, 10240, 92, 8, 4, 768, 420.5),
        (177, 96, 12288, 96, 8, 6, 1152, 432.8),
        (314, 128, 16384, 96, 8, 8, 1536, 474.4),
        (462, 144, 18432, 112, 8, 16, 3072, 459.9),
    ):
        pieces, micro = (layers // stages, 1) if stages > 1 else (1, 4)
        layout = Layout(batch, 48, tensor, stages, interleave=pieces, micro_batch=micro)
        model = Transformer(layers, hidden, heads, 131_072, 4096)
        runs.append(_run(f"Megatron Core {size:g}B", model, layout, H100, tflops, size in {1.7, 462}))
    return runs


def _megascale(column: int) -> list[Run]:
    """Jiang et al., "MegaScale", NSDI 2024: 175B, Megatron-LM and MegaScale on the same cards."""
    names = ("Megatron-LM", "MegaScale")
    runs = []
    for batch, cards, *times_s in (
        (768, 256, 40.0, 32.0),
        (768, 512, 21.2, 16.5),
        (768, 768, 15.2, 11.5),
        (768, 1024, 11.9, 8.9),
        (6144, 3072, 29.02, 23.66),
        (6144, 6144, 14.78, 12.21),
        (6144, 8192, 12.24, 9.56),
        (6144, 12288, 8.57, 6.34),
    ):
        model = Transformer(96, 12288, 96, 64_000, 2048)
        layout = Layout(batch, cards // 64, 8, 8, interleave=6)
        ends = cards in {256, 12288}
        runs.append(Run(f"{names[column]} 175B on {cards}", model, layout, A100, times_s[column], ends))
    return runs


def _llama_3() -> list[Run]:
    """Llama 3 405B, arXiv 2407.21783, table 4; one layer a piece, attention counted masked: assumed."""
    runs = []
    for cards, context, data, sequence, tflops in (
        (8192, 1, 64, 8192, 430),
        (16384, 1, 128, 8192, 400),
        (16384, 16, 8, 131_072, 380),
    ):
        model = Transformer(126, 16384, 128, 128_256, sequence, 53_248, gated=True, kv_heads=8)
        layout = Layout(2**24 // sequence, data, 8, 16, context, interleave=8)
        name = f"Llama 3 405B on {cards}, sequence {sequence}"
        runs.append(_run(name, model, layout, H100, tflops, cards == 8192, causal=True))
    return runs


STACKS = {
    "megatron-2021": (Software("megatron-2021", 1, 0, flash=False, gradient_bytes=2), _megatron_2021()),
    "megatron-core": (Software("megatron-core", 1, 0, True, 0.8, 0.9, 0.8), _megatron_core()),
    "megatron-lm": (Software("megatron-lm", 1, 0), _megascale(0)),
    "megascale": (Software("megascale", 1, 0, True, 0.8, 0.9, 0.8), _megascale(1)),
    "llama-3": (Software("llama-3", 1, 0, True, 0.0, 0.5, 0.8), _llama_3()),
}
"""Each software with what its authors say it overlaps, yet at full speed, and its runs.

Megatron of 2021 and Megatron-LM overlap nothing; Megatron Core (its README) and MegaScale overlap tensor,
pipeline and data parallel traffic; Llama 3 overlaps data parallel traffic, and sends between stages
asynchronously. How much of it, 50 to 90 %, is assumed.
"""


def published(name: str) -> tuple[str, Run]:
    """A published run by its name, and the name of its software; raises BadInput with the nearest."""
    runs = {run.name: (stack, run) for stack, (_, runs) in STACKS.items() for run in runs}
    if name not in runs:
        raise BadInput(f"There is no published run {shown(name)}.", nearest(name, runs))
    return runs[name]


def shaped_like(model: Transformer) -> str:
    """The first published run of a model of the same layers, heads and sizes but words; or nothing."""
    same = ("layers", "hidden", "heads", "inner", "gated", "kv_share", "experts")
    for _, runs in STACKS.values():
        for run in runs:
            if all(getattr(run.model, part) == getattr(model, part) for part in same):
                return run.name
    return ""


@lru_cache(maxsize=16)
def software(name: str) -> Software:
    """A software with its two constants, fitted on the first and last run of its table.

    The time is a/share + b + step_s, so that both are found by least squares of the relative error; a
    step_s below zero is none. With a single run to fit on, only the share is.
    """
    if name not in STACKS:
        raise BadInput(f"There is no software '{name}'.", nearest(name, STACKS))
    plain, runs = STACKS[name]
    fitted = [run for run in runs if run.fitted]
    fast = [step(run.model, run.layout, run.card, plain).time_s for run in fitted]
    half = [step(run.model, run.layout, run.card, replace(plain, matmul_share=0.5)).time_s for run in fitted]
    slope = np.array(half) - np.array(fast)
    wanted = np.array([run.time_s for run in fitted])
    rest = np.array(fast) - slope
    terms = np.stack((slope, np.ones_like(slope)), 1) / wanted[:, None]
    goal = 1 - rest / wanted
    found, *_ = np.linalg.lstsq(terms, goal, rcond=None)
    if len(fitted) < 2 or found[1] < 0:
        found = np.array([float(terms[:, 0] @ goal / (terms[:, 0] @ terms[:, 0])), 0.0])
    return replace(plain, matmul_share=float(1 / found[0]), step_s=float(found[1]))
