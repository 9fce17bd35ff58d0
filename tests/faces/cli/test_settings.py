"""What is remembered between calls, and that nobody else can read it."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starverse.faces.cli import settings
from starverse.faces.cli.settings import Login, Settings
from starverse.model.errors import BadInput, StarverseError

URL = "http://127.0.0.1:8701"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_nothing_was_saved_yet() -> None:
    assert settings.load() == Settings()


def test_a_login_is_read_back_and_only_the_owner_can_read_it(home: Path) -> None:
    saved = Settings().with_login(URL, Login("sv_secret", "ada@example.com"))
    settings.save(saved)
    assert settings.load() == saved
    assert settings.path() == home / "starverse" / "config.toml"
    assert (mode(settings.path()), mode(home / "starverse")) == (0o600, 0o700)
    assert list(settings.path().parent.iterdir()) == [settings.path()]


def test_a_file_that_others_could_read_is_closed() -> None:
    settings.save(Settings().with_login(URL, Login("sv_secret")))
    settings.path().chmod(0o644)
    settings.load()
    assert mode(settings.path()) == 0o600


def test_each_server_has_its_login_and_the_last_one_is_meant() -> None:
    saved = Settings().with_login(URL, Login("a", "a@x")).with_login("https://far", Login("b", "b@x"))
    assert saved.server == "https://far"
    assert saved.without("https://far").logins == {URL: Login("a", "a@x")}
    settings.save(saved)
    assert settings.load() == saved


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_read_back(server: str, token: str) -> None:
    saved = Settings().with_login(server.rstrip("/"), Login(token))
    settings.save(saved)
    assert settings.load() == saved


def test_a_link_is_kept(home: Path) -> None:
    elsewhere = home / "dotfiles" / "starverse.toml"
    settings.path().parent.mkdir()
    settings.path().symlink_to(elsewhere)
    settings.save(Settings(URL))
    assert settings.path().is_symlink()
    assert elsewhere.is_file()


@pytest.mark.parametrize(
    "text", ["server = [", "server = 3", "servers = 3", "[servers.x]\nemail = 'a'", "[servers.x]\ntoken = 1"]
)
def test_a_damaged_file_is_named_with_what_to_do(text: str) -> None:
    settings.path().parent.mkdir()
    settings.path().write_text(text)
    with pytest.raises(BadInput, match=r"config\.toml.*Mend or delete it"):
        settings.load()


def test_a_folder_in_the_way_is_named() -> None:
    settings.path().mkdir(parents=True)
    with pytest.raises(StarverseError, match=r"config\.toml cannot be read: Is a directory"):
        settings.load()
    with pytest.raises(StarverseError, match=r"config\.toml cannot be written"):
        settings.save(Settings(URL))
    assert os.listdir(settings.path().parent) == ["config.toml"]  # noqa: PTH208


def test_without_xdg_it_is_in_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for unset in ("", "relative/path"):
        monkeypatch.setenv("XDG_CONFIG_HOME", unset)
        assert settings.path() == tmp_path / ".config" / "starverse" / "config.toml"


def test_a_token_is_not_in_what_python_prints() -> None:
    assert "sv_secret" not in repr(Settings().with_login(URL, Login("sv_secret")))
