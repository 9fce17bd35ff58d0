"""`starverse up`: one server in the foreground."""

import os
import signal
import sys
from pathlib import Path

import msgspec
import uvicorn
from rich.console import Console

from starverse import __version__
from starverse.faces.api import app as api
from starverse.main.logs import set_up_logs
from starverse.main.port import await_free, demand_free
from starverse.main.server import Server, build, start_console
from starverse.main.settings import Settings, check, home_of, read_settings
from starverse.service import accounts
from starverse.store.backup import demand_own, lock_home

SHUTDOWN_S = 3
CONSOLE_PORT_WAIT_S = 3.0
"""A console whose server was killed needs a moment to leave its port."""


def serve(
    home: Path | None,
    *,
    host: str | None,
    port: int | None,
    console_port: int | None,
    console: bool,
    cards: int | None,
    take_over: bool = False,
) -> None:
    """Serve until SIGINT or SIGTERM. Options win over the settings file."""
    home = home_of(home)
    settings = read_settings(home)
    given = {"host": host, "port": port, "console_port": console_port, "cards": cards}
    given |= {} if console else {"console": False}
    settings = msgspec.structs.replace(settings, **{name: v for name, v in given.items() if v is not None})
    check(settings, "The options")
    os.umask(0o077)
    with lock_home(home):
        demand_own(home, take_over=take_over)
        demand_free(settings.host, settings.port, "--port")
        if settings.console:
            await_free(settings.host, settings.console_port, "--console-port", CONSOLE_PORT_WAIT_S)
        set_up_logs(home)
        _serve(home, settings)


def _serve(home: Path, settings: Settings) -> None:
    web: uvicorn.Server | None = None

    def end() -> None:
        if web is not None:
            web.should_exit = True

    server = build(home, settings, end)
    operator = accounts.make_operator(server.platform)
    _greet(settings, home, server, operator.token if operator else "")
    config = uvicorn.Config(
        api.build(server.platform),
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        # the console, and a proxy on this machine, say whom they speak for
        forwarded_allow_ips=f"127.0.0.1,::1,{settings.host}",
        timeout_graceful_shutdown=SHUTDOWN_S,
    )
    web = uvicorn.Server(config)
    beside = None
    # uvicorn raises these again when it is done, and we are not yet
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, lambda *_: end())
    try:
        if settings.console:
            beside = start_console(settings, home)
        if server.failure is None:  # else the loop ended while the rest was still coming up
            web.run()
    finally:
        server.stop()
        if beside is not None:
            beside.kill()  # it keeps nothing that could be lost
            beside.wait()
    if server.failure is not None:
        raise server.failure
    _take_leave(server.runs_alive())


def _take_leave(runs: int) -> None:
    going_on = {0: "No job was running.", 1: "One run goes on under its lease"}.get(
        runs, f"{runs:,} runs go on under their leases"
    )
    rest = "" if not runs else "; the next `starverse up` takes over."
    print(f"Stopped in good order. {going_on}{rest}", flush=True)


def _greet(settings: Settings, home: Path, server: Server, token: str) -> None:
    say = Console(highlight=False, soft_wrap=True).print
    say(f"[bold]Starverse {__version__}[/] on {server.cards}, home {home}")
    if settings.console:
        say(f"  console  http://{settings.host}:{settings.console_port}")
    say(f"  API      http://{settings.host}:{settings.port}  (docs: /docs, figures: /metrics)")
    say(f"  {server.isolation.sentence}")
    if token and sys.stdout.isatty():  # elsewhere it would lie in a file for ever
        say(f"  [bold]Operator token, shown this once:[/] {token}")
        say("  Sign in with it: starverse login --token-stdin")
    elif token:
        say("  An operator was made; `starverse operator token` makes a token for it.")
    sys.stdout.flush()
