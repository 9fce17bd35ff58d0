"""Money as people see it: the parts always add up, and nobody else's is shown."""

from dataclasses import replace

import pytest
from tests.service.place import ECHO, Place

from starverse.model.errors import BadInput, NotAllowed, NotFound
from starverse.model.units import YUAN
from starverse.service import billing, jobs, projects, submitting
from starverse.service.access import Actor


def test_cost_so_far_grows_while_a_job_runs_and_ends_as_what_was_charged(place: Place, ann: Actor) -> None:
    job = submitting.submit(place.platform, ann, replace(ECHO, cards=2), "").job
    place.reach(job, "running")
    first = place.until(lambda: jobs.show(place.platform, ann, job).cost)
    second = place.until(lambda: (cost := jobs.show(place.platform, ann, job).cost) > first and cost)
    listed = jobs.list_jobs(place.platform, ann, "", "", "", 9, everyone=False).items[0]
    assert listed.cost >= second
    wallet = billing.wallet(place.platform, ann, "")
    assert wallet.spent_per_hour == 7200 * YUAN
    assert 0 < wallet.used <= wallet.held
    assert wallet.empty_ms is not None
    place.engine.end(f"{job}.0")
    place.reach(job, "ended")
    shown = jobs.show(place.platform, ann, job)
    assert shown.cost == shown.charged > 0
    after = billing.wallet(place.platform, ann, "")
    assert (after.available, after.held) == (1010 * YUAN - shown.cost, 0)


def test_the_statement_sums_to_the_balance_at_any_moment(place: Place, ann: Actor) -> None:
    for _ in range(3):
        job = submitting.submit(place.platform, ann, ECHO, "").job
        place.reach(job, "running")
        place.engine.end(f"{job}.0")
        place.reach(job, "ended")
    submitting.submit(place.platform, ann, ECHO, "")
    place.until(lambda: place.engine.alive)
    rows, cursor = [], ""
    while True:
        page = billing.statement(place.platform, ann, "", cursor, 3)
        rows += page.items
        cursor = page.cursor
        if not cursor:
            break
    wallet = billing.wallet(place.platform, ann, "")
    assert sum(row.wallet for row in rows) == wallet.available
    assert sum(row.held for row in rows) == wallet.held
    assert sum(row.amount for row in rows) == wallet.available + wallet.held
    charged = sum(
        job.charged for job in jobs.list_jobs(place.platform, ann, "", "", "", 9, everyone=False).items
    )
    assert charged == -sum(row.amount for row in rows if row.kind == "charge")
    assert all(row.amount >= 0 for row in rows if row.kind != "charge")
    assert [row.kind for row in rows[-2:]] == ["top-up", "trial"]


def test_a_member_sees_the_wallet_and_an_owner_the_statement(place: Place, ann: Actor, bob: Actor) -> None:
    project = ann.projects[0]
    with pytest.raises(NotFound):
        billing.wallet(place.platform, bob, project.project)
    projects.invite(place.platform, ann, "", "bob@example.com", "member")
    bob = replace(bob, projects=(*bob.projects, replace(project, role="member")))
    assert billing.wallet(place.platform, bob, project.project).tenant == project.tenant
    with pytest.raises(NotAllowed):
        billing.statement(place.platform, bob, project.project, "", 9)


def test_operators_top_up_and_price(place: Place, ann: Actor) -> None:
    operator = place.operator()
    tenant = ann.projects[0].tenant
    with pytest.raises(NotAllowed):
        billing.top_up(place.platform, ann, tenant, YUAN, "")
    with pytest.raises(NotFound):
        billing.top_up(place.platform, operator, "t-absent", YUAN, "")
    assert billing.top_up(place.platform, operator, tenant, YUAN, "cash").available == 1011 * YUAN
    with pytest.raises(BadInput, match="in the past"):
        billing.set_price(place.platform, operator, "cpu", 1, 1000)
    later = place.platform.now_ms() + 100_000
    billing.set_price(place.platform, operator, "cpu", 5, later)
    assert [(price.from_ms, price.price) for price in billing.prices(place.platform)][-1] == (later, 5)


def test_a_job_keeps_the_price_it_came_with(place: Place, ann: Actor) -> None:
    operator = place.operator()
    job = submitting.submit(place.platform, ann, ECHO, "").job
    billing.set_price(place.platform, operator, "cpu", YUAN, 0)
    assert jobs.show(place.platform, ann, job).price == 3600 * YUAN
    assert submitting.submit(place.platform, ann, ECHO, "").price == YUAN
