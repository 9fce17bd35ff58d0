"""The OpenAPI document, with the problems that each route can answer."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from starverse.faces.api.problems import MEDIA_TYPE
from starverse.faces.schemas import Problem

SAYS = {
    "400": "The body is not JSON.",
    "401": "No token, or one that does not work.",
    "403": "Your role does not allow it.",
    "404": "There is no such thing, or it is not yours to see.",
    "409": "Not now: no money, wrong state, or the key was used for something else.",
    "413": "The body is too large.",
    "422": "The input makes no sense.",
    "429": "Tried too often.",
    "503": "The server cannot answer at the moment.",
}
OF_SERVER = {"/healthz": ["503"], "/metrics": ["401", "503"]}


def install(app: FastAPI) -> None:
    """Let the app make its document here, once."""

    def openapi() -> dict[str, Any]:
        if not app.openapi_schema:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _document(app: FastAPI) -> dict[str, Any]:
    document: dict[str, Any] = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    schemas = document["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["Problem"] = TypeAdapter(Problem).json_schema()
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    document["components"]["responses"] = {
        f"Problem{status}": {"description": text, "content": content} for status, text in SAYS.items()
    }
    for path, methods in document["paths"].items():
        for operation in methods.values():
            answers = operation["responses"]
            answers.pop("422", None)
            for status in _problems(path, operation):
                answers[status] = {"$ref": f"#/components/responses/Problem{status}"}
    return document


def _problems(path: str, operation: dict[str, Any]) -> list[str]:
    """The statuses a route can answer besides its own."""
    if path in OF_SERVER:
        return OF_SERVER[path]
    found = ["503"]
    if "requestBody" in operation:
        found += ["400", "413", "422"]
    if operation.get("parameters"):
        found.append("422")
    if operation.get("security"):
        found += ["401", "403", "404", "409", "429"]
    elif "requestBody" in operation:  # signing in and up
        found += ["401", "409", "429"]
    return sorted(set(found))
