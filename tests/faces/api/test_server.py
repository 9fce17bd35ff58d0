"""What the server says of itself: the document, the page, readiness, figures; and its careful headers."""

import re
from html.parser import HTMLParser

import httpx2
import pytest
from tests.faces.cli.served import Served
from tests.service.place import Place

import starverse
from starverse.faces.client import Client
from starverse.faces.schemas import JobAsk


def test_readiness_and_version_are_told_to_everybody(http: httpx2.Client, place: Place) -> None:
    assert http.get("/healthz").json() == {"ready": True, "version": starverse.__version__}
    place.loop.stop()
    answer = http.get("/healthz")
    assert answer.status_code == 503
    assert answer.json()["remedy"]


def test_the_reference_page_needs_nothing_from_elsewhere(http: httpx2.Client) -> None:
    page = http.get("/docs")
    assert page.status_code == 200

    found: list[str] = []

    class Links(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            assert tag != "script"
            found.extend(value or "" for name, value in attributes if name in ("src", "href"))

    Links().feed(page.text)
    assert found
    assert all(link.startswith(("#", "/")) for link in found)
    anchors = {link[1:] for link in found if link.startswith("#")}
    assert anchors <= set(re.findall(r'id="([^"]+)"', page.text))
    assert "sha256-" in page.headers["content-security-policy"]
    for path in http.get("/openapi.json").json()["paths"]:
        assert f"<code>{path}</code>" in page.text


def test_every_route_says_what_it_does_and_which_problems_it_has(http: httpx2.Client) -> None:
    document = http.get("/openapi.json").json()
    open_to_all = set()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation["description"].endswith(".") or "`" in operation["description"], path
            problems = {status for status, answer in operation["responses"].items() if "$ref" in answer}
            assert "503" in problems, path
            if not operation.get("security"):
                open_to_all.add((method, path))
            else:
                assert {"401", "404"} <= problems, path
    assert open_to_all == {
        ("get", "/healthz"),
        ("get", "/metrics"),
        ("post", "/v1/accounts"),
        ("post", "/v1/sessions"),
    }


@pytest.mark.parametrize("path", ["/healthz", "/docs", "/openapi.json", "/v1/me", "/nowhere", "/metrics"])
def test_headers_are_careful_and_no_other_site_may_read(http: httpx2.Client, path: str) -> None:
    headers = http.get(path, headers={"origin": "https://evil.example"}).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    assert not [name for name in headers if name.startswith("access-control")]


def test_figures_for_prometheus(http: httpx2.Client, ann: Client, place: Place) -> None:
    job = ann.submit(JobAsk(("echo",)))
    place.reach(job.job, "running")
    ann.submit(JobAsk(("echo",), cards=2))
    figures = dict(
        line.rsplit(" ", 1) for line in http.get("/metrics").text.splitlines() if not line.startswith("#")
    )
    assert figures['starverse_cards{kind="cpu",use="free"}'] == "1.0"
    assert figures['starverse_cards{kind="cpu",use="used"}'] == "1.0"
    assert figures['starverse_jobs{phase="running"}'] == "1.0"
    assert figures['starverse_jobs{phase="waiting"}'] == "1.0"
    assert figures["starverse_runs"] == "1.0"
    assert figures["starverse_ledger_sum_micro_yuan"] == "0.0"
    assert float(figures["starverse_journal_events_total"]) > 5
    wallets, held = (float(figures[f"starverse_{name}_micro_yuan"]) for name in ("wallets", "held"))
    assert wallets + held == 1010e6
    assert held > 0
    assert float(figures['starverse_http_requests_total{method="POST",status="2xx"}']) >= 3


def test_figures_through_a_proxy_are_for_operators(
    http: httpx2.Client, ann: Client, operator: Client
) -> None:
    proxied = {"x-forwarded-for": "203.0.113.7"}
    assert http.get("/metrics", headers=proxied).status_code == 401
    for client, status in ((ann, 401), (operator, 200)):
        headers = proxied | {"authorization": f"Bearer {client.token}"}
        assert http.get("/metrics", headers=headers).status_code == status


def test_a_server_without_a_loop_says_so_instead_of_hanging(served: Served, ann: Client) -> None:
    served.place.loop.stop()
    with pytest.raises(Exception, match="loop has ended") as error:
        ann.cluster()
    assert getattr(error.value, "remedy", "")
