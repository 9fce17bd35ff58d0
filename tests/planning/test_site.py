"""A site's year adds up, follows weather and choices, and its file is read whole or refused with the key."""

from typing import Any

import msgspec
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from msgspec import structs

from starverse.model.errors import BadInput
from starverse.physics.cooling.moist import dew_point_c
from starverse.physics.cooling.weather import XIAMEN, Weather, hour_said, month_of_hour, synthetic_year
from starverse.planning.cooling import plan_cooling
from starverse.planning.power import plan_power
from starverse.planning.site import SiteAnswer, plan_site, site_year
from starverse.planning.site_file import Cards, Electrical, Money, Plant, Site, parse_site
from starverse.planning.site_picture import site_picture


@pytest.fixture(scope="module")
def year() -> Weather:
    return synthetic_year(XIAMEN)


@pytest.fixture(scope="module")
def answer(year: Weather) -> SiteAnswer:
    return plan_site(Site(), year)


def test_the_answer_says_what_it_is_and_goes_to_json(answer: SiteAnswer) -> None:
    said = msgspec.json.decode(msgspec.json.encode(answer))
    assert "SYNTHETIC" in said["weather"]
    assert "30134-2" in said["source"]
    assert "rack" in said["boundary"]
    assert len(said["pue_by_month"]) == 12
    assert said["card_hour_micro_yuan"] == sum(
        said["card_hour"][part] for part in ("cards", "site", "upkeep", "energy", "demand")
    )


def test_energies_close(year: Weather, answer: SiteAnswer) -> None:
    """The indices, by month and by part, lead to the energy that the hours add up to."""
    hours = site_year(Site(), year)
    it = np.add.reduceat(hours.energy.it_w, np.searchsorted(month_of_hour(), range(12)))
    assert it @ np.array(answer.pue_by_month) == pytest.approx(hours.total_w.sum(), rel=1e-9)
    lights = Site().electrical.other_share * answer.it_full_kw / answer.it_kw
    extra = answer.ppue_cooling - 1 + answer.ppue_power - 1 + lights
    assert answer.pue == pytest.approx(1 + extra, rel=1e-9)
    assert answer.energy_mwh_per_year * 1e6 == pytest.approx(hours.total_w.sum(), rel=1e-9)


@pytest.mark.parametrize(
    ("kind", "chain"),
    [("cold-plate", "busbar"), ("single-phase", "ac-eco"), ("air", "ac"), ("two-phase", "ac")],
)
def test_a_site_is_built_for_full_load_and_idles_at_a_worse_pue(year: Weather, kind: Any, chain: Any) -> None:
    """Once all of it was built anew for each load, and PUE was the same to 16 digits from 0 to 1."""
    loads = (0.0, 0.1, 0.3, 0.5, 0.9, 1.0)
    found = [
        plan_site(
            Site(cards=Cards(load_share=load), plant=Plant(kind=kind), electrical=Electrical(chain=chain)),
            year,
        )
        for load in loads
    ]
    assert len({answer.it_full_kw for answer in found}) == 1
    assert found[-1].it_kw == found[-1].it_full_kw
    assert [answer.it_kw for answer in found] == sorted(answer.it_kw for answer in found)
    assert [answer.pue for answer in found[:4]] == sorted((answer.pue for answer in found[:4]), reverse=True)
    assert found[0].ppue_power - 1 > 1.3 * (found[-1].ppue_power - 1)
    assert len({answer.card_hour.site for answer in found}) == 1, "the site's price is for full load"


def test_a_sites_converters_lose_at_a_load_what_a_racks_do(year: Weather) -> None:
    """`plan power busbar` loses 22.8 % at a tenth of the load; so does a site of one such rack."""
    cards = Cards(count=32, power_w=712.5, idle_w=0, node_w=0, per_node=32)
    asked = Site(cards=structs.replace(cards, load_share=0.1), electrical=Electrical(rack_w=22_800))
    light, busy = (
        site_year(each, year)
        for each in (asked, structs.replace(asked, cards=structs.replace(cards, load_share=1)))
    )
    rack = plan_power("busbar", 0.1, rack_w=22_800)
    assert rack.loss_share == pytest.approx(0.228, abs=5e-4)
    of_cooling = light.energy.power_loss_w - rack.lost_mw * 1e6
    assert (of_cooling > 0).all()
    # of a transformer half filled at the peak: (0.004 + 0.006 / 4) / 0.5
    assert of_cooling.max() < 0.011 * busy.energy.cooling_w.max()


def test_an_air_halls_units_rest_where_they_are_not_needed(year: Weather) -> None:
    """At a third of the heat all would blow less than half, which their curves do not know."""
    air = Site(cards=Cards(load_share=0), plant=Plant(kind="air"), electrical=Electrical(chain="ac"))
    idle, busy = site_year(air, year), site_year(structs.replace(air, cards=Cards(load_share=1)), year)
    assert idle.energy.it_w[0] < 0.35 * busy.energy.it_w[0]
    assert 0.2 < idle.plant.fan_w[0] / busy.plant.fan_w[0] < 0.5


def test_summer_costs_more_than_winter(answer: SiteAnswer) -> None:
    assert max(answer.pue_by_month) in answer.pue_by_month[5:9]
    assert min(answer.pue_by_month) < answer.pue < max(answer.pue_by_month)


def test_liquid_beats_air_more_in_tue_than_in_pue(year: Weather, answer: SiteAnswer) -> None:
    """A server's fans and supplies hide in PUE's IT."""
    air = plan_site(Site(plant=Plant(kind="air"), electrical=Electrical(chain="ac")), year)
    assert air.pue - answer.pue > 0.1
    assert air.tue - answer.tue > air.pue - answer.pue


def test_a_pue_of_1_08_is_within_reach_with_an_efficient_ups(year: Weather) -> None:
    """Claim C3: 1.065 to 1.088 by weather and UPS mode, IT metered at the rack."""
    eco = plan_site(Site(electrical=Electrical(chain="ac-eco")), year)
    assert 1.06 < eco.pue < 1.088


def test_without_a_chiller_the_supply_warms_in_summer(year: Weather) -> None:
    bare = plan_site(Site(plant=Plant(chiller=False, rejection="dry")), year)
    assert bare.chiller_hours == 0
    assert bare.supply_most_c > 40


@pytest.mark.parametrize("rejection", ["dry", "hybrid", "tower"])
def test_water_goes_with_the_way_heat_leaves(year: Weather, rejection: Any) -> None:
    found = plan_site(Site(plant=Plant(rejection=rejection)), year)
    assert (found.wue_l_per_kwh > 0) == (rejection != "dry")
    assert found.wue_l_per_kwh < 3


def test_a_dear_card_raises_the_price_and_break_even_does_not_move(year: Weather, answer: SiteAnswer) -> None:
    cheap = plan_site(Site(money=Money(card_yuan=28_000)), year)
    dear = plan_site(Site(money=Money(card_yuan=250_000)), year)
    assert dear.card_hour_micro_yuan > 4 * cheap.card_hour_micro_yuan
    assert dear.break_even_card_yuan == pytest.approx(cheap.break_even_card_yuan)
    assert answer == dear, "the reference cards are H100-class ones, by their price, too"


def test_all_that_money_rests_on_is_said(year: Weather) -> None:
    own = Money(card_yuan=123_000, interest_share=0.045, life_years=4, residual_share=0.1, sold_share=0.6)
    told = " ".join(plan_site(Site(money=own), year).assumed)
    for part in ("123,000 yuan a card", "4.5% interest", "4 years", "10% is left", "60% of card-hours"):
        assert part in told
    for part in (
        "20,000 yuan of site per kW",
        "15 years",
        "2.5% of all capital",
        "5% spare",
        "0.65 yuan/kWh",
    ):
        assert part in told
    assert "H100" not in told
    assert "time of use" in " ".join(plan_site(Site(money=Money(time_of_use=True)), year).assumed)
    other = plan_site(Site(cards=Cards(power_w=450)), year)
    assert other.card_yuan == 250_000
    assert any("H100-class one's; give that of your card of 450 W" in said for said in other.assumed)


@pytest.mark.parametrize("kind", ["air", "cold-plate", "single-phase", "two-phase"])
def test_a_sites_die_is_that_of_plan_cooling_at_its_supply(year: Weather, kind: Any) -> None:
    found = plan_site(Site(plant=Plant(kind=kind)), year)
    inlet_c = {"air": found.supply_most_c + 2, "cold-plate": 40, "single-phase": found.tank_most_c}.get(kind)
    given = {} if inlet_c is None else {"inlet_c": inlet_c}
    if kind == "cold-plate":
        given["flow_l_per_min"] = 700 / (8 * 3981 * 1007) * 60_000
    assert found.die_most_c == pytest.approx(plan_cooling(kind, 700, **given).die_c)
    assert any("the die is that of a card at 700 W" in said for said in found.notes)


def test_a_card_that_no_model_knows_leaves_the_site_its_answer(year: Weather) -> None:
    found = plan_site(Site(cards=Cards(power_w=2_000)), year)
    assert found.die_most_c is None
    assert any("measured at 3.7" in said for said in found.notes)
    oil = plan_site(Site(plant=Plant(kind="single-phase", fluid="mineral-oil")), year)
    assert oil.die_most_c == pytest.approx(94, abs=0.5)
    assert any("from 87 °C on (assumed) cards slow down" in said for said in oil.notes)


def test_a_tank_above_its_liquids_flash_point_is_warned_of(year: Weather) -> None:
    def warned(**plant: Any) -> bool:
        answer = plan_site(Site(plant=Plant(kind="single-phase", **plant)), year)
        return any("above its flash point of 42 °C" in said for said in answer.notes)

    assert warned()
    assert not warned(supply_c=33)
    assert not warned(fluid="mineral-oil")
    assert any("WARNING" in said for said in plan_cooling("single-phase", inlet_c=48).notes)
    assert not any("WARNING" in said for said in plan_cooling("single-phase", inlet_c=40).notes)


def test_a_site_can_be_drawn(year: Weather, answer: SiteAnswer) -> None:
    hours = site_year(Site(), year)
    assert site_picture(answer, hours, "png").startswith(b"\x89PNG")
    svg = site_picture(answer, hours, "svg")
    assert b"<svg" in svg
    assert len(svg) > 10_000
    assert svg == site_picture(answer, hours, "svg")


def test_a_sites_picture_shows_all_that_is_drawn_and_paid(
    year: Weather, answer: SiteAnswer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is stacked adds up to all beside IT, lights with it; water, peak and cost have panels."""
    drawn: list[Any] = []
    monkeypatch.setattr(FigureCanvasAgg, "__init__", lambda _, figure: drawn.append(figure))
    monkeypatch.setattr(Figure, "savefig", lambda *_, **__: None)
    hours = site_year(Site(), year)
    site_picture(answer, hours)
    titles = {axes.get_title(loc="left").partition(":")[0]: axes for axes in drawn[0].axes}
    assert {"Water, m³", "Power at peak, MW", "A sold card-hour, yuan"} < set(titles)
    parts = drawn[0].axes[1].collections
    assert [part.get_label() for part in parts] == [
        *("power losses", "lights, offices", "pumps", "fans", "compressors")
    ]
    top = max(float(path.vertices[:, 1].max()) for part in parts for path in part.get_paths())
    beside = (hours.total_w - hours.energy.it_w).reshape(365, 24).mean(axis=1)
    assert top == pytest.approx(beside.max() / 1e6)
    water = [bar.get_height() for bar in titles["Water, m³"].patches]
    assert sum(water) == pytest.approx(answer.water_m3_per_year)
    cost = [bar.get_width() for bar in titles["A sold card-hour, yuan"].patches]
    assert sum(cost) == pytest.approx(answer.card_hour_micro_yuan / 1e6)
    peaks = titles["Power at peak, MW"].patches
    assert max(bar.get_y() + bar.get_height() for bar in peaks) == pytest.approx(answer.peak_kw / 1e3)


def test_a_file_says_what_differs() -> None:
    site = parse_site('name = "small"\n[cards]\ncount = 800\n[plant]\nkind = "air"\n')
    assert site == Site("small", Cards(count=800), Plant(kind="air"))


def test_an_empty_file_is_the_reference_cluster() -> None:
    assert parse_site("") == Site()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[plant]\nsuply_c = 40", r"no key `plant\.suply_c`\. Did you mean `plant\.supply_c`\?"),
        ("[cards]\npower = 700", r"`cards\.power` has no unit\. Write `cards\.power_w`"),
        ("[crads]\n", "Did you mean `cards`"),
        ("[cards]\nzzz = 1", "Known are count"),
        ("[cards]\nload_share = 3", r"`cards\.load_share` = 3 is not a share"),
        ('[cards]\ncount = "many"', "`cards.count`: expected `int`"),
        ("[cards]\ncount = 0", "`cards.count` must be above zero"),
        ('[plant]\nkind = "oil"', "Give air or cold-plate or single-phase or two-phase"),
        ("[cards]\npower_w = -1", "`cards.power_w` = -1 is below zero"),
        ("cards = ", "no TOML"),
        ("[plant]\nflow_l_per_min = 1", "no key"),
        ('[plant]\nkind = "air"\nchiller = true', r"`plant\.chiller` does not apply"),
        ('[plant]\nkind = "air"\nloop_pa = 100', r"`plant\.loop_pa` does not apply"),
        ('[plant]\nkind = "air"\nrange_k = 8', r"`plant\.range_k` does not apply"),
        ("[electrical]\ncooled_share = 2", r"`electrical\.cooled_share` = 2 is not a share"),
        ("[cards]\npower_w = nan", "not finite"),
        ("[plant]\nsupply_c = -60", "Give 5 to 70"),
        ("[plant]\napproach_k = 60", "Give 0 to 30"),
    ],
)
def test_a_bad_file_is_refused_with_its_key(text: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        parse_site(text)


def test_cards_that_idle_above_their_load_are_refused(year: Weather) -> None:
    with pytest.raises(BadInput, match="idle_w"):
        site_year(Site(cards=Cards(idle_w=800)), year)


def test_a_card_hours_energy_is_what_the_meter_says(answer: SiteAnswer) -> None:
    yuan = answer.energy_mwh_per_year * 1000 * 0.65
    sold = 30_000 * 8760 * 0.7
    assert answer.card_hour.energy / 1e6 == pytest.approx(yuan / sold, rel=1e-3)
    assert np.isfinite(answer.peak_kw)


@pytest.mark.parametrize("kind", ["air", "cold-plate"])
def test_heat_of_rectifiers_and_ups_is_cooled_as_the_site_says(year: Weather, kind: Any) -> None:
    """Cooling grows about as its heat does: by the indoor losses' share of the heat, doubled at most."""
    plant = Plant(kind=kind)
    some, none = (
        plan_site(Site(plant=plant, electrical=Electrical(chain="ac", cooled_share=share)), year)
        for share in (1.0, 0.0)
    )
    grown = (some.ppue_cooling - 1) / (none.ppue_cooling - 1) - 1
    assert 0.02 < grown < 0.15
    assert any("100%" in said and "cooled_share" in said for said in some.assumed)
    assert any("0%" in said and "cooled_share" in said for said in none.assumed)


def test_an_air_hall_names_whose_units_it_has(year: Weather) -> None:
    assert "EnergyPlus" in plan_site(Site(plant=Plant(kind="air")), year).source
    assert "EnergyPlus" not in plan_site(Site(), year).source


def test_an_air_hall_built_directly_heeds_all_its_keys_or_none(year: Weather) -> None:
    with pytest.raises(BadInput, match=r"`plant\.fan_share` does not apply"):
        plan_site(Site(plant=Plant(kind="air", fan_share=0.03)), year)


def test_immersion_has_loops_of_its_own(year: Weather) -> None:
    """Oil takes more pumping than glycol, and what boils takes none but its condensers' water."""
    plates, oil, boils = (
        site_year(Site(plant=Plant(kind=kind)), year) for kind in ("cold-plate", "single-phase", "two-phase")
    )
    assert boils.plant.pump_w.sum() < plates.plant.pump_w.sum() < oil.plant.pump_w.sum()
    assert plates.plant.tank_c is None
    assert oil.plant.tank_c is not None
    assert boils.plant.tank_c is not None
    assert 47.5 < oil.plant.tank_c.max() < 49, "supply and range, and the pump's heat"
    assert boils.plant.tank_c.max() == pytest.approx(49.05)


def test_vapour_that_nothing_condenses_is_refused(year: Weather) -> None:
    hot = Plant(kind="two-phase", chiller=False, rejection="dry")
    with pytest.raises(BadInput, match="vapour is left"):
        site_year(Site(plant=hot), year)
    with pytest.raises(BadInput, match=r"boils at 49\.05"):
        site_year(Site(plant=Plant(kind="two-phase", supply_c=45)), year)


@pytest.mark.parametrize("warmer_k", [15, 25, 40])
def test_an_air_hall_in_a_heat_it_does_not_know_is_refused(year: Weather, warmer_k: float) -> None:
    hot = msgspec.structs.replace(year, dry_bulb_c=year.dry_bulb_c + warmer_k)
    air = Site(plant=Plant(kind="air"), electrical=Electrical(chain="ac"))
    with pytest.raises(BadInput, match=r"in 8-23 hour 15, and the units' tables go from -10 to 46 °C") as no:
        plan_site(air, hot)
    assert "another kind of cooling" in no.value.remedy


@pytest.mark.parametrize(
    ("kind", "says"),
    [("cold-plate", "pg25 goes from 5 to 75"), ("single-phase", "silicone-oil goes from 25 to 65")],
)
def test_a_liquid_is_not_asked_beyond_its_table(year: Weather, kind: Any, says: str) -> None:
    """Without a chiller the supply warms with the weather, once up to 97 °C in a tank."""
    hot = msgspec.structs.replace(year, dry_bulb_c=year.dry_bulb_c + 25, wet_bulb_c=year.wet_bulb_c + 25)
    bare = Site(plant=Plant(kind=kind, chiller=False, rejection="dry"))
    assert site_year(bare, year).plant.supply_c.max() > 40
    with pytest.raises(BadInput, match=f"in 8-23 hour 15, and the table of {says} °C"):
        site_year(bare, hot)


def test_rear_doors_hold_a_room_by_their_coolant(year: Weather, answer: SiteAnswer) -> None:
    """40 °C of supply, 12 K of air at four fifths: a room of 43 °C, which the answer says."""
    busy = plan_site(Site(cards=Cards(load_share=1)), year)
    assert busy.room_most_c == pytest.approx(40 + 12 * 1.0276 / 0.8 - 12, abs=0.01)
    assert answer.room_most_c is not None
    assert 40 < answer.room_most_c < busy.room_most_c
    assert any("43 °C at most" in said for said in answer.assumed)
    assert plan_site(Site(plant=Plant(air_share=0)), year).room_most_c is None
    cooler = plan_site(Site(plant=Plant(supply_c=30)), year)
    assert cooler.room_most_c == pytest.approx(answer.room_most_c - 10)
    assert cooler.pue > answer.pue


def test_rear_doors_below_the_dew_point_are_refused_with_the_hour(year: Weather) -> None:
    worst = int(dew_point_c(year.dry_bulb_c, year.relative_humidity).argmax())
    with pytest.raises(BadInput, match=f"below the dew point of the air in {hour_said(worst)}") as no:
        plan_site(Site(plant=Plant(supply_c=18)), year)
    assert "`plant.supply_c`" in no.value.remedy
    assert plan_site(Site(plant=Plant(supply_c=18, air_share=0)), year).supply_most_c == 18
