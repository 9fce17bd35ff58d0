"""Every error is a problem with a sentence and a remedy, and never repeats what was sent."""

import logging
from typing import Any

import httpx2
import pytest
from tests.faces.cli.served import Served
from tests.service.place import PASSWORD

from starverse.faces.client import Client
from starverse.model.errors import Refused
from starverse.service.platform import Limits

JSON = {"content-type": "application/json"}
LONE_SURROGATE = b'{"email":"\\ud800","password":"12345678"}'


def problem(answer: httpx2.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert set(body) == {"type", "title", "status", "detail", "remedy"}
    assert body["status"] == status
    assert body["type"].startswith("urn:starverse:problem:")
    assert body["detail"].endswith("."), body
    assert body["remedy"], body
    return body


@pytest.mark.parametrize(
    ("method", "path", "options", "status"),
    [
        ("GET", "/nowhere", {}, 404),
        ("GET", "/v1/nowhere", {}, 404),
        ("DELETE", "/healthz", {}, 405),
        ("PATCH", "/v1/jobs", {}, 405),
        ("GET", "/v1/me", {}, 401),
        ("GET", "/v1/me", {"headers": {"authorization": "Bearer nonsense"}}, 401),
        ("GET", "/v1/me", {"headers": {"authorization": "Basic YTpi"}}, 401),
        ("POST", "/v1/accounts", {"content": b"{", "headers": JSON}, 400),
        ("POST", "/v1/accounts", {"content": b"\xff\xfe", "headers": JSON}, 400),
        ("POST", "/v1/accounts", {"content": b"[" * 100_000, "headers": JSON}, 400),
        ("POST", "/v1/accounts", {"content": b"", "headers": JSON}, 422),
        ("POST", "/v1/accounts", {"json": []}, 422),
        ("POST", "/v1/accounts", {"json": {"email": "a@b"}}, 422),
        ("POST", "/v1/accounts", {"json": {"email": "a@b", "password": PASSWORD, "role": "root"}}, 422),
        ("POST", "/v1/accounts", {"json": {"email": 7, "password": PASSWORD}}, 422),
        ("POST", "/v1/accounts", {"json": {"email": "a b", "password": PASSWORD}}, 422),
        ("POST", "/v1/accounts", {"content": LONE_SURROGATE, "headers": JSON}, 422),
        ("POST", "/v1/accounts", {"json": {"email": "a@b", "password": "x" * 2_000_000}}, 413),
        ("POST", "/v1/sessions", {"json": {"email": "nobody@b", "password": PASSWORD}}, 401),
    ],
)  # fmt: skip
def test_a_stranger_meets_problems(
    http: httpx2.Client, method: str, path: str, options: dict[str, Any], status: int
) -> None:
    body = problem(http.request(method, path, **options), status)
    assert PASSWORD not in str(body)


@pytest.mark.parametrize(
    ("method", "path", "options", "status"),
    [
        ("GET", "/v1/jobs/j-absent", {}, 404),
        ("GET", "/v1/jobs/%00", {}, 404),
        ("GET", "/v1/jobs/..%2f..%2fetc", {}, 404),
        ("GET", "/v1/jobs?limit=0", {}, 422),
        ("GET", "/v1/jobs?limit=many", {}, 422),
        ("GET", "/v1/jobs?phase=asleep", {}, 422),
        ("GET", "/v1/jobs?cursor=%F0%9F%98%80", {}, 422),
        ("GET", "/v1/wallet?project=nobody", {}, 404),
        ("GET", "/v1/wallet/statement?cursor=zzz", {}, 422),
        ("POST", "/v1/jobs", {"json": {"command": ["echo"], "cards": 99}}, 422),
        ("POST", "/v1/jobs", {"json": {"command": ["echo"], "cards": True}}, 422),
        ("POST", "/v1/jobs", {"json": {"command": ["echo"], "cards": 1.5}}, 422),
        ("POST", "/v1/jobs", {"json": {"command": ["echo"], "card": 1}}, 422),
        ("POST", "/v1/jobs", {"json": {"command": []}}, 422),
        ("POST", "/v1/jobs", {"json": {"command": ["echo"], "cards": 10**400}}, 422),
        ("POST", "/v1/jobs", {"content": b'{"cards":' + b"1" * 5000 + b"}", "headers": JSON}, 400),
        ("POST", "/v1/nodes/here/cordon", {}, 403),
        ("POST", "/v1/runs/j-absent.0/faults", {"json": {}}, 403),
        ("POST", "/v1/tenants/t-x/top-ups", {"json": {"amount": 5}}, 403),
        ("POST", "/v1/prices", {"json": {"kind": "cpu", "price": 0}}, 403),
        ("PUT", "/v1/secrets/a%20b", {"json": {"value": "x"}}, 422),
        ("PUT", "/v1/blobs/nothex", {"content": b"x"}, 422),
        ("PUT", "/v1/blobs/" + "0" * 64, {"content": b"x"}, 422),
        ("POST", "/v1/snapshots", {"json": {"files": []}}, 422),
        ("DELETE", "/v1/tokens/absent", {}, 404),
    ],
)
def test_whoever_is_signed_in_meets_problems(
    http: httpx2.Client, ann: Client, method: str, path: str, options: dict[str, Any], status: int
) -> None:
    headers = options.pop("headers", {}) | {"authorization": f"Bearer {ann.token}"}
    problem(http.request(method, path, headers=headers, **options), status)


def test_a_body_without_a_declared_length_is_bounded_too(http: httpx2.Client) -> None:
    endless = (b"[" * 65536 for _ in range(100))
    problem(http.post("/v1/accounts", content=endless, headers=JSON), 413)


def test_people_behind_one_console_have_limits_of_their_own(served: Served) -> None:
    served.place.platform.__dict__["limits"] = Limits(registrations_per_hour=1)
    for number, address in enumerate(("203.0.113.7", "203.0.113.8", "")):
        with Client(served.url, address=address) as client:
            client.register(f"p{number}@example.com", PASSWORD)
            with pytest.raises(Refused, match="too often"):
                client.register(f"q{number}@example.com", PASSWORD)


def test_who_tries_too_often_is_told_when_to_try_again(served: Served, http: httpx2.Client) -> None:
    served.place.platform.__dict__["limits"] = Limits(logins_per_ten_minutes=1, registrations_per_hour=1)
    login = {"email": "a@b", "password": PASSWORD}
    http.post("/v1/sessions", json=login)
    answer = http.post("/v1/sessions", json=login)
    assert 0 < int(answer.headers["retry-after"]) <= 600
    assert problem(answer, 429)["type"] == "urn:starverse:problem:too-often"
    http.post("/v1/accounts", json=login)
    problem(http.post("/v1/accounts", json=login | {"email": "c@d"}), 429)


def test_what_breaks_inside_is_told_without_its_insides(
    served: Served, ann: Client, http: httpx2.Client
) -> None:
    def ask(question: object) -> None:
        raise ZeroDivisionError("the secret of the house")

    served.place.platform.__dict__["ask"] = ask
    answer = http.get("/v1/nodes", headers={"authorization": f"Bearer {ann.token}"})
    assert "secret of the house" not in str(problem(answer, 500))


def test_passwords_tokens_and_secrets_stay_out_of_logs_and_answers(
    http: httpx2.Client, ann: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    headers = {"authorization": f"Bearer {ann.token}"}
    secret = str(ann.token).rpartition("_")[2]
    answers = [
        http.post("/v1/sessions", json={"email": "ann@example.com", "password": "canary-password"}),
        http.post("/v1/sessions", json={"email": "ann@example.com", "passwort": "canary-password"}),
        http.post("/v1/accounts", json={"email": "ann@example.com", "password": "canary-password"}),
        http.put("/v1/secrets/KEY", json={"value": "canary-value"}, headers=headers),
        http.put("/v1/secrets/A B", json={"value": "canary-value"}, headers=headers),
        http.get("/v1/secrets", headers=headers),
        http.get("/v1/tokens", headers=headers),
        http.get("/v1/me", headers={"authorization": f"Bearer {ann.token}x"}),
        http.get("/v1/nowhere", headers=headers),
    ]
    said = "\n".join(answer.text + str(answer.headers) for answer in answers)
    ours = "\n".join(record.getMessage() for record in caplog.records if record.name != "httpcore2")
    for canary in ("canary-password", "canary-value", secret):
        assert canary not in said
        assert canary not in ours
