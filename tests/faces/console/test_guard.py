"""What the console turns away, and what it says with everything it lets through."""

import http.client
import re
from contextlib import closing
from typing import NamedTuple

import httpx2
import pytest
from tests.faces.console.conftest import PASSWORD, Console
from tests.faces.console.pretend import Server


class Answer(NamedTuple):
    """What came back, without its body."""

    status: int
    headers: http.client.HTTPMessage


def call(console: Console, method: str, path: str, **headers: str) -> Answer:
    host, _, port = console.url.removeprefix("http://").partition(":")
    with closing(http.client.HTTPConnection(host, int(port), timeout=20)) as connection:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        with closing(connection.getresponse()) as answer:
            return Answer(answer.status, answer.headers)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8700", "localhost.evil.example", ""])
def test_a_name_that_is_not_ours_is_turned_away(console: Console, host: str) -> None:
    assert call(console, "GET", "/sign-in", Host=host).status == 421


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9", "[::1]:8700", "10.0.0.7"])
def test_addresses_are_never_names_of_strangers(console: Console, host: str) -> None:
    assert call(console, "GET", "/sign-in", Host=host).status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", None])
def test_nothing_is_posted_from_elsewhere(console: Console, origin: str | None) -> None:
    given = {"Origin": origin} if origin else {}
    assert call(console, "POST", "/session", **given).status == 403


def test_no_socket_is_opened_from_elsewhere(console: Console) -> None:
    upgrade = {
        "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }  # fmt: skip
    path = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    from_elsewhere = call(console, "GET", path, Origin="http://evil.example", **upgrade)
    assert from_elsewhere.status == 403
    from_here = call(console, "GET", path, Origin=console.url, **upgrade)
    assert from_here.status == 101


def test_a_body_beyond_its_bound_is_turned_away(console: Console) -> None:
    large = {"Origin": console.url, "Content-Length": str(2 << 20)}
    assert call(console, "POST", "/session", **large).status == 413


def test_every_answer_carries_the_careful_headers(console: Console) -> None:
    for path in ("/sign-in", "/nowhere", "/look/console.css", "/"):
        answer = call(console, "GET", path, Accept="text/html")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        policy = answer.headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "http" not in policy, "nothing from elsewhere is allowed"
        assert "uvicorn" not in str(answer.headers).lower()


def test_who_is_not_signed_in_is_led_to_the_card(console: Console) -> None:
    answer = call(console, "GET", "/jobs/j-1")
    assert answer.status == 303
    assert answer.headers["location"] == "/sign-in?next=/jobs/j-1"
    assert call(console, "GET", "/files/j-1/a.txt").headers["location"] == "/sign-in"


@pytest.mark.parametrize("ticket", ["", "guessed", "x" * 1000])
def test_a_guessed_ticket_opens_nothing(console: Console, ticket: str) -> None:
    answer = httpx2.post(f"{console.url}/session", content=ticket, headers={"origin": console.url})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_an_address_where_nothing_is_says_so_in_the_language_of_the_browser(console: Console) -> None:
    html = {"accept": "text/html", "accept-language": "zh-CN,zh;q=0.9"}
    answer = httpx2.get(f"{console.url}/nowhere", headers=html)
    assert answer.status_code == 404
    assert "这里什么也没有" in answer.text


def test_no_token_is_in_pages_addresses_or_logs(console: Console, server: Server) -> None:
    token = httpx2.post(
        f"{server.url}/v1/sessions", json={"email": "ada@example.com", "password": PASSWORD}
    ).json()["token"]
    page = httpx2.get(f"{console.url}/sign-in", cookies={"starverse": token}).text
    assert token not in page
    assert not re.search(r"tok-\d+-x+|svt_", console.log.read_text())
