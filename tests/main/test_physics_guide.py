"""docs/physics.md: each line of it runs, and gives the figure beside it."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from starverse.main.commands import build

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "physics.md").read_text()
LINES = re.findall(r"^\$ starverse (.*?) +# (\S+) (\S+) ± (\S+) %$", GUIDE, re.MULTILINE)


def test_every_line_and_every_model_has_its_figure() -> None:
    assert len(LINES) == len(re.findall(r"^\$ ", GUIDE, re.MULTILINE))
    models = GUIDE.split("\n## ")[1:]
    assert len(models) == 8
    for model in models:
        assert "\n$ starverse " in model, model.splitlines()[0]
        assert "Limits:" in model, model.splitlines()[0]


@pytest.mark.parametrize(
    ("command", "key", "value", "percent"), LINES, ids=[f"{line[0]}: {line[1]}" for line in LINES]
)
def test_a_line_of_the_guide_gives_its_figure(
    command: str, key: str, value: str, percent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        build()([*shlex.split(command), "--json"])
    printed = capsys.readouterr()
    assert not end.value.code, printed.err
    found: Any = json.loads(printed.out)
    if isinstance(found, list):  # the rows of the claims
        found = {row["id"]: row for row in found}
    for part in key.split("."):
        found = found[part]
    assert found == pytest.approx(float(value), rel=float(percent) / 100)


@pytest.mark.parametrize("page", ["README.md", "README.zh.md", "docs/architecture.md"])
def test_the_guide_is_linked(page: str) -> None:
    assert "physics.md)" in (ROOT / page).read_text()
