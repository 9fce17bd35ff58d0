"""The guide to the API keeps its word: its examples run as they stand, and its tables name real routes."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import httpx2
import pytest
from tests.faces.cli.served import Served

GUIDE = Path(__file__).parents[3] / "docs" / "api.md"


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="the examples use curl and jq")
def test_the_examples_run_one_after_another(served: Served, tmp_path: Path) -> None:
    script = "\n".join(re.findall(r"```sh\n(.*?)```", GUIDE.read_text(), re.DOTALL))
    command = ["bash", "-euo", "pipefail", "-x", "-c", script]
    environment = {**os.environ, "STARVERSE_URL": served.url}
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "hold" in ran.stdout
    assert "This cluster has 2 cpu cards; you asked for 1000." in ran.stdout


def test_every_route_the_guide_names_is_there(http: httpx2.Client) -> None:
    document = http.get("/openapi.json").json()["paths"]
    there = {f"{method.upper()} {path}" for path, methods in document.items() for method in methods}
    text = GUIDE.read_text()
    named = re.findall(r"`(GET|POST|PUT|DELETE) (/[^`?]+)", text)
    assert len(named) > 15
    for method, path in named:
        full = path if path.startswith(("/v1/", "/metrics")) else f"/v1/jobs/{{job}}{path}"
        assert f"{method} {full}" in there, f"the guide names {method} {path}"
