"""The fabric's bench on small networks: what it asks has the answer it should."""

import pytest

from starverse.bench import physics_fabric
from starverse.physics.fabric.grid import Grid
from starverse.physics.fabric.tree import clos


@pytest.mark.parametrize("name", ["torus", "clos"])
def test_what_is_asked_slows_the_job_down(name: str) -> None:
    topology = Grid((4, 4, 4)) if name == "torus" else clos(128, 8, 100e9)
    assert physics_fabric._ill_over_well(topology, name) > 1


def test_closed_forms_are_figures_with_targets() -> None:
    torus, box = physics_fabric.measure_closed()
    assert "21.45" in torus.what
    assert (torus.unit, torus.target, box.unit, box.target) == ("ms", 1, "us", 50)
