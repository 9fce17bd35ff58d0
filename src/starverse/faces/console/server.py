"""Starts the console: one process, one event loop, a client of the API at one address."""

import os
from collections.abc import Iterable
from pathlib import Path

RECONNECT_S = 10.0
"""A page whose browser is gone for so long is over, and its stream with it."""


def run(
    api: str = "http://127.0.0.1:8701",
    port: int = 8700,
    host: str = "127.0.0.1",
    storage: Path | None = None,
    names: Iterable[str] = (),
) -> None:
    """Serve the console until it is told to stop.

    `storage` keeps who is signed in (default: `console` under STARVERSE_HOME); `names` are host names, beside
    addresses and localhost, that browsers may call it by.
    """
    home = Path(os.environ.get("STARVERSE_HOME") or Path.home() / ".local/share/starverse")
    folder = (storage or home / "console").absolute()
    os.umask(0o077)  # all that is written here is for nobody else
    for name in [name for name in os.environ if name.startswith(("NICEGUI_", "PYTEST_"))]:
        del os.environ[name]  # NiceGUI would take orders from them: another port, no compression
    os.environ["NICEGUI_STORAGE_PATH"] = str(folder / "nicegui")  # read when nicegui is imported

    from nicegui import app, core, ui

    from starverse.faces.console import pages
    from starverse.faces.console.guard import Guard
    from starverse.faces.console.head import FAVICON
    from starverse.faces.console.sessions import Sessions

    sessions = Sessions(api, folder)
    cookie = f"starverse_{port}"  # cookies know no ports: two consoles on one machine keep apart
    pages.install(sessions, cookie)
    app.add_middleware(Guard, sessions=sessions, cookie=cookie, names=tuple(names))
    core.sio.eio.max_http_buffer_size = 1 << 20
    ui.run(
        host=host,
        port=port,
        title="Starverse",
        favicon=FAVICON,
        show=False,
        reload=False,
        tailwind=False,
        binding_refresh_interval=None,
        reconnect_timeout=RECONNECT_S,
        show_welcome_message=False,
        timeout_graceful_shutdown=1,
        server_header=False,
        proxy_headers=True,  # of a proxy on this machine, which says whether the browser came by https
        forwarded_allow_ips="127.0.0.1,::1",
    )
