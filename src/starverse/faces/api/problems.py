"""Every error as problem+json (RFC 9457), made here and nowhere else."""

import logging
from collections.abc import Mapping
from typing import Any

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import OperationalError
from starlette.exceptions import HTTPException

from starverse.faces.schemas import Problem
from starverse.model import errors
from starverse.service.rates import TooOften

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"

KINDS: tuple[tuple[type[errors.StarverseError], int, str, str], ...] = (
    (TooOften, 429, "too-often", "Tried too often"),
    (errors.NotAllowed, 403, "not-allowed", "Not allowed"),
    (errors.BadInput, 422, "bad-input", "Bad input"),
    (errors.NotFound, 404, "not-found", "Not found"),
    (errors.NotSignedIn, 401, "not-signed-in", "Not signed in"),
    (errors.Conflict, 409, "conflict", "Conflict"),
    (errors.Refused, 409, "refused", "Refused"),
)
"""The first row an error is one of says its status, its type and its title."""

OF_STATUS: dict[int, tuple[str, str, str]] = {
    400: ("bad-input", "Bad input", "Send a JSON document of the form /docs shows."),
    404: ("not-found", "Not found", "/docs lists every route."),
    405: ("bad-input", "Method not allowed", "/docs lists the methods of each route."),
    413: ("bad-input", "Too large", "Send less at once."),
    415: ("bad-input", "Unsupported media type", "Send application/json."),
}


def problem(
    status: int,
    kind: str,
    title: str,
    detail: str,
    remedy: str = "",
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A response that says what went wrong and what to do."""
    body = msgspec.json.encode(Problem(f"urn:starverse:problem:{kind}", title, status, detail, remedy))
    return Response(body, status, headers, MEDIA_TYPE)


def problem_of(error: errors.StarverseError) -> Response:
    """The response for an error of ours."""
    for shape, status, kind, title in KINDS:
        if isinstance(error, shape):
            headers: dict[str, str] = {}
            if isinstance(error, TooOften):
                headers["Retry-After"] = str(error.wait_s)
            if status == 401:
                headers["WWW-Authenticate"] = "Bearer"
            return problem(status, kind, title, error.what, error.remedy, headers)
    return problem(500, "internal", "Internal error", error.what, error.remedy)


def problem_of_status(error: HTTPException) -> Response:
    """The response for what the web framework refuses by itself."""
    kind, title, remedy = OF_STATUS.get(error.status_code, ("bad-input", "Bad request", ""))
    detail = "There is nothing at this address." if error.status_code == 404 else f"{error.detail}."
    return problem(error.status_code, kind, title, detail, remedy, error.headers)


def install(app: FastAPI) -> None:
    """Let the app answer every error with a problem."""

    @app.exception_handler(errors.StarverseError)
    async def _ours(_: Request, error: errors.StarverseError) -> Response:
        return problem_of(error)

    @app.exception_handler(RequestValidationError)
    async def _malformed(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            _kind, title, remedy = OF_STATUS[400]
            return problem(400, "bad-input", title, "The body is not JSON.", remedy)
        return problem(422, "bad-input", "Bad input", _sentence(first), "/docs shows what is understood.")

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> Response:
        return problem_of_status(error)

    @app.exception_handler(OperationalError)
    async def _database(_: Request, error: OperationalError) -> Response:
        log.error("the database did not answer: %s", error.orig)
        detail = "The database did not answer."
        return problem(503, "unavailable", "Unavailable", detail, "Try again in a moment.")


def problem_of_fault(error: Exception) -> Response:
    """The response for what nobody foresaw; the log has more, the caller gets nothing of its insides."""
    log.error("a request broke", exc_info=error)
    detail = f"Something broke inside the server ({type(error).__name__})."
    return problem(500, "internal", "Internal error", detail, "Tell the operator: the server's log has more.")


def _sentence(error: Mapping[str, Any]) -> str:
    """Where the input is wrong and how, without repeating it: it may be a password."""
    where = ".".join(str(part) for part in error["loc"][1:]) or "body"
    return f"{where}: {error['msg']}."
