"""The API keeps to its own document, whatever is thrown at it; as long as is bearable, longer with --deep."""

import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.faces.cli.served import Served
from tests.service.place import Place

from starverse.faces.client import Client
from starverse.faces.schemas import JobAsk
from starverse.service import accounts
from starverse.service.platform import Limits

ENDLESS = r"/stream$"
SIGNS_OUT = r"/sessions/current$"
CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, migrated: Path) -> Iterator[Served]:
    """One server for all of it."""
    home = tmp_path_factory.mktemp("schema")
    shutil.copy(migrated, home)
    place = Place(home, limits=Limits(registrations_per_hour=10**6, logins_per_ten_minutes=10**6))
    served = Served(place)
    served.start()
    yield served
    served.stop()
    place.close()


@pytest.fixture(scope="module")
def operator(served: Served) -> Iterator[Client]:
    """An operator, who gets deepest, with a job to be looked at."""
    made = accounts.make_operator(served.place.platform)
    assert made
    with Client(served.url, made.token) as client:
        job = client.submit(JobAsk(("echo",)))
        served.place.reach(job.job, "running")
        yield client


TRIES = 8
FRAMING = {"content-length", "transfer-encoding"}
"""Headers that say where a request ends: a broken one never reaches the API (see the last test)."""


def test_answers_are_what_the_document_says(served: Served, operator: Client) -> None:
    schema = schemathesis.openapi.from_url(f"{served.url}/openapi.json")
    headers = {"Authorization": f"Bearer {operator.token}"}
    known = _known(operator)
    operations = [found.ok() for found in schema.get_all_operations()]
    tried = [each for each in operations if not re.search(f"{ENDLESS}|{SIGNS_OUT}", each.path)]
    assert len(tried) > 35
    for operation in tried:
        _throw(operation, GenerationMode.POSITIVE, headers)
        _throw(operation, GenerationMode.NEGATIVE, headers)
        real = {name: value for name, value in known.items() if f"{{{name}}}" in operation.path}
        if real:
            _throw(operation, GenerationMode.POSITIVE, headers, real)


def _known(operator: Client) -> dict[str, str]:
    """What is there, by the name that paths give it."""
    project = operator.whoami().projects[0]
    job = operator.jobs().items[0].job
    return {"job": job, "run": f"{job}.0", "node": "here"} | {
        "project": project.project,
        "tenant": project.tenant,
    }


def _throw(
    operation: Any, mode: GenerationMode, headers: dict[str, str], real: dict[str, str] | None = None
) -> None:
    """What fits the document (or, negative, does not), perhaps at something real; see what comes back."""

    @settings(max_examples=TRIES, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(operation.as_strategy(generation_mode=mode))
    def throw(case: Any) -> None:
        case.path_parameters = {**(case.path_parameters or {}), **(real or {})}
        for name in [name for name in case.headers or () if name.lower() in FRAMING]:
            del case.headers[name]
        answer = case.call(headers=headers, timeout=20)
        assert answer.status_code < 500, f"{operation.label}: {answer.text}"
        assert operator_token not in answer.text or operation.path == "/v1/tokens"
        case.validate_response(answer, checks=CHECKS)

    operator_token = headers["Authorization"].removeprefix("Bearer ")
    with suppress(Unsatisfiable):  # a route that takes nothing cannot be told anything wrong
        throw()


@pytest.mark.parametrize("header", ["Content-Length: NULL", "Transfer-Encoding: never"])
def test_a_request_without_an_end_is_refused_and_the_server_goes_on(served: Served, header: str) -> None:
    place = urlsplit(served.url)
    assert place.hostname
    with socket.create_connection((place.hostname, place.port or 80), timeout=20) as line:
        line.sendall(f"GET /v1/health HTTP/1.1\r\nHost: here\r\n{header}\r\n\r\n".encode())
        assert line.makefile("rb").readline().split()[1] == b"400"
    with Client(served.url) as client:
        assert client.health().ready
