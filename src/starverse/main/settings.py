"""What an operator can choose, from HOME/starverse.toml; every choice has a default that works."""

import os
from difflib import get_close_matches
from pathlib import Path

import msgspec
from msgspec import Struct

from starverse.model.errors import BadInput
from starverse.model.units import YUAN
from starverse.money.lease import LeaseTerms


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """The settings file: times in milliseconds, money in micro-yuan, as everywhere.

    `cards` 0 means all this machine has. `prices` are micro-yuan per card-hour by kind, set at a first start.
    """

    host: str = "127.0.0.1"
    port: int = 8701
    console_port: int = 8700
    console: bool = True
    database: str = ""
    node: str = ""
    cards: int = 0
    trial_credit: int = 10 * YUAN
    prices: dict[str, int] = {}
    lease: LeaseTerms = LeaseTerms()
    snapshot_every: int = 5_000


def home_of(given: Path | None = None) -> Path:
    """Where the server keeps all it has: the argument, else STARVERSE_HOME, else ~/.local/share/starverse."""
    if given is None:
        given = Path(os.environ.get("STARVERSE_HOME") or "~/.local/share/starverse")
    return given.expanduser().resolve()


def read_settings(home: Path) -> Settings:
    """The settings of a home. Raises BadInput that names the key and what would be right."""
    path = home / "starverse.toml"
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return Settings()
    try:
        return msgspec.toml.decode(text, type=Settings)
    except msgspec.DecodeError as error:
        raise BadInput(f"{path}: {_plain(str(error))}.", "Mend it, or remove it for the defaults.") from None


def _plain(message: str) -> str:
    unknown = message.partition("unknown field `")[2].partition("`")[0]
    near = get_close_matches(unknown, Settings.__struct_fields__, n=1) if unknown else []
    return message + (f" (did you mean `{near[0]}`?)" if near else "")
