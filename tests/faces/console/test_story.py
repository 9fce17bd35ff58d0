"""A customer's first quarter of an hour at a real server, which is killed while its console is open."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.faces.console.conftest import PASSWORD, free_port, wait_for

from starverse.faces.client import Client

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

SCRIPT = """\
import os, time, pathlib
for step in range(1, 41):
    print("step", step, flush=True)
    time.sleep(0.25)
pathlib.Path(os.environ["STARVERSE_OUTPUT"], "answer.txt").write_text("42")
"""


class Real:
    """`starverse up` with its console, which can be killed and started again."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port, self.console_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.console_port}"
        self.api = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "starverse.main", "up", "--home", str(self.home), "--cards", "2"]
        command += ["--port", str(self.port), "--console-port", str(self.console_port)]
        with (self.home.parent / "up.log").open("ab") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)
        wait_for(f"{self.api}/healthz")
        wait_for(f"{self.url}/look/console.css")

    def kill(self) -> None:
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(30)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    home = tmp_path_factory.mktemp("real") / "home"
    home.mkdir(mode=0o700)
    home.parent.chmod(0o755)  # jobs run as users of their own, who must get through to their folders
    server = Real(home)
    server.start()
    yield server
    server.stop()


def register(page: Page, real: Real, email: str) -> None:
    page.goto(f"{real.url}/sign-in")
    page.get_by_role("button", name="Create account").click()
    page.locator("input[name=email]").fill(email)
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("input[name=password]").press("Enter")
    page.wait_for_selector(".sv-purse a")


def submit(page: Page, real: Real, name: str) -> str:
    """Send the script through the form; the address of the job's page."""
    page.goto(f"{real.url}/submit")
    page.locator(".cm-content").fill(SCRIPT)
    page.get_by_label("Name", exact=True).fill(name)
    expect(page.locator(".sv-quote-start")).to_contain_text("Starts now")
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url("**/jobs/j-*")
    return page.url


def test_sign_up_submit_watch_it_finish_and_see_the_bill(page: Page, real: Real) -> None:
    register(page, real, "ada@example.com")
    expect(page.get_by_text("Your first job")).to_be_visible()
    expect(page.locator(".sv-purse")).to_have_text("¥10.00")
    submit(page, real, "forty two")
    expect(page.locator(".sv-log")).to_contain_text("step 3")
    expect(page.locator(".sv-badge.is-done")).to_be_visible(timeout=60_000)
    expect(page.locator(".sv-log")).to_contain_text("step 40")
    with page.expect_download() as fetched:
        page.get_by_role("link", name="answer.txt").click()
    assert fetched.value.path().read_text() == "42"

    page.goto(f"{real.url}/wallet")
    charge = page.locator("tr.is-charge")
    expect(charge).to_have_count(1)
    expect(charge).to_contain_text("forty two · Run 0")
    expect(page.locator("tr.is-trial")).to_contain_text("+¥10.000000")
    page.locator(".sv-head-button", has_text="中文").click()
    expect(page.locator("tr.is-trial")).to_contain_text("试用金")


def test_a_wrong_password_and_a_stranger_s_job(page: Page, real: Real) -> None:
    with Client(real.api) as stranger:
        stranger.register("bob@example.com", PASSWORD)
        theirs = stranger.jobs().items
    page.goto(f"{real.url}/sign-in")
    page.locator("input[name=email]").fill("bob@example.com")
    page.locator("input[name=password]").fill("not his password")
    page.locator("input[name=password]").press("Enter")
    expect(page.get_by_role("alert").first).to_contain_text("The e-mail address or the password is wrong.")
    assert theirs == ()
    with Client(real.api) as ada:
        ada.login("ada@example.com", PASSWORD)
        job = ada.jobs().items[0].job
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("input[name=password]").press("Enter")
    page.wait_for_selector(".sv-purse a")
    answer = page.goto(f"{real.url}/jobs/{job}")
    assert answer is not None
    assert answer.status == 404
    expect(page.get_by_role("heading", name="Nothing here")).to_be_visible()


def test_the_page_lives_through_the_death_of_the_server_and_of_the_console(page: Page, real: Real) -> None:
    register(page, real, "eve@example.com")
    address = submit(page, real, "survivor")
    expect(page.locator(".sv-log")).to_contain_text("step 4")
    real.kill()
    expect(page.locator("#popup")).to_be_visible()
    expect(page.locator("#popup")).to_contain_text("The server is restarting")
    real.start()
    expect(page.locator("#popup")).to_be_hidden(timeout=30_000)
    expect(page.locator(".sv-badge.is-done")).to_be_visible(timeout=60_000)
    expect(page.locator(".sv-log")).to_contain_text("step 40")
    assert page.url == address, "still signed in, on the same page"
    expect(page.locator(".sv-life")).to_have_count(1), "the run outlived the server"
