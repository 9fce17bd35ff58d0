"""The catalogues: the same sentences in both languages, all that are used and none that are not."""

import re
from pathlib import Path
from string import Formatter
from typing import Any, get_args

import pytest

from starverse.control import rules
from starverse.faces.console import statement, wishes, words
from starverse.faces.console.cluster_picture import STATES
from starverse.faces.console.jobs import PHASES
from starverse.faces.console.words import catalogue, translate
from starverse.model import events as ev
from starverse.model.allocation import Share
from starverse.model.job import How, JobSpec, Launch, Outcome, Phase, Priority, StopWhy
from starverse.model.tenant import Role
from starverse.service.timeline import moment

SOURCES = sorted(Path(words.__file__).parent.glob("*.py"))
KEY = re.compile(r"[\"']([a-z_]+(?:\.[a-z_]+)+)[\"']")
LEGEND = ("start", "work", "lost", "saved", "fault")
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def made_at_run_time() -> set[str]:
    """Keys that are put together from parts."""
    acts = [
        f"{what}{end}" for what in ("cordon", "drain", "uncordon") for end in ("", "_title", "_text", "_done")
    ]
    families = {
        "account": ["look_auto", "look_light", "look_dark"],
        "cluster": [*(f"legend_{state}" for state in STATES), "cordoned", "lost"],
        "jobs": [f"filter_{phase or 'all'}" for phase in PHASES] + [f"none_{phase}" for phase in PHASES[1:]],
        "launch": get_args(Launch),
        "lives": [f"end_{how}" for how in get_args(How)] + [f"legend_{kind}" for kind in LEGEND],
        "nodes": acts,
        "overview": ["running", "waiting", "ended"],
        "posting": statement.KINDS,
        "priority": get_args(Priority),
        "role": get_args(Role),
        "sign_in": ["sign_in", "register", "token", "to_sign_in", "to_register", "to_token"],
        "state": [*get_args(Phase), *get_args(Outcome), "ready", "cordoned", "lost", "resting"],
        "submit": [f"way_{way}" for way in wishes.WAYS],
        "unit": ["s", "min", "h", "d"],
    }
    places = {f"{place}.place" for place in ("overview", "submit", "jobs", "bookings", "wallet", "nodes")}
    return places | {f"{family}.{name}" for family, names in families.items() for name in names}


def written_out() -> set[str]:
    """Keys that stand in the source as they are: for `count`, both its forms."""
    found = {key for path in SOURCES for key in KEY.findall(path.read_text())}
    return found | {f"{key}.{form}" for key in found for form in ("one", "many")}


def test_both_languages_have_the_same_sentences_with_the_same_places_in_them() -> None:
    english, chinese = catalogue("en"), catalogue("zh")
    assert english.keys() == chinese.keys()
    assert {key for key in english if fields(english[key]) != fields(chinese[key])} == set()


def test_every_sentence_that_is_said_exists() -> None:
    english = catalogue("en")
    sections = {key.partition(".")[0] for key in english}
    said = {key for key in written_out() if key.partition(".")[0] in sections}
    plain = {key for key in said if not key.endswith((".one", ".many")) and f"{key}.one" not in english}
    assert {key for key in plain if key not in english} == set()
    assert made_at_run_time() <= english.keys()


def test_no_sentence_is_kept_that_nobody_says() -> None:
    assert catalogue("en").keys() - written_out() - made_at_run_time() == set()


def test_chinese_sentences_are_chinese() -> None:
    names = {"head.other_language", "nodes.rank", "lives.rank", "unit.per_hour"}
    assert {key for key, text in catalogue("zh").items() if not CHINESE.search(text)} - names == set()


EVENTS: list[Any] = [
    ev.JobSubmitted(JobSpec("j-1", "t-1", cards_min=1000, cards_max=2000, price=400_000)),
    ev.JobStopAsked("j-1"),
    ev.RunPlaced("j-1.0", "j-1", 0, (Share.of("node-1", [0, 1]),), 0),
    ev.RunStarted("j-1.0", 0),
    ev.RunResumed("j-1.0", 151, 0),
    ev.CheckpointSaved("j-1.0", 150, 0),
    ev.FaultInjected("j-1.0", 1),
    *(ev.RunStopAsked("j-1.0", why, 0) for why in get_args(StopWhy)),
    *(ev.RunEnded("j-1.0", 0, how, 9, 1) for how in get_args(How)),
    ev.RunEnded("j-1.0", 0, "exit", 0),
    ev.RunEnded("j-1.0", 0, "exit", 85),
    ev.JobRequeued("j-1", "platform fault: rank 1 killed by signal 9"),
    ev.JobRequeued("j-1", "exit code 1, tried again"),
    ev.JobEnded("j-1", "done"),
    ev.JobEnded("j-1", "failed", "rank 0 exit code 1, 3 runs tried"),
    ev.JobEnded("j-1", "stopped", "stopped on request"),
    ev.JobEnded("j-1", "expired", "its time limit is used up"),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_what_happens_to_a_job_is_told_in_chinese_too(event: Any) -> None:
    told = moment(1, 0, event)
    assert told is not None
    chinese = translate("zh", told.text)
    assert CHINESE.search(chinese)
    assert not re.search(r"[a-z]{4,}", chinese.replace("rank", "").replace("node-1", "")), chinese


def test_reasons_of_the_loop_are_known_in_chinese() -> None:
    written = Path(rules.__file__).read_text() + Path(ev.__file__).read_text()
    reasons = re.findall(r"\"([a-z]+ [a-z ]{8,}[a-z])\"", written)
    assert len(reasons) >= 8
    assert [reason for reason in reasons if not CHINESE.search(translate("zh", reason))] == []


SAID = [
    ("It needs 2 cpu cards at once; 1 is free.", "需要同时有 2 张 cpu 卡，现在空闲 1 张。"),
    ("It would start now with 1 card.", "改为 1 张卡即可立即开始。"),
    (
        "It needs 9 h cards at once; 5 are free, 8 cordoned, 4 reserved in 5 h; largest block 6 in one rack.",
        "需要同时有 9 张 h 卡：空闲 5 张，停止接收 8 张，5 h后被预订 4 张；同一 rack 中最多 6 张。",
    ),
    (
        "It needs 8 cpu cards at once; 0 are free, 2 lost, 1 kept for promised starts in 12.0 s.",
        "需要同时有 8 张 cpu 卡：空闲 0 张，节点失联 2 张，为 12.0 秒后已承诺的任务保留 1 张。",
    ),
    (
        "To be had: all 2 cards from 2026-12-03 03:43 UTC on or 1 cards at the time asked.",
        "可以预订：从 2026-12-03 03:43 UTC 起全部 2 张，或在所要求的时间 1 张。",
    ),
    ("This cluster has no level 'rak'.", "本集群没有层级“rak”。"),
    ("Did you mean 'rack'? There are: pod, rack, node.", "是否指“rack”？有：pod, rack, node。"),
    (
        "The wallet holds ¥1.0000; all that is booked costs ¥2.0000.",
        "钱包中有 ¥1.0000；全部预订的费用为 ¥2.0000。",
    ),
    ("3 jobs stand before it.", "前面还有 3 个任务。"),
    ("Waits again: platform fault: rank 1 killed by signal 9.", "重新排队：平台故障：rank 1 被信号 9 终止。"),
    ("Charged ¥0.0054 for 39.3 s of card time.", "扣费 ¥0.0054，卡时 39.3 秒。"),
    ("The e-mail address or the password is wrong.", "邮箱或密码不正确。"),
    ("Whatever else it may say.", "Whatever else it may say."),
]


@pytest.mark.parametrize(("sentence", "chinese"), SAID)
def test_the_server_is_understood_in_chinese(sentence: str, chinese: str) -> None:
    assert translate("zh", sentence) == chinese
    assert translate("en", sentence) == sentence
