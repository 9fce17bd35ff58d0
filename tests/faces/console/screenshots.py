"""Takes a picture of every page of a running console, in both languages, light and dark, wide and narrow.

python tests/faces/console/screenshots.py --console http://127.0.0.1:8700 --out /tmp/shots
    --email ada@example.com --password '…' [--job j-…] [--only job-en-light-wide]
"""

import argparse
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
SIZES = {"wide": (1280, 800), "narrow": (390, 844)}
LANGUAGES = {"en": "en-GB", "zh": "zh-CN"}
SETTLE_MS = 1200


def browser_page(browser: Browser, language: str, look: str, size: str) -> Page:
    """A fresh browser of such a person."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        locale=LANGUAGES[language],
        timezone_id="Asia/Shanghai",
        color_scheme="dark" if look == "dark" else "light",
    )
    context.add_cookies([{"name": "language", "value": language, "url": "http://127.0.0.1"}])
    return context.new_page()


def sign_in(page: Page, console: str, email: str, password: str) -> None:
    """Through the card, as a person does."""
    page.goto(f"{console}/sign-in")
    page.locator("input[name=email]").fill(email)
    page.locator("input[name=password]").fill(password)
    page.locator("input[name=password]").press("Enter")
    page.wait_for_selector(".sv-purse a", timeout=20_000)


def set_look(page: Page, look: str) -> None:
    """Dark or light, by the button in the head line."""
    is_dark = page.evaluate("document.body.classList.contains('body--dark')")
    if is_dark != (look == "dark"):
        page.locator(".sv-head-button").nth(1).click()
        page.wait_for_timeout(600)


def set_language(page: Page, language: str) -> None:
    """By the button in the head line."""
    if not page.locator("html").get_attribute("lang").startswith(language):
        with page.expect_navigation():
            page.locator(".sv-head-button").nth(0).click()
        page.wait_for_selector(".sv-purse a")


def pages(job: str) -> dict[str, str]:
    """What to look at, by name."""
    return {
        "overview": "/",
        "submit": "/submit",
        "jobs": "/jobs",
        "job": f"/jobs/{job}" if job else "",
        "wallet": "/wallet",
        "nodes": "/nodes",
        "account": "/account",
        "not-found": "/jobs/j-none",
    }


def newest_job(page: Page, console: str) -> str:
    """The id of the job at the top of the list, "" if there is none."""
    page.goto(f"{console}/jobs")
    links = page.locator(".sv-name")
    page.wait_for_timeout(500)
    return (links.first.get_attribute("href") or "").rpartition("/")[2] if links.count() else ""


def take(console: str, out: Path, email: str, password: str, job: str, only: str) -> Iterator[Path]:
    """All pictures, or those whose name begins with `only`."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for language, look, size in itertools.product(LANGUAGES, ("light", "dark"), SIZES):
            kind = f"{language}-{look}-{size}"
            names = ["sign-in", *pages("x")]
            if not any(f"{name}-{kind}".startswith(only) for name in names):
                continue
            page = browser_page(browser, language, look, size)
            page.goto(f"{console}/sign-in")
            page.wait_for_timeout(SETTLE_MS)
            if f"sign-in-{kind}".startswith(only):
                page.screenshot(path=out / f"sign-in-{kind}.png")
                yield out / f"sign-in-{kind}.png"
            sign_in(page, console, email, password)
            set_language(page, language)
            set_look(page, look)
            shown = job or newest_job(page, console)
            for name, path in pages(shown).items():
                if not path or not f"{name}-{kind}".startswith(only):
                    continue
                page.goto(f"{console}{path}")
                page.wait_for_timeout(SETTLE_MS)
                page.screenshot(path=out / f"{name}-{kind}.png", full_page=True)
                yield out / f"{name}-{kind}.png"
            page.context.close()
        browser.close()


def main() -> None:
    """Read the options and take the pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--console", default="http://127.0.0.1:8700")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--email", required=True)
    parser.add_argument("--password", required=True)
    parser.add_argument("--job", default="", help="default: the newest one")
    parser.add_argument("--only", default="", help="only names that begin so, such as job-en")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    for path in take(chosen.console, chosen.out, chosen.email, chosen.password, chosen.job, chosen.only):
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
