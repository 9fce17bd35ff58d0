"""Every address of the console, and what it looks like."""

import hashlib
from pathlib import Path

from nicegui import app, ui
from nicegui.translations import translations
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from starverse.faces.console import (
    account,
    bookings,
    downloads,
    job,
    jobs,
    limits,
    nodes,
    overview,
    sign_in,
    submit,
    wallet,
)
from starverse.faces.console.frame import screen
from starverse.faces.console.guard import visiting
from starverse.faces.console.sessions import Sessions
from starverse.faces.console.states import page_not_found
from starverse.faces.console.words import Language, catalogue

LOOK = Path(__file__).parent / "look"

HEAD = """
<link rel="stylesheet" href="/look/console.css?{version}">
<script src="/look/console.js?{version}"></script>
"""


def install(sessions: Sessions, cookie: str) -> None:
    """Make all pages known to the server."""
    app.add_static_files("/look", LOOK)
    look = b"".join(path.read_bytes() for path in sorted(LOOK.iterdir()))
    version = hashlib.sha256(look).hexdigest()[:12]
    ui.add_head_html(HEAD.format(version=version), shared=True)
    translations["en-US"].update(_lost("en"))
    translations["zh-CN"].update(_lost("zh"))
    sign_in.install(sessions, cookie)
    downloads.install()
    screen(sessions, "/", "overview.title", overview.build)
    screen(sessions, "/submit", "submit.title", submit.build)
    screen(sessions, "/jobs", "jobs.title", jobs.build)
    screen(sessions, "/jobs/{job}", "job.title", job.build)
    screen(sessions, "/reservations", "bookings.title", bookings.build)
    screen(sessions, "/limits", "limits.title", limits.build)
    screen(sessions, "/wallet", "wallet.title", wallet.build)
    screen(sessions, "/nodes", "nodes.title", nodes.build)
    screen(sessions, "/account", "account.title", account.build)

    @app.exception_handler(404)
    async def nothing_here(request: Request, error: HTTPException) -> Response:
        del error
        if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
            return HTMLResponse(page_not_found(visiting.get().voice), 404)
        return Response(status_code=404)


def _lost(language: Language) -> dict[str, str]:
    """What NiceGUI says when the browser has lost the console itself."""
    words = catalogue(language)
    return {"connection_lost": words["head.lost"], "trying_to_reconnect": words["head.again"]}
