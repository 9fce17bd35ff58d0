"""PyTorch's own process group, DDP and all, under the launcher."""

from starverse.model.events import RunStarted

DDP = """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.full((2, 4), float(dist.get_rank()))).sum().backward()
    optimizer.step()
print("weight", round(model.module.weight.sum().item(), 4), flush=True)
dist.barrier()
dist.destroy_process_group()
os._exit(0)  # one exit in twenty of torch 2.13 on a busy machine aborts in the destructors of its threads
"""


def test_two_ranks_train_together(machine):
    engine = machine.engine()
    engine.act(machine.order("j-a.0", "train.py", files={"train.py": DDP}, cards=2, launch="per-card"))
    machine.until(engine, RunStarted, "j-a.0")
    ended = machine.ended(engine, "j-a.0", within_s=60)
    assert (ended.how, ended.code) == ("exit", 0), ended
    first, second = sorted(machine.log("j-a.0").splitlines())
    assert first.startswith("[0] weight ")
    assert first.removeprefix("[0]") == second.removeprefix("[1]")
