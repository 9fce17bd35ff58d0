"""Builds the API over a platform: routers, problems, live streams, metrics and the reference page."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse

import starverse
from starverse.faces.api import (
    accounts,
    agreements,
    cluster,
    document,
    health,
    jobs,
    live,
    money,
    problems,
    reference,
    snapshots,
)
from starverse.faces.api.guard import Guard
from starverse.faces.api.pulse import Pulse
from starverse.service.platform import Platform

DESCRIPTION = (
    "Compute on tap: submit training jobs, watch them survive, and see what they cost. "
    "Money is in micro-yuan, times in UTC milliseconds. Errors are problem+json with a remedy."
)


def build(platform: Platform) -> FastAPI:
    """The API as an ASGI application."""
    pulse = Pulse(platform.database, platform.limits.streams_per_user)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        beating = asyncio.create_task(pulse.beat())
        try:
            yield
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating

    app = FastAPI(
        title="Starverse API",
        version=starverse.__version__,
        description=DESCRIPTION,
        docs_url=None,  # FastAPI's own page is fetched from a CDN
        redoc_url=None,
        lifespan=lifespan,
        generate_unique_id_function=lambda route: route.name,
    )
    counts: Counter[tuple[str, str]] = Counter()
    app.state.platform = platform
    app.state.pulse = pulse
    app.state.counts = counts
    # a stream and the job's own routes begin alike: live first; routes are tried in order, and a job is what
    # is asked for most
    for part in (live, jobs, health, accounts, cluster, snapshots, money, agreements):
        app.include_router(part.router)
    problems.install(app)
    document.install(app)
    limits = platform.limits
    bounds = (
        (r"PUT /v1/blobs/", platform.blobs.limits.bytes),
        (r"POST /v1/snapshots$", limits.manifest_bytes_max),
        (r"", limits.body_bytes_max),
    )
    app.add_middleware(Guard, bounds=bounds, counts=counts)

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> HTMLResponse:
        text = reference.page(app.openapi(), str(request.base_url).rstrip("/"))
        return HTMLResponse(text, headers={"content-security-policy": reference.POLICY})

    return app
