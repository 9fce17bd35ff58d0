"""Promised starts: when, on which cards, and that nothing but what must may make them later."""

import pytest
from tests.scheduler.pictures import Scene, queue


def test_of_e1_a_large_job_starts_by_the_time_that_the_first_seen_runs_must_end() -> None:
    picture = " ".join(f"{chr(97 + n)}......." for n in range(8))
    scene = Scene(picture, {chr(97 + n): 30 for n in range(8)})
    scene.ask("large", 64, minutes=60).decide()
    assert scene.promised("large") == 30
    for minute in range(30):
        scene.at(minute)
        scene.ask(f"small{minute}", 1, minutes=60).decide()
        assert scene.promised("large") == 30
        assert f"small{minute}" not in scene.starts, "it would still run when the large one is to start"
    assert "large" in scene.at(30).running()


def test_of_e1_small_jobs_that_are_over_in_time_run_before_the_large_one() -> None:
    scene = Scene("a. ..", {"a": 30}).ask("large", 4).decide()
    scene.ask("1", 1, minutes=29).ask("2", 1, minutes=31).decide()
    assert (scene.running(), scene.promised("large")) == ("1 a", 30)


@pytest.mark.parametrize("minutes", [1, 10, 29])
def test_of_e2_e3_and_e7_backfill_never_makes_a_promise_later(minutes: int) -> None:
    scene = Scene("aab. ....", {"a": 30, "b": 20}).ask("top", 8, minutes=60).decide()
    assert scene.promised("top") == 30
    for minute in range(30):
        scene.at(minute).ask(f"j{minute}", 1, minutes=minutes).ask(f"k{minute}", 3, minutes=minutes).decide()
        assert scene.promised("top") == 30
    assert scene.at(30).starts["top"] == 30


def test_of_e4_others_use_what_the_first_in_line_cannot() -> None:
    scene = Scene("aaa. ....", {"a": 60}).ask("head", 8, tenant="ann").ask("1", 5, minutes=60, tenant="bob")
    assert scene.decide().running() == "1 a"


def test_of_e5_one_that_waits_for_a_node_that_is_down_holds_up_nobody() -> None:
    scene = Scene("!!!! ....").ask("head", 8).ask("next", 4, minutes=90).decide()
    assert scene.running() == "next"
    scene.tell_back("n0").decide()
    assert scene.promised("head") == 90, "its claim is kept"


def test_of_e6_there_is_no_date_while_nodes_are_down_and_small_ones_run() -> None:
    scene = Scene(". . ! !").ask("top", 4).ask("1", 1).ask("2", 1).decide()
    assert scene.running() == "1 2"
    assert scene.promised("top") == 0
    assert "2 lost" in scene.why("top").causes[0].text
    assert scene.why("top").promised_ms == 0


@pytest.mark.xfail(
    strict=True, reason="a job to which no start could be promised goes before those that came later"
)
def test_one_that_can_be_promised_a_start_at_last_makes_no_other_of_its_class_later() -> None:
    scene = Scene("- a b c", {"a": 5, "b": 5, "c": 5}).ask("wide", 4).decide().ask("1", 2, minutes=5).decide()
    assert (scene.promised("wide"), scene.promised("1")) == (0, 5)
    scene.reopen("n0").decide()
    assert (scene.promised("wide"), scene.promised("1")) == (10, 5)


@pytest.mark.xfail(
    strict=True, reason="who comes to be the first in line is brought forward one decision later"
)
def test_of_c1_all_that_comes_forward_does_so_in_two_decisions() -> None:
    scene = Scene("- a b c...", {"a": 5, "b": 5, "c": 5})
    scene.ask("1", 4, minutes=5).decide().at(1).ask("2", 3, minutes=5).decide()
    assert scene.reopen("n0").decide().cycles <= 2


def test_a_run_that_ends_early_brings_the_first_in_line_forward() -> None:
    scene = Scene("aa", {"a": 60}).ask("1", 2).ask("2", 2).decide()
    assert (scene.promised("1"), scene.promised("2")) == (60, 120)
    scene.at(10).end("a").decide()
    assert scene.running() == "1"
    assert scene.promised("2") == 70


def test_a_job_of_better_class_goes_before_and_all_behind_it_are_promised_anew() -> None:
    scene = Scene("aa", {"a": 60}).ask("1", 2, priority="preemptible").ask("2", 2, priority="preemptible")
    scene.decide()
    assert (scene.promised("1"), scene.promised("2")) == (60, 120)
    scene.ask("better", 2).decide()
    assert [scene.promised(job) for job in ("better", "1", "2")] == [60, 120, 180]


def test_one_of_the_same_class_goes_behind() -> None:
    scene = Scene("aa", {"a": 60}).ask("1", 2).ask("2", 2).decide().ask("3", 1).decide()
    assert [scene.promised(job) for job in ("1", "2", "3")] == [60, 120, 180]


def test_a_promise_on_a_node_that_closes_is_made_anew_elsewhere() -> None:
    scene = Scene("aa bb", {"a": 10, "b": 20}).ask("1", 2).decide()
    assert scene.promised("1") == 10
    scene.close("n0").decide()
    assert scene.promised("1") == 20


def test_nobody_gives_way_on_a_node_or_a_card_that_nobody_else_can_have() -> None:
    scene = Scene(". #.").ask("1", 1, priority="preemptible", minutes=90).ask("2", 1, priority="preemptible")
    scene.decide().close("n0").decide().at(10).ask("3", 1).decide()
    assert scene.running() == "1 3", "only the run on the open node has left"


def test_what_was_promised_to_one_that_is_stopped_is_free_for_others() -> None:
    scene = Scene("a.", {"a": 60}).ask("1", 2).decide().ask("2", 1, minutes=90).decide()
    assert scene.promised("2") == 120
    scene.stop("1").decide()
    assert scene.running() == "2 a"


def test_one_that_starts_late_because_a_run_stayed_longer_starts_on_its_cards_all_the_same() -> None:
    scene = Scene("aa", {"a": 10}).ask("1", 2, minutes=30).ask("2", 2, minutes=30).decide()
    assert (scene.promised("1"), scene.promised("2")) == (10, 40)
    scene.minute = 15  # nobody has heard of the end of `a` yet
    scene.checker.excused = scene.checker.heard + 99
    scene.decide()
    scene.end("a").decide()
    assert scene.running() == "1"
    scene.at(45)
    assert scene.running() == "2"


def test_a_gang_in_one_rack_is_promised_a_rack_that_is_free_as_a_whole() -> None:
    scene = Scene("aa bb | cc dd", {"a": 10, "b": 40, "c": 20, "d": 30})
    scene.ask("1", 4, require="rack").decide()
    assert scene.promised("1") == 30
    assert scene.at(30).picture().endswith("| 11 11")


def test_one_behind_starts_in_the_gap_before_the_first_in_line_though_it_was_promised_a_time_after_it() -> (
    None
):
    scene = queue(Scene("aabb", {"a": 60, "b": 30}), "1=4/10 2=2/10").decide()
    assert (scene.promised("1"), scene.promised("2")) == (60, 70)
    scene.at(30)
    assert (scene.running(), scene.promised("1")) == ("2 a", 60)


@pytest.mark.xfail(
    strict=True, reason="starts are decided before the starts of the same instant are promised"
)
def test_of_e7_one_that_comes_at_the_same_instant_does_not_make_the_large_one_later() -> None:
    scene = Scene("a. ..", {"a": 30}).ask("large", 4).ask("1", 1, minutes=31).decide()
    assert scene.promised("large") == 30


@pytest.mark.xfail(
    strict=True, reason="a job minds its own claim, and only the first in line is brought forward"
)
def test_one_behind_the_first_in_line_starts_when_its_own_cards_and_others_that_nobody_claims_are_free() -> (
    None
):
    scene = Scene("aabb cde", {"a": 90, "b": 90, "c": 60, "d": 30, "e": 40})
    scene.ask("first", 4, minutes=10, require="node").decide().ask(
        "1", 2, minutes=600, require="node"
    ).decide()
    assert (scene.promised("first"), scene.promised("1")) == (90, 40)
    scene.at(35).end("c").decide()
    assert scene.starts.get("1") == 35


def test_one_that_loses_a_promised_node_has_another_for_the_same_time_and_nobody_moves() -> None:
    scene = Scene("aa bb cc dd", dict.fromkeys("abcd", 60))
    scene.ask("wide", 4, member=2, minutes=90).ask("next", 2, member=2, minutes=90).decide()
    wide, following = _promised_nodes(scene, "wide"), _promised_nodes(scene, "next")
    scene.close(min(wide)).decide()
    assert (scene.promised("wide"), scene.promised("next")) == (60, 60)
    assert len(_promised_nodes(scene, "wide") & wide) == 1, "what is left of its cards it keeps"
    assert _promised_nodes(scene, "next") == following


def _promised_nodes(scene: Scene, job: str) -> set[str]:
    lot = scene.state.view.promises[job].lot
    assert lot, "it has a promise"
    return {scene.state.spaces["cpu"].names[row] for row in lot.nodes.tolist()}
