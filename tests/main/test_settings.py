"""The settings file: every key has a default, and a slip is named with what was meant."""

import tomllib
from pathlib import Path

import msgspec
import pytest

from starverse.main.settings import Settings, home_of, read_settings
from starverse.model.errors import BadInput
from starverse.money.lease import LeaseTerms
from starverse.money.prices import EXAMPLE_PRICES


def test_a_home_without_a_file_has_the_defaults(tmp_path: Path) -> None:
    assert read_settings(tmp_path) == Settings()


def test_what_is_written_is_taken(tmp_path: Path) -> None:
    text = "port = 9000\n[prices]\ncpu = 250000\n[lease]\nwindow_ms = 60000\n"
    text += "least_ms = 20000\ngrace_ms = 5000\n"
    (tmp_path / "starverse.toml").write_text(text)
    settings = read_settings(tmp_path)
    assert settings.port == 9000
    assert settings.prices == {"cpu": 250_000}
    assert settings.lease == LeaseTerms(60_000, 20_000, 5_000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot = 9000\n", "did you mean `port`?"),
        ('port = "9000"\n', "port"),
        ("port = \n", "Invalid value"),
        ("[lease]\nwindow_ms = 1\n", "window_ms"),
        ("port = 0\n", "port is 0. Give 1 to 65,535."),
        ("console_port = 70000\n", "console_port is 70,000. Give 1 to 65,535."),
        ("port = 8700\n", "port and console_port are both 8700. Give each its own."),
        ('names = ["https://sv.example.org"]\n', "names has 'https://sv.example.org'."),
        ("cards = -1\n", "cards is -1. Give 0 to 4,096."),
        ("trial_credit = -1\n", "trial_credit is -1. Give 0 to"),
        ("snapshot_every = 0\n", "snapshot_every is 0. Give 1 to 1,000,000."),
        ("[prices]\ncpu = -5\n", "prices.cpu is -5. Give 0 to"),
        (
            "[lease]\nwindow_ms = 999999999999\n",
            "lease.window_ms is 999,999,999,999. Give 1,000 to 604,800,000.",
        ),
    ],
)
def test_a_slip_is_one_sentence_that_names_the_file(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "starverse.toml").write_text(text)
    with pytest.raises(BadInput) as caught:
        read_settings(tmp_path)
    assert said in str(caught.value)
    assert str(tmp_path / "starverse.toml") in str(caught.value)


def test_the_settings_that_operate_md_shows_are_the_defaults() -> None:
    page = Path(__file__).parents[2] / "docs" / "operate.md"
    shown = tomllib.loads(page.read_text().partition("```toml\n")[2].partition("```")[0])
    assert shown.pop("prices") == {"cpu": EXAMPLE_PRICES["cpu"]}
    defaults = msgspec.json.decode(msgspec.json.encode(Settings()))
    del defaults["prices"]
    assert shown == defaults


def test_the_home_is_the_option_then_the_variable_then_the_users_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARVERSE_HOME", str(tmp_path / "by-variable"))
    assert home_of(tmp_path / "by-option") == tmp_path / "by-option"
    assert home_of() == tmp_path / "by-variable"
    monkeypatch.delenv("STARVERSE_HOME")
    assert home_of() == Path("~/.local/share/starverse").expanduser()
