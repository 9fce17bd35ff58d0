"""The scheduler's bench on a small cluster: what it drives is true, whatever the clock says."""

import pytest

from starverse.bench import decisions
from starverse.bench.crowd import KIND, Crowd, Site
from starverse.model.allocation import card_count
from starverse.model.units import CARD, HOUR_MS

SMALL = Site(2, 5, 4)
SMALL_TORUS = Site(2, 6, 4, torus=(2, 2, 3))


def consistent(crowd: Crowd) -> bool:
    """Whether the driver counts what the state holds."""
    runs = crowd.state.runs
    used = sum(card_count(run.shares) for run in runs.values())
    waiting = {name for name, job in crowd.state.jobs.items() if job.phase == "waiting"}
    free = crowd.state.spaces[KIND].free
    return sorted(crowd.runs) == sorted(runs) and used == crowd.used and waiting == crowd.waits.keys() and (
        free == crowd.site.size - used
    )  # fmt: skip


@pytest.mark.parametrize("site", [SMALL, SMALL_TORUS])
def test_a_cluster_fills_by_jobs_that_come_and_go(site: Site) -> None:
    crowd = Crowd(site, 5)
    crowd.churn(site.size * 7 // 10, 2)
    assert crowd.used >= site.size * 6 // 10
    assert consistent(crowd)
    assert len(crowd.state.spaces[KIND].names) == site.pods * site.racks * site.nodes


def test_the_same_seed_gives_the_same_crowd() -> None:
    def runs(seed: int) -> list[str]:
        crowd = Crowd(SMALL, 5, seed=seed)
        crowd.churn(200)
        return crowd.runs

    assert runs(1) == runs(1) != runs(2)


@pytest.mark.parametrize("site", [SMALL, SMALL_TORUS])
def test_the_gang_is_placed_each_time(site: Site) -> None:
    assert len(decisions.gang_ms(site, 32, times=2)) == 2


def test_only_what_died_is_replaced() -> None:
    assert len(decisions.swap_ms(SMALL, 32, 2, times=2)) == 2


def test_a_long_queue_is_decided_the_same_each_time_and_lived_through() -> None:
    crowd = decisions.crowded(SMALL, queue=200, requests=60, tenants=20, scattered=24)
    assert crowd.site.size - crowd.used == 24
    assert len(crowd.state.view.lines[KIND].requests) >= 60
    assert len(decisions.from_scratch_ms(crowd, times=2)[0]) == 2
    decisions.after_end_ms(crowd, 30)
    assert consistent(crowd)
    assert len(decisions.reason_ms(crowd, 80, times=1)) == 1


@pytest.mark.parametrize("priorities", [("on-demand",), ("reserved", "on-demand", "preemptible")])
def test_lives_are_counted(priorities: tuple) -> None:
    lives = decisions.life_in_decide(SMALL, 10, 20, priorities)
    assert lives.number == 20
    assert lives.waiting >= 10
    assert lives.least <= lives.most <= 100


def test_only_those_who_must_leave_do() -> None:
    assert len(decisions.reclaim_ms(Site(2, 5, 3), 80, times=1)) == 1


def test_one_card_jobs_fill_the_cluster() -> None:
    assert len(decisions.fill_s(SMALL, times=1)) == 1


def test_runs_that_yield_wait_again() -> None:
    crowd = Crowd(SMALL, 3)
    for _ in range(40):
        crowd.submit(crowd.spec(8, 8, 9 * HOUR_MS, "preemptible"))
    crowd.settle()
    crowd.now_ms += HOUR_MS
    crowd.submit(crowd.spec(32, 8, HOUR_MS, "reserved"))
    crowd.settle()
    assert consistent(crowd)
    assert len(crowd.waits) == 4
    (gang,) = (run for run in crowd.state.runs.values() if run.milli_cards == 32 * CARD)
    assert gang.job == "j41"
