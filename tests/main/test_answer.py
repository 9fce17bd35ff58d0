"""What a person reads of an answer: units, rows with a header, names that stay apart."""

import msgspec
import pytest

from starverse.main.answer import show_answer


class Row(msgspec.Struct):
    cause: str
    lost_kw: float
    share: float


class Answer(msgspec.Struct):
    power_w: float
    time_s: float
    wait_s: float
    moved_bytes: float
    bus_bytes_per_s: float
    saved_kw: float
    saved_share: float
    card_hour_micro_yuan: int
    water_m3_per_year: float
    supply_most_c: float
    tokens_per_s: float
    tank_c: float | None
    memory: dict[str, float]
    rows: tuple[Row, ...]
    source: str = "measured here"


ANSWER = Answer(
    700.0, 0.00157, 250_000.0, 5.67e12, 4.5e11, 12.5, 0.0421, 2_464_631, 37_074.9, 40.0, 2.5e6, None,
    {"weights": 6.97e9}, (Row("SIVOC", 648.4, 0.36), Row("rectifier", 1161.0, 0.64)),
)  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "power 700 W",
        "time 1.57 ms",
        "wait 2.894 days",
        "moved 5.67 TB",
        "bus 450 GB/s",
        "saved kw 12.5 kW",  # two are called saved: their units tell them apart
        "saved share 4.21 %",
        "card hour ¥2.4646",
        "water 37,075 m³ a year",
        "supply most 40 °C",
        "tokens 2,500,000 a second",
        "tank -",
        "memory weights 6.97 GB",
        "rows cause lost share",
        "SIVOC 648.4 kW 36 %",
        "rectifier 1,161 kW 64 %",
        "source: measured here",
    ],
)
def test_a_figure_stands_in_its_unit(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    show_answer(ANSWER, json=False)
    said = [" ".join(each.split()) for each in capsys.readouterr().out.splitlines()]
    assert line in said


def test_scripts_read_the_same_figures_unrounded(capsys: pytest.CaptureFixture[str]) -> None:
    show_answer(ANSWER, json=True)
    assert msgspec.json.decode(capsys.readouterr().out, type=Answer) == ANSWER
