"""The figures of the physics: how long the models take at the size of the reference cluster."""

from starverse.bench import physics_fabric, physics_facility
from starverse.bench.figure import Measure, one_by_one

PARTS: tuple[tuple[str, Measure], ...] = (*physics_fabric.PARTS, *physics_facility.PARTS)

run = one_by_one(PARTS)
