"""What cards a machine has."""

import os
import sys
from types import SimpleNamespace

import pytest

from starverse.engines.cards import Cards, find_cards, slug


def test_without_nvidia_cards_each_core_is_a_slot(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert find_cards() == Cards("cpu", len(os.sched_getaffinity(0)))


def test_the_number_of_slots_can_be_given():
    assert find_cards(3) == Cards("cpu", 3)


@pytest.mark.parametrize(
    ("product", "kind"),
    [
        ("NVIDIA H200", "nvidia-h200"),
        ("NVIDIA A100-SXM4-80GB", "nvidia-a100-sxm4-80gb"),
        ("Tesla V100-SXM2-32GB", "nvidia-tesla-v100-sxm2-32gb"),
        ("NVIDIA GeForce RTX 4090 ", "nvidia-geforce-rtx-4090"),
    ],
)
def test_a_product_name_becomes_a_kind(product, kind):
    assert slug(product) == kind


class NVMLError(Exception):
    pass


def library(names: list[str], fails: bool = False) -> SimpleNamespace:
    """NVML as it would answer on a machine with these cards, whose device numbers run backwards."""

    def init() -> None:
        if fails:
            raise NVMLError

    return SimpleNamespace(
        NVMLError=NVMLError,
        nvmlInit=init,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: len(names),
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetName=names.__getitem__,
        nvmlDeviceGetMinorNumber=lambda index: len(names) - 1 - index,
    )


def test_nvidia_cards_are_found_with_their_devices(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", library(["NVIDIA H200"] * 3))
    assert find_cards() == Cards("nvidia-h200", 3, (0, 1, 2), (2, 1, 0))


def test_of_a_mixed_machine_the_most_numerous_kind_counts(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", library(["NVIDIA T4", "NVIDIA H200", "NVIDIA H200"]))
    assert find_cards() == Cards("nvidia-h200", 2, (1, 2), (1, 0))


def test_a_machine_without_a_driver_has_slots(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", library([], fails=True))
    assert find_cards().kind == "cpu"
