"""Questions of cooling, faults and checkpoints get answers with equation and source, or one sentence."""

import math
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from starverse.model.errors import BadInput
from starverse.physics.training.published import software
from starverse.planning.checkpoints import plan_checkpoint
from starverse.planning.cooling import plan_cooling
from starverse.planning.faults import plan_faults
from starverse.planning.noise import plan_noise


@pytest.mark.parametrize("ask", [plan_cooling, plan_faults, plan_checkpoint, plan_noise])
def test_an_answer_without_any_input_names_equation_and_source(ask: Any) -> None:
    said = msgspec.json.decode(msgspec.json.encode(ask()))
    assert said["equation"]
    assert said["source"]


def test_700_w_on_a_cold_plate_at_32_c_is_63_c() -> None:
    """Claim C4: a cold plate with 32 °C coolant gives 63.1 °C."""
    assert plan_cooling("cold-plate", 700, 32).die_c == pytest.approx(63.1, abs=0.2)


def test_63_c_in_a_fluid_that_boils_at_50_c_is_not_single_phase() -> None:
    with pytest.raises(BadInput, match="no single-phase"):
        plan_cooling("single-phase", 700, 43, coolant="novec-649")
    assert plan_cooling("two-phase", 700).coolant_in_c == pytest.approx(49.05)


def test_air_lets_the_same_card_reach_83_c() -> None:
    assert plan_cooling("air", 700, 32).die_c == pytest.approx(83, abs=0.2)


def test_more_flow_cools_and_costs_pump_power() -> None:
    slow, fast = plan_cooling(flow_l_per_min=0.6), plan_cooling(flow_l_per_min=2.0)
    assert fast.die_c < slow.die_c
    assert fast.pump_w_per_card > slow.pump_w_per_card
    assert slow.seconds_to_limit is not None
    assert 5 < slow.seconds_to_limit < 17


def test_a_slower_pump_takes_the_cube_of_its_speed() -> None:
    full, slow = plan_cooling(), plan_cooling(pump_speed_share=0.5)
    assert slow.flow_l_per_min == pytest.approx(0.5)
    assert slow.pump_w_per_card == pytest.approx(full.pump_w_per_card / 8)
    assert slow.delay_s == pytest.approx(84), "0.7 L at 0.5 L/min"
    assert slow.die_c > full.die_c


def test_what_goes_to_rear_doors_does_not_warm_the_plate() -> None:
    found = plan_cooling(air_share=0.1)
    assert found.to_rear_door_w == pytest.approx(70)
    assert found.die_c == pytest.approx(plan_cooling(power_w=630).die_c)
    assert found.facility_in_c == 28


def test_what_enters_a_loop_comes_round_after_its_volume_over_flow() -> None:
    """0.7 L at 1 L/min: 42 s of plug flow."""
    early, late = (plan_cooling(after_s=seconds, inlet_step_k=6) for seconds in (41, 43))
    assert (early.around_c, late.around_c) == pytest.approx((32, 38))
    assert plan_cooling().around_c is None
    with pytest.raises(BadInput, match="without `after_s`"):
        plan_cooling(inlet_step_k=6)


def test_a_cdu_is_asked_by_its_name_and_share() -> None:
    """At design as in its record: 3 K and 74 kW; at half, an eighth of the power and less approach."""
    full, half = (plan_cooling(cdu="deschutes", cdu_share=share) for share in (1.0, 0.5))
    assert full.cdu is not None
    assert half.cdu is not None
    assert (full.cdu.approach_k, full.cdu.pump_kw, full.cdu.heat_kw) == pytest.approx((3, 74, 2_000))
    assert half.cdu.pump_kw == pytest.approx(74 / 8)
    assert half.cdu.approach_k < 3
    assert half.facility_in_c == pytest.approx(32 - half.cdu.approach_k)
    other = plan_cooling(cdu="xdu1350").cdu
    assert other is not None
    assert other.approach_k == pytest.approx(4)
    with pytest.raises(BadInput, match="no CDU 'deschute'") as refused:
        plan_cooling(cdu="deschute")
    assert "deschutes" in refused.value.remedy
    with pytest.raises(BadInput, match="both say an approach"):
        plan_cooling(cdu="deschutes", approach_k=5)


def test_a_link_that_flaps_is_asked_with_the_faults() -> None:
    found = plan_faults(flap_up_s=30, flap_down_s=2, tolerated_s=20).flapping
    assert found is not None
    assert found.stops_per_h == pytest.approx(112.5 * math.exp(-10))
    assert plan_faults().flapping is None
    with pytest.raises(BadInput, match="link that flaps"):
        plan_faults(tolerated_s=20)


def test_nodes_want_more_cooling_than_their_heat() -> None:
    """Eight cards of 700 W, 1.6 kW beside, and with air a tenth for fans: 7.92 kW, C2's 8 kW."""
    air, plate = plan_cooling("air", nodes=4), plan_cooling(nodes=4)
    assert air.heat_kw == pytest.approx(4 * 7.92)
    assert air.capacity_kw == pytest.approx(4 * 7.92 * 1.4)
    assert plate.heat_kw == pytest.approx(4 * 7.2), "no fans"
    assert plan_cooling("air", capacity_share=1).capacity_kw == pytest.approx(7.92)
    assert "10 % for fans" in air.notes[-1]
    assert "fans" not in plate.notes[-1]


def test_slower_fans_are_much_quieter_than_fewer() -> None:
    """The fifth power of the speed, the first of the number; C5's 30 dB are a thousandth of the sound."""
    assert plan_noise().level_db == 82
    assert plan_noise(speed_share=0.1).level_db == pytest.approx(32)
    assert plan_noise(number_share=0.1).level_db == pytest.approx(72)
    assert plan_noise(speed_share=0.5, number_share=0.5).less_db == pytest.approx(60 * math.log10(2))
    asked = plan_noise(target_db=52)
    assert asked.met is False
    assert asked.number_alone_share == pytest.approx(1e-3)
    assert asked.speed_alone_share == pytest.approx(10**-0.6)
    assert plan_noise(speed_share=0.25, target_db=52).met
    assert not plan_noise(speed_share=0.26, target_db=52).met
    with pytest.raises(BadInput, match="no fan law reaches there") as refused:
        plan_noise(target_db=0)
    assert refused.value.remedy == "Give 17 to 97, or another `full_db`."
    for level_db in (17, 97):
        plan_noise(target_db=level_db)


def test_a_tank_lasts_by_what_it_holds() -> None:
    small, large = (plan_cooling("single-phase", tank_l_per_kw=litres) for litres in (5, 10))
    assert small.seconds_to_limit is not None
    assert large.seconds_to_limit == pytest.approx(2 * small.seconds_to_limit)
    assert small.seconds_to_limit > 100


def test_no_time_to_the_limit_says_which_no_it_is() -> None:
    """A dash alone meant three things."""
    past = plan_cooling("air", 800, 35)
    assert past.seconds_to_limit is None
    assert any("past 87 °C" in note for note in past.notes)
    boils = plan_cooling("two-phase")
    assert boils.seconds_to_limit is None
    assert any("not modelled" in note for note in boils.notes)
    assert plan_cooling().seconds_to_limit is not None
    assert not any("limit" in note for note in plan_cooling().notes)


def test_an_idle_cards_loop_and_tank_hold_what_full_load_needs() -> None:
    """Idling drains no loop: 0.7 L at 1 L/min come round after 42 s at any load."""
    idle, busy = plan_cooling(power_w=80, full_w=700), plan_cooling(power_w=700)
    assert idle.delay_s == pytest.approx(42)
    assert busy.delay_s == pytest.approx(42)
    assert plan_cooling(power_w=80, full_w=700, air_share=0.1).delay_s == pytest.approx(0.9 * 42)
    few, many = (plan_cooling("single-phase", power_w=350, full_w=full) for full in (350, 700))
    assert few.seconds_to_limit is not None
    assert many.seconds_to_limit == pytest.approx(2 * few.seconds_to_limit)
    assert plan_cooling(power_w=80, full_w=700, nodes=4).capacity_kw == plan_cooling(nodes=4).capacity_kw
    with pytest.raises(BadInput, match="`full_w`"):
        plan_cooling(power_w=700, full_w=80)
    with pytest.raises(BadInput, match="draws no 700 W"):
        plan_cooling(power_w=700, full_w=80)


def test_what_boils_has_no_inlet() -> None:
    with pytest.raises(BadInput, match="`inlet_c` does not apply to two-phase"):
        plan_cooling("two-phase", inlet_c=60)


def test_an_option_of_another_kind_is_refused() -> None:
    with pytest.raises(BadInput, match="`tank_l_per_kw` does not apply to cold-plate"):
        plan_cooling(tank_l_per_kw=20)
    with pytest.raises(BadInput, match="conducts"):
        plan_cooling("single-phase", coolant="water")


def test_llama3s_rates_stop_30000_cards_14_times_a_day() -> None:
    found = plan_faults(cards=30_000, days=30)
    assert found.stops_per_day == pytest.approx(14.2, abs=0.05)
    assert found.by_cause[0].cause == "faulty card"
    assert found.by_cause[0].share == pytest.approx(148 / 419)
    assert sum(row.stops for row in found.by_cause) == pytest.approx(found.stops)


def test_20_k_more_is_not_four_times_for_a_whole_fleet() -> None:
    """C1: x4 only for thermally activated causes; with 24 % of them thermal a fleet fails 1.7 times as
    often."""
    assert plan_faults(temperature_c=83).hotter == pytest.approx(0.761 + 0.239 * 3.88, abs=0.01)


def test_shared_equipment_adds_stops() -> None:
    assert plan_faults(shared=True).stops > plan_faults().stops
    assert any("assumed" in note for note in plan_faults(shared=True).notes)


def test_saving_to_memory_too_keeps_more_of_the_time() -> None:
    both, one = plan_checkpoint(memory_survives=0.9), plan_checkpoint()
    assert both.ettr > one.ettr > plan_checkpoint(asynchronous=False).ettr
    assert len(both.levels) == 2


def test_no_save_is_due_before_the_last_is_written() -> None:
    slow = plan_checkpoint(volume_bytes_per_s=5e10)
    assert slow.levels[0].interval_s >= slow.state_bytes / 5e10


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"cards": 300_000},
        {"cards": 1_000_000},
        {"volume_bytes_per_s": 5e9},
        {"stall_s": 60, "stops_per_hour": 30},
    ],
)
def test_one_answer_has_one_ettr(asked: dict[str, float]) -> None:
    """With one level, ETTR and goodput are of one model: 0.372 and 0.190 once stood side by side."""
    found = plan_checkpoint(**asked)  # type: ignore[arg-type]
    assert found.ettr == pytest.approx(found.goodput_one_level, rel=0.05)
    save_s = found.state_bytes / asked.get("volume_bytes_per_s", 2e12)
    assert min(found.daly_interval_s, found.young_interval_s, found.levels[0].interval_s) >= save_s


def test_a_job_that_gets_nowhere_is_refused_with_what_would_help() -> None:
    with pytest.raises(
        BadInput, match=r"stops every 0\.036 s, with saves of 2\.83 s and restarts of 300 s"
    ) as no:
        plan_checkpoint(stops_per_hour=1e5)
    assert "`restart_s`" in no.value.remedy


def test_a_name_that_is_nearly_right_is_found() -> None:
    for ask, near in (
        (lambda: plan_cooling("single-phase", coolant="novec649"), "novec-649"),
        (lambda: plan_cooling("coldplate"), "cold-plate"),
        (lambda: plan_cooling(coolant="pg-25"), "pg25"),
        (lambda: plan_faults("llama-3"), "llama3"),
        (lambda: software("megatron"), "megatron"),
    ):
        with pytest.raises(BadInput) as no:
            ask()
        assert no.value.remedy.startswith(f"Did you mean '{near}")


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: plan_cooling("peltier"), "cold-plate"),
        (lambda: plan_cooling(power_w=0), "power_w"),
        (lambda: plan_cooling(coolant="water"), "pg25"),
        (lambda: plan_cooling(flow_l_per_min=9), "flow_l_per_min"),
        (lambda: plan_cooling(nodes=0), "nodes"),
        (lambda: plan_cooling(capacity_share=0.9), "capacity_share"),
        (lambda: plan_noise(speed_share=0), "speed_share"),
        (lambda: plan_noise(number_share=0), "number_share"),
        (lambda: plan_faults("mars"), "llama3"),
        (lambda: plan_faults(days=0), "days"),
        (lambda: plan_faults(age_years=-1), "age_years"),
        (lambda: plan_cooling(power_w=float("nan")), "power_w"),
        (lambda: plan_checkpoint(memory_survives=1), "below 1"),
        (lambda: plan_checkpoint(stops_per_hour=0), "stops_per_hour"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(ask: Any, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        ask()


def test_asking_compiles_nothing() -> None:
    """The command line answers at once: numba, matplotlib, psychrolib and CoolProp stay out."""
    rooms = "site, site_file, site_picture, cooling, faults, checkpoints, noise"
    code = f"from starverse.planning import {rooms}; import sys; print(*sorted(sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = {name.partition(".")[0] for name in said.stdout.split()}
    assert not loaded & {"numba", "matplotlib", "psychrolib", "CoolProp", "scipy"}
