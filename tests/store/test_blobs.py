"""Submitted files: stored once, proven by sending, never leading out of their directory."""

import os
import stat
import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from starverse.model.errors import BadInput, NotFound, Refused
from starverse.store.blobs import Blobs
from starverse.store.manifest import Entry, Limits, checked, decoded

TRAIN = b"print('train')\n"
DATA = b"x" * 100_000


def digest_of(body: bytes) -> str:
    return sha256(body).hexdigest()


def send(blobs: Blobs, tenant: str, *bodies: bytes) -> None:
    for body in bodies:
        assert blobs.put(tenant, digest_of(body), [body[:7], body[7:]]) == len(body)


def broken_off() -> Iterator[bytes]:
    yield DATA[:50]
    raise ConnectionError


def entry(path: str, body: bytes = TRAIN, mode: int = 0o644) -> Entry:
    return Entry(path, digest_of(body), len(body), mode)


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path, Limits(files=5, bytes=200_000, path_bytes=60, name_bytes=20))


# -- sending ----------------------------------------------------------------------------------------------


def test_a_directory_goes_in_and_comes_out_the_same(blobs: Blobs, tmp_path: Path) -> None:
    send(blobs, "ada", TRAIN, DATA, b"")
    entries = [
        entry("run.sh", mode=0o755),
        entry("data/x.bin", DATA),
        entry("data/empty", b""),
        entry("copy.py"),
    ]
    snapshot = blobs.put_manifest("ada", entries)
    assert blobs.manifest(snapshot) == sorted(entries)
    assert blobs.size(snapshot) == 2 * len(TRAIN) + len(DATA) == blobs.unpack(snapshot, tmp_path / "out")
    out = tmp_path / "out"
    assert files_in(out) == {"run.sh": TRAIN, "data/x.bin": DATA, "data/empty": b"", "copy.py": TRAIN}
    assert [stat.S_IMODE((out / name).stat().st_mode) for name in ("run.sh", "copy.py")] == [0o755, 0o644]
    (out / "copy.py").write_bytes(b"changed by the job")
    blobs.unpack(snapshot, tmp_path / "again")
    assert files_in(tmp_path / "again")["copy.py"] == TRAIN


def test_the_same_directory_is_the_same_snapshot_and_is_stored_once(blobs: Blobs, tmp_path: Path) -> None:
    for tenant in ("ada", "bo"):
        send(blobs, tenant, TRAIN)
    entries = [entry("a"), entry("b")]
    snapshots = {blobs.put_manifest(t, e) for t in ("ada", "bo") for e in (entries, entries[::-1])}
    assert len(snapshots) == 1
    inodes = {path.stat().st_ino for path in (tmp_path / "blobs").rglob(digest_of(TRAIN))}
    assert len(inodes) == 1


def test_to_know_a_digest_is_not_to_have_the_file(blobs: Blobs) -> None:
    send(blobs, "ada", TRAIN)
    snapshot = blobs.put_manifest("ada", [entry("train.py")])
    assert blobs.missing("ada", [digest_of(TRAIN), digest_of(DATA)]) == [digest_of(DATA)]
    assert blobs.missing("bo", [digest_of(TRAIN)]) == [digest_of(TRAIN)]
    with pytest.raises(BadInput, match=r"train\.py was not sent"):
        blobs.put_manifest("bo", [entry("train.py")])
    assert blobs.has("ada", snapshot)
    assert not blobs.has("bo", snapshot)
    with pytest.raises(BadInput, match="it broke off"):  # nor may a broken upload show it
        blobs.put("bo", digest_of(TRAIN), [b"guess"])
    assert blobs.missing("bo", [digest_of(TRAIN)]) == [digest_of(TRAIN)]


def test_an_upload_that_breaks_off_or_differs_leaves_no_trace(blobs: Blobs, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="broke off"):
        blobs.put("ada", digest_of(DATA), [DATA[:-1]])
    with pytest.raises(ConnectionError):
        blobs.put("ada", digest_of(DATA), broken_off())
    with blobs.upload("ada", digest_of(DATA)) as upload:
        upload.write(DATA)  # all of it, but nobody said so
    with pytest.raises(BadInput, match="More than 200,000 bytes"):
        blobs.put("ada", digest_of(DATA), [DATA] * 3)
    assert files_in(tmp_path / "blobs") == {}
    assert blobs.missing("ada", [digest_of(DATA)])
    send(blobs, "ada", DATA)
    assert not blobs.missing("ada", [digest_of(DATA)])


def test_what_a_killed_server_left_half_sent_is_cleared_a_day_later(tmp_path: Path) -> None:
    Blobs(tmp_path)
    coming = tmp_path / "blobs" / "coming"
    for name, age_s in (("old", 90_000), ("new", 10)):
        (coming / name).write_bytes(b"half")
        then = (coming / name).stat().st_mtime - age_s
        os.utime(coming / name, (then, then))
    Blobs(tmp_path)
    assert [path.name for path in coming.iterdir()] == ["new"]


def test_many_may_send_the_same_file_at_once(blobs: Blobs, tmp_path: Path) -> None:
    threads = [threading.Thread(target=send, args=(blobs, f"t-{number % 3}", DATA)) for number in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(not blobs.missing(f"t-{number}", [digest_of(DATA)]) for number in range(3))
    assert (tmp_path / "blobs" / digest_of(DATA)[:2] / digest_of(DATA)).read_bytes() == DATA
    assert list((tmp_path / "blobs" / "coming").iterdir()) == []


def test_nobody_but_the_server_reads_what_was_sent(blobs: Blobs, tmp_path: Path) -> None:
    send(blobs, "ada", TRAIN)
    blobs.put_manifest("ada", [entry("a")])
    for path in (tmp_path / "blobs").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.parametrize("digest", ["", "a" * 63, "A" * 64, "../" + "a" * 61, "a" * 64 + "\n"])
def test_what_is_no_digest_is_refused(blobs: Blobs, digest: str) -> None:
    for ask in (lambda: blobs.missing("ada", [digest]), lambda: blobs.put("ada", digest, [])):
        with pytest.raises(BadInput, match="not a sha256"):
            ask()
    with pytest.raises(BadInput, match="not a sha256"):
        blobs.manifest(digest)


@pytest.mark.parametrize("tenant", ["", "..", "a/b", "of/bo", ".hidden", "x" * 65])
def test_a_tenant_is_one_folder(blobs: Blobs, tenant: str) -> None:
    with pytest.raises(BadInput, match="not a tenant"):
        blobs.missing(tenant, [digest_of(TRAIN)])


# -- manifests --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paths", "says"),
    [
        (["/etc/passwd"], "'/etc/passwd' is an absolute path"),
        (["../x"], "'../x' leads out"),
        (["a/../../x"], "leads out"),
        (["a//b"], "not a plain path"),
        (["./a"], "not a plain path"),
        (["a/"], "not a plain path"),
        ([""], "not a plain path"),
        (["a\0b"], "not a plain path"),
        (["a\ud800"], "not UTF-8"),
        (["x" * 21], "too long a path"),
        (["/".join(["dir"] * 20)], "too long a path"),
        (["a", "a"], "'a' is there twice"),
        (["a/b", "a"], "'a' is a file and a folder"),
        (["a/b/c", "a/b"], "'a/b' is a file and a folder"),
        ([], "no files"),
        (list("abcdef"), r"6 files are more than 5\. The largest: a \(1 files\)"),
    ],
)
def test_a_path_that_is_refused(blobs: Blobs, paths: list[str], says: str) -> None:
    send(blobs, "ada", TRAIN)
    with pytest.raises(BadInput, match=says):
        blobs.put_manifest("ada", [entry(path) for path in paths])


def test_too_many_bytes_are_refused_with_the_largest_folders_named() -> None:
    entries = [Entry(path, "a" * 64, size) for path, size in (("data/a", 90), ("data/b", 80), ("x.py", 30))]
    with pytest.raises(
        BadInput, match=r"200 bytes are more than 100\. .*data/ \(170 bytes\), x\.py \(30 bytes\)"
    ):
        checked(entries, Limits(bytes=100))


def test_a_size_that_is_not_the_files_is_refused(blobs: Blobs) -> None:
    send(blobs, "ada", TRAIN)
    with pytest.raises(BadInput, match="has 15 bytes, not 16"):
        blobs.put_manifest("ada", [Entry("a", digest_of(TRAIN), 16)])
    with pytest.raises(BadInput, match="negative size"):
        blobs.put_manifest("ada", [Entry("a", digest_of(TRAIN), -1)])


def test_of_a_mode_only_harmless_bits_are_kept(blobs: Blobs) -> None:
    send(blobs, "ada", TRAIN)
    snapshot = blobs.put_manifest("ada", [entry("a", mode=0o104711), entry("b", mode=0)])
    assert [each.mode for each in blobs.manifest(snapshot)] == [0o711, 0o400]


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{}", b'[{"path":"a"}]', b'[{"path":"a","digest":"b","size":"1"}]',
        b'[{"path":"a","digest":"b","size":1,"mode":420,"target":"/etc/passwd"}]',
    ],
)  # fmt: skip
def test_what_is_no_manifest_is_refused(body: bytes) -> None:
    with pytest.raises(BadInput, match="not a manifest"):
        decoded(body)


def test_a_manifest_reads_back_as_it_was() -> None:
    entries = [entry("a"), entry("ü/文", mode=0o755)]
    assert decoded(msgspec.json.encode(entries)) == entries


# -- unpacking --------------------------------------------------------------------------------------------


def test_only_an_empty_directory_is_unpacked_into(blobs: Blobs, tmp_path: Path) -> None:
    send(blobs, "ada", TRAIN)
    snapshot = blobs.put_manifest("ada", [entry("a")])
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    with pytest.raises(Refused, match="is not empty"):
        blobs.unpack(snapshot, tmp_path / "full")
    (tmp_path / "empty").mkdir()
    assert blobs.unpack(snapshot, tmp_path / "empty") == len(TRAIN)


def test_a_stored_file_that_was_changed_or_lost_is_not_run(blobs: Blobs, tmp_path: Path) -> None:
    send(blobs, "ada", TRAIN)
    snapshot = blobs.put_manifest("ada", [entry("a")])
    blob = tmp_path / "blobs" / digest_of(TRAIN)[:2] / digest_of(TRAIN)
    blob.write_bytes(b"rm -rf /")
    with pytest.raises(Refused, match="copy of a is damaged"):
        blobs.unpack(snapshot, tmp_path / "one")
    blob.unlink()
    with pytest.raises(Refused, match="copy of a is gone"):
        blobs.unpack(snapshot, tmp_path / "two")
    with pytest.raises(NotFound, match="no snapshot"):
        blobs.unpack("0" * 64, tmp_path / "three")
