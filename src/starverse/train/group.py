"""The ranks of one run, joined: they add numbers up, share what one knows, give up if a peer is lost."""

import atexit
import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from starverse.train.contract import Place

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Group:
    """The ranks of a run. Each method but `wrap` is collective: every rank calls it, in the same order.

    A rank whose peer died, or kept it waiting longer than the time limit, gets a RuntimeError from torch
    and so ends with an error: the platform starts the next run.
    """

    rank: int
    world_size: int
    device: torch.device
    control: Any  # gloo's group of all ranks; None when there is only one

    def wrap(self, model: torch.nn.Module) -> torch.nn.Module:
        """The model on this rank's device, with rank 0's weights, averaging gradients with its peers."""
        model = model.to(self.device)
        if self.world_size == 1:
            return model
        return DistributedDataParallel(model, device_ids=None if self.device.type == "cpu" else [self.device])

    def add(self, *values: float) -> list[float]:
        """Sum each value over the ranks, in double precision."""
        if self.control is None:
            return list(values)
        sums = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(sums, group=self.control)
        return sums.tolist()

    def share(self, value: T) -> T:
        """What rank 0 gave."""
        if self.control is None:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0, group=self.control)
        return box[0]

    def gather(self, value: T) -> list[T]:
        """What every rank gave, by rank."""
        if self.control is None:
            return [value]
        values: list[Any] = [None] * self.world_size
        dist.all_gather_object(values, value, group=self.control)
        return values


def join(place: Place, timeout_s: float) -> Group:
    """Meet the other ranks through a file in the run's rendezvous directory, else as torchrun says.

    Raises a RuntimeError (torch's) if they aren't all there within timeout_s.
    """
    device = _device(place)
    if place.world_size == 1 and not dist.is_initialized():
        return Group(0, 1, device, None)
    if not dist.is_initialized():
        _initialize(place, device, timedelta(seconds=timeout_s))
    atexit.register(_leave)
    alone = dist.get_backend() == "gloo"  # then a second gloo group would only take time
    control = dist.group.WORLD if alone else dist.new_group(backend="gloo")
    return Group(dist.get_rank(), dist.get_world_size(), device, control)


def _initialize(place: Place, device: torch.device, timeout: timedelta) -> None:
    if place.local_world_size == place.world_size and sys.platform == "linux":
        # Ranks of one machine need no name service and no network, and no one outside needs to reach them
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    backend = "gloo" if device.type == "cpu" else "cpu:gloo,cuda:nccl"
    if place.rendezvous is None:
        dist.init_process_group(backend, timeout=timeout)
        return
    store = dist.FileStore(  # type: ignore[attr-defined] # it is exported, but not by name
        str(Path(place.rendezvous, "store")), place.world_size
    )
    store.set_timeout(timeout)
    dist.init_process_group(
        backend, store=store, rank=place.rank, world_size=place.world_size, timeout=timeout
    )


def _device(place: Place) -> torch.device:
    if place.card_kind == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", place.local_rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    return device


def _leave() -> None:
    """Leave the group, and see gloo's threads asleep before the interpreter goes.

    One that lets go of a tensor while the interpreter is torn down aborts the process (pytorch issue 190489;
    seen in 1 of 20 runs), which makes a good exit code a bad one. While this sleeps the interpreter's lock is
    free, so that a thread which isn't running has nothing left to let go of. Takes 10 ms, at most a second.
    """
    if dist.is_initialized():
        dist.destroy_process_group()
    quiet = 0
    for _ in range(200):
        time.sleep(0.005)
        quiet = 0 if _threads_running() > 1 else quiet + 1
        if quiet == 2:
            return


def _threads_running() -> int:
    """How many threads of this process want a processor now, this one included."""
    states = []
    for thread in Path("/proc/self/task").glob("*"):
        with suppress(OSError):  # it has just ended
            states.append((thread / "stat").read_text().rpartition(")")[2].split()[0])
    return sum(state == "R" for state in states)
