"""What software attained in published training runs."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from starverse.model.errors import BadInput
from starverse.model.names import nearest, shown
from starverse.physics.training.layout import Software
from starverse.physics.training.runs import Run, llama_3, megascale, megatron_2021, megatron_core
from starverse.physics.training.step import step
from starverse.physics.training.transformer import Transformer

STACKS = {
    "megatron-2021": (Software("megatron-2021", 1, 0, flash=False, gradient_bytes=2), megatron_2021()),
    "megatron-core": (Software("megatron-core", 1, 0, True, 0.8, 0.9, 0.8), megatron_core()),
    "megatron-lm": (Software("megatron-lm", 1, 0), megascale(0)),
    "megascale": (Software("megascale", 1, 0, True, 0.8, 0.9, 0.8), megascale(1)),
    "llama-3": (Software("llama-3", 1, 0, True, 0.0, 0.5, 0.8), llama_3()),
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


def fitted_cards(name: str) -> tuple[str, ...]:
    """The cards whose runs a software's constants were fitted on; of any other they are assumed."""
    return tuple(sorted({run.card.name for run in STACKS[name][1] if run.fitted}))
