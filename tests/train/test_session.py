"""The training loop's partner by itself: outside Starverse, with bad input, with other people's data."""

import math
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.train.ranks import JOB, end, spawn
from torch import nn

from starverse import train
from starverse.train import contract
from starverse.train.group import Group
from starverse.train.state import Parts, read, write


@pytest.fixture(autouse=True)
def outside_starverse(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for variable in contract.VARIABLES.values():
        monkeypatch.delenv(variable, raising=False)
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def started(data: Any = None, **more: Any) -> train.Session:
    torch.manual_seed(0)
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    chosen: dict[str, Any] = {"data": [torch.tensor([float(n)]) for n in range(8)], "steps": 4, **more}
    return train.start(model=model, optimizer=optimizer, **{**chosen, **({"data": data} if data else {})})


def loss_of(session: train.Session, batch: torch.Tensor) -> torch.Tensor:
    return (session.model(batch) - 1).square().mean()


def test_outside_starverse_it_trains_and_leaves_sigterm_alone() -> None:
    before = signal.getsignal(signal.SIGTERM)
    session = started()
    for batch in session:
        session.step(loss=loss_of(session, batch))
    assert (session.steps_done, session.rank, session.world_size) == (4, 0, 1)
    assert session.loss is not None
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_script_runs_plainly_and_under_torchrun(tmp_path: Path) -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    for ranks, command in ((1, [sys.executable]), (2, torchrun)):
        traces = tmp_path / str(ranks)
        traces.mkdir()
        process = spawn([*command, str(JOB), "--steps", "3", "--trace", str(traces)], tmp_path / "log", {})
        try:
            assert process.wait(100) == 0, (tmp_path / "log").read_text()
        finally:
            end(process)
        assert [len((traces / f"rank-{rank}").read_text().splitlines()) for rank in range(ranks)] == [
            3
        ] * ranks


def test_a_loss_that_is_no_number_is_reported_and_training_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARVERSE_REPORT", str(tmp_path / "report"))
    monkeypatch.setenv("STARVERSE_CHECKPOINTS", str(tmp_path / "checkpoints"))
    session = started(checkpoint_every=1)
    for batch in session:
        session.step(loss=loss_of(session, batch) * math.nan)
    steps = [r for r in contract.read_reports(tmp_path / "report")[0] if r["kind"] == "step"]
    assert [(r["step"], r["loss"], r["finite"]) for r in steps][-1] == (4, None, False)
    again = started()
    assert (again.steps_done, again.loss) == (4, None)
    assert list(again) == []


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (lambda s, b: s.model(b), r"not a tensor of shape \(32, 1\): take its .mean\(\)"),
        (lambda s, b: loss_of(s, b).item(), "not float"),
        (lambda s, b: loss_of(s, b).detach(), "requires no grad"),
    ],
)
def test_a_loss_that_cannot_train_is_refused(loss: Callable[..., Any], said: str) -> None:
    session = started()
    batch = next(iter(session))
    with pytest.raises(TypeError, match=said):
        session.step(loss=loss(session, batch))
    assert session.steps_done == 0


def test_two_steps_for_one_batch_are_refused() -> None:
    session = started()
    batch = next(iter(session))
    session.step(loss=loss_of(session, batch))
    with pytest.raises(RuntimeError, match="without a batch"):
        session.step(loss=loss_of(session, batch))


@pytest.mark.parametrize(
    ("more", "error", "said"),
    [
        ({"steps": 0}, ValueError, "steps=0: it must be at least 1"),
        ({"keep": 0}, ValueError, "keep=0"),
        ({"checkpoint_every": -1}, ValueError, "checkpoint_every=-1"),
        ({"data": iter([])}, TypeError, "has no length"),
        ({"data": torch.utils.data.DataLoader([1, 2])}, TypeError, "can't say where it stands"),
    ],
)
def test_arguments_that_cannot_work_are_refused(
    more: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        started(**more)


class Loader:
    """A stranger's loader: it knows its place, and has an end."""

    def __init__(self, batches: int) -> None:
        self.batches, self.at = batches, 0

    def __iter__(self) -> Iterator[torch.Tensor]:
        while self.at < self.batches:
            self.at += 1
            yield torch.tensor([[float(self.at)]])
        self.at = 0

    def state_dict(self) -> dict[str, int]:
        return {"at": self.at}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.at = state["at"]


def test_a_loader_with_a_state_goes_on_where_it_was_and_begins_again_at_its_end(tmp_path: Path) -> None:
    seen = []
    for stop in (4, 7):
        session = started(Loader(3), steps=7, checkpoints=tmp_path, checkpoint_every=1)
        for batch in session:
            seen.append(batch.item())
            session.step(loss=loss_of(session, batch))
            if session.steps_done == stop:
                break
    assert seen == [1, 2, 3, 1, 2, 3, 1]


def test_a_loader_that_gives_nothing_is_no_endless_loop() -> None:
    with pytest.raises(ValueError, match="gave no batch at all"):
        next(iter(started(Loader(0))))


def test_a_strangers_loader_cannot_be_split_anew(tmp_path: Path) -> None:
    model = nn.Linear(1, 1)
    parts = Parts(model, torch.optim.SGD(model.parameters()), None, Loader(3))
    alone = Group(0, 1, torch.device("cpu"), None)
    write(tmp_path, parts, alone)
    with pytest.raises(ValueError, match=r"2 ranks wrote it and here are 1.*use train\.Batches"):
        read(tmp_path, parts, alone, written_by=2)
