"""The training loop's partner: feeds it, steps, reports, saves, and goes on where the last run stood."""

import gc
import signal
import sys
from collections.abc import Iterator
from os import environ
from pathlib import Path
from typing import Any

import torch

from starverse.train.checkpoint import Cadence, Checkpoints, NoSpace
from starverse.train.contract import EXIT_NO_SPACE, EXIT_SAVED, Place
from starverse.train.data import Batches
from starverse.train.group import Group, join
from starverse.train.report import Reporter
from starverse.train.state import Parts, restore_random


def start(
    *,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    data: Any,
    steps: int,
    scheduler: Any = None,
    checkpoints: str | Path | None = None,
    checkpoint_every: int | None = None,
    keep: int = 2,
    tokens_per_batch: int | None = None,
    timeout_s: float = 60.0,
) -> "Session":
    """Meet the other ranks, load the newest checkpoint if there is one, and be ready for the next step.

    model, optimizer, scheduler: as for a single process; the model is moved to its card and wrapped.
    data: `train.Batches`; or a dataset or list, taken as Batches(data); or a loader of this rank's own
        batches that has state_dict and load_state_dict, as torchdata's StatefulDataLoader.
    steps: how many steps make the job, over all its runs.
    checkpoints: a directory for them; by default the one that Starverse gives, or (outside it) none.
    checkpoint_every: steps between two; by default as many as 1 % of the time allows (see `Cadence`).
    keep: how many checkpoints to keep.
    tokens_per_batch: tokens (or samples) a step over all ranks, to report a rate.
    timeout_s: how long a rank waits for the others before it gives up with an error.

    Raises ValueError or TypeError for arguments that can't work, CheckpointFailed for a checkpoint of
    another model.
    """
    for name, value in (("steps", steps), ("keep", keep), ("checkpoint_every", checkpoint_every)):
        if value is not None and value < 1:
            raise ValueError(f"{name}={value}: it must be at least 1")
    gc.freeze()  # torch's modules stay for good: walking over them at exit would take 0.7 s, measured
    place = Place.read(environ)
    group = join(place, timeout_s)
    batches = _batches(data, group)
    parts = Parts(group.wrap(model), optimizer, scheduler, batches)
    directory = checkpoints or place.checkpoints
    kept = Checkpoints(Path(directory), group, keep) if directory else None
    reporter = Reporter(place.report if group.rank == 0 else None, steps, tokens_per_batch)
    return Session(group, parts, steps, kept, Cadence(checkpoint_every), reporter)


class Session:
    """One run of a training loop. Made by `start`.

    model: the model to call in the loop (wrapped, if there are several ranks).
    rank, world_size, device: this process's place. steps, steps_done: of the job, all runs together.
    loss: the last step's, mean over the ranks; None before the job's first.
    """

    def __init__(
        self,
        group: Group,
        parts: Parts,
        steps: int,
        checkpoints: Checkpoints | None,
        cadence: Cadence,
        reporter: Reporter,
    ) -> None:
        self.model = parts.model
        self.rank, self.world_size, self.device = group.rank, group.world_size, group.device
        self.steps = steps
        self.steps_done = 0
        self.loss: float | None = None
        self._group, self._parts, self._checkpoints = group, parts, checkpoints
        self._cadence, self._reporter = cadence, reporter
        self._random: list[dict[str, Any] | None] = []
        self._stop = False
        self._pending = False
        self._resume()

    def __iter__(self) -> Iterator[Any]:
        """Give this rank's batches, on its device, until the job's last step."""
        while self._random:  # only now, since what the script did after `start` may have drawn some
            restore_random(self._random.pop(), self.steps_done, self.rank)
        stream = iter(self._parts.data)
        while self.steps_done < self.steps:
            try:
                batch = next(stream)
            except StopIteration:  # a loader's epoch is over; Batches has no end
                stream = iter(self._parts.data)
                batch = next(stream, None)
                if batch is None:
                    raise ValueError(f"the {type(self._parts.data).__name__} gave no batch at all") from None
            self._pending = True
            yield _moved(batch, self.device)
        self._finish()

    def step(self, loss: torch.Tensor) -> None:
        """Backward, optimizer, schedule; then report, save if it is time, and leave if asked to.

        loss: one number that requires grad, the mean over this rank's batch. If it isn't finite that is
        reported, and training goes on. Exits the process with EXIT_SAVED or EXIT_NO_SPACE (SystemExit)
        where the contract says so. Reading the loss waits for the device once a step.
        """
        self._check(loss)
        data, scheduler = self._parts.data, self._parts.scheduler
        weight = data.weight if isinstance(data, Batches) else 1.0
        (loss * weight).backward()  # type: ignore[no-untyped-call]
        self._parts.optimizer.step()
        self._parts.optimizer.zero_grad()
        if scheduler is not None:
            scheduler.step()
        self.steps_done += 1
        self._pending = False
        self._agree(loss.item() * weight)

    def _agree(self, loss: float) -> None:
        """Do what the ranks together decide after a step: one tiny sum tells all of them the same."""
        due = self.rank == 0 and self._cadence.due(self.steps_done)
        total, saves, stops = self._group.add(loss, due, self._stop)
        self.loss = total / self.world_size
        self._reporter.step(self.steps_done, self.loss)
        if self._checkpoints is None:
            return
        last = self.steps_done == self.steps
        if saves or stops or last:
            self._save(self._checkpoints)
        if stops and not last:
            self._reporter.saved(self.steps_done)
            sys.exit(EXIT_SAVED)

    def _save(self, checkpoints: Checkpoints) -> None:
        try:
            seconds = checkpoints.save(self.steps_done, self.loss, self._parts)
        except NoSpace as error:
            self._reporter.no_space(self.steps_done, str(error))
            if self.rank == 0:
                sys.stderr.write(f"starverse: {error}\n")
            sys.exit(EXIT_NO_SPACE)
        self._cadence.saved(seconds)
        self._reporter.checkpoint(self.steps_done, seconds)

    def _resume(self) -> None:
        resumed_from = None
        if self._checkpoints is not None:
            signal.signal(signal.SIGTERM, self._on_sigterm)
            loaded = self._checkpoints.load_newest(self._parts)
            if loaded is not None:
                found, random = loaded
                resumed_from = self.steps_done = found.step
                self.loss, self._random = found.loss, [random]
        self._reporter.started(self.world_size, resumed_from)

    def _on_sigterm(self, *_: object) -> None:
        self._stop = True  # the ranks agree on it at the end of the step

    def _finish(self) -> None:
        if self._checkpoints is not None:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # nothing more to save
        self._reporter.done(self.steps_done)

    def _check(self, loss: Any) -> None:
        if not self._pending:
            raise RuntimeError(
                "session.step() without a batch: call it once for each batch that the session gives"
            )
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            what = (
                f"a tensor of shape {tuple(loss.shape)}"
                if isinstance(loss, torch.Tensor)
                else type(loss).__name__
            )
            raise TypeError(
                f"session.step(loss=…) takes one number as a tensor, not {what}: take its .mean()"
            )
        if not loss.requires_grad:
            raise TypeError(
                "the loss doesn't depend on the model (it requires no grad): compute it from "
                "session.model(…), without .item(), .detach() or torch.no_grad()"
            )


def _batches(data: Any, group: Group) -> Any:
    """The data as something to iterate, with a state to save."""
    if isinstance(data, torch.utils.data.DataLoader) and not hasattr(data, "state_dict"):
        raise TypeError(
            "a DataLoader can't say where it stands, so a fault would lose its place: give "
            "train.Batches(dataset, batch=…), or torchdata's StatefulDataLoader"
        )
    if not (hasattr(data, "state_dict") and hasattr(data, "load_state_dict")):
        data = Batches(data)
    if isinstance(data, Batches):
        data.split(group.rank, group.world_size)
    return data


def _moved(batch: Any, device: torch.device) -> Any:
    """The batch with its tensors on a device, in tuples, lists and dicts too."""
    if device.type == "cpu":
        return batch
    if isinstance(batch, torch.Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, dict):
        return {key: _moved(value, device) for key, value in batch.items()}
    if isinstance(batch, list | tuple):
        return [_moved(value, device) for value in batch]
    return batch
