"""A checkpoint is whole or passed over, the newest whole one is found, only the oldest are thrown away."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from starverse.train import Batches, manifest
from starverse.train.checkpoint import Cadence, CheckpointFailed, Checkpoints, NoSpace
from starverse.train.group import Group
from starverse.train.state import Parts

ALONE = Group(0, 1, torch.device("cpu"), None)


def parts(width: int = 16, optimizer: Callable[..., torch.optim.Optimizer] = torch.optim.AdamW) -> Parts:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, width), nn.Linear(width, 1))
    return Parts(model, optimizer(model.parameters(), lr=0.1), None, Batches([1.0] * 10, 2))


def train(trained: Parts, steps: int = 1) -> None:
    for _ in range(steps):
        next(trained.data)
        trained.model(torch.ones(2, 4)).square().mean().backward()
        trained.optimizer.step()
        trained.optimizer.zero_grad()


def weights(trained: Parts) -> list[Any]:
    return [parameter.tolist() for parameter in trained.model.parameters()]


def saved(directory: Path, steps: int, keep: int = 2) -> tuple[Checkpoints, list[list[Any]]]:
    """Checkpoints after step 1, 2 …, and the weights at step 0, 1, 2 …"""
    kept, trained = Checkpoints(directory, ALONE, keep), parts()
    history = [weights(trained)]
    for step in range(1, steps + 1):
        train(trained)
        kept.save(step, 0.5, trained)
        history.append(weights(trained))
    return kept, history


def loaded_step(directory: Path) -> int:
    found = Checkpoints(directory, ALONE, 2).load_newest(parts())
    return 0 if found is None else found[0].step


def test_model_optimizer_and_data_come_back_as_they_were(tmp_path: Path) -> None:
    kept, history = saved(tmp_path, 3)
    fresh = parts()
    found = kept.load_newest(fresh)
    assert found is not None
    assert (found[0].step, found[0].loss, found[0].world_size) == (3, 0.5, 1)
    assert weights(fresh) == history[3]
    assert fresh.data.state_dict()["position"] == 6
    onward = parts()
    train(onward, 4)
    train(fresh)
    assert weights(fresh) == weights(onward), "the optimizer's state came back too"


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_the_last_few_are_kept_and_nothing_else_is_touched(tmp_path: Path, keep: int) -> None:
    (tmp_path / "step-by-step.txt").write_text("mine")
    (tmp_path / "step-00000009.partial").mkdir()
    saved(tmp_path, 4, keep)
    expected = [manifest.directory_name(step) for step in range(5 - keep, 5)]
    assert sorted(path.name for path in tmp_path.iterdir()) == [*expected, "step-by-step.txt"]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 1
    path.write_bytes(bytes(whole))


@pytest.mark.parametrize("harm", [Path.unlink, cut, flip])
@pytest.mark.parametrize("file", [manifest.NAME, ".metadata", "__0_0.distcp", "rank-00000.pt"])
def test_a_harmed_checkpoint_is_passed_over_for_the_one_before(
    tmp_path: Path, file: str, harm: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    saved(tmp_path, 3)
    harm(tmp_path / "step-00000003" / file)
    assert loaded_step(tmp_path) == 2
    said = capsys.readouterr().err
    assert "step-00000003 is ignored: it" in said
    assert "manifest" in said or file in said
    assert loaded_step(tmp_path) == 2, "nor does it count later"


def test_a_manifest_that_claims_another_step_is_no_manifest(tmp_path: Path) -> None:
    saved(tmp_path, 2)
    (tmp_path / "step-00000002").rename(tmp_path / "step-00000007")
    assert loaded_step(tmp_path) == 1


def test_with_none_valid_the_job_begins_anew(tmp_path: Path) -> None:
    saved(tmp_path, 2)
    for step in (1, 2):
        (tmp_path / manifest.directory_name(step) / manifest.NAME).unlink()
    assert loaded_step(tmp_path) == 0


def test_a_damaged_one_never_pushes_out_a_valid_one(tmp_path: Path) -> None:
    saved(tmp_path, 3)
    flip(tmp_path / "step-00000003" / "rank-00000.pt")
    kept, trained = Checkpoints(tmp_path, ALONE, 1), parts()
    found = kept.load_newest(trained)
    assert found is not None
    assert found[0].step == 2
    assert [path.name for path in manifest.newest_first(tmp_path)] == ["step-00000002"]
    kept.save(3, None, trained)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000003"]
    assert loaded_step(tmp_path) == 3


def test_another_model_or_optimizer_is_refused_with_the_remedy(tmp_path: Path) -> None:
    kept, _ = saved(tmp_path, 1)
    for other in (parts(width=17), parts(optimizer=torch.optim.SGD)):
        with pytest.raises(CheckpointFailed, match=r"doesn't fit this model and optimizer.*Start a new job"):
            kept.load_newest(other)


def test_a_parameter_that_never_had_a_gradient_comes_back_without_state(tmp_path: Path) -> None:
    """DCP asks for the state of each; a model with a head not in use must resume all the same."""

    def headed() -> Parts:
        torch.manual_seed(0)
        model = nn.ModuleDict({"used": nn.Linear(4, 1), "unused": nn.Linear(4, 1)})
        return Parts(model, torch.optim.AdamW(model.parameters()), None, Batches([1.0] * 4, 2))

    trained, fresh = headed(), headed()
    trained.model.used(torch.ones(2, 4)).mean().backward()
    trained.optimizer.step()
    kept = Checkpoints(tmp_path, ALONE, 2)
    kept.save(1, None, trained)
    assert kept.load_newest(fresh) is not None
    assert len(fresh.optimizer.state) == 2, "weight and bias of the used one"
    assert weights(fresh) == weights(trained)


def test_wherever_the_disk_fills_up_the_checkpoint_before_stays(small_disk: Path) -> None:
    """Room for 0, 1, 2 … pages: so each of the files, and the directory itself, is once the one too many."""
    kept, _ = saved(small_disk, 1)
    trained, full = parts(), 0
    for pages in range(60):
        (small_disk / "ballast").write_bytes(b"")
        room = os.statvfs(small_disk).f_bavail - pages
        (small_disk / "ballast").write_bytes(b"x" * 4096 * room)
        said = refusal(kept, trained)
        if said is None:
            break
        full += 1
        assert "no space left there. Make room" in said
        assert sorted(path.name for path in small_disk.iterdir()) == ["ballast", "step-00000001"]
        assert loaded_step(small_disk) == 1
    assert 5 <= full < 60
    assert loaded_step(small_disk) == 2


def refusal(kept: Checkpoints, trained: Parts) -> str | None:
    try:
        kept.save(2, None, trained)
    except NoSpace as error:
        return str(error)
    return None


def test_a_checkpoint_that_cannot_be_written_for_another_reason_says_so(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path / "checkpoints", ALONE, 2)
    (tmp_path / "checkpoints").rmdir()
    with pytest.raises(CheckpointFailed, match=r"could not write step-00000001 into .*No such file"):
        kept.save(1, None, parts())


def test_without_a_number_of_steps_saving_takes_one_part_in_a_hundred() -> None:
    cadence = Cadence(None)
    assert not cadence.due(1)
    for took_s, interval_s in ((0.01, 10), (0.5, 50), (60, 600)):
        cadence.saved(took_s)
        assert cadence._interval_s == interval_s
    cadence._last_s -= 601
    assert cadence.due(2)
    assert [Cadence(5).due(step) for step in (4, 5, 10, 11)] == [False, True, True, False]
