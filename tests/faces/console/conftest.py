"""A console as a process of its own in front of a server, and a browser that notes whatever is amiss."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.faces.console.pretend import Server
from tests.faces.console.screenshots import ARGUMENTS, CHROMIUM

START_S = 60.0
PASSWORD = "correct horse battery"
WORDS = {"TZ": "UTC", "LANG": "C.UTF-8"}


@dataclass
class Console:
    """A running console: where it is, and where it keeps things."""

    url: str
    storage: Path
    log: Path
    process: "subprocess.Popen[bytes]"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(url: str) -> None:
    """Until something answers there."""
    end_s = time.monotonic() + START_S
    while True:
        try:
            httpx2.get(url, timeout=2.0)
        except httpx2.TransportError:
            assert time.monotonic() < end_s, f"nothing answers at {url}"
            time.sleep(0.1)
        else:
            return


@contextmanager
def console_for(api: str, folder: Path, port: int = 0) -> Iterator[Console]:
    """Start a console for that API, and end it."""
    port = port or free_port()
    log = folder / "console.log"
    command = [sys.executable, "-m", "starverse.faces.console", "--api", api, "--port", str(port)]
    with log.open("ab") as out:
        process = subprocess.Popen(
            [*command, "--storage", str(folder / "storage")], stdout=out, stderr=out, env=os.environ | WORDS
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/look/console.css")
        yield Console(f"http://127.0.0.1:{port}", folder / "storage", log, process)
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    pretended = Server()
    pretended.world.post("trial", 10_000_000, 10_000_000, 0)
    pretended.start()
    yield pretended
    pretended.stop()


@pytest.fixture(scope="module")
def console(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with console_for(server.url, tmp_path_factory.mktemp("console")) as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=20_000)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


@dataclass
class Amiss:
    """What a page did that it should not have."""

    errors: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)


def watched(page: Page) -> Amiss:
    """Note errors in the browser's console, and requests that leave this machine."""
    amiss = Amiss()

    def asked(url: str) -> None:
        if not url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")):
            amiss.elsewhere.append(url)

    page.on("console", lambda said: amiss.errors.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: amiss.errors.append(str(error)))
    page.on("request", lambda request: asked(request.url))
    page.on("websocket", lambda opened: asked(opened.url))
    return amiss


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh browser of an English reader in Shanghai; nothing may be amiss at the end."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 800},
        locale="en-GB",
        timezone_id="Asia/Shanghai",
        color_scheme="light",
    )
    page = context.new_page()
    page.set_default_timeout(20_000)
    amiss = watched(page)
    yield page
    context.close()
    assert amiss.elsewhere == []
    assert [error for error in amiss.errors if not_ours(error)] == []


def not_ours(error: str) -> bool:
    """Whether an error is one the test did not bring about itself, by letting a server die or by a 404."""
    wanted = ("status of 404", "ERR_CONNECTION_REFUSED", "WebSocket connection to 'ws://127.0.0.1", "503")
    return not any(part in error for part in wanted)


def enter(page: Page, console: Console, email: str = "ada@example.com", password: str = PASSWORD) -> None:
    """Sign in through the card."""
    page.goto(f"{console.url}/sign-in")
    page.locator("input[name=email]").fill(email)
    page.locator("input[name=password]").fill(password)
    page.locator("input[name=password]").press("Enter")
    page.wait_for_selector(".sv-purse a")
