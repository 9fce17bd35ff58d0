"""Loops, exchangers, towers and chillers: the laws they follow, and published machines."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starverse.model.errors import BadInput
from starverse.physics.cooling.chiller import Chiller, carnot_chiller, chiller_power_w
from starverse.physics.cooling.exchanger import (
    CDUS,
    DESCHUTES,
    cdu_pump_w,
    cdu_state,
    effectiveness,
    facility_supply_c,
    ntu_for,
)
from starverse.physics.cooling.loop import (
    Pump,
    Resistance,
    affinity,
    delayed_c,
    facility_loss_rise_k,
    pipe_drop_pa,
    pressure_drop_pa,
    pump_power_w,
)
from starverse.physics.cooling.plant import LiquidPlant, PumpDuty, plant_power
from starverse.physics.cooling.rear_door import RearDoors, door_fans_w, rear_door_heat_w, rear_doors
from starverse.physics.cooling.rejection import DryCooler, Tower, dry_cooler, tower


def test_pumps_follow_the_affinity_laws() -> None:
    pump = Pump(0.03, 300e3, 0.65)
    flow, head, power = affinity(pump, [1.0, 0.5])
    assert flow.tolist() == [0.03, 0.015]
    assert head.tolist() == [300e3, 75e3]
    assert power.tolist() == pytest.approx([pump.design_w, pump.design_w / 8])


def test_a_deschutes_pumps_3_7_percent_of_its_heat() -> None:
    """74 kW of 2 MW, and an eighth of that at half flow."""
    assert float(cdu_pump_w(DESCHUTES, 1.0)) / DESCHUTES.heat_w == pytest.approx(0.037)
    assert float(cdu_pump_w(DESCHUTES, 0.5)) == pytest.approx(74e3 / 8)


@pytest.mark.parametrize("cdu", CDUS.values(), ids=CDUS)
def test_a_cdu_meets_its_approach_at_design(cdu: Any) -> None:
    supply = 26.8
    back = supply + cdu.approach_k + cdu.heat_w / (cdu.rack_kg_per_s * cdu.rack_j_per_kg_k)
    state = cdu_state(cdu, back, supply)
    assert float(state.heat_w) == pytest.approx(cdu.heat_w, rel=1e-6)
    assert float(state.rack_supply_c) == pytest.approx(supply + cdu.approach_k, abs=1e-6)
    assert float(facility_supply_c(cdu, supply + cdu.approach_k, 1.0)) == pytest.approx(supply, abs=1e-6)
    part = cdu_state(cdu, back, float(facility_supply_c(cdu, 30.0, 0.5)), 0.5, 0.5)
    again = 30 + cdu.heat_w / (cdu.rack_kg_per_s * cdu.rack_j_per_kg_k)
    assert float(cdu_state(cdu, again, facility_supply_c(cdu, 30.0, 0.5), 0.5, 0.5).rack_supply_c) == (
        pytest.approx(30, abs=1e-6)
    )
    assert float(part.heat_w) > 0


@given(st.floats(0.2, 1.2), st.floats(0.2, 1.2))
def test_a_cdu_loses_no_heat(rack_share: float, facility_share: float) -> None:
    state = cdu_state(DESCHUTES, 45, 27, rack_share, facility_share)
    rack = DESCHUTES.rack_kg_per_s * DESCHUTES.rack_j_per_kg_k * rack_share
    facility = DESCHUTES.facility_kg_per_s * DESCHUTES.facility_j_per_kg_k * facility_share
    given_up = rack * (45 - state.rack_supply_c)
    taken = facility * (state.facility_return_c - 27)
    assert given_up == pytest.approx(taken, rel=1e-9)
    assert 27 <= float(state.rack_supply_c) <= 45


@given(st.floats(0.05, 20), st.floats(0, 1))
def test_effectiveness_and_ntu_are_inverses(ntu: float, ratio: float) -> None:
    wanted = float(effectiveness(ntu, ratio))
    if wanted < 0.9999:
        assert ntu_for(wanted, ratio) == pytest.approx(ntu, rel=1e-5)


def test_pipes_and_loops_resist_as_in_the_books() -> None:
    """A 100 mm pipe, 100 m, water at 2 m/s, ε = 0.05 mm: f = 0.0184 (Moody), 36.8 kPa."""
    area = np.pi * 0.1**2 / 4
    assert pipe_drop_pa(2 * area, 0.1, 100, 1000, 1e-3, 5e-5) == pytest.approx(36.8e3, rel=0.02)
    assert pressure_drop_pa(Resistance(50e3), [0.5]).tolist() == pytest.approx([50e3 * 0.5**1.85])
    assert float(pump_power_w(0.05, 200e3, 0.5)) == pytest.approx(20e3)


def test_what_enters_a_pipe_leaves_it_later() -> None:
    """60 L at 1 L/s: a minute."""
    entering = np.where(np.arange(200) < 50, 20.0, 30.0)
    leaving = delayed_c(entering, np.full(200, 1e-3), 0.060, 1.0, start_c=20.0)
    assert leaving[105] == pytest.approx(20.0)
    assert leaving[115] == pytest.approx(30.0)
    assert np.flatnonzero(leaving > 25)[0] - np.flatnonzero(entering > 25)[0] == pytest.approx(60, abs=1)


@given(st.integers(0, 2**32 - 1), st.floats(0, 0.2))
def test_a_pipe_keeps_or_delivers_all_heat(seed: int, volume_m3: float) -> None:
    """Heat in = heat out + stored, to 1e-9, with the flow changing and stopping at will."""
    chance = np.random.default_rng(seed)
    flow = chance.uniform(0, 2e-3, 300) * (chance.uniform(0, 1, 300) > 0.2)
    entering = chance.uniform(20, 60, 300)
    leaving = delayed_c(entering, flow, volume_m3, 1.0, start_c=30.0)
    into, out = float(flow @ entering), float(flow @ leaving)
    # what is in the pipe now entered last
    inside, heat = volume_m3, 0.0
    for moved, celsius in zip(flow[::-1], entering[::-1], strict=True):
        part = min(moved, inside)
        heat += part * celsius
        inside -= part
    heat += inside * 30.0
    assert into - out - (heat - volume_m3 * 30.0) == pytest.approx(0, abs=1e-9 * into)


def test_when_the_flow_stops_nothing_leaves() -> None:
    flow = np.where(np.arange(100) < 50, 1e-3, 0.0)
    leaving = delayed_c(np.linspace(20, 40, 100), flow, 0.010, 1.0, start_c=20.0)
    assert np.ptp(leaving[50:]) < 0.5


def test_a_litre_a_kilowatt_warms_by_a_quarter_of_a_kelvin_a_second() -> None:
    assert facility_loss_rise_k(1000, 1, 15) == pytest.approx(3.75, abs=0.05)


def test_a_dry_cooler_needs_more_air_when_it_is_warm_and_gives_up_when_hot() -> None:
    cooler = DryCooler(1e6)
    cold, warm, hot = (dry_cooler(cooler, 1e6, 39, dry, dry - 8, 1.0) for dry in (10, 34, 40))
    assert cold.fan_w < warm.fan_w <= hot.fan_w == cooler.fan_share * 1e6
    assert float(warm.coolant_out_c) == pytest.approx(39, abs=1e-3)
    assert float(hot.coolant_out_c) > 39


def test_pads_help_a_dry_cooler_and_drink() -> None:
    dry = dry_cooler(DryCooler(1e6), 1e6, 39, 36, 26, 1.0)
    wet = dry_cooler(DryCooler(1e6, wet_effectiveness=0.8), 1e6, 39, 36, 26, 1.0)
    assert float(wet.fan_w) < float(dry.fan_w)
    assert float(wet.water_kg_per_s) > 0 == float(dry.water_kg_per_s)


def test_a_tower_meets_its_approach_and_evaporates_what_it_should() -> None:
    """At design: wet bulb + approach; 1 MW of latent heat evaporates 0.41 kg/s, a fifth less with dry air's
    help."""
    unit = Tower(1e6)
    at_design = tower(unit, 1e6, 31.5, 27.5, 32.0)
    assert float(at_design.coolant_out_c) == pytest.approx(31.5, abs=0.05)
    assert 0.30 < float(at_design.water_kg_per_s) * 0.8 < 0.45
    cool = tower(unit, 1e6, 31.5, 15.0, 20.0)
    assert float(cool.fan_w) < float(at_design.fan_w)


def test_a_chiller_works_harder_when_it_lifts_higher() -> None:
    chiller = carnot_chiller(1e6, cop=5.0, evaporator_c=7, condenser_c=30)
    assert float(chiller_power_w(chiller, 1e6, 7, 30)) == pytest.approx(2e5, rel=1e-9)
    assert float(chiller_power_w(chiller, 1e6, 7, 35)) > 2e5 > float(chiller_power_w(chiller, 1e6, 12, 30))


def test_a_plant_in_the_heat_warms_without_a_chiller_and_does_not_with_one() -> None:
    plant = LiquidPlant(1e6, (PumpDuty("rack", 0.05, Resistance(200e3)),), DryCooler(1e6, 36, 44, 39))
    chilled = LiquidPlant(1e6, plant.pumps, plant.rejection, chiller=Chiller(1.2e6))
    hot = plant_power(plant, 1e6, 42.0, 28.0)
    trimmed = plant_power(chilled, 1e6, 42.0, 28.0)
    assert float(hot.supply_c) > plant.supply_c
    assert float(trimmed.supply_c) == plant.supply_c
    assert float(trimmed.chiller_w) > 0 == float(plant_power(chilled, 1e6, 5.0, 3.0).chiller_w)


@given(st.floats(0.2, 1), st.floats(15, 45), st.floats(3, 30))
def test_rear_doors_lose_no_heat(share: float, coolant_c: float, coolant_k: float) -> None:
    """What the coil takes by ε Cmin is what racks and fans give; the room's air carries the racks' part."""
    doors = RearDoors(1e6, coolant_k)
    found = rear_doors(doors, share * 1e6, coolant_c, coolant_c - 1)
    assert float(found.to_coolant_w) == pytest.approx(share * 1e6 + float(door_fans_w(doors, share * 1e6)))
    air_w_per_k = 1e6 / 12 * share
    assert float(found.air_in_c - found.room_c) * air_w_per_k == pytest.approx(share * 1e6)
    assert float(found.air_in_c) > coolant_c


def test_rear_doors_with_warm_coolant_leave_a_warm_room() -> None:
    """By hand: ε = 0.8 of the air's 1/12 of the heat a kelvin, so 12 × 1.0276 / 0.8 K above the coolant."""
    fans = 1e6 / (1.2 * 1006 * 12) * 200 / 0.5
    assert float(door_fans_w(RearDoors(1e6), 1e6)) == pytest.approx(fans) == pytest.approx(27.6e3, rel=1e-3)
    found = rear_doors(RearDoors(1e6), 1e6, 40.0, 25.0)
    assert float(found.air_in_c) == pytest.approx(40 + 12 * (1 + fans / 1e6) / 0.8)
    assert float(found.room_c) == pytest.approx(float(found.air_in_c) - 12)
    assert float(door_fans_w(RearDoors(1e6), 5e5)) == pytest.approx(fans / 8)


def test_a_plant_with_rear_doors_needs_the_rooms_dew_point() -> None:
    plant = LiquidPlant(1e6, (), DryCooler(1.1e6, 28, 44, 36), doors=RearDoors(1e5))
    took = plant_power(plant, 1e6, 20.0, 15.0, 12.0)
    assert took.room_c is not None
    assert float(took.air_fan_w) == pytest.approx(2.76e3, rel=1e-2)
    assert plant_power(LiquidPlant(1e6, (), plant.rejection), 1e6, 20.0, 15.0).room_c is None
    with pytest.raises(BadInput, match="room's air"):
        plant_power(plant, 1e6, 20.0, 15.0)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: rear_doors(RearDoors(1e5), 2e5, 40, 20), "of their heat"),
        (lambda: rear_door_heat_w(35, 15, 1, 1, 0.7, 18), "dew point"),
        (lambda: chiller_power_w(Chiller(1e5), 2e5, 7, 30), "capacity_w"),
        (lambda: cdu_state(DESCHUTES, 45, 27, 0), "rack_share"),
        (lambda: dry_cooler(DryCooler(1e6), 1e6, 39, 20, 15, 0), "flow_share"),
        (lambda: affinity(Pump(1, 1), 1.2), "speed_share"),
        (lambda: ntu_for(1.0, 0.5), "approach"),
        (lambda: plant_power(LiquidPlant(1.0, (), DryCooler(1.0)), 2.0, 20, 15), "it_w"),
        (lambda: tower(Tower(1e6, cycles=1), 1e6, 31, 27, 30), "cycles"),
    ],
    ids=[
        "too much for doors",
        "dripping",
        "overload",
        "no flow",
        "no coolant",
        "overspeed",
        "perfect",
        "too hot",
        "no drain",
    ],
)
def test_the_impossible_is_refused(call: Any, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        call()
