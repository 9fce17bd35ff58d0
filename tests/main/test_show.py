"""The demo's own operator token lives no longer than its story."""

from pathlib import Path

import pytest

from starverse.main.offline import offline_platform
from starverse.main.settings import Settings
from starverse.main.show import TOKEN_LASTS_MS, _operator
from starverse.model.errors import NotSignedIn
from starverse.service import accounts
from starverse.service.access import actor_of


def test_the_token_is_short_lived_and_revoked_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "heard", lambda *_: True)
    platform = offline_platform(tmp_path, Settings())
    first = accounts.make_operator(platform)
    assert first
    with pytest.raises(ZeroDivisionError), _operator(tmp_path, Settings()) as token:  # noqa: PT012
        actor = actor_of(platform, token)
        assert actor.operator
        shown = next(each for each in accounts.list_tokens(platform, actor) if each.current)
        assert shown.expires_ms - shown.created_ms == TOKEN_LASTS_MS
        raise ZeroDivisionError
    with pytest.raises(NotSignedIn, match="revoked"):
        actor_of(platform, token)
    assert actor_of(platform, first.token).operator
