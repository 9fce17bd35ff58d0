"""What the form sends: asks, keys, scripts and folders."""

import zipfile
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from starverse.faces.console.bookings import Booking
from starverse.faces.console.more_wishes import MoreWishes
from starverse.faces.console.parcels import Parcel
from starverse.faces.console.wishes import Wishes
from starverse.faces.schemas import ShapeAsk
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


def test_what_is_folded_away_becomes_part_of_the_ask() -> None:
    more = MoreWishes(require="rack", member=" 2 ", cpu="1.5", apart="web", after="j-1, j-2", array="0-9%2")
    more.wait, more.reservation, more.stays = "2h", "v-1", True
    ask = Wishes(more=more, changed_ms=1_000).ask()
    assert ask.shape == ShapeAsk(member=2, cpu=1.5, require="rack", apart="web")
    assert (ask.after, ask.array, ask.earliest_start_ms) == (("j-1", "j-2"), "0-9%2", 7_201_000)
    assert (ask.reservation, ask.stays) == ("v-1", True)
    more = MoreWishes(slices="rack=16, node = 8", spread="rack=32", resources="nic=2", licences="cad=1,sim=3")
    more.balanced, more.apart, more.apart_level, more.after_any = True, "web", "rack", "j-3"
    ask = Wishes(more=more).ask()
    assert ask.shape == ShapeAsk(
        slices={"rack": 16, "node": 8}, spread={"rack": 32}, balanced=True, resources={"nic": 2},
        licences={"cad": 1, "sim": 3}, apart="web", apart_level="rack",
    )  # fmt: skip
    assert ask.after_any == ("j-3",)


def test_a_booking_is_read_by_the_clocks_of_the_reader() -> None:
    form = Booking(
        cards="2", begin="2026-12-24 18:00", length="2h", repeat="weekly", until="2027-01-24 18:00"
    )
    ask = form.ask(ZoneInfo("Asia/Shanghai"), 0)
    assert (ask.from_ms, ask.to_ms - ask.from_ms, ask.zone) == (1_798_106_400_000, 7_200_000, "Asia/Shanghai")
    assert ask.until_ms == ask.from_ms + 31 * 86_400_000
    assert Booking(begin="2h").ask(UTC, 5_000).from_ms == 7_205_000
    with pytest.raises(BadInput, match="no moment"):
        Booking(begin="soon").ask(UTC, 0)
    with pytest.raises(BadInput, match="not a number of cards"):
        Booking(cards="many", begin="2h").ask(UTC, 0)


@pytest.mark.parametrize(
    ("wishes", "what"),
    [
        (Wishes(way="command", command=""), "no command"),
        (Wishes(way="command", command="echo 'half"), "quotation mark"),
        (Wishes(time_limit="soon"), "not a duration"),
        (Wishes(environment="no equals"), "not a variable"),
        (Wishes(way="folder", start="   "), "no command"),
        (Wishes(more=MoreWishes(member="two")), "not a whole number"),
        (Wishes(more=MoreWishes(cpu="nan")), "not a number"),
        (Wishes(more=MoreWishes(slices="rack")), "names nothing and how many of it"),
        (Wishes(more=MoreWishes(spread="rack=-8")), "names nothing and how many of it"),
        (Wishes(more=MoreWishes(licences="cad=1, cad=2")), "named twice"),
        (Wishes(more=MoreWishes(wait="soon")), "not a duration"),
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
