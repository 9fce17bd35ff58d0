"""A small training job for the tests: it writes down what each step saw, and can be told to die at one."""

import argparse
import json
import os
import random
import signal
from pathlib import Path

import numpy as np
import torch
from torch import nn

from starverse import train


class Numbered:
    """Samples that know their number: so a test sees which were trained on, at which step, by which rank."""

    def __init__(self, size: int) -> None:
        self.inputs = torch.randn(size, 8, generator=torch.Generator().manual_seed(1))

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, number: int) -> tuple[int, torch.Tensor]:
        return number, self.inputs[number]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--batch", type=int, default=6)
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--timeout", type=float, default=30.0)
    parser.add_argument("--plain", action="store_true", help="nothing random in the step")
    parser.add_argument("--signal", help="NAME:RANK:STEP, sent to itself during that step")
    parser.add_argument("--trace", type=Path)
    return parser.parse_args()


def main() -> None:
    chosen = options()
    torch.manual_seed(3)
    random.seed(3)
    np.random.seed(3)
    model = nn.Sequential(
        nn.Linear(8, chosen.width),
        nn.ReLU(),
        nn.Dropout(0.0 if chosen.plain else 0.2),
        nn.Linear(chosen.width, 1),
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    session = train.start(
        model=model,
        optimizer=optimizer,
        scheduler=torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=chosen.steps),
        data=train.Batches(Numbered(40), chosen.batch, seed=5),
        steps=chosen.steps,
        checkpoint_every=chosen.every,
        timeout_s=chosen.timeout,
    )
    torch.rand(1)  # what a script draws before its loop must not shift a resumed run
    for numbers, inputs in session:
        strike(chosen.signal, session.rank, session.steps_done + 1)
        noise = 0.0 if chosen.plain else 0.01 * (random.random() + np.random.rand())
        target = inputs.sum(1, keepdim=True)
        try:
            session.step(loss=(session.model(inputs + noise) - target).square().mean())
        except SystemExit:  # a step that ends with a checkpoint and an exit was a step too
            note(chosen.trace, session, numbers)
            raise
        note(chosen.trace, session, numbers)


def note(trace: Path | None, session: train.Session, numbers: torch.Tensor) -> None:
    if trace and session.loss is not None:
        row = {"step": session.steps_done, "loss": session.loss.hex(), "samples": numbers.tolist()}
        with (trace / f"rank-{session.rank}").open("a") as file:
            file.write(json.dumps(row) + "\n")


def strike(order: str | None, rank: int, step: int) -> None:
    if order:
        name, on_rank, at_step = order.split(":")
        if (int(on_rank), int(at_step)) == (rank, step):
            os.kill(os.getpid(), signal.Signals[name])


if __name__ == "__main__":
    main()
