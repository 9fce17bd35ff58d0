"""Every claimed figure is computed afresh, judged by what was computed, and explained."""

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from starverse.physics.faults.hazard import activation_ev_for, thermal_share_for
from starverse.planning import claims_cooling, claims_network, claims_platform, claims_power
from starverse.planning.claim import Claim, judged, near
from starverse.planning.claims import claims

LIST = Path(__file__).parents[2] / "../shared/CLAIMS.md"
IDS = (
    *("N1", "N2", "N3", "N4", "N5", "N6", "C1", "C2", "C3", "C4", "C5", "C6"),
    *("P1", "P2", "S1", "S2", "S3", "U1", "U2", "U3", "U4", "U5", "U6", "U7"),
)
ROWS: dict[str, Callable[..., Claim]] = {
    "N1": claims_network.n1,
    "N2": claims_network.n2,
    "N3": claims_network.n3,
    "N4": claims_network.n4,
    "N5": claims_network.n5,
    "N6": claims_network.n6,
    "C1": claims_cooling.c1,
    "C2": claims_cooling.c2,
    "C3": claims_cooling.c3,
    "C4": claims_cooling.c4,
    "C5": claims_cooling.c5,
    "C6": claims_cooling.c6,
    "P1": claims_power.p1,
    "P2": claims_power.p2,
    "U4": claims_platform.u4,
}
DEFINED, NOT = "holds under this definition", "doesn't hold"


@pytest.fixture(scope="module")
def table() -> dict[str, Claim]:
    return {row.id: row for row in claims()}


def figure(text: str, pattern: str) -> float:
    """The number that a sentence gives at the group of a pattern."""
    found = re.search(pattern, text)
    assert found, f"{pattern!r} is not in {text!r}"
    return float(found[1].replace(",", ""))


def test_every_id_comes_once_and_in_the_articles_order() -> None:
    assert tuple(row.id for row in claims()) == IDS


def test_no_id_of_the_list_is_missing() -> None:
    if not LIST.exists():
        pytest.skip(f"{LIST} is not here")
    listed = re.findall(r"^\| ([NCPSU]\d) \|", LIST.read_text(), re.MULTILINE)
    assert tuple(listed) == IDS


@pytest.mark.parametrize("key", ROWS)
def test_no_verdict_stands_without_its_figures(key: str) -> None:
    """Another claimed figure gets another verdict, so that none follows from a constant alone."""
    row = ROWS[key]()
    assert row.claimed is not None
    assert row.computed is not None
    if row.verdict == NOT:
        more = {"saved_yuan": 24e6} if key == "N6" else {}
        assert ROWS[key](row.computed, **more).verdict == DEFINED
    else:
        assert {NOT} & {ROWS[key](row.claimed * by).verdict for by in (0.9, 1.5, 0.5)}


@pytest.mark.parametrize(
    ("row", "changed"),
    [
        (claims_network.n1, {"tokens": 30e12}),
        (claims_network.n2, {"loss_share": 0.001}),
        (claims_network.n2, {"round_trip_s": 40e-6}),
        (claims_network.n4, {"latency_us": 1.0}),
        (claims_network.n5, {"buffer_bytes": 64e6}),
        (claims_cooling.c1, {"activation_ev": 0.135}),
        (claims_cooling.c2, {"nodes": 1}),
        (claims_cooling.c4, {"gain_share": 1.0}),
        (claims_cooling.c4, {"below_k": 40.0}),
        (claims_cooling.c6, {"survey_pue": 1.25}),
        (claims_cooling.c6, {"cheaper_share": 0.4}),
        (claims_power.p1, {"rack_w": 8_000.0}),
        (claims_power.p1, {"after_share": 0.01}),
        (claims_platform.u4, {"card": claims_platform.TRAINING}),
    ],
)
def test_what_holds_under_a_definition_falls_with_it(row: Callable[..., Claim], changed: dict) -> None:  # type: ignore[type-arg]
    assert row().verdict == DEFINED
    assert row(**changed).verdict == NOT


def test_what_fails_holds_where_it_is_said_to() -> None:
    assert claims_network.n3(parameters=160e9).verdict == DEFINED  # a gradient of 2.5 GB a shard
    assert claims_network.n6(claimed=50, site_mwh=123_000).verdict == DEFINED  # half of the site
    assert claims_power.p2(card_w=350).verdict == DEFINED  # capped


def test_c1_and_c4_exclude_each_other_but_for_competing_risks(table: dict[str, Claim]) -> None:
    """×4 over 63 to 83 °C is 0.715 eV, +30 % of life 0.135 eV; both hold with 31 % of the hazard thermal."""
    assert activation_ev_for(4, 63, 83) == pytest.approx(0.715, abs=0.001)
    assert activation_ev_for(1.3, 63, 83) == pytest.approx(0.135, abs=0.001)
    assert thermal_share_for(0.3, 0.7, 63, 83) == pytest.approx(0.31, abs=0.005)
    assert figure(table["C1"].why, r"takes (\S+) eV, where") == pytest.approx(0.715, rel=0.01)
    assert figure(table["C4"].why, r"it were (\S+) eV") == pytest.approx(0.135, abs=0.001)
    assert figure(table["C4"].why, r"drives (\d+) % of the hazard") == 31


def test_c2_is_four_nodes_not_one(table: dict[str, Claim]) -> None:
    assert table["C2"].computed == pytest.approx(45, rel=0.02)
    assert figure(table["C2"].why, r"is a node \((\S+) kW") == pytest.approx(8, abs=0.1)


@pytest.mark.xfail(
    strict=True,
    reason="1.0853, not 1.085 (and 1.090 at full load): oil carries 2.6 times less heat a litre than "
    "glycol; no source for the tanks' pressure drop was found, so that 250 kPa are assumed",
)
def test_c3_is_within_reach(table: dict[str, Claim]) -> None:
    computed = table["C3"].computed
    assert computed is not None
    assert 1.065 <= computed <= 1.088
    assert claims_cooling.c3().verdict == DEFINED


def test_c3_is_read_to_the_decimals_that_are_claimed(table: dict[str, Claim]) -> None:
    """1.0853 is 1.09 to two decimals, so that 1.08 is missed, by little; at full load by more."""
    computed = table["C3"].computed
    assert computed is not None
    assert 1.085 < computed < 1.0854
    assert table["C3"].verdict == NOT
    assert figure(table["C3"].why, r"all cards at work (\d\.\d+),") > computed


def test_c3_warns_of_its_oil(table: dict[str, Claim]) -> None:
    assert figure(table["C3"].why, r"silicone-oil is (\d+) °C warm") > 42
    assert figure(table["C3"].why, r"above its flash point of (\d+) °C") == 42
    assert figure(table["C3"].why, r"viscous that dies are at (\d+) °C") > 87


def test_c3_depends_on_the_meter(table: dict[str, Claim]) -> None:
    computed = table["C3"].computed
    assert computed is not None
    assert claims_cooling.c3(chain="busbar").verdict == NOT
    assert figure(table["C3"].why, r"48 V busbar, (\d\.\d+):") > computed


def test_c4_a_cold_plate_is_what_fits(table: dict[str, Claim]) -> None:
    """63.1 °C at 32 °C: OCP's 0.0245 K/W at 1 L/min and 0.02 of die and paste."""
    assert table["C4"].computed == pytest.approx(32 + 700 * (0.0245 + 0.02), abs=0.2)
    assert figure(table["C4"].why, r"holds the card at (\d+) °C") > 70


def test_c5_is_a_quarter_of_the_speed_or_a_thousandth_of_the_fans(table: dict[str, Claim]) -> None:
    assert figure(table["C5"].why, r"fans at (\d+) % of their speed") == 25
    assert figure(table["C5"].why, r"or (\S+) % of their number") == pytest.approx(0.1)


def test_c6_needs_an_old_site_to_compare_with(table: dict[str, Claim]) -> None:
    assert figure(table["C6"].why, r"PUE (\S+) before") == pytest.approx(1.714, rel=0.03)
    assert 14 <= figure(table["C6"].why, r"it is (\d+) %") <= 25
    assert figure(table["C6"].why, r"worth (\S+) %") < 11


def test_n1_takes_a_b200_and_fifteen_trillion_tokens(table: dict[str, Claim]) -> None:
    assert figure(table["N1"].why, r"PFLOP/s: (\d+) days") == pytest.approx(180, abs=1)
    assert figure(table["N1"].why, r"at (\S+) stops a day") == pytest.approx(14.2, abs=0.05)
    # 6 x 5e12 x 15e12 over 30,000 x 989e12 x 0.43, by hand
    assert figure(table["N1"].why, r"H100-class cards take (\S+) days") == pytest.approx(408, abs=1)


def test_n2_is_go_back_n(table: dict[str, Claim]) -> None:
    why = table["N2"].why
    assert table["N2"].computed == pytest.approx(8.2, abs=0.05)
    assert figure(why, r"at 800 Gb/s \+(\d+) %") == 66
    assert 0.1 <= figure(why, r"selective repeat \+(\S+) %") <= 0.7
    exact_us = figure(why, r"round trip of (\S+) µs")
    assert claims_network.n2(round_trip_s=exact_us * 1e-6).computed == pytest.approx(10, rel=0.005)


def test_n3_is_one_bucket(table: dict[str, Claim]) -> None:
    assert figure(table["N3"].why, r"carry (\S+) GB") == pytest.approx(2.5, abs=0.05)
    assert figure(table["N3"].why, r"is (\S+) Gb/s a card") == pytest.approx(0.48)


def test_n4_a_torus_has_no_three_tiers(table: dict[str, Claim]) -> None:
    why = table["N4"].why
    assert why.startswith("32,768 cards")
    assert figure(why, r"diameter (\d+)") == 47
    assert figure(why, r"and (\S+) hops") == 23.5
    assert table["N4"].computed == 3


def test_n5_is_bus_bandwidth_and_no_step_efficiency(table: dict[str, Claim]) -> None:
    computed = table["N5"].computed
    assert computed is not None
    assert 93 < computed < 100
    enough = figure(table["N5"].why, r"from (\d+) MiB on") * (1 << 20)
    assert claims_network.n5(buffer_bytes=enough).computed == pytest.approx(93, abs=0.05)
    assert figure(table["N5"].why, r"N6 gives (\d+) %") == pytest.approx(86.5, abs=1)


def test_n6_eight_times_the_speed_is_an_eighth_of_the_time(table: dict[str, Claim]) -> None:
    assert 50 < table["N6"].computed < 51, "bytes alone, and the ways of 466 steps"
    assert figure(table["N6"].why, r"a part of (\d+) ms") == 143
    assert 1 <= figure(table["N6"].why, r"and (\S+) % against") <= 4.5


def test_p1_is_a_30_kw_rack(table: dict[str, Claim]) -> None:
    assert figure(table["P1"].why, r"is a rack of (\S+) kW") == pytest.approx(30.0, abs=0.05)
    assert figure(table["P1"].why, r"of input; (\S+) of output") == pytest.approx(27.1, abs=0.05)


def test_p2_a_card_does_not_wait_fifteen_seconds(table: dict[str, Claim]) -> None:
    computed = table["P2"].computed
    assert computed is not None
    assert 6.7 <= computed <= 14.2
    assert figure(table["P2"].why, r"warm the loop by (\S+) K") == pytest.approx(3.8, abs=0.15)
    assert figure(table["P2"].why, r"Capped to 350 W at once, (\d+) s") > 15


def test_u4_is_a_consumer_card(table: dict[str, Claim]) -> None:
    assert "3.19 × 0.58 = 1.85" in table["U4"].why
    assert figure(table["U4"].why, r"yuan\) costs (\S+);") > 4 * 1.85


def test_every_row_says_what_why_and_by_whom(table: dict[str, Claim]) -> None:
    for row in table.values():
        assert row.definition
        assert row.source
        assert len(row.why) > 15
        assert (row.claimed is None) == (row.computed is None)
        assert (row.verdict in {"shown", "not yet"}) == (row.claimed is None)
        assert row.command or row.verdict != "shown"


def test_what_is_not_there_yet_says_so(table: dict[str, Claim]) -> None:
    for row in table.values():
        if row.verdict == "not yet":
            assert "yet" in row.why


def test_rows_are_plain_json() -> None:
    first = msgspec.json.decode(msgspec.json.encode(claims()))[0]
    keys = ["id", "definition", "claimed", "computed", "unit", "verdict", "why", "source", "command"]
    assert list(first) == keys


def test_a_figure_is_met_within_a_fifth_and_all_must_be() -> None:
    assert near(10, 8.01)
    assert not near(10, 7.99)
    assert judged(True, True) == DEFINED
    assert judged(True, True, as_written=True) == "holds"
    assert judged(True, False, as_written=True) == NOT
