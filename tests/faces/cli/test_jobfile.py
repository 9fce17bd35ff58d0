"""Job files: what they say, what they may not say, and what options do to them."""

from pathlib import Path

import pytest

from starverse.faces.cli import jobfile
from starverse.faces.cli.jobfile import Wish
from starverse.faces.schemas import JobAsk, RoleAsk
from starverse.model.errors import BadInput

FILE = Path("code/job.toml")

WHOLE = """
command = ["train.py", "--steps", "400"]
cards = "1:2"
kind = "cpu"
name = "first"
time_limit = "2h"
priority = "preemptible"
retries = 3
secrets = ["HF_TOKEN"]
directory = "src"
project = "p-1"
after = "j-1, j-2"
after_any = ["j-3"]
array = "0-99%10"

[environment]
LR = "0.1"
SEED = 7
"""


def test_a_whole_file_becomes_what_the_api_takes() -> None:
    wish = jobfile.parse(WHOLE, FILE)
    assert wish.directory == Path("code/src")
    assert wish.ask("s" * 64) == JobAsk(
        command=("train.py", "--steps", "400"),
        cards="1:2",
        kind="cpu",
        name="first",
        time_limit_ms=7_200_000,
        snapshot="s" * 64,
        environment={"LR": "0.1", "SEED": "7"},
        secrets=("HF_TOKEN",),
        project="p-1",
        priority="preemptible",
        retries=3,
        after=("j-1", "j-2"),
        after_any=("j-3",),
        array="0-99%10",
    )


def test_roles_are_tables_with_a_command_each() -> None:
    text = """
    [[role]]
    name = "serve"
    cards = 2
    command = "python -m server"
    [[role]]
    name = "train"
    command = ["train.py"]
    environment = {LR = 0.1}
    """
    assert jobfile.parse(text, FILE).ask() == JobAsk(
        (),
        roles=(
            RoleAsk("serve", ("python", "-m", "server"), 2),
            RoleAsk("train", ("train.py",), environment={"LR": "0.1"}),
        ),
    )


def test_what_a_file_leaves_out_the_api_decides() -> None:
    wish = jobfile.parse('command = "train.py"', FILE)
    assert wish.ask() == JobAsk(command=("train.py",))
    assert wish.directory == Path("code")


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("command = \"python -c 'print(1)'\"", "command", ("python", "-c", "print(1)")),
        ("cards = 8", "cards", "8"),
        ('cards = "2:8"', "cards", "2:8"),
        ("time_limit = 90", "time_limit_ms", 90_000),
        ('time_limit = "1h30m"', "time_limit_ms", 5_400_000),
        ("command = 'sh -c \"a | b > c; d\"'", "command", ("sh", "-c", "a | b > c; d")),
        ("command = \"grep --only='a|b' \\\\| x\"", "command", ("grep", "--only=a|b", "|", "x")),
        ('command = ["grep", "|", "x"]', "command", ("grep", "|", "x")),
        ('command = "curl http://x/?a=b&c=d"', "command", ("curl", "http://x/?a=b&c=d")),
        ("environment = {}", "environment", {}),
        ("environment = {LR = 0.1}", "environment", {"LR": "0.1"}),
        ("secrets = []", "secrets", ()),
        ("retries = 0", "retries", 0),
        ('directory = "/data"', "directory", Path("/data")),
    ],
)
def test_each_key_is_read(text: str, name: str, value: object) -> None:
    assert getattr(jobfile.parse(text, FILE), name) == value


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("card = 2", "a key 'card', which is not known. Did you mean 'cards'?"),
        ('time-limit = "2h"', "Did you mean 'time_limit'?"),
        ('enviroment = {A = "b"}', "Did you mean 'environment'?"),
        ('zzz = "q"', "There are: command, cards,"),
        ("cards = 0", "code/job.toml, cards: 0 cards cannot be had. Ask for 1 to"),
        ("cards = -1", "'-1' is not a number of cards"),
        ("cards = true", "'True' is not text"),
        ("cards = 1.5", "'1.5' is not a number of cards"),
        ('cards = "8:2"', "at least 8 and at most 2"),
        ("cards = 99999999999", "cannot be had"),
        ('time_limit = "soon"', "'soon' is not a duration. Write it like 90s"),
        ("time_limit = 0", "leaves no time to run"),
        ('time_limit = "0s"', "leaves no time to run"),
        ("time_limit = -5", "'-5' is not a duration"),
        ('time_limit = ["2h"]', "is not text"),
        ("command = 3", "command: '3' is not a list"),
        ('command = "echo \'unclosed"', "cannot be read (No closing quotation)"),
        ('command = ["a", 3]', "'3' is not text"),
        (
            'command = "cat x | sort"',
            """command: no shell reads the command, so '|' in it means nothing. Write ["sh", "-c", "..."]""",
        ),
        ('command = "python train.py > log"', "so '>' in it"),
        ('command = "python train.py 2>log"', "so '2>' in it"),
        ('command = "make; ./train"', "so ';' in it"),
        ('command = "make && ./train"', "so '&&' in it"),
        ('command = "./train &"', "so '&' in it"),
        ('environment = ["A=b"]', "is no table"),
        ("environment = {A = true}", "A is neither text nor a number"),
        ("environment = {A = {B = 1}}", "A is neither text nor a number"),
        ('secrets = "HF_TOKEN"', "is not a list"),
        ("retries = -1", "-1 retries cannot be had"),
        ("retries = true", "'True' is not a whole number"),
        ('retries = "2"', "is not a whole number"),
        (
            'priority = "urgent"',
            "'urgent' is no priority class. There are: reserved, on-demand, preemptible.",
        ),
        ("name = 3", "name: '3' is not text"),
        ("command = [", "is no valid TOML"),
        ("cards = 1\ncards = 2", "is no valid TOML"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_key_and_the_remedy(text: str, complaint: str) -> None:
    with pytest.raises(BadInput) as refused:
        jobfile.parse(text, FILE)
    assert complaint in str(refused.value)
    assert "code/job.toml" in str(refused.value)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "There is no file"),
        (b"\xff\xfe", "is not text"),
        (b"#" * (2 << 20), "too large"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None, complaint: str) -> None:
    file = tmp_path / "job.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(BadInput, match=complaint):
        jobfile.read(file)
    with pytest.raises(BadInput, match="cannot be read"):
        jobfile.read(tmp_path)


def test_options_count_more_than_the_file_and_variables_add_up() -> None:
    file = jobfile.parse(WHOLE, FILE)
    options = Wish(
        cards="4",
        retries=0,
        environment={"SEED": "8", "X": "y"},
        secrets=("OTHER", "HF_TOKEN"),
        directory=Path("d"),
    )
    both = options.over(file)
    assert (both.cards, both.retries, both.name) == ("4", 0, "first")
    assert both.environment == {"LR": "0.1", "SEED": "8", "X": "y"}
    assert both.secrets == ("HF_TOKEN", "OTHER")
    assert both.directory == Path("d")
    assert Wish().over(file) == file


@pytest.mark.parametrize(
    ("pairs", "found"),
    [
        ([], {}),
        (["A=b", "C="], {"A": "b", "C": ""}),
        (["A=b=c d"], {"A": "b=c d"}),
        (["A=1", "A=2"], {"A": "2"}),
    ],
)
def test_variables_on_the_command_line(pairs: list[str], found: dict[str, str]) -> None:
    assert jobfile.environment_of(pairs) == found


@pytest.mark.parametrize("pair", ["A", "=b", ""])
def test_a_variable_without_a_name_or_a_sign_is_refused(pair: str) -> None:
    with pytest.raises(BadInput, match="sets no variable"):
        jobfile.environment_of([pair])


def test_a_job_that_runs_nothing_is_refused() -> None:
    with pytest.raises(BadInput, match="nothing to run"):
        jobfile.parse("cards = 1", FILE).ask()
