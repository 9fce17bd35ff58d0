"""No route shows or changes what is another tenant's: the OpenAPI document is walked, so that a new route
fails here until it is looked at."""

import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from tests.faces.cli.served import Served
from tests.service.place import Place

from starverse.faces.client import Client
from starverse.faces.schemas import JobAsk, ReservationAsk
from starverse.model.units import HOUR_MS, MINUTE_MS

OPEN_TO_ALL = {
    "GET /healthz",
    "GET /metrics",  # from this machine; see test_server
    "POST /v1/accounts",
    "POST /v1/sessions",
}

OPERATORS_ONLY = {
    "POST /v1/nodes/{node}/cordon",
    "POST /v1/nodes/{node}/drain",
    "POST /v1/nodes/{node}/uncordon",
    "POST /v1/runs/{run}/faults",
    "POST /v1/tenants/{tenant}/top-ups",
    "POST /v1/prices",
    "GET /v1/limits",
    "PUT /v1/limits/quotas/{tenant}",
    "DELETE /v1/limits/quotas/{tenant}",
    "PUT /v1/limits/licences/{licence}",
    "PUT /v1/limits/budgets/{feed}",
}
"""403 whether the thing is there or not."""

NAMED_BY_THE_CALLER = {
    "PUT /v1/secrets/{name}",
    "DELETE /v1/secrets/{name}",
    "PUT /v1/blobs/{digest}",
}
"""The name is in the caller's own tenant, unless another's project is named, which is tried below."""

BODIES: dict[str, Any] = {
    "POST /v1/jobs": {"command": ["echo"]},
    "POST /v1/jobs/preview": {"command": ["echo"]},
    "POST /v1/runs/{run}/faults": {"rank": 0},
    "PUT /v1/projects/{project}/members": {"email": "bob@example.com", "role": "owner"},
    "PUT /v1/secrets/{name}": {"value": "x"},
    "POST /v1/blobs/missing": {"digests": []},
    "POST /v1/snapshots": {"files": [{"path": "a", "digest": "0" * 64, "size": 1}]},
    "POST /v1/tenants/{tenant}/top-ups": {"amount": 1},
    "POST /v1/prices": {"kind": "cpu", "price": 1},
    "POST /v1/reservations": {"cards": 1, "from_ms": 1, "to_ms": 2},
    "POST /v1/reservations/preview": {"cards": 1, "from_ms": 1, "to_ms": 2},
    "PUT /v1/limits/quotas/{tenant}": {"guaranteed": 1},
    "PUT /v1/limits/licences/{licence}": {"count": 1},
    "PUT /v1/limits/budgets/{feed}": {"watts": 1},
    "POST /v1/projects": {"name": "new"},
    "POST /v1/tokens": {"name": "new"},
}

Operation = tuple[str, str, str, dict[str, Any]]


@pytest.fixture
def operations(http: httpx2.Client) -> list[Operation]:
    document = http.get("/openapi.json").json()
    return [
        (f"{method.upper()} {path}", method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


@pytest.fixture
def hers(ann: Client, place: Place) -> dict[str, str]:
    """What is Ann's, by the name that paths give it."""
    account = ann.whoami()
    job = ann.submit(JobAsk(("echo",))).job
    place.reach(job, "running")
    place.output(job, "result.txt", b"canary")
    place.writes(f"{job}.0", "stdout", b"canary")
    ann.put_secret("CANARY", "canary")
    from_ms = place.platform.now_ms() + HOUR_MS
    ask = ReservationAsk(1, from_ms, from_ms + MINUTE_MS, label="canary")
    return {
        "reservation": ann.reserve(ask).reservation,
        "licence": "solver",
        "feed": "rack-1",
        "job": job,
        "run": f"{job}.0",
        "path": "result.txt",
        "project": account.projects[0].project,
        "tenant": account.projects[0].tenant,
        "user": account.user,
        "token_id": ann.tokens()[0].token_id,
        "name": "CANARY",
        "node": "here",
        "digest": "0" * 64,
    }


def filled(path: str, values: dict[str, str]) -> str:
    return re.sub(r"{(\w+)}", lambda found: values[found[1]], path)


def as_bob(
    http: httpx2.Client, bob: Client, name: str, method: str, path: str, **query: str
) -> httpx2.Response:
    options: dict[str, Any] = {"json": BODIES[name]} if name in BODIES else {}
    headers = {"authorization": f"Bearer {bob.token}"}
    return http.request(method, path, headers=headers, params=query, **options)


def test_nothing_with_an_id_is_there_for_another_tenant(
    http: httpx2.Client, bob: Client, hers: dict[str, str], operations: list[Operation]
) -> None:
    tried = 0
    for name, method, path, _ in operations:
        if "{" not in path or name in NAMED_BY_THE_CALLER:
            continue
        tried += 1
        answer = as_bob(http, bob, name, method, filled(path, hers))
        wanted = 403 if name in OPERATORS_ONLY else 404
        assert answer.status_code == wanted, f"{name} answers {answer.status_code}: {answer.text}"
        assert "canary" not in answer.text
        absent = dict.fromkeys(hers, "absent")
        nothing = as_bob(http, bob, name, method, filled(path, absent))
        assert nothing.status_code == wanted, name
        told, told_of_nothing = answer.json()["detail"], nothing.json()["detail"]
        for key in re.findall(r"{(\w+)}", path):
            told = told.replace(hers[key], "absent")
        assert told == told_of_nothing, f"{name} tells the two apart"
    assert tried >= 20


def test_another_tenants_project_is_not_there_in_any_query_or_body(
    http: httpx2.Client, bob: Client, hers: dict[str, str], operations: list[Operation]
) -> None:
    tried = set()
    headers = {"authorization": f"Bearer {bob.token}"}
    for name, method, path, operation in operations:
        if any(
            each["name"] == "project" and each["in"] == "query" for each in operation.get("parameters", [])
        ):
            tried.add(name)
            answer = as_bob(http, bob, name, method, filled(path, hers), project=hers["project"])
            assert answer.status_code == 404, f"{name} answers {answer.status_code}: {answer.text}"
        schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        if schema and schema["$ref"].endswith(("/JobBody", "/ReservationBody")):
            tried.add(name)
            body = {**BODIES[name], "project": hers["project"]}
            assert http.request(method, path, headers=headers, json=body).status_code == 404, name
    assert (
        NAMED_BY_THE_CALLER
        | {"POST /v1/jobs", "POST /v1/reservations", "GET /v1/wallet", "GET /v1/wallet/statement"}
        <= tried
    )


def test_no_list_of_ones_own_holds_anything_of_others(
    http: httpx2.Client, bob: Client, hers: dict[str, str], operations: list[Operation]
) -> None:
    for name, method, path, _ in operations:
        if method == "GET" and "{" not in path and name not in OPEN_TO_ALL and path != "/v1/stream":
            answer = as_bob(http, bob, name, method, path)
            assert answer.status_code == (403 if name in OPERATORS_ONLY else 200), name
            for value in (
                hers["job"],
                hers["reservation"],
                hers["project"],
                hers["tenant"],
                hers["user"],
                "canary",
                "CANARY",
            ):
                assert value not in answer.text, f"{name} shows {value}"


def test_what_was_tried_on_hers_changed_nothing(
    http: httpx2.Client, ann: Client, bob: Client, hers: dict[str, str], operations: list[Operation]
) -> None:
    def all_of_it() -> tuple[object, ...]:
        booked = ann.reservations()
        return ann.job(hers["job"]).phase, ann.members(hers["project"]), ann.tokens(), ann.nodes(), booked

    before = all_of_it()
    for name, method, path, _ in operations:
        if "{" in path:
            as_bob(http, bob, name, method, filled(path, hers), project=hers["project"])
    assert before == all_of_it()
    assert [secret.name for secret in ann.secrets()] == ["CANARY"]


def test_without_a_token_nothing_answers(
    http: httpx2.Client, hers: dict[str, str], operations: list[Operation]
) -> None:
    for name, method, path, _ in operations:
        answer = http.request(method, filled(path, hers), json=BODIES.get(name, {}))
        if name not in OPEN_TO_ALL:
            assert answer.status_code == 401, f"{name} answers {answer.status_code}"
            assert answer.headers["www-authenticate"] == "Bearer"


def test_a_viewer_changes_nothing(
    http: httpx2.Client, ann: Client, bob: Client, hers: dict[str, str], operations: list[Operation]
) -> None:
    ann.invite(hers["project"], "bob@example.com", "viewer")
    for name, method, path, operation in operations:
        parameters = {each["name"] for each in operation.get("parameters", [])}
        if method == "GET" or not parameters & {"job", "project", "reservation"}:
            continue
        answer = as_bob(http, bob, name, method, filled(path, hers), project=hers["project"])
        assert answer.status_code == 403, f"{name} answers {answer.status_code}: {answer.text}"


def test_streams_are_ones_own(served: Served, bob: Client, hers: dict[str, str]) -> None:
    def first(stream: Iterator[Any]) -> Any:
        return next(stream)

    assert first(bob.stream_all()).wallet.tenant == bob.whoami().projects[0].tenant
