"""No number that is none, and none that is absurd, gets an answer."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import typer

from starverse.main.commands import build
from starverse.main.plan_commands import build as plan_build
from starverse.model.bounds import spanned
from starverse.model.errors import BadInput
from starverse.physics.cooling.weather import XIAMEN, synthetic_year
from starverse.planning.checkpoints import plan_checkpoint
from starverse.planning.cooling import plan_cooling
from starverse.planning.faults import plan_faults
from starverse.planning.noise import plan_noise
from starverse.planning.power import plan_power
from starverse.planning.site import plan_site
from starverse.planning.site_file import Site, parse_site


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


@pytest.mark.parametrize(
    ("ask", "given", "says"),
    [
        (plan_cooling, {"power_w": 5_000}, r"at 106\.9 °C, and its table goes from 5 to 75"),
        (plan_cooling, {"power_w": 1e5}, "its table goes from 5 to 75"),
        (plan_cooling, {"inlet_c": 4}, "Raise `inlet_c`"),
        (plan_cooling, {"after_s": 10, "inlet_step_k": 60}, "`inlet_step_k`"),
        (plan_cooling, {"kind": "air", "power_w": 5_000}, "397 °C, and no card is known beyond -40 to 125"),
        (plan_cooling, {"kind": "single-phase", "inlet_c": 100}, "its table goes from 25 to 65 °C"),
        (plan_cooling, {"kind": "single-phase", "inlet_c": 66}, "its table goes from 25 to 65 °C"),
        (plan_cooling, {"limit_c": 200}, "`limit_c`"),
        (plan_faults, {"temperature_c": 200}, "by Arrhenius from -40 to 125 °C"),
        (plan_faults, {"than_c": 126}, "by Arrhenius from -40 to 125 °C"),
        (plan_faults, {"fleet": "titan-old", "temperature_c": 150}, "by Arrhenius from -40 to 125 °C"),
        (plan_faults, {"fleet": "titan-old", "age_years": 50}, "up to an age of 6 years"),
        (plan_faults, {"fleet": "titan-old", "days": 1_900}, "up to an age of 6 years"),
        (plan_power, {"system": "busbar", "rack_w": 1e7}, r"208,333 A at 48 V, and a busbar carries 2,000"),
        (plan_power, {"system": "busbar", "card": "b200", "nodes": 20}, "at most 96,000 W"),
        (plan_power, {"rack_w": 20_000}, "Leave out `rack_w`"),
    ],
)
def test_nothing_is_answered_beyond_what_is_known(ask: Any, given: dict[str, Any], says: str) -> None:
    """Each of these once had an answer: glycol at 107 °C, a bar that lost 4.3 MW, cards 50 years old."""
    with pytest.raises(BadInput, match=says):
        ask(**given)


def test_what_is_known_is_answered_up_to_its_ends() -> None:
    assert plan_faults("titan-old", age_years=5.9, days=30).stops > 0
    assert plan_faults(temperature_c=125).hotter > 1
    assert any("Arrhenius: dies of -40 to 125" in note for note in plan_faults().notes)
    assert plan_power("busbar", rack_w=96_000).lost_mw > 0
    assert plan_power("ac", rack_w=1e6).lost_mw > 0, "no busbar"


@pytest.mark.parametrize("change", ["plant.range_k=60", "plant.supply_c=70"])
def test_a_plants_coolant_stays_in_its_table_by_the_key_that_was_given(change: str) -> None:
    with pytest.raises(BadInput, match=r"pg25 goes from 5 to 75 °C") as no:
        plan_site(parse_site("", changes=[change]), synthetic_year(XIAMEN))
    assert change.partition("=")[0] in no.value.remedy


def test_a_range_is_said_so_that_its_ends_differ() -> None:
    assert spanned(0.3, 0.3) == "0.3"
    assert spanned(0.3, 0.30000001) == "0.3 to 0.30000001"
    with pytest.raises(BadInput, match=r"measured at 0\.3 L/min"):
        plan_cooling(flow_l_per_min=0.3)


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
