"""No number that is none, and none that is absurd, gets an answer."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import typer

from starverse.main.commands import build
from starverse.main.plan_commands import build as plan_build
from starverse.model.errors import BadInput
from starverse.physics.cooling.weather import XIAMEN, synthetic_year
from starverse.planning.checkpoints import plan_checkpoint
from starverse.planning.cooling import plan_cooling
from starverse.planning.faults import plan_faults
from starverse.planning.noise import plan_noise
from starverse.planning.site import plan_site
from starverse.planning.site_file import Site


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e30", "-1e30"])
@pytest.mark.parametrize(
    ("ask", "name"),
    [
        *((plan_faults, name) for name in ("days", "age_years", "temperature_c")),
        *((plan_checkpoint, name) for name in ("parameters", "volume_bytes_per_s", "stops_per_hour")),
        *((plan_checkpoint, name) for name in ("memory_survives", "restart_s", "least_interval_s")),
        *((plan_cooling, name) for name in ("power_w", "inlet_c", "flow_l_per_min", "limit_c")),
        *((plan_cooling, name) for name in ("die_k_per_w", "loop_pa", "pump_efficiency", "area_m2")),
        *((plan_cooling, name) for name in ("air_flow_share",)),
        *((plan_cooling, name) for name in ("air_share", "sink_j_per_k", "approach_k", "pump_speed_share")),
        *((plan_cooling, name) for name in ("loop_l_per_kw", "tank_l_per_kw", "capacity_share")),
        *((plan_noise, name) for name in ("full_db", "speed_share", "number_share", "target_db")),
    ],
)
def test_no_absurd_number_is_answered(ask: Any, name: str, value: str) -> None:
    with pytest.raises(BadInput):
        ask(**{name: float(value)})


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "1e30"])
def test_no_absurd_buffer_is_answered(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        build()(["plan", "collective", "ethernet:8", "--megabytes", value, "--json"])
    assert end.value.code == 2
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "bad-input"


LAWFUL: dict[tuple[str, str], dict[str, str]] = {
    ("cooling", "--inlet-c"): {"-1": "coolant and air may be below freezing"},
    ("cooling", "--inlet-step-k"): {"-1": "what enters may get colder"},
    ("power", "--temperature-c"): {"-1": "a card may be below freezing"},
    ("faults", "--temperature-c"): {"-1": "a card may be below freezing"},
    ("faults", "--than-c"): {"-1": "a card may be below freezing"},
}
"""Numbers that are lawful all the same, and why."""


def numbers() -> Iterator[tuple[str, str, str]]:
    """Every option of every `starverse plan` command that takes a number, with each wrong one."""
    for name, command in typer.main.get_command(plan_build()).commands.items():  # type: ignore[attr-defined]
        for option in command.params:
            read = option.type_descriptor.annotation
            if read in (float, int, list[float], list[int]):
                # Whole numbers are read by their digits, so that 1e308 alone would not reach their bounds.
                whole = () if read in (float, list[float]) else (str(10**17),)
                for value in ("nan", "inf", "-1", "1e308", *whole):
                    if value not in LAWFUL.get((name, option.opts[0]), {}):
                        yield name, option.opts[0], value


def test_the_walk_finds_the_numbers() -> None:
    """Were it to find none, the test below would say nothing."""
    assert {(name, option) for name, option, _ in numbers()} > {
        ("collective", "--loss"),
        ("train", "--tokens"),
        ("train", "--batch"),
        ("cooling", "--power-w"),
        ("cooling", "--nodes"),
        ("cooling", "--capacity-share"),
        ("noise", "--full-db"),
        ("noise", "--speed-share"),
        ("noise", "--number-share"),
        ("noise", "--target-db"),
        ("cooling", "--after-s"),
        ("cooling", "--cdu-share"),
        ("power", "--cap-w"),
        ("faults", "--tolerated-s"),
        ("checkpoint", "--cards"),
        ("checkpoint", "--restart-s"),
    }


@pytest.mark.parametrize(("command", "option", "value"), list(numbers()))
def test_every_number_of_every_plan_is_checked(
    command: str, option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        build()(["plan", command, f"{option}={value}"])
    said = capsys.readouterr()
    assert end.value.code == 2, said.out
    assert not said.out
    assert "Traceback" not in said.err
    assert said.err.strip().endswith(".")


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "1e308"])
@pytest.mark.parametrize("part", ["cards", "plant", "electrical", "money"])
def test_a_site_built_directly_is_checked_too(part: str, value: str) -> None:
    """Not only one that was read from a file."""
    whole = Site()
    table = getattr(whole, part)
    for name, given in msgspec.structs.asdict(table).items():
        if type(given) is float:
            wrong = msgspec.structs.replace(table, **{name: float(value)})
            with pytest.raises(BadInput, match=rf"{part}\.{name}"):
                plan_site(msgspec.structs.replace(whole, **{part: wrong}), synthetic_year(XIAMEN))
