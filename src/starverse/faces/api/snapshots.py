"""Routes by which a directory is submitted: ask what is missing, send that, then name the whole."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.concurrency import contextmanager_in_threadpool
from starlette.concurrency import run_in_threadpool

from starverse.faces.api.bodies import Digests, Manifest
from starverse.faces.api.context import At, Caller, ProjectQuery
from starverse.faces.schemas import Missing, Snapshot
from starverse.service import submissions
from starverse.store.manifest import Entry

router = APIRouter(prefix="/v1", tags=["snapshots"])


@router.post("/blobs/missing")
def missing(at: At, caller: Caller, body: Digests, project: ProjectQuery = "") -> Missing:
    """Those of the digests whose content was not sent yet."""
    return Missing(submissions.missing(at, caller, project, body.digests))


@router.put(
    "/blobs/{digest}",
    status_code=204,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def put_blob(
    at: At,
    caller: Caller,
    digest: Annotated[str, Path(pattern="^[0-9a-f]{64}$")],
    request: Request,
    project: ProjectQuery = "",
) -> None:
    """Send the content of one file; its sha256 must be the digest."""
    async with contextmanager_in_threadpool(submissions.receive(at, caller, project, digest)) as receiving:
        async for piece in request.stream():
            if piece:
                await run_in_threadpool(receiving.write, piece)
        await run_in_threadpool(receiving.finish)


@router.post("/snapshots", status_code=201)
def put_snapshot(at: At, caller: Caller, body: Manifest, project: ProjectQuery = "") -> Snapshot:
    """Name a snapshot by its files, all of whose contents were sent."""
    entries = [Entry(file.path, file.digest, file.size, file.mode) for file in body.files]
    return submissions.put_snapshot(at, caller, project, entries)
