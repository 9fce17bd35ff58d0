"""`starverse demo`: the main job on a server of its own, from start to bill."""

import contextlib
import time
from pathlib import Path

from rich.console import Console

from starverse.demo.server import DemoServer
from starverse.demo.story import Story
from starverse.main.offline import offline_platform
from starverse.main.port import demand_free
from starverse.main.settings import home_of, read_settings
from starverse.service import accounts


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
    server = DemoServer(home, api, ["--port", str(port), "--console-port", str(console_port)])
    try:
        ready_s = server.start()
        console.print(
            f"Server ready in {ready_s:.1f} s: console {console_url}, API {api}/docs", soft_wrap=True
        )
        operator = accounts.new_operator_token(offline_platform(home, settings)).token
        story = Story(console, server, api, console_url, operator, steps, began)
        figures = story.tell(ready_s)
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
