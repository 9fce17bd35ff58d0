"""`starverse demo`: the main job on a server of its own, from start to bill."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from starverse.demo.story import Story
from starverse.faces.process import ServerProcess
from starverse.main.offline import offline_platform
from starverse.main.port import demand_free
from starverse.main.settings import Settings, home_of, read_settings
from starverse.main.warming import COMPILING
from starverse.model.units import HOUR_MS
from starverse.service import access, accounts

TOKEN_LASTS_MS = HOUR_MS
"""The demo's own operator token is revoked at its end; one that is killed leaves it for so long."""


def show(
    home: Path | None,
    *,
    once: bool,
    json: Path | None,
    port: int | None,
    console_port: int | None,
    steps: int,
) -> None:
    """Start a server, tell the story on it, then serve on unless `once`."""
    began = time.monotonic()
    home = home_of(home)
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    settings = read_settings(home)
    port, console_port = port or settings.port, console_port or settings.console_port
    demand_free(settings.host, port, "--port")
    demand_free(settings.host, console_port, "--console-port")
    api = f"http://{settings.host}:{port}"
    console_url = f"http://{settings.host}:{console_port}"
    console = Console(highlight=False)
    server = ServerProcess(home, api, ["--port", str(port), "--console-port", str(console_port)])
    try:
        ready_s = _start(server, console)
        console.print(
            f"Server ready in {ready_s:.1f} s: console {console_url}, API {api}/docs", soft_wrap=True
        )
        with _operator(home, settings) as token:
            figures = Story(console, server, api, console_url, token, steps, began).tell(ready_s)
        if json:
            figures.write(json)
        if figures.state != "done" or not figures.ledger_balanced:
            raise SystemExit(1)
        if not once:
            console.print("Serving until Ctrl-C.")
            server.wait()
    except KeyboardInterrupt:
        console.print("Stopping.")
    finally:
        with contextlib.suppress(KeyboardInterrupt):
            server.stop()


def _start(server: ServerProcess, console: Console) -> float:
    """Start it; while it compiles, say how far it is."""
    with console.status("Starting the server") as status:

        def hear(line: str) -> None:
            if line.startswith(COMPILING):
                status.update(line)
                if not console.is_terminal:
                    console.print(line, soft_wrap=True)

        return server.start(hear)


@contextlib.contextmanager
def _operator(home: Path, settings: Settings) -> Iterator[str]:
    """A token of the operator's for as long as the story is told."""
    platform = offline_platform(home, settings)
    made = accounts.new_operator_token(platform, "demo", TOKEN_LASTS_MS)
    try:
        yield made.token
    finally:
        accounts.revoke_token(platform, access.actor_of(platform, made.token), made.token_id)
        platform.database.dispose()
