"""The demo's arithmetic: what was lost, and how long until the next step."""

from starverse.demo.figures import seconds_to_next_step, steps_lost
from starverse.faces.schemas import Metric


def steps(run: str, first: int, last: int, start_ms: int) -> tuple[Metric, ...]:
    """A run that takes a step every 100 ms."""
    return tuple(
        Metric(run, start_ms + 100 * (step - first), step, 10, 1.0, None) for step in range(first, last + 1)
    )


def test_steps_lost_are_those_done_twice() -> None:
    #   run 0: 1 2 3 4 5 6 7        run 1:         6 7 8
    assert steps_lost(steps("j.0", 1, 7, 0) + steps("j.1", 6, 8, 5_000)) == 2


def test_nothing_is_lost_by_a_run_that_saved_before_it_left() -> None:
    assert steps_lost(steps("j.0", 1, 7, 0) + steps("j.1", 8, 9, 5_000)) == 0


def test_all_is_lost_without_a_checkpoint() -> None:
    assert steps_lost(steps("j.0", 1, 7, 0) + steps("j.1", 1, 2, 5_000)) == 7


def test_the_next_step_after_a_killed_worker_is_one_of_another_run() -> None:
    metrics = steps("j.0", 1, 7, 0) + steps("j.1", 6, 8, 5_000)
    assert seconds_to_next_step(metrics, 550, "j.0") == 4.45


def test_the_next_step_after_a_killed_server_is_simply_the_next() -> None:
    assert seconds_to_next_step(steps("j.0", 1, 7, 0), 250) == 0.05


def test_no_step_after_the_fault_has_no_figure() -> None:
    assert seconds_to_next_step(steps("j.0", 1, 7, 0), 10_000) is None
