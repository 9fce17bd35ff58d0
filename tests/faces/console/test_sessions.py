"""Sessions: tokens stay here, browsers get random cookies, and what likes people have is kept."""

from pathlib import Path

import pytest

from starverse.faces import schemas as sc
from starverse.faces.console import sessions as module
from starverse.faces.console.sessions import Sessions

FAR_MS = 4_000_000_000_000
ACCOUNT = sc.Account("u-1", "ada@example.com", False, ())


def signed_in(token: str = "svt_secret", expires_ms: int = FAR_MS) -> sc.SignedIn:
    return sc.SignedIn(token, "k-1", expires_ms, ACCOUNT)


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions("http://127.0.0.1:1", tmp_path / "store")


def test_a_ticket_opens_one_session_once(sessions: Sessions) -> None:
    ticket = sessions.ticket(signed_in())
    cookie = sessions.redeem(ticket)
    session = sessions.of(cookie)
    assert session is not None
    assert session.row.token == "svt_secret"
    assert sessions.redeem(ticket) == ""
    assert sessions.of("") is None
    assert sessions.of(session.row.key) is None, "what the file holds opens no session"


def test_a_ticket_grows_old(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    ticket = sessions.ticket(signed_in())
    monkeypatch.setattr(module, "TICKET_S", 0.0)
    monkeypatch.setattr(module.time, "monotonic", lambda: 1e12)
    assert sessions.redeem(ticket) == ""


def test_an_expired_token_ends_the_session(sessions: Sessions) -> None:
    cookie = sessions.redeem(sessions.ticket(signed_in(expires_ms=1)))
    assert sessions.of(cookie) is None


def test_sessions_and_likes_outlive_the_console_in_a_file_that_only_its_owner_reads(
    sessions: Sessions, tmp_path: Path
) -> None:
    cookie = sessions.redeem(sessions.ticket(signed_in()))
    session = sessions.of(cookie)
    assert session is not None
    sessions.like(session, language="zh", look="dark")
    kept = tmp_path / "store" / "sessions.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    assert cookie not in kept.read_text()

    again = Sessions("http://127.0.0.1:1", kept.parent).of(cookie)
    assert again is not None
    assert (again.person.language, again.person.look) == ("zh", "dark")


def test_signing_out_is_for_good_and_likes_are_kept_for_the_next_time(sessions: Sessions) -> None:
    cookie = sessions.redeem(sessions.ticket(signed_in()))
    session = sessions.of(cookie)
    assert session is not None
    sessions.like(session, look="dark")
    sessions.forget(session)
    assert sessions.of(cookie) is None
    again = sessions.of(sessions.redeem(sessions.ticket(signed_in())))
    assert again is not None
    assert again.person.look == "dark"


def test_a_file_that_cannot_be_read_only_means_signing_in_again(tmp_path: Path) -> None:
    (tmp_path / "sessions.json").write_text("{ half")
    assert Sessions("http://127.0.0.1:1", tmp_path).of("x") is None


def test_there_are_never_more_than_so_many(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SESSIONS_MAX", 3)
    cookies = [sessions.redeem(sessions.ticket(signed_in(f"svt_{n}"))) for n in range(5)]
    assert sum(sessions.of(cookie) is not None for cookie in cookies) == 3
