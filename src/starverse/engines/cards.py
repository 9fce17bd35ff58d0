"""The cards of this machine: NVIDIA's if there are any, else its processor cores as slots of kind `cpu`."""

import os
import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Cards:
    """Cards of one kind; card i of the node is device `minors[i]` (/dev/nvidia<n>), and `indices[i]` to CUDA
    in order of PCI address. Both are empty for kind `cpu`."""

    kind: str
    count: int
    indices: tuple[int, ...] = ()
    minors: tuple[int, ...] = ()


def find_cards(cpu_slots: int | None = None) -> Cards:
    """The cards to be had here; given `cpu_slots`, so many of kind `cpu`, whatever is there.

    One node has one kind: on a mixed machine the kind with the most cards, of equals the first.
    """
    if cpu_slots is not None:
        return Cards("cpu", cpu_slots)
    found = _nvidia()
    if not found:
        return Cards("cpu", len(os.sched_getaffinity(0)))
    kinds = [kind for kind, _, _ in found]
    kind = max(kinds, key=lambda each: (kinds.count(each), -kinds.index(each)))
    same = [(index, minor) for each, index, minor in found if each == kind]
    return Cards(kind, len(same), tuple(index for index, _ in same), tuple(minor for _, minor in same))


def slug(product: str) -> str:
    """The kind a product name stands for: `NVIDIA H200` → `nvidia-h200`."""
    words = re.sub(r"[^a-z0-9]+", "-", product.lower()).strip("-")
    return words if words.startswith("nvidia") else f"nvidia-{words}"


def _nvidia() -> list[tuple[str, int, int]]:
    """Kind, index and device number of every NVIDIA card; none where there is no driver to ask."""
    try:
        import pynvml
    except ImportError:
        return []
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    try:
        return [_look_at(pynvml, index) for index in range(pynvml.nvmlDeviceGetCount())]
    except pynvml.NVMLError:
        return []
    finally:
        pynvml.nvmlShutdown()


def _look_at(nvml: Any, index: int) -> tuple[str, int, int]:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    name = nvml.nvmlDeviceGetName(handle)
    return (
        slug(name if isinstance(name, str) else name.decode()),
        index,
        nvml.nvmlDeviceGetMinorNumber(handle),
    )
