"""What the form sends: asks, keys, scripts and folders."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from starverse.faces.console.parcels import Parcel
from starverse.faces.console.wishes import Wishes
from starverse.model.errors import BadInput


def test_a_form_becomes_an_ask() -> None:
    wishes = Wishes(
        arguments="--lr 2e-3 --name 'a b'",
        cards=" 1:2 ",
        time_limit="2h",
        environment="SEED=1\n# no\n\nX = y=z ",
    )
    ask = wishes.ask(strict=True, snapshot="5e")
    assert ask.command == ("train.py", "--lr", "2e-3", "--name", "a b")
    assert (ask.cards, ask.time_limit_ms, ask.snapshot) == ("1:2", 7_200_000, "5e")
    assert ask.environment == {"SEED": "1", "X": "y=z"}


@pytest.mark.parametrize(
    ("wishes", "what"),
    [
        (Wishes(way="command", command=""), "no command"),
        (Wishes(way="command", command="echo 'half"), "quotation mark"),
        (Wishes(time_limit="soon"), "not a duration"),
        (Wishes(environment="no equals"), "not a variable"),
        (Wishes(way="folder", start="   "), "no command"),
    ],
)
def test_what_cannot_be_read_is_said(wishes: Wishes, what: str) -> None:
    with pytest.raises(BadInput, match=what):
        wishes.ask(strict=True)


def test_the_same_ask_of_one_form_has_one_key_and_another_has_another() -> None:
    ask, other = Wishes(name="a").ask(), Wishes(name="b").ask()
    assert Wishes.key("form", ask) == Wishes.key("form", ask)
    assert len({Wishes.key("form", ask), Wishes.key("form", other), Wishes.key("another form", ask)}) == 3


@pytest.fixture
def parcel() -> Iterator[Parcel]:
    holding = Parcel()
    yield holding
    holding.close()


def zip_of(tmp_path: Path, files: dict[str, str]) -> Path:
    path = tmp_path / "folder.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def test_a_folder_comes_out_of_its_zip_without_the_folder_around_it(parcel: Parcel, tmp_path: Path) -> None:
    parcel.put_zip(zip_of(tmp_path, {"mine/train.py": "print(1)", "mine/data/a.txt": "a"}))
    assert parcel.files == ("data/a.txt", "train.py")
    assert (parcel.root / "train.py").read_text() == "print(1)"


@pytest.mark.parametrize("name", ["../outside.py", "/etc/cron.d/x", "a/../../b.py"])
def test_nothing_is_written_outside(parcel: Parcel, tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="leads out"):
        parcel.put_zip(zip_of(tmp_path, {name: "x"}))


def test_links_in_a_zip_are_left_out(parcel: Parcel, tmp_path: Path) -> None:
    path = tmp_path / "link.zip"
    with zipfile.ZipFile(path, "w") as archive:
        link = zipfile.ZipInfo("passwd")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("train.py", "x")
    parcel.put_zip(path)
    assert parcel.files == ("train.py",)


def test_what_unpacks_to_too_much_is_refused(
    parcel: Parcel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("starverse.faces.console.parcels.UNPACKED_BYTES_MAX", 1000)
    with pytest.raises(BadInput, match="more than"):
        parcel.put_zip(zip_of(tmp_path, {"a": "x" * 2000}))


def test_what_is_no_zip_is_refused(parcel: Parcel, tmp_path: Path) -> None:
    path = tmp_path / "not.zip"
    path.write_text("PK but no")
    with pytest.raises(BadInput, match="not a zip"):
        parcel.put_zip(path)
    with pytest.raises(BadInput, match="empty"):
        parcel.put_zip(zip_of(tmp_path, {}))


@pytest.mark.parametrize("name", ["train.sh", "../train.py", "a/b.py", "", "x\n.py"])
def test_a_script_has_a_plain_name(parcel: Parcel, name: str) -> None:
    with pytest.raises(BadInput, match="name of a script"):
        parcel.put_script(name, "print(1)")


def test_a_parcel_leaves_nothing_behind(parcel: Parcel) -> None:
    parcel.put_script("train.py", "print(1)\r\n")
    assert (parcel.root / "train.py").read_bytes() == b"print(1)\n"
    parcel.close()
    assert not parcel.root.exists()
