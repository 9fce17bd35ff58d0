"""What a run must carry to its next one, put into a directory and taken from it again.

PyTorch's distributed checkpoint (DCP) holds model and optimizer, and fits them to any number of ranks; a
file per rank holds what is a rank's own: random numbers, the data's position, the schedule.
"""

import os
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner
from torch.distributed.checkpoint.filesystem import FileSystemReader
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from starverse.train.data import Batches
from starverse.train.group import Group


@dataclass(frozen=True, slots=True)
class Parts:
    """All that training changes, but for the step and the random numbers."""

    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    scheduler: Any
    data: Any


def write(directory: Path, parts: Parts, group: Group) -> list[Path]:
    """Write this rank's share into a directory, durably; give the files written. Collective.

    Raises OSError or RuntimeError for what this rank met, CheckpointException for what any met.
    """
    own = own_file(directory, group.rank)
    try:
        directory.mkdir(exist_ok=True)
        _write_own(own, parts)
    finally:  # after an error too: the peers wait in there
        model, optimizer = get_state_dict(parts.model, parts.optimizer)
        shared = {"model": model, "optimizer": optimizer}
        save(shared, checkpoint_id=directory, process_group=group.control, no_dist=group.control is None)
    index = [directory / ".metadata"] if group.rank == 0 else []
    return [own, *directory.glob(f"__{group.rank}_*.distcp"), *index]


def read(directory: Path, parts: Parts, group: Group, written_by: int) -> dict[str, Any] | None:
    """Load what `written_by` ranks wrote; give this rank's random numbers, None if it is new since then.

    Collective. Raises ValueError if it is another model's, optimizer's or data's.
    """
    try:
        _read_shared(directory, parts, group)
    except (CheckpointException, ValueError) as error:  # a lost peer is a RuntimeError, and passes
        raise ValueError(f"it doesn't fit this model and optimizer: {first_line(error)}") from error
    own = own_file(directory, group.rank)
    existed = group.rank < written_by
    # Not weights_only: it is the job's own file, and a loader's state may hold anything
    state = torch.load(own if existed else own_file(directory, 0), weights_only=False)
    if group.world_size != written_by and not isinstance(parts.data, Batches):
        raise ValueError(
            f"{written_by} ranks wrote it and here are {group.world_size}, between which a "
            f"{type(parts.data).__name__} can't be split anew: use train.Batches"
        )
    parts.data.load_state_dict(state["data"])
    if parts.scheduler is not None:
        parts.scheduler.load_state_dict(state["scheduler"])
    return dict(state["random"]) if existed else None


def restore_random(state: dict[str, Any] | None, step: int, rank: int) -> None:
    """Go on with the random numbers of a checkpoint; a rank that is new since then begins with its own."""
    if state is None:
        torch.manual_seed(step * 1_000_003 + rank)
        random.seed(step * 1_000_003 + rank)
        return
    torch.set_rng_state(state["torch"])
    random.setstate(state["python"])
    if state["numpy"] is not None and "numpy" in sys.modules:
        sys.modules["numpy"].random.set_state(state["numpy"])
    if state["cuda"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])


def own_file(directory: Path, rank: int) -> Path:
    """The file of a rank in a checkpoint."""
    return directory / f"rank-{rank:05d}.pt"


def first_line(error: BaseException) -> str:
    """The gist of an error for people; of one that several ranks met, the first rank's."""
    while isinstance(error, CheckpointException) and error.failures:
        error = next(iter(error.failures.values()))[0]
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _write_own(path: Path, parts: Parts) -> None:
    schedule = None if parts.scheduler is None else parts.scheduler.state_dict()
    state = {"data": parts.data.state_dict(), "scheduler": schedule, "random": _random_state()}
    with path.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())


def _random_state() -> dict[str, Any]:
    numpy = sys.modules.get("numpy")  # if nobody has imported it, nobody draws from it
    cuda = torch.cuda.get_rng_state() if torch.cuda.is_available() else None
    return {
        "torch": torch.get_rng_state(),
        "python": random.getstate(),
        "cuda": cuda,
        "numpy": numpy.random.get_state() if numpy else None,
    }


def _read_shared(directory: Path, parts: Parts, group: Group) -> None:
    # This gives every parameter an optimizer state to load into
    model, optimizer = get_state_dict(parts.model, parts.optimizer)
    reader, alone = FileSystemReader(directory), group.control is None
    load({"model": model}, storage_reader=reader, process_group=group.control, no_dist=alone)
    saved = reader.read_metadata().state_dict_metadata
    stateful = [name for name in saved if name.startswith("optimizer.state.")]
    if bool(stateful) != bool(optimizer["state"]):
        raise ValueError("the optimizer was of another kind")
    planner = DefaultLoadPlanner(allow_partial_load=True)
    load(
        {"optimizer": optimizer},
        storage_reader=reader,
        planner=planner,
        process_group=group.control,
        no_dist=alone,
    )
    set_state_dict(parts.model, parts.optimizer, model_state_dict=model, optim_state_dict=optimizer)
    for name, parameter in parts.model.named_parameters():
        key = f"optimizer.state.{name.removeprefix('module.')}."
        if not any(saved_name.startswith(key) for saved_name in stateful):
            parts.optimizer.state.pop(parameter, None)  # it never had a gradient, so had no state
