"""A server as a process: what it says when it does not come up, and a log that stays bounded."""

from pathlib import Path

import pytest

from starverse.faces import process
from starverse.faces.process import ServerProcess
from starverse.model.errors import Refused


def test_a_server_that_does_not_come_up_is_told_by_its_last_words_and_the_log_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "LOG_BYTES_MAX", 10)
    (tmp_path / "server.log").write_text("the words of an earlier server\n")
    (tmp_path / "starverse.toml").write_text("cards = -1\n")
    server = ServerProcess(tmp_path, "http://127.0.0.1:1", ["--no-console"])
    with pytest.raises(Refused, match=r"cards is -1\. Give 0 to 4,096\."):
        server.start()
    assert (tmp_path / "server.log.1").read_text() == "the words of an earlier server\n"
    assert "earlier" not in (tmp_path / "server.log").read_text()
    server.stop()
