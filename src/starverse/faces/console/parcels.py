"""What is sent along with a job: a script as it was typed, or a directory as it came in a zip file."""

import shutil
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from starverse.faces import schemas as sc
from starverse.faces.client import Client
from starverse.model.errors import BadInput

ZIP_BYTES_MAX = 200 << 20
UNPACKED_BYTES_MAX = 1 << 30
FILES_MAX = 20_000
SCRIPT_BYTES_MAX = 512 * 1024
CHUNK_BYTES = 1 << 20


class Parcel:
    """A directory of one's own, gone with `close`. Mutable owner of what is in it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="starverse-console-", ignore_cleanup_errors=True)
        self.root = Path(self._folder.name)
        self.files: tuple[str, ...] = ()

    def close(self) -> None:
        """Remove the directory."""
        self._folder.cleanup()

    def put_script(self, name: str, text: str) -> None:
        """Hold nothing but this script. Raises BadInput for a name that is no plain file name."""
        data = text.replace("\r\n", "\n").encode()
        if PurePosixPath(name).name != name or not name.endswith(".py") or not name.isprintable():
            raise BadInput(
                f"'{name[:60]}' is not the name of a script.", "Write a file name that ends in .py."
            )
        if not text.strip():
            raise BadInput("The script is empty.", "Write what is to run.")
        if len(data) > SCRIPT_BYTES_MAX:
            raise BadInput("The script is larger than 512 KiB.", "Send a folder instead.")
        self._empty()
        (self.root / name).write_bytes(data)
        self.files = (name,)

    def put_zip(self, path: Path) -> None:
        """Hold what is in the zip file; a single folder around it all is left away.

        Raises BadInput for what is no zip file, leads outside, or is larger unpacked than a job may bring.
        """
        self._empty()
        try:
            with zipfile.ZipFile(path) as archive:
                self._unpack(archive)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, UnicodeError) as error:
            raise BadInput(
                "This is not a zip file that can be read.", "Pack the folder again, as plain .zip."
            ) from error
        inside = list(self.root.iterdir())
        if len(inside) == 1 and inside[0].is_dir():
            self.root = inside[0]
        self.files = tuple(
            sorted(p.relative_to(self.root).as_posix() for p in self.root.rglob("*") if p.is_file())
        )

    def send(self, api: Client, project: str = "") -> sc.Snapshot:
        """Store it with the API; what is known there is not sent again."""
        return api.upload(self.root, project)

    def _unpack(self, archive: zipfile.ZipFile) -> None:
        members = [member for member in archive.infolist() if not member.is_dir()]
        if not members:
            raise BadInput("The zip file is empty.", "Pack the folder that holds your script.")
        if len(members) > FILES_MAX:
            raise BadInput(f"The zip file holds {len(members):,} files.", f"Send up to {FILES_MAX:,}.")
        left = UNPACKED_BYTES_MAX
        for member in members:
            target = (self.root / member.filename).resolve()
            if not target.is_relative_to(self.root.resolve()) or "\0" in member.filename:
                raise BadInput(f"'{member.filename[:60]}' leads out of the folder.", "Pack the folder again.")
            if member.external_attr >> 28 == 0o12:  # a symbolic link: what it leads to is not in here
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, target.open("wb") as sink:
                while chunk := source.read(CHUNK_BYTES):  # the sizes an archive tells may be lies
                    left -= len(chunk)
                    if left < 0:
                        raise BadInput(
                            "Unpacked, the zip file holds more than 1 GiB.", "Leave out data sets."
                        )
                    sink.write(chunk)
            if member.external_attr >> 16 & 0o100:
                target.chmod(0o700)

    def _empty(self) -> None:
        self.root = Path(self._folder.name)
        for entry in self.root.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        self.files = ()
