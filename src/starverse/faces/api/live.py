"""Live streams (SSE): one of a job, and one of all jobs and the wallet of the caller."""

import time
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Header, Path, Query, Request
from sse_starlette import EventSourceResponse, ServerSentEvent

from starverse.faces.api.context import At, Caller
from starverse.faces.api.pulse import Pulse
from starverse.faces.schemas import Ended, JobChanged, LogText, Metric, WalletChanged
from starverse.service.access import Actor
from starverse.service.following import Follower, Look, Position
from starverse.service.overview import Overview

router = APIRouter(prefix="/v1", tags=["live"])

PING_S = 15
LIFE_S = 600
"""After so long a stream ends, and whoever reads it comes back: with a token that still works."""

SEND_WITHIN_S = 30
"""A reader that takes nothing for so long is let go; it comes back with Last-Event-ID."""

NAMES: dict[type, str] = {
    JobChanged: "job",
    Metric: "metric",
    LogText: "log",
    Ended: "end",
    WalletChanged: "wallet",
}

LastId = Annotated[
    str, Header(alias="Last-Event-ID", max_length=128, description="Go on after this event of the stream.")
]
STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "Events.", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}


@router.get("/jobs/{job}/stream", response_class=EventSourceResponse, responses=STREAM)
async def stream_job(
    at: At,
    caller: Caller,
    request: Request,
    job: Annotated[str, Path(max_length=64)],
    last_id: LastId = "",
    begin: Annotated[
        Literal["start", "now"], Query(alias="from", description="What was before `now` is left out.")
    ] = "start",
) -> EventSourceResponse:
    """One job, live: `job` (JobChanged), `metric`, `log` (LogText), and at last `end` (Ended).

    Each event's id is where to go on after it: a broken stream loses and repeats nothing.
    """
    pulse: Pulse = request.app.state.pulse
    pulse.admit(caller.user)
    follower = await pulse.look(lambda: Follower(at, caller, job, Position.read(last_id)))
    if begin == "now" and not last_id:
        await pulse.look(follower.skip_to_now)
    return _respond(_job_events(pulse, caller, follower, job))


@router.get("/stream", response_class=EventSourceResponse, responses=STREAM)
async def stream_all(at: At, caller: Caller, request: Request, last_id: LastId = "") -> EventSourceResponse:
    """All jobs of the caller, live: `job` for each that is alive, then as they change; and `wallet`."""
    pulse: Pulse = request.app.state.pulse
    pulse.admit(caller.user)
    overview = Overview(at, caller, last_id)
    return _respond(_all_events(pulse, caller, overview))


def _respond(events: AsyncIterator[ServerSentEvent]) -> EventSourceResponse:
    return EventSourceResponse(events, ping=PING_S, send_timeout=SEND_WITHIN_S)


async def _job_events(
    pulse: Pulse, caller: Actor, follower: Follower, job: str
) -> AsyncIterator[ServerSentEvent]:
    async with pulse.watch(caller.user, job) as watch:
        end_s = time.monotonic() + LIFE_S
        while time.monotonic() < end_s:
            look: Look = await pulse.look(follower.look)
            for news in look.news:
                yield _event(news.what, news.position.text())
            if look.over:
                return
            await watch.wait(look.again_s)


async def _all_events(pulse: Pulse, caller: Actor, overview: Overview) -> AsyncIterator[ServerSentEvent]:
    async with pulse.watch(caller.user) as watch:
        end_s = time.monotonic() + LIFE_S
        while time.monotonic() < end_s:
            for what, mark in await pulse.look(overview.look):
                yield _event(what, mark)
            await watch.wait(overview.again_s)


def _event(what: Any, mark: str) -> ServerSentEvent:
    return ServerSentEvent(msgspec.json.encode(what).decode(), event=NAMES[type(what)], id=mark)
