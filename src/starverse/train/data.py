"""The order of the data: the same samples at each step whatever the number of ranks, from any step on."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils.data import default_collate


class Batches:
    """Endless batches of a dataset, shuffled anew each epoch. Mutable owner of one number, the position.

    Think of the samples as one endless row: epoch after epoch, each a permutation drawn from the seed and the
    epoch's number. A step takes the next `batch` of it, over all ranks; each rank gets its own slice of
    those. So what is trained on depends on the seed and the position alone, and never on how many ranks
    there are.

    dataset: anything with a length and items by number; `__getitems__(numbers)`, if there, fetches many.
    batch: samples a step over all ranks together; the ranks' shares differ by at most one.
    A permutation takes 8 bytes a sample on each rank.
    """

    def __init__(
        self,
        dataset: Any,
        batch: int = 32,
        *,
        seed: int = 0,
        collate: Callable[[list[Any]], Any] = default_collate,
    ) -> None:
        if not (hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")):
            raise TypeError(
                f"{type(dataset).__name__} has no length or no items by number, so its order can't be "
                "kept: give a map-style dataset or a list, or a loader with a state_dict of its own"
            )
        if len(dataset) < 1 or batch < 1:
            raise ValueError(
                f"nothing to train on: {len(dataset)} samples in batches of {batch}; both must be ≥ 1"
            )
        self.batch = batch
        self._dataset = dataset
        self._seed = seed
        self._collate = collate
        self._position = 0
        self._rank, self._world_size = 0, 1
        self._epoch = -1
        self._order = torch.empty(0, dtype=torch.int64)

    def split(self, rank: int, world_size: int) -> None:
        """Be one rank's share from now on. Raises ValueError if some rank would get no sample."""
        if world_size > self.batch:
            raise ValueError(
                f"a batch of {self.batch} can't be shared by {world_size} ranks: "
                f"ask for at most {self.batch} cards, or make the batch larger"
            )
        self._rank, self._world_size = rank, world_size

    @property
    def weight(self) -> float:
        """What this rank's mean loss counts for when the ranks' are averaged: 1 if all shares are equal."""
        return len(self._share()) * self._world_size / self.batch

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        share = self._share()
        numbers = self._samples(self._position + share.start, len(share))
        self._position += self.batch
        return self._collate(self._fetch(numbers))

    def state_dict(self) -> dict[str, int]:
        """Where in the row of samples the next step begins."""
        return {"position": self._position, "size": len(self._dataset), "seed": self._seed}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on from there. Raises ValueError if the row was another: a position means nothing in it."""
        mine = {**self.state_dict(), "position": state["position"]}
        if mine != state:
            raise ValueError(
                f"the checkpoint was made with {state['size']} samples and seed {state['seed']}; here "
                f"are {mine['size']} and {mine['seed']}: give it the same data, or start a new job"
            )
        self._position = state["position"]

    def _share(self) -> range:
        """This rank's slice of a batch."""
        return range(
            self.batch * self._rank // self._world_size, self.batch * (self._rank + 1) // self._world_size
        )

    def _samples(self, position: int, count: int) -> list[int]:
        """The numbers of `count` samples of the endless row, from a position on, across epochs."""
        numbers: list[int] = []
        while len(numbers) < count:
            epoch, offset = divmod(position + len(numbers), len(self._dataset))
            numbers += self._permutation(epoch)[offset : offset + count - len(numbers)].tolist()
        return numbers

    def _permutation(self, epoch: int) -> torch.Tensor:
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed((self._seed * 1_000_003 + epoch) % 2**63)
            self._epoch, self._order = epoch, torch.randperm(len(self._dataset), generator=generator)
        return self._order

    def _fetch(self, numbers: Sequence[int]) -> list[Any]:
        fetch_many = getattr(self._dataset, "__getitems__", None)
        return fetch_many(numbers) if fetch_many else [self._dataset[number] for number in numbers]
