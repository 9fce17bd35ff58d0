"""Submitted files on disk, each content once, and which tenant has shown to have it."""

import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO

from starverse.model.errors import BadInput, NotFound, Refused
from starverse.store.manifest import Entry, Limits, checked, decoded, encoded

_DIGEST = re.compile(r"[0-9a-f]{64}")
_TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_AGAIN = "Submit the directory again."
_COPY_BYTES = 1 << 20
_LEFT_S = 24 * 3600
"""An upload that old goes on no more."""


class Upload:
    """A file on its way in: write it, then finish it."""

    def __init__(self, file: IO[bytes], digest: str, limit: int) -> None:
        self._file = file
        self._digest = digest
        self._limit = limit
        self._hash = sha256()
        self.size = 0
        self.sound = False

    def write(self, chunk: bytes) -> None:
        """Take the next part. Raises BadInput when it grows too large."""
        self.size += len(chunk)
        if self.size > self._limit:
            raise BadInput(f"More than {self._limit:,} bytes in a file is not taken.", "Put it on a volume.")
        self._hash.update(chunk)
        self._file.write(chunk)

    def finish(self) -> None:
        """All of it was written. Raises BadInput when it isn't what the digest says."""
        if self._hash.hexdigest() != self._digest:
            raise BadInput(
                f"What was sent is not {self._digest[:12]}…: it broke off, or the file changed meanwhile.",
                "Send it again.",
            )
        self._file.flush()
        os.fsync(self._file.fileno())
        self.sound = True


class Blobs:
    """Files by their sha256 under `HOME/blobs/ab/…`; `HOME/blobs/of/TENANT/ab/…` are further links to the
    same files, one for each tenant that has sent all of it. To know a digest is not enough to get at a file.
    The time of a file is when it was last sent or named; what is old may be swept away (see sweeping.py).

    All calls block; uploads may run side by side.
    """

    def __init__(self, home: Path, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._root = home / "blobs"
        self._coming = self._root / "coming"
        _make(self._coming)
        for left in self._coming.iterdir():  # by a server that was killed
            if left.stat().st_mtime < time.time() - _LEFT_S:
                left.unlink(missing_ok=True)

    # -- files --------------------------------------------------------------------------------------------

    def missing(self, tenant: str, digests: Sequence[str]) -> list[str]:
        """Those that this tenant has not sent, whoever else has. Raises BadInput for what is no digest."""
        most = self.limits.files
        if len(digests) > most:
            raise BadInput(f"{len(digests):,} files at once are too many.", f"Ask about {most:,}.")
        return [digest for digest in dict.fromkeys(digests) if not _is_here(self._of(tenant, digest))]

    @contextmanager
    def upload(self, tenant: str, digest: str) -> Iterator[Upload]:
        """Receive a file: write its parts, then `finish`; what isn't finished leaves no trace."""
        known = self._of(tenant, digest)
        coming = self._coming / secrets.token_hex(16)
        try:
            with coming.open("xb") as file:
                coming.chmod(0o600)
                upload = Upload(file, digest, self.limits.bytes)
                yield upload
            if upload.sound:
                blob = self._blob(digest)
                _make(blob.parent)
                if not _is_here(blob):
                    coming.replace(blob)  # two at once are the same content: either may win
                _make(known.parent)
                _link(blob, known)
        finally:
            coming.unlink(missing_ok=True)

    def put(self, tenant: str, digest: str, chunks: Iterable[bytes]) -> int:
        """Receive a file whole, and say its size. Raises BadInput when it isn't what the digest says."""
        with self.upload(tenant, digest) as upload:
            for chunk in chunks:
                upload.write(chunk)
            upload.finish()
        return upload.size

    # -- snapshots ----------------------------------------------------------------------------------------

    def put_manifest(self, tenant: str, entries: Sequence[Entry]) -> str:
        """Keep a directory as submitted, and say its snapshot id: the sha256 of the sorted manifest.

        Raises BadInput for paths that lead out or collide, for more than the limits allow, and for files that
        the tenant has not sent.
        """
        entries = checked(entries, self.limits)
        folders = set()
        for entry in entries:
            blob = self._of(tenant, entry.digest)
            try:
                os.utime(blob)
                size = blob.stat().st_size
            except FileNotFoundError:
                raise BadInput(f"File {entry.path} was not sent.", "Send what is missing first.") from None
            if size != entry.size:
                raise BadInput(f"File {entry.path} has {size:,} bytes, not {entry.size:,}.", "Make it again.")
            folders |= {*blob.parents[:2], *self._blob(entry.digest).parents[:2]}
        body = encoded(entries)
        snapshot = sha256(body).hexdigest()
        for folder in sorted(folders):  # once here, instead of once for each file
            _sync(folder)
        whole, known = self._manifest(snapshot), self._of(tenant, snapshot, "snapshots")
        for path in (whole, known):
            _make(path.parent)
        if not _is_here(whole):
            _write(self._coming / secrets.token_hex(16), body, whole)
        _link(whole, known)
        _sync(known.parent)
        return snapshot

    def has(self, tenant: str, snapshot: str) -> bool:
        """Whether this tenant has put this snapshot; ask before a job of theirs may name it."""
        return _is_here(self._of(tenant, snapshot, "snapshots"))

    def manifest(self, snapshot: str) -> list[Entry]:
        """What is in a snapshot, by path. Raises NotFound."""
        try:
            return decoded(self._manifest(snapshot).read_bytes())
        except FileNotFoundError:
            raise NotFound(f"There is no snapshot {snapshot[:12]}….", _AGAIN) from None

    def size(self, snapshot: str) -> int:
        """The bytes of all files in a snapshot."""
        return sum(entry.size for entry in self.manifest(snapshot))

    def unpack(self, snapshot: str, destination: Path) -> int:
        """Copy a snapshot into a directory that is empty or not there yet, and say how many bytes it has.

        Raises Refused when the directory holds anything, or a file on disk is no longer what was sent.
        """
        destination.mkdir(parents=True, exist_ok=True)
        if any(destination.iterdir()):
            raise Refused(f"{destination} is not empty.", "Unpack into a directory of its own.")
        total = 0
        for entry in self.manifest(snapshot):
            target = destination / entry.path
            target.parent.mkdir(parents=True, exist_ok=True)
            self._copy(entry, target)
            total += entry.size
        return total

    def _copy(self, entry: Entry, target: Path) -> None:
        digest = sha256()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            source = self._blob(entry.digest).open("rb")
        except FileNotFoundError:
            raise Refused(f"The stored copy of {entry.path} is gone.", _AGAIN) from None
        with source, os.fdopen(os.open(target, flags, 0o600), "wb") as copy:
            while chunk := source.read(_COPY_BYTES):
                digest.update(chunk)
                copy.write(chunk)
            os.fchmod(copy.fileno(), entry.mode)
        if digest.hexdigest() != entry.digest:
            raise Refused(f"The stored copy of {entry.path} is damaged.", _AGAIN)

    # -- where things are ---------------------------------------------------------------------------------

    def _blob(self, digest: str) -> Path:
        return self._root / _named(digest)

    def _manifest(self, snapshot: str) -> Path:
        return self._root / "snapshots" / _named(snapshot)

    def _of(self, tenant: str, digest: str, kind: str = "") -> Path:
        if not _TENANT.fullmatch(tenant):
            raise BadInput(f"'{tenant[:70]}' is not a tenant.")
        return self._root / "of" / tenant / kind / _named(digest)


def _named(digest: str) -> Path:
    if not _DIGEST.fullmatch(digest):
        raise BadInput(f"'{digest[:70]}' is not a sha256 in hexadecimal.")
    return Path(digest[:2], digest)


def _is_here(path: Path) -> bool:
    """Whether there is such a file; if so it is as good as sent just now."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True


def _make(folder: Path) -> None:
    """Make a folder, and those above it, for the server alone."""
    if not folder.exists():
        _make(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _link(source: Path, name: Path) -> None:
    with suppress(FileExistsError):
        os.link(source, name)


def _write(coming: Path, body: bytes, target: Path) -> None:
    with coming.open("xb") as file:
        coming.chmod(0o600)
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    coming.replace(target)
    _sync(target.parent)


def _sync(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
