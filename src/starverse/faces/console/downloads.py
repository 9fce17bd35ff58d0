"""Hands an output file of a job on to the browser: the token stays here."""

import tempfile
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from nicegui import app
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response

from starverse.faces.console.frame import on_thread
from starverse.faces.console.guard import visiting
from starverse.model.errors import NotFound, NotSignedIn, StarverseError


def address(job: str, path: str) -> str:
    """Where a browser gets the file."""
    return f"/files/{quote(job, safe='')}/{quote(path)}"


def install() -> None:
    """Serve output files."""

    @app.get("/files/{job}/{path:path}", include_in_schema=False)
    async def file(job: str, path: str) -> Response:
        visit = visiting.get()
        if visit.session is None:
            return RedirectResponse("/sign-in", 303)
        folder = tempfile.TemporaryDirectory(prefix="starverse-console-")
        target = Path(folder.name) / "file"
        try:
            await on_thread(visit.session.client.download, job, path, target)
        except StarverseError as error:
            folder.cleanup()
            status = 404 if isinstance(error, NotFound) else 401 if isinstance(error, NotSignedIn) else 502
            return PlainTextResponse(visit.voice.error(error.what, error.remedy), status)
        return FileResponse(
            target,
            media_type="application/octet-stream",
            filename=PurePosixPath(path).name or "file",
            background=BackgroundTask(folder.cleanup),
        )
