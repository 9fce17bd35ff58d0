"""Years of weather: EPW whole or refused, wet bulbs as in psychrolib, a made one that keeps its means."""

import sys
from typing import Any

import numpy as np
import pytest

from starverse.model.errors import BadInput
from starverse.physics.cooling.moist import (
    dew_point_c,
    humidity_ratio,
    relative_humidity_at_dew_point,
    saturation_pa,
    wet_bulb_c,
)
from starverse.physics.cooling.weather import MONTH_DAYS, XIAMEN, month_of_hour, read_epw, synthetic_year

HEADER = [
    "LOCATION,Nowhere,FJ,CHN,Made,999999,24.5,118.1,8.0,18.0",
    *("DESIGN CONDITIONS,0", "TYPICAL/EXTREME PERIODS,0", "GROUND TEMPERATURES,0"),
    *("HOLIDAYS/DAYLIGHT SAVINGS,No,0,0,0", "COMMENTS 1,made", "COMMENTS 2,made"),
    "DATA PERIODS,1,1,Data,Sunday,1/1,12/31",
]


def epw(**changes: str) -> list[str]:
    """A made EPW; `changes` replaces the line of an hour, such as m2d28h24, by text (empty: left out)."""
    lines = list(HEADER)
    for month, days in enumerate(MONTH_DAYS, 1):
        for day in range(1, days + 1):
            for hour in range(1, 25):
                line = row(month, day, hour, 20 + 0.1 * hour)
                line = changes.get(f"m{month}d{day}h{hour}", line)
                lines += line.splitlines()
    return lines


def row(month: int, day: int, hour: int, dry_c: float | str) -> str:
    return f"1999,{month},{day},{hour},60,made,{dry_c},15.0,70,101325" + ",0" * 25


def test_a_whole_year_is_read() -> None:
    weather = read_epw(epw())
    assert weather.where == "Nowhere, FJ, CHN"
    assert weather.dry_bulb_c.shape == (8760,)
    assert weather.dry_bulb_c[:24] == pytest.approx(20 + 0.1 * np.arange(1, 25))
    assert weather.relative_humidity == pytest.approx(0.7)
    assert (weather.wet_bulb_c < weather.dry_bulb_c).all()


def test_humidity_in_shares_is_no_epw() -> None:
    shares = [line.replace(",15.0,70,101325", ",15.0,0.7,101325") for line in epw()]
    with pytest.raises(BadInput, match=r"humidity exceeds 0\.7 %, as if they were shares") as no:
        read_epw(shares)
    assert "per cent" in no.value.remedy


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"m3d4h5": ""}, r"line 1501: 3-4 hour 5 is missing before 3-4 hour 6\. Fill the gap"),
        ({"m2d28h24": row(2, 28, 24, 1) + "\n" + row(2, 29, 1, 1)}, "29 February.*leap day"),
        ({"m1d1h1": row(1, 1, 1, 99.9)}, "line 9: the dry bulb is missing"),
        ({"m1d1h1": row(1, 1, 1, "warm")}, "line 9: the dry bulb is missing"),
        ({"m12d31h24": ""}, "ends after 8,759 hours"),
        ({"m12d31h24": row(12, 31, 24, 1) + "\n" + row(1, 1, 1, 1)}, "more than a year"),
    ],
    ids=["a gap", "a leap day", "a value missing", "a word", "an hour short", "an hour more"],
)
def test_a_broken_year_is_refused_with_its_line(changes: dict[str, str], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        read_epw(epw(**changes), "x.epw")


def test_something_else_is_no_epw() -> None:
    with pytest.raises(BadInput, match="LOCATION"):
        read_epw(["time,temperature", "0,20"])


@pytest.fixture(scope="module")
def psychrolib() -> Any:
    """psychrolib without numba, which costs it four seconds to compile."""
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "numba"}
    sys.modules["numba"] = None  # type: ignore[assignment]
    try:
        import psychrolib as library
    finally:
        del sys.modules["numba"]
        sys.modules.update(hidden)
    library.SetUnitSystem(library.SI)
    return library


def test_moist_air_is_as_in_psychrolib(psychrolib: Any) -> None:
    for dry in (-25.0, -5.0, 0.5, 12.0, 32.0, 45.0):
        assert float(saturation_pa(dry)) == pytest.approx(psychrolib.GetSatVapPres(dry), rel=1e-6)
        for humidity in (0.05, 0.3, 0.6, 0.95, 1.0):
            wet = psychrolib.GetTWetBulbFromRelHum(dry, humidity, 99_000)
            assert float(wet_bulb_c(dry, humidity, 99_000)) == pytest.approx(wet, abs=0.003)
            ratio = psychrolib.GetHumRatioFromRelHum(dry, humidity, 99_000)
            assert float(humidity_ratio(dry, humidity, 99_000)) == pytest.approx(ratio, rel=1e-6)
            dew = psychrolib.GetTDewPointFromRelHum(dry, humidity)
            assert float(dew_point_c(dry, humidity)) == pytest.approx(dew, abs=0.003)
            assert float(relative_humidity_at_dew_point(dry, dew)) == pytest.approx(humidity, rel=1e-3)


def test_the_wet_bulb_of_a_hot_day_is_as_printed() -> None:
    """32 °C at 60 %: 25.555."""
    assert float(wet_bulb_c(32, 0.6, 101_325)) == pytest.approx(25.555, abs=0.002)


def test_the_made_year_keeps_its_normals_and_says_that_it_is_made() -> None:
    year = synthetic_year(XIAMEN)
    assert "SYNTHETIC" in year.where
    by_month = np.bincount(month_of_hour(), year.dry_bulb_c) / np.bincount(month_of_hour())
    assert by_month == pytest.approx(np.array(XIAMEN.dry_bulb_c), abs=1e-9)
    humidity = np.bincount(month_of_hour(), year.relative_humidity) / np.bincount(month_of_hour())
    assert humidity == pytest.approx(np.array(XIAMEN.relative_humidity), abs=1e-6)
    assert year.relative_humidity.min() >= 0.05
    assert year.relative_humidity.max() <= 1
    assert np.abs(np.diff(year.dry_bulb_c)).max() < 3, "no jump at midnight or month's end"


def test_the_made_air_is_driest_in_the_afternoon_and_its_dew_point_follows_the_spells() -> None:
    """The dew point stays over a day, as far as fog lets it, and takes 0.65 to 0.7 of a warm spell."""
    year = synthetic_year(XIAMEN)
    by_hour = year.relative_humidity.reshape(365, 24).mean(axis=0)
    assert 14 <= by_hour.argmin() <= 15
    dew_c = dew_point_c(year.dry_bulb_c, year.relative_humidity).reshape(365, 24)
    assert np.ptp(dew_c.mean(axis=0)) < 0.15 * np.ptp(year.dry_bulb_c.reshape(365, 24).mean(axis=0))
    warmth_c, dew_c = year.dry_bulb_c.reshape(365, 24).mean(axis=1), dew_c.mean(axis=1)
    month = month_of_hour()[::24]
    slopes = [np.polyfit(warmth_c[month == m], dew_c[month == m], 1)[0] for m in range(12)]
    assert np.mean(slopes) == pytest.approx(0.675, abs=0.025)


def test_a_humidity_is_a_share() -> None:
    with pytest.raises(BadInput, match="relative_humidity"):
        wet_bulb_c(20, 60, 101_325)
