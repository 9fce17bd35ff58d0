"""The shape of a job as a tenant asks for it: taken, told back, and refused in a sentence that helps."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.service.place import ECHO, RACKS, Place

from starverse.model.errors import BadInput, NotFound, Refused
from starverse.model.requests import SetLicences
from starverse.model.units import HOUR_MS
from starverse.service import jobs, nodes, submitting
from starverse.service.access import Actor
from starverse.service.answers import Job
from starverse.service.shapes import ShapeAsk


@pytest.fixture
def place(tmp_path: Path, migrated: Path) -> Iterator[Place]:
    """Two racks: two nodes of four cards in one, one in the other."""
    shutil.copy(migrated, tmp_path)
    place = Place(tmp_path, joins=RACKS)
    place.until(lambda: place.platform.ask(lambda state: len(state.nodes)) == 3)
    place.tell(SetLicences("solver", 2))
    yield place
    place.close()


def submit(place: Place, actor: Actor, shape: ShapeAsk | None = None, **change: Any) -> Job:
    return submitting.submit(place.platform, actor, replace(ECHO, shape=shape or ShapeAsk(), **change), "")


WHOLE = ShapeAsk(
    member=2,
    cpu=1.5,
    memory_mb=1024,
    resources={"nic": 1},
    require="pod",
    prefer="rack",
    slices={"node": 2, "rack": 4},
    spread={"node": 4},
    balanced=True,
    licences={"solver": 1},
    apart="web",
    apart_level="node",
)


def test_a_shape_is_told_back_as_it_was_asked_for(place: Place, ann: Actor) -> None:
    later_ms = place.platform.now_ms() + HOUR_MS
    job = submit(place, ann, WHOLE, cards=4, earliest_start_ms=later_ms, stays=True)
    assert job.shape == replace(WHOLE, slices={"rack": 4, "node": 2}), "the outermost level comes first"
    assert (job.earliest_start_ms, job.stays) == (later_ms, True)
    spec = place.platform.ask(lambda state: state.jobs[job.job].spec)
    assert [(part.level, part.milli_cards) for part in spec.shape.slices] == [("rack", 4000), ("node", 2000)]
    assert (spec.shape.milli_cpu, spec.shape.needs) == (1500, (("nic", 1),))
    why = jobs.why(place.platform, ann, job.job)
    assert [cause.code for cause in why.causes] == ["earliest-start"]
    plain = submit(place, ann)
    assert (plain.shape, plain.earliest_start_ms) == (ShapeAsk(), None)


def test_what_must_lie_in_one_rack_does(place: Place, ann: Actor) -> None:
    job = submit(place, ann, ShapeAsk(require="rack"), cards=8)
    place.reach(job.job, "running")
    place.until(lambda: jobs.runs(place.platform, ann, job.job))
    (run,) = jobs.runs(place.platform, ann, job.job)
    assert {each.node for each in run.places} == {"here", "near"}
    ask = replace(ECHO, shape=ShapeAsk(require="rack"), cards=5)
    with pytest.raises(BadInput, match="never fits"):
        submit(place, ann, ShapeAsk(require="rack"), cards=12)
    assert not submitting.preview(place.platform, ann, ask).starts_now, "four are free in the other rack"
    assert submitting.preview(place.platform, ann, replace(ask, cards=4)).starts_now
    waits = submit(place, ann, ShapeAsk(require="rack"), cards=5)
    assert "in one rack" in jobs.why(place.platform, ann, waits.job).text


REFUSED: list[tuple[ShapeAsk, int, str]] = [
    (ShapeAsk(require="rak"), 1, r"no level 'rak'\. Did you mean 'rack'\? There are: pod, rack, node\."),
    (ShapeAsk(prefer="hall"), 1, r"no level 'hall'\. There are: pod, rack, node\."),
    (ShapeAsk(slices={"noode": 2}), 2, "Did you mean 'node'"),
    (ShapeAsk(spread={"racks": 2}), 2, "Did you mean 'rack'"),
    (ShapeAsk(apart="web", apart_level="Rack"), 1, "Did you mean 'rack'"),
    (ShapeAsk(apart_level="rack"), 1, "Name a group with `apart`"),
    (ShapeAsk(resources={"nics": 1}), 1, "no resource 'nics'. Did you mean 'nic'"),
    (ShapeAsk(licences={"solvr": 1}), 1, "no licence 'solvr'. Did you mean 'solver'"),
    (ShapeAsk(licences={"solver": 3}), 1, "has 2 of the licence solver; you asked for 3"),
    (ShapeAsk(member=0), 1, "of no cards"),
    (ShapeAsk(member=3), 4, "cannot be made of members of 3"),
    (ShapeAsk(slices={"rack": 3}), 4, "cannot be cut into slices of 3"),
    (ShapeAsk(cpu=9), 1, "never fits"),
    (ShapeAsk(memory_mb=1 << 60), 1, "out of bounds"),
    (ShapeAsk(resources={"nic": 1 << 62}), 1, "out of bounds"),
]


@pytest.mark.parametrize(("shape", "cards", "says"), REFUSED)
def test_what_cannot_be_is_refused_before_the_job_is_there(
    place: Place, ann: Actor, shape: ShapeAsk, cards: int, says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        submit(place, ann, shape, cards=cards)
    with pytest.raises(BadInput, match=says):
        submitting.preview(place.platform, ann, replace(ECHO, shape=shape, cards=cards))
    assert not place.platform.ask(lambda state: state.jobs)


def test_kinds_and_reservations_that_are_not_there_are_named(place: Place, ann: Actor) -> None:
    with pytest.raises(BadInput, match=r"no 'cpus' cards\. Did you mean 'cpu'\?"):
        submit(place, ann, kind="cpus")
    with pytest.raises(NotFound, match="no reservation 'night'"):
        submit(place, ann, reservation="night")
    with pytest.raises(Refused, match="'reserved' needs a reservation"):
        submit(place, ann, priority="reserved")
    with pytest.raises(BadInput, match="earliest start is out of bounds"):
        submit(place, ann, earliest_start_ms=1 << 50)


def test_an_array_tells_how_many_of_it_may_run_at_once(place: Place, ann: Actor) -> None:
    assert submit(place, ann, array="0-4%2").array_limit == 2


def test_the_cluster_says_what_can_be_asked_for(place: Place) -> None:
    there = nodes.cluster(place.platform)
    assert (there.levels, there.resources) == (("pod", "rack", "node"), ("nic",))
    assert there.licences == {"solver": 2}
