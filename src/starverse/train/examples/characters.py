"""Train a small transformer to write like Python's own documentation, letter by letter, on 1 to N ranks.

python characters.py --steps 400                          one process
torchrun --nproc-per-node 2 characters.py --steps 400     two
starverse submit --cards 2 -- characters.py --steps 400   two, and it survives whatever happens
"""

import argparse
import json
import math
import os
from collections import Counter
from pathlib import Path
from pydoc_data.topics import topics

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from starverse import train

CONTEXT = 64  # letters that the model looks back on


class Text:
    """Every window of CONTEXT + 1 letters in a text, as numbers: what is read and what follows."""

    def __init__(self, text: str) -> None:
        counts = Counter(text)
        number = {letter: i for i, letter in enumerate(sorted(counts))}
        self.letters = len(counts)
        self.numbers = torch.tensor([number[letter] for letter in text])
        self.entropy = -sum(n / len(text) * math.log(n / len(text)) for n in counts.values())  # nats a letter

    def __len__(self) -> int:
        return len(self.numbers) - CONTEXT

    def __getitem__(self, i: int) -> torch.Tensor:
        return self.numbers[i : i + CONTEXT + 1]


class Writer(nn.Module):
    """Scores what follows each letter: numbers of shape (batch, CONTEXT) -> (batch, CONTEXT, letters)."""

    def __init__(self, letters: int, width: int = 128, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        block = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.letter = nn.Embedding(letters, width)
        self.place = nn.Parameter(0.02 * torch.randn(CONTEXT, width))
        self.blocks = nn.TransformerEncoder(block, layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.scores = nn.Linear(width, letters)
        self.register_buffer("future", nn.Transformer.generate_square_subsequent_mask(CONTEXT))

    def forward(self, letters: torch.Tensor) -> torch.Tensor:
        """Read letters, each knowing its place and what came before it."""
        read = self.blocks(self.letter(letters) + self.place, mask=self.future, is_causal=True)
        scores: torch.Tensor = self.scores(read)
        return scores


def options() -> argparse.Namespace:
    """What may be chosen on the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch", type=int, default=32, help="windows a step, over all ranks")
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoints", help="a directory; by default the one that Starverse gives")
    parser.add_argument("--checkpoint-every", type=int, metavar="STEPS", help="default: 1 %% of the time")
    return parser.parse_args()


def main() -> None:
    """Train, print now and then, and write result.json into the job's output."""
    chosen = options()
    torch.manual_seed(chosen.seed)
    text = Text("\n".join(topics.values()))
    model = Writer(text.letters)
    session = train.start(
        model=model,
        optimizer=torch.optim.AdamW(model.parameters(), lr=chosen.lr),
        data=train.Batches(text, chosen.batch, seed=chosen.seed),
        steps=chosen.steps,
        checkpoints=chosen.checkpoints,
        checkpoint_every=chosen.checkpoint_every,
        tokens_per_batch=chosen.batch * CONTEXT,
    )
    for windows in session:
        scores = session.model(windows[:, :-1])
        session.step(loss=cross_entropy(scores.flatten(0, 1), windows[:, 1:].flatten()))
        if session.rank == 0 and session.steps_done % 50 == 0:
            print(f"step {session.steps_done}: loss {session.loss:.3f} nat, letters alone {text.entropy:.3f}")

    if session.rank == 0 and "STARVERSE_OUTPUT" in os.environ:
        result = {"steps": session.steps_done, "loss_last": session.loss, "unigram_entropy": text.entropy}
        Path(os.environ["STARVERSE_OUTPUT"], "result.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main()
