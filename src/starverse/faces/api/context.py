"""What every route takes: the platform, and who is calling."""

from typing import Annotated

import msgspec
from fastapi import Depends, Header, Query, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from starverse.service import access
from starverse.service.access import Actor
from starverse.service.platform import Platform

_bearer = HTTPBearer(auto_error=False, description="A token from /v1/sessions or /v1/tokens.")


async def _platform(request: Request) -> Platform:
    platform: Platform = request.app.state.platform
    return platform


def _caller(
    platform: Annotated[Platform, Depends(_platform)],
    given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Actor:
    return access.actor_of(platform, given.credentials if given else "")


async def _address(request: Request) -> str:
    """Where the call comes from, for limits on how often."""
    return request.client.host if request.client else ""


At = Annotated[Platform, Depends(_platform)]
Caller = Annotated[Actor, Depends(_caller)]
From = Annotated[str, Depends(_address)]

ProjectQuery = Annotated[
    str, Query(alias="project", max_length=128, description="A project; one's own first one unless named.")
]
CursorQuery = Annotated[
    str, Query(alias="cursor", max_length=256, description="From the page before; empty for the first page.")
]
LimitQuery = Annotated[int, Query(alias="limit", ge=1, le=200, description="Items on a page.")]
Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        max_length=128,
        pattern=r"^[\x21-\x7e]*$",
        description="The same key with the same body is the same submission, for a week.",
    ),
]


def answered(answer: object) -> Response:
    """An answer that is right as it is, being one of ours: FastAPI would check it against its own type, on
    another thread, which costs as much as all the rest of a read."""
    return Response(msgspec.json.encode(answer), media_type="application/json")
