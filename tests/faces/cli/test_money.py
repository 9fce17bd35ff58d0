"""The wallet, every movement of it, prices; and the nodes."""

from collections.abc import Callable

from tests.faces.cli.served import Shell
from tests.service.place import Place

Submit = Callable[..., str]


def test_a_new_wallet_shows_the_trial_credit(ada: Shell) -> None:
    said = ada("wallet").stdout
    assert said.startswith("available  ¥1,010.0000\n\n")
    rows = said.splitlines()[2:]
    assert rows[0].split() == ["WHEN", "WHAT", "AMOUNT", "AVAILABLE", "HELD", "CARD", "TIME", "RUN", "NOTE"]
    assert "top-up" in rows[1]
    assert "+¥1,000.0000" in rows[1]
    assert "trial credit" in rows[2]
    assert "+¥10.0000" in rows[2]


def test_a_running_job_holds_money_and_a_fault_is_credited(
    ada: Shell, submitted: Submit, place: Place
) -> None:
    job = submitted("--cards", "2", "--", "train.py")
    place.reach(job, "running")
    said = ada("wallet").stdout
    assert "held       ¥" in said
    assert "are used" in said
    assert "spending   ¥7,200.0000 an hour; at this rate it is empty in " in said
    place.engine.end(f"{job}.0", how="lost")
    place.until(lambda: f"{job}.1" in place.engine.alive)
    rows = ada("wallet").stdout.splitlines()
    credit = next(row for row in rows if " credit " in row and "trial" not in row)
    assert "+¥" in credit
    assert f"{job}.0" in credit
    charged = next(row for row in rows if "charged" in row)
    assert " -¥" in charged
    assert "+¥" not in charged


def test_the_statement_adds_up_page_by_page(ada: Shell, submitted: Submit, place: Place) -> None:
    for _ in range(3):
        job = submitted("--", "train.py")
        place.reach(job, "running")
        place.engine.end(f"{job}.0")
        place.reach(job, "ended")
    everything = ada.json("wallet", "--all")
    items = everything["statement"]["items"]
    assert sum(each["wallet"] for each in items) == everything["wallet"]["available"]
    assert sum(each["held"] for each in items) == everything["wallet"]["held"] == 0
    short = ada.json("wallet", "--limit", "2")["statement"]
    assert short["items"] == items[:2]
    assert short["cursor"]
    assert "There are older ones" in ada("wallet", "--limit", "2").stdout


def test_who_may_not_see_the_movements_still_sees_what_there_is(ada: Shell, stranger: Shell) -> None:
    stranger("register", "bob@example.com", "--password-stdin", typed="correct horse battery")
    project = ada.json("project", "list")[0]["project"]
    ada("project", "invite", project, "bob@example.com")
    said = stranger("wallet", "--project", project)
    assert "available  ¥1,010.0000" in said.stdout
    assert "you are member" in said.stderr
    assert stranger.json("wallet", "--project", project)["statement"] is None


def test_prices_are_listed(ada: Shell) -> None:
    assert "¥3,600.0000" in ada("prices").stdout
    assert ada.json("prices")[0]["price"] == 3_600_000_000


def test_a_node_is_cordoned_drained_and_opened_by_an_operator(ada: Shell, operator: Shell) -> None:
    assert ada("nodes").stdout.splitlines()[1].split() == ["here", "cpu", "2", "0", "free"]
    assert operator("node", "cordon", "here").stdout == "here takes no new runs.\n"
    assert "cordoned" in ada("nodes").stdout
    assert operator.json("node", "uncordon", "here")["cordoned"] is False
    assert "asked to save and leave" in operator("node", "drain", "here").stdout
    operator("node", "uncordon", "here")
    operator("node", "cordon", "absent", code=4)


def test_what_one_may_not_do_has_an_exit_code_of_its_own(ada: Shell) -> None:
    for words in (["node", "cordon", "here"], ["jobs", "--everyone"]):
        assert ada.json(*words, code=3)["error"]["kind"] == "not-allowed"
