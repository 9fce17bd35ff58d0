"""Booking cards and pulling the operator's levers, at the command line."""

import shlex
from pathlib import Path

from tests.faces.cli.served import Shell


def test_cards_are_booked_listed_used_and_given_back(ada: Shell, operator: Shell) -> None:
    words = ["reserve", "--cards", "2", "--from", "1h", "--for", "2m", "--name", "night"]
    assert ada(*words, "--dry-run").stdout == "It can be had, 1 time; its cards cost ¥240.0000.\n"
    assert "Nothing is booked." in ada("reservations").stdout
    said = ada(*words).stdout
    assert said.startswith("Reserved v-")
    assert "2 × cpu, 20" in said
    name = said.split()[1].rstrip(":")
    (row,) = ada("reservations").stdout.splitlines()[1:]
    assert row.split()[:4] == [name, "night", "2", "cpu"]
    assert name in operator("reservations", "--all").stdout
    refused = ada(*words, code=5).output
    assert "Reservation night cannot be had as asked. To be had: all 2 cards from 20" in refused
    assert "It cannot be had as asked. To be had: all 2 cards from" in ada(*words, "--dry-run").stdout
    job = ada.json("submit", "--reservation", "night", "--", "train.py")
    assert job["reservation"] == name
    assert f"inside   reservation {name}" in ada("job", "show", job["job"]).stdout
    assert "begins at" in ada("job", "why", job["job"]).stdout
    shown = ada("reservation", "show", "night").stdout
    assert shown.startswith("night  booked\n")
    assert "nodes        here" in shown
    assert ada("reservation", "cancel", "night").stdout == f"{name} is cancelled.\n"
    assert "There is no reservation 'night'." in ada("reservation", "show", "night", code=4).output
    assert "Nothing is booked." in ada("reservations").stdout
    assert "None has ended." in operator("reservations", "--ended").stdout
    for shell, words in ((ada, ["--ended"]), (operator, ["--ended", "--all"])):
        (row,) = shell("reservations", *words).stdout.splitlines()[1:]
        assert row.startswith(name)
        assert "cancelled 20" in row
    shown = ada("reservation", "show", name).stdout
    assert shown.startswith("night  cancelled 20")
    assert "was booked   20" in shown


def test_a_booking_recurs_by_the_clocks_of_a_zone(ada: Shell) -> None:
    words = ["--cards", "1", "--from", "1h", "--for", "2m", "--repeat", "daily", "--until", "50h"]
    made = ada.json("reserve", *words, "--zone", "Asia/Shanghai")
    assert (made["windows_left"], made["zone"]) == (3, "Asia/Shanghai")
    assert (
        "recurs       daily, by the clocks of Asia/Shanghai"
        in ada("reservation", "show", made["reservation"]).stdout
    )
    assert "is no way to recur" in ada("reserve", *words[:6], "--repeat", "often", code=2).output
    assert "no time zone 'Nowhere'" in ada("reserve", *words, "--zone", "Nowhere", code=2).output


def test_the_operator_sets_limits_and_nobody_else(ada: Shell, operator: Shell) -> None:
    tenant = ada.json("wallet")["wallet"]["tenant"]
    assert "No quotas" in operator("limits", "show").stdout
    operator("limits", "quota", "lab", "--guaranteed", "2")
    said = operator("limits", "quota", tenant, "--parent", "lab", "--guaranteed", "1", "--borrow-max", "0")
    assert said.stdout == f"{tenant} is guaranteed 1 cards; 1 are left to it now.\n"
    made = operator.json("limits", "quota", tenant, "--weight", "3")
    assert (made["parent"], made["guaranteed"], made["borrow_max"], made["weight"]) == ("lab", 1, 0, 3)
    assert operator("limits", "licence", "solver", "4").stdout == "There are 4 of solver; 0 are used.\n"
    assert "No node hangs on a feed 'row-1'" in operator("limits", "budget", "row-1", "900", code=4).output
    shown = operator("limits", "show").stdout
    assert f"· {tenant}" in shown
    assert "solver" in shown
    for words in (
        ["show"],
        ["quota", tenant, "--weight", "9"],
        ["quota", tenant, "--remove"],
        ["licence", "x", "1"],
        ["budget", "r", "any"],
    ):
        assert "That is for operators." in ada("limits", *words, code=3).output
    assert (
        "removed or set, not both"
        in operator("limits", "quota", tenant, "--remove", "--weight", "2", code=2).output
    )
    assert "would hang in the air" in operator("limits", "quota", "lab", "--remove", code=5).output
    assert operator("limits", "quota", tenant, "--remove").stdout == f"{tenant} has no quota any more.\n"
    assert operator.json("limits", "quota", "lab", "--remove") == {"tenant": "lab", "removed": True}
    assert "No quotas" in operator("limits", "show").stdout
    assert "is no bound" in operator("limits", "budget", "row-1", "much", code=2).output


def test_the_commands_that_operate_md_shows_are_understood(ada: Shell, operator: Shell) -> None:
    page = (Path(__file__).parents[3] / "docs" / "operate.md").read_text()
    tenant = ada.json("wallet")["wallet"]["tenant"]
    shown = [line for line in page.splitlines() if line.startswith(("$ starverse limits", "$ starverse res"))]
    assert len(shown) >= 6
    for each in shown:
        words = shlex.split(each.replace("t-4h7kq2mxwp", tenant), comments=True)[2:]
        no_feeds_here = "budget" in words
        operator(*words, code=4 if no_feeds_here else 0)
