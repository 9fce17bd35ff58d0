"""The API on a real port, two people with money who know nothing of each other, and an operator."""

from collections.abc import Iterator

import httpx2
import pytest
from tests.faces.cli.served import Served
from tests.service.place import PASSWORD

from starverse.faces.client import Client
from starverse.model.requests import TopUp
from starverse.model.units import YUAN
from starverse.service import accounts


@pytest.fixture
def http(served: Served) -> Iterator[httpx2.Client]:
    """Somebody without a token who speaks plain HTTP."""
    with httpx2.Client(base_url=served.url, timeout=20, trust_env=False) as http:
        yield http


def _person(served: Served, name: str) -> Iterator[Client]:
    with Client(served.url) as client:
        account = client.register(f"{name}@example.com", PASSWORD).account
        served.place.tell(TopUp(account.projects[0].tenant, 1000 * YUAN))
        yield client


@pytest.fixture
def ann(served: Served) -> Iterator[Client]:
    yield from _person(served, "ann")


@pytest.fixture
def bob(served: Served) -> Iterator[Client]:
    yield from _person(served, "bob")


@pytest.fixture
def operator(served: Served) -> Iterator[Client]:
    made = accounts.make_operator(served.place.platform)
    assert made
    with Client(served.url, made.token) as client:
        yield client
