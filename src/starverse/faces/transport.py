"""How the client's calls cross the wire: connections, answers read into shapes, problems raised as errors."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import msgspec

import starverse
from starverse.model import errors

T = TypeVar("T")

CHUNK_BYTES = 1 << 20


class Unreachable(errors.StarverseError):
    """There is no server, or it stopped answering."""


ERRORS: dict[str, type[errors.StarverseError]] = {
    "bad-input": errors.BadInput,
    "not-found": errors.NotFound,
    "refused": errors.Refused,
    "not-allowed": errors.NotAllowed,
    "too-often": errors.Refused,
    "not-signed-in": errors.NotSignedIn,
    "conflict": errors.Conflict,
    "unavailable": Unreachable,
}
"""The last part of a problem's `type`, and what it is raised as."""


def connect(base_url: str, timeout_s: float, address: str = "") -> httpx2.Client:
    """A pool of connections to one server; proxies of the environment are not asked for one on this machine.

    `address` is that of the person it speaks for, if they are elsewhere. Raises BadInput for a base_url that
    is none.
    """
    try:
        url = httpx2.URL(base_url)
    except httpx2.InvalidURL:
        url = httpx2.URL("")
    if url.scheme not in ("http", "https") or not re.fullmatch(r"[\w.:-]+", url.host):
        raise errors.BadInput(
            f"'{base_url[:80]}' is not the address of a server.", "Write it like http://127.0.0.1:8701."
        )
    local = url.host in ("127.0.0.1", "localhost", "::1")
    headers = {"user-agent": f"starverse/{starverse.__version__}", "accept": "application/json"}
    if address:
        headers["x-forwarded-for"] = address
    return httpx2.Client(base_url=url, timeout=timeout_s, headers=headers, trust_env=not local)


def given(**query: Any) -> dict[str, Any]:
    """The query without what was left at its default."""
    return {name: value for name, value in query.items() if value != ""}


@contextmanager
def problems(base_url: str) -> Iterator[None]:
    """Turn a connection that fails into Unreachable, with what to do about it."""
    try:
        yield
    except httpx2.ConnectError as error:
        raise Unreachable(f"No server at {base_url}.", "Start one with `starverse up`.") from error
    except httpx2.TimeoutException as error:
        raise Unreachable(f"The server at {base_url} did not answer in time.", "Try again soon.") from error
    except httpx2.TransportError as error:
        raise Unreachable(f"The connection to {base_url} broke: {error}.", "Try again soon.") from error


def read(response: httpx2.Response, answer: type[T] | None) -> T:
    """The answer in its shape (None: nothing to read). Raises the error that a problem stands for."""
    if response.is_success:
        if answer is None:
            return None  # type: ignore[return-value]
        try:
            return msgspec.json.decode(response.content, type=answer)
        except msgspec.MsgspecError as error:
            raise Unreachable(
                f"{response.url} answered what is no answer of Starverse's ({error}).",
                "Is it a Starverse server, and of this client's version?",
            ) from error
    raise _error(response)


def download(http: httpx2.Client, url: str, target: Path) -> None:
    """Write a body into a file, whole or not at all."""
    half = target.with_name(f".{target.name}.{os.getpid()}~")
    with http.stream("GET", url) as response:
        if not response.is_success:
            response.read()
            raise _error(response)
        try:
            with half.open("wb") as file:
                for chunk in response.iter_bytes(CHUNK_BYTES):
                    file.write(chunk)
            half.replace(target)
        finally:
            half.unlink(missing_ok=True)


def _error(response: httpx2.Response) -> errors.StarverseError:
    try:
        problem: dict[str, Any] = msgspec.json.decode(response.content, type=dict[str, Any])
        kind, what, remedy = str(problem["type"]), str(problem["detail"]), str(problem.get("remedy", ""))
    except (msgspec.MsgspecError, KeyError):
        return Unreachable(
            f"{response.url} answered {response.status_code} {response.reason_phrase}.",
            "Is it a Starverse server? `starverse up` says where its API is.",
        )
    return ERRORS.get(kind.rpartition(":")[2], errors.StarverseError)(what, remedy)
