"""The pages in a real browser, in front of a pretended server that tests shape, break and bring back."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.faces.console.conftest import PASSWORD, Console, enter
from tests.faces.console.pretend import Server
from tests.faces.console.world import World

from starverse.faces import schemas as sc

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

PLACES = ("/", "/submit", "/jobs", "/reservations", "/wallet", "/nodes", "/limits", "/account")
LATIN = {
    "Python", "Transformer", "starverse", "submit", "cards", "train", "token", "tokens", "NAME", "value",
    "STARVERSE", "OUTPUT", "import", "time", "rank", "Rank", "environ", "RANK", "WORLD", "SIZE", "step",
    "range", "print", "flush", "True", "sleep", "gitignore", "starverseignore",
    "limits", "keyboard_arrow_down",
    "content_copy", "arrow_drop_down", "WORLD_SIZE", "cloud_upload",
}  # fmt: skip
"""Names and code that stay as they are in Chinese."""

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture
def world(server: Server) -> Iterator[World]:
    """A fresh cluster, and afterwards one that is well again."""
    fresh = World()
    fresh.post("trial", 10_000_000, 10_000_000, 0)
    server.world.__dict__.update(fresh.__dict__)
    yield server.world
    server.world.__dict__.update(World().__dict__)


def job_on(world: World, **ask: object) -> sc.Job:
    given = {"cards": "2", "command": ["train.py"], "name": "bert", "priority": "on-demand"}
    return world.submit({**given, "time_limit_ms": 0, "snapshot": "", "environment": {}, **ask})


@pytest.mark.usefixtures("world")
def test_the_card_says_what_is_wrong_and_lets_in_who_is_right(page: Page, console: Console) -> None:
    page.goto(f"{console.url}/jobs")
    expect(page).to_have_url(re.compile(r"/sign-in\?next="))
    email, password = page.locator("input[name=email]"), page.locator("input[name=password]")
    error = page.get_by_role("alert").first
    email.fill("nonsense")
    password.press("Enter")
    expect(error).to_have_text("Enter your email address.")
    email.fill("ada@example.com")
    password.fill("wrong password")
    page.get_by_role("button", name="Sign in").click()
    expect(error).to_contain_text("password is wrong")
    password.fill(PASSWORD)
    password.press("Enter")
    expect(page).to_have_url(f"{console.url}/jobs"), "where one wanted to go"
    cookie = next(c for c in page.context.cookies() if c["name"].startswith("starverse_"))
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Lax"
    assert "tok-" not in page.content()


@pytest.mark.usefixtures("world")
def test_a_newcomer_is_told_of_the_trial_credit_and_of_passwords_too_short(
    page: Page, console: Console
) -> None:
    page.goto(f"{console.url}/sign-in")
    page.get_by_role("button", name="Create account").click()
    expect(page.get_by_text("¥10 of trial credit")).to_be_visible()
    page.locator("input[name=email]").fill("new@example.com")
    page.locator("input[name=password]").fill("short")
    page.locator("input[name=password]").press("Enter")
    expect(page.get_by_role("alert").first).to_contain_text("8 characters")


def test_someone_with_a_token_only_gets_in_and_signing_out_leaves_that_token_alone(
    page: Page, console: Console, world: World
) -> None:
    enter(page, console)
    token = next(iter(world.tokens))
    page.goto(f"{console.url}/account")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in")
    assert token not in world.tokens
    world.tokens["operator-token"] = sc.Token("k-op", "operator", 0, 4_000_000_000_000, False)
    page.get_by_role("button", name="Use a token").click()
    page.locator("input[name=token]").fill("operator-token")
    page.locator("input[name=token]").press("Enter")
    page.wait_for_selector(".sv-purse a")
    page.goto(f"{console.url}/account")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in")
    assert "operator-token" in world.tokens


@pytest.mark.usefixtures("world")
def test_every_page_speaks_the_language_chosen_at_once_and_remembers_it(page: Page, console: Console) -> None:
    enter(page, console)
    for place in PLACES:
        page.goto(f"{console.url}{place}")
        page.locator(".sv-head-button", has_text="中文").click()
        expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
        expect(page.locator("nav.sv-places")).to_have_text("总览提交任务预订钱包节点")
        words = page.locator(".sv-main").inner_text()
        for known in (
            "cpu",
            "this-machine",
            "train.py",
            "English",
            "default",
            "console",
            "ada",
            "example",
            "com",
        ):
            words = words.replace(known, "")
        left = set(re.findall(r"[A-Za-z_]{4,}", words))
        assert left <= LATIN, f"{place}: {left - LATIN}"
        page.locator(".sv-head-button", has_text="English").click()
        expect(page.locator("html")).to_have_attribute("lang", "en-US")
    page.locator(".sv-head-button", has_text="中文").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    page.context.clear_cookies()
    enter(page, console)
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    page.locator(".sv-head-button", has_text="English").click()
    expect(page.locator("html")).to_have_attribute("lang", "en-US")


def test_cards_are_booked_on_their_page_and_given_back(page: Page, console: Console, world: World) -> None:
    enter(page, console)
    page.goto(f"{console.url}/reservations")
    expect(page.get_by_text("Nothing is booked")).to_be_visible()
    expect(page.get_by_text("What was booked")).to_have_count(0)
    page.get_by_label("Name").fill("night")
    page.get_by_label("From").fill("soon")
    page.get_by_role("button", name="Book", exact=True).click()
    expect(page.get_by_role("alert").first).to_contain_text("That is no moment.")
    page.get_by_label("From").fill("2h")
    page.get_by_role("button", name="Book", exact=True).click()
    expect(page.locator(".sv-line")).to_contain_text("night")
    (made,) = world.reservations.values()
    assert (made.cards, made.to_ms - made.from_ms) == (1, 3_600_000)
    page.get_by_role("button", name="Cancel it").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel it").click()
    expect(page.get_by_text("Nothing is booked")).to_be_visible()
    assert not world.reservations
    expect(page.get_by_role("heading", name="What was booked")).to_be_visible()
    expect(page.locator(".sv-line")).to_contain_text("night")
    expect(page.locator(".sv-line")).to_contain_text("cancelled")


def test_the_operator_reads_the_limits(page: Page, console: Console, world: World) -> None:
    group, tenant = sc.Quota("lab", "", 1, 8, None, None), sc.Quota("t-1", "lab", 2, 4, 1.5, 0, 3, 2)
    world.limits = sc.Limits((group, tenant), (sc.Licence("solver", 4, 1),), (sc.Budget("row-1", None),))
    enter(page, console)
    page.goto(f"{console.url}/nodes")
    page.get_by_role("button", name="Limits").click()
    expect(page.get_by_role("heading", name="Limits")).to_be_visible()
    expect(page.locator("tr", has_text="· t-1")).to_contain_text("1.5")
    expect(page.locator("tr", has_text="solver")).to_contain_text("4")
    expect(page.locator("tr", has_text="row-1")).to_contain_text("any")


def test_the_operator_sets_limits_and_removes_a_quota(page: Page, console: Console, world: World) -> None:
    world.limits = sc.Limits((sc.Quota("lab", "", 1, 8, None, None), sc.Quota("t-1", "lab", 2, 4, 1.5, 0)))
    enter(page, console)
    page.goto(f"{console.url}/limits")
    row = page.locator("tr", has_text="· t-1")
    expect(row).to_contain_text("1.5")
    tenant = page.get_by_label("Tenant", exact=True)
    tenant.fill("t-1")
    page.get_by_label("Guaranteed", exact=True).fill("6")
    page.get_by_label("Borrows", exact=True).fill("much")
    page.get_by_role("button", name="Set quota").click()
    expect(page.get_by_text("'much' is no bound.")).to_be_visible()
    page.get_by_label("Borrows", exact=True).fill("any")
    page.get_by_role("button", name="Set quota").click()
    expect(row).to_contain_text("6")
    assert world.limits.quotas[-1] == sc.Quota("t-1", "lab", 2, 6, None, 0)
    tenant.fill("lab")
    for name, found in (("lab", "would hang in the air"), ("t-1", "t-1 has no quota any more.")):
        tenant.fill(name)
        page.get_by_role("button", name="Remove quota").click()
        page.get_by_role("dialog").get_by_role("button", name="Remove quota").click()
        expect(page.get_by_text(found)).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)
    expect(row).to_have_count(0)
    page.get_by_label("Licence", exact=True).fill("solver")
    page.get_by_label("There are", exact=True).fill("4")
    page.get_by_role("button", name="Set licence").click()
    expect(page.locator("tr", has_text="solver")).to_contain_text("4")
    page.get_by_label("Feed", exact=True).fill("row-1")
    page.get_by_label("Budget, W", exact=True).fill("900")
    page.get_by_role("button", name="Set budget").click()
    expect(page.locator("tr", has_text="row-1")).to_contain_text("900")


def test_what_a_job_asked_for_is_told_on_its_page(page: Page, console: Console, world: World) -> None:
    job = job_on(world)
    world.jobs[job.job] = replace(
        job,
        shape=sc.ShapeAsk(require="rack", cpu=2, licences={"solver": 1}),
        after=("j-before",),
        array="j-0000",
        array_index=0,
        array_limit=2,
        stays=True,
        roles=(sc.RoleAsk("learner", ("learn.py",), 2),),
    )
    enter(page, console)
    page.goto(f"{console.url}/jobs/{job.job}")
    for words in ("all in one rack", "2 processors for each member", "1 of licence solver", "j-before",
                  "at most 2 at once", "never moved", "Role learner"):  # fmt: skip
        expect(page.locator(".sv-facts")).to_contain_text(words)
    expect(page.get_by_role("heading", name="The array")).to_be_visible()


@pytest.mark.usefixtures("world")
def test_what_few_need_is_folded_away_in_the_form(page: Page, console: Console) -> None:
    enter(page, console)
    page.goto(f"{console.url}/submit")
    expect(page.get_by_label("Apart from jobs named")).to_be_hidden()
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Whole multiples in each").fill("rack")
    expect(page.locator(".sv-quote")).to_contain_text("Write it like rack=8.")
    page.get_by_label("Whole multiples in each").fill("rack=16, node=8")
    page.get_by_label("At most in each").fill("rack=32")
    page.get_by_label("Also for each member").fill("nic=1")
    page.get_by_label("Licences").fill("solver=2")
    expect(page.locator(".sv-quote")).to_contain_text("Starts now")
    page.get_by_label("Processors for each member").fill("many")
    expect(page.locator(".sv-quote")).to_contain_text("'many' is not a number.")


@pytest.mark.usefixtures("world")
def test_dark_stays_dark(page: Page, console: Console) -> None:
    enter(page, console)
    body = page.locator("body")
    expect(body).to_have_class(re.compile("body--light"))
    page.get_by_role("button", name="Dark or light").click()
    expect(body).to_have_class(re.compile("body--dark"))
    page.goto(f"{console.url}/wallet")
    expect(body).to_have_class(re.compile("body--dark"))
    page.get_by_role("button", name="Dark or light").click()
    expect(body).to_have_class(re.compile("body--light"))


def test_a_double_click_makes_one_job_with_its_cost_shown_before(
    page: Page, console: Console, world: World
) -> None:
    enter(page, console)
    page.goto(f"{console.url}/submit")
    page.get_by_label("Cards", exact=True).fill("1:2")
    expect(page.locator(".sv-quote-hour")).to_contain_text("¥0.4000 – ¥0.8000")
    page.get_by_label("Name", exact=True).fill("once")
    page.get_by_role("button", name="Submit", exact=True).dblclick()
    page.wait_for_url("**/jobs/j-*")
    expect(page.locator("h1")).to_have_text("once")
    assert [job.name for job in world.jobs.values()] == ["once"]


@pytest.mark.usefixtures("world")
def test_a_form_that_asks_for_too_much_says_so_beside_the_button(page: Page, console: Console) -> None:
    enter(page, console)
    page.goto(f"{console.url}/submit")
    page.get_by_label("Cards", exact=True).fill("64")
    expect(page.locator(".sv-quote-no")).to_contain_text("This cluster has 2 cpu cards; you asked for 64.")
    page.get_by_label("Time limit").fill("soon")
    expect(page.locator(".sv-quote-no")).to_contain_text("'soon' is not a duration.")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.locator(".sv-error")).to_contain_text("'soon' is not a duration.")
    page.locator(".sv-head-button", has_text="中文").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    (
        expect(page.locator(".sv-quote-no")).to_contain_text("“soon”不是时长。"),
        "what was filled in is still there",
    )
    page.locator(".sv-head-button", has_text="English").click()
    expect(page.locator("html")).to_have_attribute("lang", "en-US")


def test_a_folder_is_sent_as_a_zip(page: Page, console: Console, world: World, tmp_path: Path) -> None:
    import zipfile

    archive = tmp_path / "mine.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("mine/go.py", "print(1)")
        packed.writestr("mine/data.txt", "1")
    enter(page, console)
    page.goto(f"{console.url}/submit")
    page.get_by_role("button", name="Folder").click()
    page.locator("input[type=file]").set_input_files(archive)
    expect(page.get_by_text("2 files:")).to_be_visible()
    page.get_by_label("Script and arguments").fill("go.py --fast")
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url("**/jobs/j-*")
    assert [job.command for job in world.jobs.values()] == [("go.py", "--fast")]


def test_the_page_of_a_job_follows_it_through_a_fault_to_its_end(
    page: Page, console: Console, world: World
) -> None:
    world.fault_at = 120
    job = job_on(world)
    enter(page, console)
    page.goto(f"{console.url}/jobs/{job.job}")
    expect(page.locator(".sv-badge.is-running")).to_be_visible()
    expect(page.locator(".sv-log")).to_contain_text("step 50: loss")
    expect(page.locator(".sv-life")).to_have_count(2)
    expect(page.locator(".sv-life-bar .is-fault")).to_have_count(1)
    expect(page.get_by_text("back after")).to_be_visible()
    expect(page.locator(".sv-badge.is-done")).to_be_visible()
    expect(page.locator(".sv-progress-words")).to_contain_text("Step 400 of 400 · 100%")
    expect(page.get_by_text("given back")).to_be_visible()
    assert page.locator(".sv-chart canvas").count() == 1
    with page.expect_download() as fetched:
        page.get_by_role("link", name="result.json").click()
    assert fetched.value.path().read_text() == '{"steps": 400}'
    page.locator(".sv-log-runs").click()
    page.get_by_role("option", name="Run 0").click()
    expect(page.locator(".sv-log")).to_contain_text("step 10: loss")


def test_an_operator_kills_a_rank_from_the_page_of_the_job_and_a_customer_cannot(
    page: Page, console: Console, world: World
) -> None:
    world.speed = 2
    job = job_on(world)
    enter(page, console)
    page.goto(f"{console.url}/jobs/{job.job}")
    page.get_by_label("Rank").fill("1")
    page.get_by_role("button", name="Inject fault").click()
    expect(page.get_by_role("dialog")).to_contain_text("Kill rank 1 of bert?")
    page.get_by_role("dialog").get_by_role("button", name="Inject fault").click()
    expect(page.locator(".sv-life")).to_have_count(2)
    assert f"POST /v1/runs/{job.job}.0/faults" in world.requests
    world.operator = False
    page.context.clear_cookies()
    enter(page, console)
    page.goto(f"{console.url}/jobs/{job.job}")
    expect(page.locator(".sv-badge.is-running")).to_be_visible()
    expect(page.get_by_role("button", name="Inject fault")).to_be_hidden()


def test_behind_a_proxy_with_tls_the_cookie_is_secure_and_the_api_hears_where_the_browser_is(
    page: Page, console: Console, world: World
) -> None:
    enter(page, console)
    assert world.addresses == ["127.0.0.1"]
    assert [cookie["secure"] for cookie in page.context.cookies() if cookie["httpOnly"]] == [False]
    page.context.clear_cookies()
    page.context.set_extra_http_headers({"x-forwarded-for": "203.0.113.7", "x-forwarded-proto": "https"})
    enter(page, console)
    assert world.addresses == ["127.0.0.1", "203.0.113.7"]
    assert [cookie["secure"] for cookie in page.context.cookies() if cookie["httpOnly"]] == [True]


def test_a_waiting_job_says_why_and_is_stopped_only_after_a_question(
    page: Page, console: Console, world: World
) -> None:
    world.nodes["this-machine"] = replace(world.nodes["this-machine"], cordoned=True)
    job = job_on(world)
    enter(page, console)
    page.goto(f"{console.url}/jobs/{job.job}")
    expect(page.locator(".sv-reason")).to_contain_text("It needs 2 cpu cards at once; 1 are free.")
    expect(page.locator(".sv-reason")).to_contain_text("It would start now with 1 card.")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("dialog")).to_contain_text("will cost nothing more")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert world.jobs[job.job].phase == "waiting"
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    expect(page.locator(".sv-badge.is-stopped")).to_be_visible()


@pytest.mark.usefixtures("world")
def test_what_is_not_there_or_not_ones_own_is_not_found(page: Page, console: Console) -> None:
    enter(page, console)
    for path in ("/jobs/j-somebodys", "/jobs/..%2F..%2Fetc", "/nowhere"):
        answer = page.goto(f"{console.url}{path}")
        assert answer is not None
        assert answer.status == 404
        expect(page.get_by_role("heading", name="Nothing here")).to_be_visible()
    assert page.request.get(f"{console.url}/files/j-somebodys/x").status == 404


def test_the_wallet_shows_postings_with_credits_in_green(page: Page, console: Console, world: World) -> None:
    world.fault_at, world.speed = 60, 20
    job_on(world, name="bert")
    enter(page, console)
    page.goto(f"{console.url}/wallet")
    credit = page.locator("tr.is-credit").first
    expect(credit).to_contain_text("work lost to a platform fault")
    expect(credit).to_contain_text("bert · Run 0")
    green = page.evaluate("getComputedStyle(document.querySelector('tr.is-credit td')).color")
    assert green == page.evaluate("getComputedStyle(document.querySelector('tr.is-trial td')).color")
    assert green != page.evaluate("getComputedStyle(document.querySelector('tr.is-charge td')).color")
    expect(page.locator("tr.is-charge")).to_have_count(2), "one a run, and nothing more will move"
    for n in range(60):
        world.post("top-up", n + 1, n + 1, 0)
    page.reload()
    expect(page.locator("tbody tr")).to_have_count(25)
    page.get_by_role("button", name="Older").click()
    expect(page.locator("tbody tr").first).to_contain_text("¥0.000035")
    page.get_by_role("button", name="Newer").click()
    expect(page.locator("tbody tr").first).to_contain_text("¥0.000060")


def test_an_operator_closes_and_opens_nodes_after_a_question(
    page: Page, console: Console, world: World
) -> None:
    enter(page, console)
    page.goto(f"{console.url}/nodes")
    page.get_by_role("button", name="Cordon", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Cordon").click()
    expect(page.locator(".sv-badge.is-cordoned")).to_be_visible()
    assert world.nodes["this-machine"].cordoned
    page.get_by_role("button", name="Uncordon").click()
    page.get_by_role("dialog").get_by_role("button", name="Uncordon").click()
    expect(page.locator(".sv-badge.is-ready")).to_be_visible()


def test_a_customer_sees_nodes_but_no_buttons(page: Page, console: Console, world: World) -> None:
    world.operator = False
    enter(page, console)
    page.goto(f"{console.url}/nodes")
    expect(page.locator(".sv-line")).to_contain_text("this-machine")
    expect(page.locator(".sv-main").get_by_role("button")).to_have_count(0)


def test_names_of_jobs_are_never_markup(page: Page, console: Console, world: World) -> None:
    job = job_on(world, name=EVIL, command=["train.py", EVIL], environment={"A": EVIL})
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    enter(page, console)
    for path in ("/", "/jobs", f"/jobs/{job.job}", "/nodes", "/wallet"):
        page.goto(f"{console.url}{path}")
        expect(page.locator(".sv-main")).to_contain_text(EVIL)
        assert page.locator(".sv-main img").count() == 0


def test_pages_go_on_by_themselves_when_the_server_died_and_came_back(
    page: Page, console: Console, world: World, server: Server
) -> None:
    world.speed = 2
    job = job_on(world)
    enter(page, console)
    other = page.context.new_page()
    other.goto(f"{console.url}/wallet")
    page.goto(f"{console.url}/jobs/{job.job}")
    expect(page.locator(".sv-log")).to_contain_text("step 10")
    server.stop()
    for each in (page, other):
        expect(each.locator(".sv-banner")).to_contain_text("The server is restarting")
    away = page.context.new_page()
    away.goto(f"{console.url}/jobs")
    expect(away.locator(".sv-banner")).to_be_visible()
    world.jobs[job.job] = replace(world.jobs[job.job], name="renamed meanwhile")
    server.start()
    for each in (page, other, away):
        expect(each.locator(".sv-banner")).to_be_hidden()
    expect(page.locator("h1")).to_have_text("renamed meanwhile"), "brought up to date without a reload"
    expect(away.locator(".sv-table")).to_contain_text("renamed meanwhile")
    step = page.locator(".sv-progress-words").inner_text()
    expect(page.locator(".sv-progress-words")).not_to_have_text(step), "and live again"


def test_a_revoked_token_leads_back_to_the_card(page: Page, console: Console, world: World) -> None:
    enter(page, console)
    world.tokens.clear()
    page.goto(f"{console.url}/jobs")
    expect(page).to_have_url(re.compile(r"/sign-in\?ended=1"))
    expect(page.get_by_text("Your session has ended.")).to_be_visible()


@pytest.mark.usefixtures("world")
def test_pages_can_be_used_by_keyboard_and_fit_a_telephone(page: Page, console: Console) -> None:
    enter(page, console)
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.set_viewport_size({"width": 390, "height": 844})
    for place in PLACES:
        page.goto(f"{console.url}{place}")
        page.wait_for_selector(".sv-main h1")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, (
            f"{place} is wider than the screen"
        )
        unnamed = page.evaluate(
            """[...document.querySelectorAll('button, a, input, textarea')].filter(e => e.offsetParent &&
            !(e.innerText.trim() || e.ariaLabel || e.labels?.length || e.title || e.closest('label')))
            .map(e => e.outerHTML.slice(0, 120))"""
        )
        assert unnamed == [], place
