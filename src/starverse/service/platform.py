"""What the use cases need of the server around them, handed in once by whoever starts it."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from sqlalchemy import Engine

from starverse.control.state import State
from starverse.model.units import YUAN
from starverse.service.rates import Rates
from starverse.store.blobs import Blobs
from starverse.store.requests import Requests

T = TypeVar("T")

_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # without those that look alike


class Ask(Protocol):
    """Answers a question about the loop's state, on the loop's own thread."""

    def __call__(self, question: Callable[[State], T], /) -> T:
        """What the question says of the state, which it must not change. Raises Refused if nobody answers."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What one caller may take; each is a bound that keeps the server well."""

    trial_credit: int = 10 * YUAN
    body_bytes_max: int = 1 << 20
    manifest_bytes_max: int = 32 << 20
    token_days: int = 90
    answer_wait_s: float = 2.0
    """How long a call waits for the loop to take its request up."""
    streams_per_user: int = 32
    registrations_per_hour: int = 60
    logins_per_ten_minutes: int = 20


def new_id(prefix: str) -> str:
    """An id nobody can guess, such as `j-4h7kq2mxwp`."""
    return f"{prefix}-" + "".join(secrets.choice(_LETTERS) for _ in range(10))


@dataclass(frozen=True)
class Platform:
    """One server. `isolation` says in a sentence how jobs are kept apart here; without `accepts_foreign` only
    the owner's (the first operator's) jobs are taken."""

    database: Engine
    requests: Requests
    blobs: Blobs
    ask: Ask
    home: Path
    now_ms: Callable[[], int]
    isolation: str
    accepts_foreign: bool
    new_id: Callable[[str], str] = new_id
    limits: Limits = Limits()
    rates: Rates = field(default_factory=Rates)
