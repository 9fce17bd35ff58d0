"""Routes for machines that watch the server: readiness, and figures for Prometheus."""

from typing import Annotated

from fastapi import APIRouter, Header, Request, Response

import starverse
from starverse.faces.api import figures, problems
from starverse.faces.api.context import At
from starverse.faces.schemas import Health
from starverse.model.errors import NotSignedIn, StarverseError
from starverse.service import access

router = APIRouter(tags=["server"])


@router.get("/healthz", response_model=Health)
def healthz(at: At) -> Health | Response:
    """Whether the server is ready, which it is when its loop answers."""
    try:
        at.ask(lambda state: state.truth.seq)
    except StarverseError as error:
        return problems.problem(503, "unavailable", "Not ready", error.what, error.remedy)
    return Health(True, starverse.__version__)


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"description": "Prometheus text format.", "content": {figures.MEDIA_TYPE: {}}}},
)
def prometheus(
    at: At,
    request: Request,
    authorization: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Figures for Prometheus: for callers on this machine, and for operators."""
    near = request.client is None or request.client.host in ("127.0.0.1", "::1")
    if not near or "x-forwarded-for" in request.headers or "forwarded" in request.headers:
        token = authorization.removeprefix("Bearer ").strip()
        if not access.actor_of(at, token).operator:
            raise NotSignedIn("The figures are for operators.", "Send an operator's token.")
    return Response(figures.text(at, request.app.state.counts), media_type=figures.MEDIA_TYPE)
