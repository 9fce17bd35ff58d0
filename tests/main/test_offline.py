"""What is said where a home is saved, brought back, or given a new operator's token."""

from pathlib import Path

import pytest

from starverse.main import offline
from starverse.service import accounts
from starverse.service.access import actor_of
from starverse.store.backup import demand_own
from starverse.store.database import home_url, open_database


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    open_database(home_url(home)).dispose()
    return home


def test_a_restore_says_that_the_other_server_must_be_stopped(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    offline.backup_home(home, tmp_path / "x.tar", force=False)
    offline.restore_home(tmp_path / "other", tmp_path / "x.tar", replace=False)
    said = capsys.readouterr().out.splitlines()
    assert said[-1].startswith("Before you start a server here, stop the one it was saved from")
    assert said[-1].endswith("starverse up --take-over")


def test_a_home_restored_in_its_own_place_is_nobodys_copy(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    offline.backup_home(home, tmp_path / "x.tar", force=False)
    offline.restore_home(home, tmp_path / "x.tar", replace=True)
    assert "--take-over" not in capsys.readouterr().out
    demand_own(home, take_over=False)


def test_a_new_operator_token_stands_alone_on_stdout_and_what_to_do_with_it_beside_it(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "heard", lambda *_: True)
    platform = offline.offline_platform(home, offline.read_settings(home))
    made = accounts.make_operator(platform)
    assert made
    offline.print_operator_token(home)
    said = capsys.readouterr()
    assert actor_of(platform, said.out.strip()).user == made.account.user
    assert "starverse login --token-stdin" in said.err
    assert "STARVERSE_TOKEN" in said.err
