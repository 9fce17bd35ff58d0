"""The house rules of the design, each a test that lists the places that break it."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import starverse

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "starverse"
TOOLS = Path(sys.executable).parent

PURE = ["model", "money", "physics", "scheduler", "supervisor", "planning", "control"]
WITH_EFFECTS = ["twin", "engines", "devices", "store", "service", "faces", "bench", "demo", "train"]


# ---- a file ----


def test_a_source_file_opens_with_one_sentence() -> None:
    def opens_well(path: Path) -> bool:
        first = (ast.get_docstring(tree(path)) or "").partition("\n")[0]
        return first.endswith(".") and not re.search(r"[.!?] +[A-Z]", first)

    none_of(f"{name(p)}:1" for p in sources() if not opens_well(p))


def test_no_source_file_is_longer_than_400_lines() -> None:
    words = [p for p in tracked() if p.suffix == ".toml" and SRC in p.parents]
    lengths = {p: len(p.read_text().splitlines()) for p in (*sources(), *words)}
    none_of(f"{name(p)}: {lines} lines" for p, lines in lengths.items() if lines > 400)


def test_no_file_is_named_for_nothing_in_particular() -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}
    none_of(name(p) for p in tracked() if p.suffix == ".py" and vague & {p.stem, *p.relative_to(ROOT).parts})


def test_nothing_is_left_to_do() -> None:
    none_of(places(r"\b(TOD[O]|FIXM[E]|XX[X])\b"))


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    folders = r"(?<![\w.~})$/-])/(work|root|opt)/"
    registries = r"\bpypi\.org|python[h]osted\.|download\.pytorch|deb\.debian|registry\.npmjs|find[-_]links"
    none_of(places(f"{folders}|{registries}"))


def test_a_skipped_test_says_why() -> None:
    def unexplained(call: ast.AST) -> bool:
        match call:
            case ast.Call(func=ast.Attribute(attr="skip"), args=args, keywords=keywords):
                return not args and not keywords
            case ast.Call(func=ast.Attribute(attr="skipif" | "xfail"), keywords=keywords):
                return "reason" not in {k.arg for k in keywords}
        return False

    def bare(node: ast.AST) -> bool:
        match node:
            case ast.FunctionDef(decorator_list=marks) | ast.ClassDef(decorator_list=marks):
                return any(isinstance(m, ast.Attribute) and m.attr in {"skip", "xfail"} for m in marks)
        return False

    tests = [p for p in tracked() if p.suffix == ".py" and ROOT / "tests" in p.parents]
    none_of(
        f"{name(p)}:{node.lineno}"  # type: ignore[attr-defined]
        for p in tests
        for node in ast.walk(tree(p))
        if unexplained(node) or bare(node)
    )


# ---- the tower ----


def test_rooms_import_only_lower_floors() -> None:
    answer = lint_imports(ROOT / "src")
    assert answer.returncode == 0, answer.stdout


def test_the_tower_is_guarded(tmp_path: Path) -> None:
    imports = {
        "model/up.py": "starverse.control",
        "scheduler/sideways.py": "starverse.supervisor",
        "engines/sideways.py": "starverse.store",
        "twin/up.py": "starverse.service",
        "faces/up.py": "starverse.main",
        "train/ours.py": "starverse.model",
        "store/inside.py": "starverse.train.session",
        "cellar/unknown.py": "starverse.model",
        "scheduler/fine.py": "starverse.train.contract",
    }
    build(tmp_path, imports | dict.fromkeys(["main.py", "train/session.py", "train/contract.py"], "json"))
    answer = lint_imports(tmp_path).stdout
    for file, imported in imports.items():
        importer = "starverse." + file.removesuffix(".py").replace("/", ".")
        complaint = rf"{importer} -> {imported}\b" if "cellar" not in file else "- starverse.cellar"
        assert bool(re.search(complaint, answer)) == ("fine" not in file), f"{file}:\n{answer}"


def test_the_contract_with_jobs_needs_only_the_standard_library() -> None:
    contract = SRC / "train" / "contract.py"
    if contract in sources():
        known = sys.stdlib_module_names | {"starverse"}
        none_of(
            f"{name(contract)}:{line}: {m}" for line, m in imports(contract) if m.split(".")[0] not in known
        )


EFFECTS = """
import time
import random
import secrets
import os
import os.path
import asyncio
import subprocess
import socket
import threading
import sqlite3
import sqlalchemy
import httpx
import httpx2
import fastapi
import uuid
import numpy.random
import urllib.request
from time import monotonic
from numpy import random as chance
from numpy.random import default_rng
from sqlalchemy.engine import Engine
from concurrent.futures import ThreadPoolExecutor
""".strip()

CLOCKS = """
import datetime as dt
from datetime import UTC, datetime

import numpy as np

A = datetime.now(UTC)
B = dt.datetime.now(dt.UTC)
C = dt.date.today()
D = np.random.default_rng(1)
"""


@pytest.mark.parametrize("room", PURE)
def test_floors_1_to_4_may_not_reach_for_effects(room: str) -> None:
    refused = ruff(f"src/starverse/{room}/x.py", EFFECTS)
    missed = [line for n, line in enumerate(EFFECTS.splitlines(), 1) if ("TID251", n) not in refused]
    assert not missed, f"ruff lets {room} import: {missed}"
    assert {("TID251", n) for n in (7, 8, 9, 10)} <= ruff(f"src/starverse/{room}/x.py", CLOCKS)


@pytest.mark.parametrize("room", WITH_EFFECTS)
def test_the_floors_above_may(room: str) -> None:
    assert "TID251" not in {code for code, _ in ruff(f"src/starverse/{room}/deep/x.py", EFFECTS)}


@pytest.mark.parametrize(
    ("path", "code", "rule", "refused"),
    [
        ("scheduler/x.py", 'print("hello")', "T201", True),
        ("service/x.py", 'print("hello")', "T201", True),
        ("faces/cli/x.py", 'print("hello")', "T201", False),
        ("main/x.py", 'print("hello")', "T201", False),
        ("train/session.py", 'print("hello")', "T201", True),
        ("train/examples/x.py", 'print("hello")', "T201", False),
        ("model/x.py", "def fits(): ...", "D103", True),
        ("model/x.py", "class Job: ...", "D101", True),
        ("model/x.py", "def _fits(): ...", "D103", False),
        ("model/x.py", 'def fits():\n    """Whether it fits"""', "D400", True),
        ("engines/x.py", "import torch", "TID253", True),
        ("engines/x.py", "def run():\n    import torch", "TID253", False),
        ("train/x.py", "import torch", "TID253", False),
    ],
)
def test_ruff_knows_the_house(path: str, code: str, rule: str, refused: bool) -> None:
    assert (rule in {found for found, _ in ruff(f"src/starverse/{path}", code)}) == refused


# ---- what the world reads ----


def test_links_in_documents_lead_somewhere() -> None:
    def targets(page: Path) -> Iterator[tuple[int, str]]:
        text = re.sub(
            r"```.*?```|`[^`\n]*`", lambda m: "\n" * m[0].count("\n"), page.read_text(), flags=re.DOTALL
        )
        for found in re.finditer(
            r"\]\(\s*<?([^)\s>]+)|(?:src|href)=\"([^\"]+)\"|^\[[^]]+\]:\s*(\S+)", text, re.MULTILINE
        ):
            yield text.count("\n", 0, found.start()) + 1, next(filter(None, found.groups()))

    none_of(
        f"{name(page)}:{line}: {target}"
        for page in tracked()
        if page.suffix == ".md"
        for line, target in targets(page)
        if not re.match(r"[a-z]+:|#", target) and not (page.parent / target.partition("#")[0]).exists()
    )


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    newest = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest
    assert starverse.__version__ == project["version"] == newest[1]


def test_constraints_pin_plain_releases_and_torch_as_the_extra_does() -> None:
    pins = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[\w.-]+==[\w.]+", pin)] == []
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert [r for r in extras["torch"] if r.startswith("torch==")] == [
        p for p in pins if p.startswith("torch==")
    ]


# ---- how it is looked up ----


@cache
def tracked() -> list[Path]:
    """All files that are, or are about to be, in git."""
    git = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(git, cwd=ROOT, check=False, capture_output=True, text=True)
    assert listing.returncode == 0, listing.stderr
    return sorted({ROOT / line for line in listing.stdout.split("\0") if line and (ROOT / line).is_file()})


def sources() -> list[Path]:
    return [p for p in tracked() if p.suffix == ".py" and SRC in p.parents]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or "starverse"


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def places(pattern: str) -> Iterator[str]:
    for path in tracked():
        content = path.read_bytes()
        lines = [] if b"\0" in content else content.decode(errors="replace").splitlines()
        yield from (
            f"{name(path)}:{n}: {line.strip()[:100]}"
            for n, line in enumerate(lines, 1)
            if re.search(pattern, line)
        )


def none_of(offences: Iterator[str]) -> None:
    found = list(offences)
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def ruff(path: str, code: str) -> set[tuple[str, int]]:
    """What ruff, as configured here, would say of `code` if it stood at `path`: rules and lines."""
    command = [TOOLS / "ruff", "check", "--no-cache", "--output-format=json", "--stdin-filename", path, "-"]
    said = subprocess.run(command, cwd=ROOT, check=False, input=code, capture_output=True, text=True)
    assert said.returncode in {0, 1}, said.stderr
    return {(each["code"], each["location"]["row"]) for each in json.loads(said.stdout)}


def lint_imports(folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [TOOLS / "lint-imports", "--no-logo", "--no-cache", ROOT / ".importlinter"]
    here = os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "200"}
    return subprocess.run(command, cwd=folder, env=here, check=False, capture_output=True, text=True)


def build(folder: Path, modules: dict[str, str]) -> None:
    """Write a package `starverse` with every room, of modules that import one thing each."""
    for room in ["", "cellar", *PURE, *WITH_EFFECTS]:
        (folder / "starverse" / room).mkdir()
        (folder / "starverse" / room / "__init__.py").touch()
    for file, imported in modules.items():
        (folder / "starverse" / file).write_text(f"import {imported}\n")
