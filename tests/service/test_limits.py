"""The operator's levers: set, shown with what is used of them, and nobody else's to see or to pull."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.service.place import ECHO, RACKS, Place

from starverse.model.errors import BadInput, NotAllowed, NotFound, Refused
from starverse.service import jobs, limits, submitting
from starverse.service.access import Actor
from starverse.service.agreements import Budget, Licence, Quota
from starverse.service.shapes import ShapeAsk


@pytest.fixture
def place(tmp_path: Path, migrated: Path) -> Iterator[Place]:
    shutil.copy(migrated, tmp_path)
    place = Place(tmp_path, joins=RACKS)
    place.until(lambda: place.platform.ask(lambda state: len(state.nodes)) == 3)
    yield place
    place.close()


@pytest.fixture
def boss(place: Place) -> Actor:
    return place.operator()


def test_a_tree_of_quotas_is_set_and_bounds_who_is_in_it(place: Place, boss: Actor, ann: Actor) -> None:
    tenant = ann.projects[0].tenant
    limits.set_quota(place.platform, boss, Quota("lab", "", 2, 4, None, None))
    made = limits.set_quota(place.platform, boss, Quota(tenant, "lab", 1, 1.5, 0.5, 1))
    assert made == Quota(tenant, "lab", 1, 1.5, 0.5, 1, used=0, left=2)
    job = submitting.submit(place.platform, ann, replace(ECHO, cards=2), "")
    place.reach(job.job, "running")
    shown = limits.limits(place.platform, boss).quotas
    assert [(each.tenant, each.parent, each.borrow_max) for each in shown] == [
        ("lab", "", None),
        (tenant, "lab", 0.5),
    ]
    assert (shown[1].used, shown[1].left) == (2, 0)
    waits = submitting.submit(place.platform, ann, ECHO, "")
    place.reach(waits.job, "waiting")
    assert "quota" in [cause.code for cause in jobs.why(place.platform, ann, waits.job).causes]


def test_a_quota_is_removed_again(place: Place, boss: Actor, ann: Actor) -> None:
    tenant = ann.projects[0].tenant
    limits.set_quota(place.platform, boss, Quota("lab", "", 1, 0, None, None))
    limits.set_quota(place.platform, boss, Quota(tenant, "lab", 1, 0, 0, None))
    job = submitting.submit(place.platform, ann, ECHO, "")
    place.reach(job.job, "waiting")
    with pytest.raises(Refused, match=rf"{tenant} would hang in the air without the quota of lab"):
        limits.remove_quota(place.platform, boss, "lab")
    limits.remove_quota(place.platform, boss, tenant)
    place.reach(job.job, "running")
    limits.remove_quota(place.platform, boss, "lab")
    assert limits.limits(place.platform, boss).quotas == ()
    with pytest.raises(NotFound, match="no quota of 'lab'"):
        limits.remove_quota(place.platform, boss, "lab")


def test_licences_are_counted(place: Place, boss: Actor, ann: Actor) -> None:
    assert limits.set_licence(place.platform, boss, "solver", 2) == Licence("solver", 2, 0)
    job = submitting.submit(place.platform, ann, replace(ECHO, shape=ShapeAsk(licences={"solver": 1})), "")
    place.reach(job.job, "running")
    assert limits.limits(place.platform, boss).licences == (Licence("solver", 2, 1),)


def test_a_feed_has_a_budget_until_it_is_lifted(place: Place, boss: Actor, ann: Actor) -> None:
    assert limits.set_budget(place.platform, boss, "r1", 1500.5) == Budget("r1", 1500.5, 0)
    job = submitting.submit(place.platform, ann, ECHO, "")
    place.reach(job.job, "running")
    shown = limits.limits(place.platform, boss).budgets
    assert [(each.feed, each.watts) for each in shown] == [("r1", 1500.5), ("r2", None)]
    assert limits.set_budget(place.platform, boss, "r1", None).watts is None


def test_nobody_else_sees_or_pulls_them(place: Place, ann: Actor) -> None:
    quota = Quota(ann.projects[0].tenant, "", 1, 100, None, None)
    for call in (
        lambda: limits.limits(place.platform, ann),
        lambda: limits.set_quota(place.platform, ann, quota),
        lambda: limits.remove_quota(place.platform, ann, ann.projects[0].tenant),
        lambda: limits.set_licence(place.platform, ann, "solver", 9),
        lambda: limits.set_budget(place.platform, ann, "r1", 0),
    ):
        with pytest.raises(NotAllowed):
            call()
    assert not place.platform.ask(lambda state: state.truth.quotas)


def test_what_is_not_there_is_named(place: Place, boss: Actor) -> None:
    limits.set_quota(place.platform, boss, Quota("lab", "", 1, 0, None, None))
    with pytest.raises(NotFound, match="no tenant 't-nobody'"):
        limits.set_quota(place.platform, boss, Quota("t-nobody", "", 1, 0, None, None))
    with pytest.raises(NotFound, match=r"no quota of 'labs' to lie under\. Did you mean 'lab'"):
        limits.set_quota(place.platform, boss, Quota("team", "labs", 1, 0, None, None))
    with pytest.raises(Refused, match="lies under"):
        limits.set_quota(place.platform, boss, Quota("lab", "lab", 1, 0, None, None))
    with pytest.raises(NotFound, match="No node hangs on a feed 'r9'"):
        limits.set_budget(place.platform, boss, "r9", 5)
    with pytest.raises(BadInput, match="cannot be a quota"):
        limits.set_quota(place.platform, boss, Quota("lab", "", 1, -1, None, None))
