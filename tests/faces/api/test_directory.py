"""What a submission takes along is what git would, and nothing from outside the directory."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from starverse.faces.directory import read_directory
from starverse.model.errors import BadInput

MANY = 10**9


def taken(root: Path) -> list[str]:
    return [file.path for file in read_directory(root, MANY, 10_000)]


def write(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def test_ignore_files_at_every_depth_are_honoured(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            ".gitignore": "*.log\n/data\n!keep.log\n",
            ".starverseignore": "videos/\n",
            ".git/config": "",
            "train.py": "",
            "a.log": "",
            "keep.log": "",
            "data/large": "",
            "deep/data/small": "",
            "deep/.gitignore": "!a.log\n*.tmp\n",
            "deep/a.log": "",
            "deep/x.tmp": "",
            "deep/videos/v": "",
            "sub/.git": "gitdir: elsewhere",
            "sub/code.py": "",
            ".venv/bin/python": "",
            "pkg/__pycache__/m.pyc": "",
        },
    )
    assert taken(tmp_path) == [
        ".gitignore",
        ".starverseignore",
        "deep/.gitignore",
        "deep/a.log",
        "deep/data/small",
        "keep.log",
        "sub/code.py",
        "train.py",
    ]


NAMES = st.sampled_from(["a", "b", "c.log", "d.tmp", "é", "x y", ".hidden"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
RULE = """*.log a/ /b !c.log **/d.tmp a/* !a/b \\!a # é .hidden b/c.log a/** !a/c.log * !*/ !a/"""
LINES = [*RULE.split(), "x y", "# no", ""]
RULES = st.lists(st.sampled_from(LINES), max_size=4).map("\n".join)


@settings(max_examples=25)
@given(st.sets(PATHS, min_size=1, max_size=12), RULES, RULES)
def test_as_git_itself_would(
    tmp_path_factory: pytest.TempPathFactory, paths: set[str], above: str, below: str
) -> None:
    root = tmp_path_factory.mktemp("tree")
    for path in sorted(paths, key=len, reverse=True):
        if not (root / path).exists() and not any(parent.is_file() for parent in (root / path).parents):
            write(root, {path: ""})
    (root / ".gitignore").write_text(above)
    if (root / "a").is_dir():
        (root / "a" / ".gitignore").write_text(below)
    git = ["git", "-c", "core.excludesFile=", "-c", "core.quotePath=false"]
    subprocess.run([*git, "init", "-q"], cwd=root, check=True)
    listing = [*git, "ls-files", "-z", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=root, check=True, capture_output=True, text=True).stdout
    expected = sorted(name for name in listed.split("\0") if name)
    assert taken(root) == expected, (above, below)


def test_links_lead_only_to_what_is_inside(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"secret": "x"})
    root = write(tmp_path / "root", {"train.py": "print()"})
    (root / "inside").symlink_to("train.py")
    (root / "out").symlink_to(outside / "secret")
    (root / "folder").symlink_to(outside)
    (root / "broken").symlink_to("nowhere")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    assert taken(root) == ["inside", "train.py"]


def test_scripts_stay_executable_and_modes_are_plain(tmp_path: Path) -> None:
    write(tmp_path, {"run.sh": "", "train.py": ""})
    (tmp_path / "run.sh").chmod(0o4755)
    (tmp_path / "train.py").chmod(0o666)
    assert [file.mode for file in read_directory(tmp_path, MANY, 10)] == [0o755, 0o644]


def test_the_same_content_is_the_same_digest_wherever(tmp_path: Path) -> None:
    write(tmp_path, {"a/x": "same", "b/y": "same", "z": "other"})
    first, second, third = read_directory(tmp_path, MANY, 10)
    assert first.digest == second.digest != third.digest


def test_a_large_directory_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "huge.bin").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(BadInput, match=r"holds 1099\.5 GB"):
        read_directory(tmp_path, 1 << 30, 10)


def test_a_name_that_is_no_text_is_told(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")).touch()
    with pytest.raises(BadInput, match="not UTF-8"):
        read_directory(tmp_path, MANY, 10)
